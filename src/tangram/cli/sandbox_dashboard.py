"""The dashboard of a sandbox: everybody on this machine is its administrator there, and may become somebody else.

It runs in the sandbox's own process and knows the cluster by what any dashboard knows it by, the scheduler's door and
the API server. Its code is read only once the rest runs: the first pod of a sandbox does not wait for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.sandbox.loopback import LOOPBACK
from tangram.sandbox.starting import Sandbox

if TYPE_CHECKING:
    from tangram.web.settings import DashboardSettings

DASHBOARD_PORT: Final = 16480
HISTORY: Final = "dashboard-history.json"


class Browsers(NamedTuple):
    """What was asked for."""

    wanted: bool = True
    port: int | None = None
    """None: the usual one, or another where that is taken."""
    keep: bool = False
    """Whether the past is kept for the next time."""


@asynccontextmanager
async def dashboard_of(box: Sandbox, browsers: Browsers) -> AsyncGenerator[str]:
    """A dashboard meanwhile; its address, empty where none is wanted. Raises `SettingError`."""
    if not browsers.wanted:
        yield ""
        return
    async with AsyncExitStack() as stack:
        try:
            served = await _served(stack, box, browsers)
        except BaseException:
            # Nobody else will wait for the tasks of a sandbox that does not begin.
            box.supervisor.stop()
            await box.supervisor.until_stopped()
            raise
        yield f"http://{served}"


async def _served(stack: AsyncExitStack, box: Sandbox, browsers: Browsers) -> Address:
    from tangram.web.launch import serving_dashboard  # noqa: PLC0415 - see above

    wanted = DASHBOARD_PORT if browsers.port is None else browsers.port
    try:
        return await stack.enter_async_context(
            serving_dashboard(_settings(box, browsers, wanted), box.api.connection, box.supervisor)
        )
    except SettingError:
        if browsers.port is not None:
            raise
    return await stack.enter_async_context(
        serving_dashboard(_settings(box, browsers, 0), box.api.connection, box.supervisor)
    )


def _settings(box: Sandbox, browsers: Browsers, port: int) -> DashboardSettings:
    from tangram.web.reception import Way, WaysIn  # noqa: PLC0415 - see above
    from tangram.web.settings import DashboardSettings  # noqa: PLC0415

    return DashboardSettings(
        address=Address(LOOPBACK, port),
        server=box.doors.scheduler,
        server_authority=box.doors.authority,
        kubeconfig=box.folder.kubeconfig,
        ways=WaysIn(way=Way.NONE, actions=True),
        history=box.folder.path / HISTORY if browsers.keep else None,
        option="--dashboard-port",
    )
