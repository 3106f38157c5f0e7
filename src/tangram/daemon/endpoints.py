"""Where the kubelet asks whether the process lives and works, and Prometheus what it has counted."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from tangram.daemon.errors import SettingError
from tangram.daemon.pages import Page, serving_pages

OPTION: Final = "--metrics-address"
REFRESH_AT_MOST_S: Final = 1.0
"""Between two looks at what figures are made of, however many ask."""
REFRESH_LIMIT_S: Final = 2.0
"""How long whoever asks waits for that look; it goes on meanwhile, and they get what was known before."""

_log = logging.getLogger(__name__)

Reasons = Callable[[], Sequence[str]]
"""What keeps something from being so, one sentence each; nothing when all is well."""
Refresh = Callable[[], Awaitable[None]]


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str, option: str = OPTION) -> Address | None:
    """`HOST:PORT`, or `:PORT` for every address of this machine; port 0 takes any that is free, and an empty text means
    none at all. Raises `SettingError`.

    `option` is what people wrote the address into.
    """
    if not text.strip():
        return None
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
    bracketed = bare != host
    if not colon or (bracketed and not bare) or (":" in bare) != bracketed or not 0 <= number <= 65_535:
        raise SettingError(
            f"{option} is {text!r:.80}: it is HOST:PORT with a port up to 65535; "
            "write for example :9394 for every address, 127.0.0.1:9394 or '' for none."
        )
    return Address(bare, number)


@asynccontextmanager
async def serving(
    address: Address | None,
    registry: CollectorRegistry,
    *,
    unhealthy: Reasons,
    unready: Reasons,
    refresh: Refresh | None = None,
) -> AsyncGenerator[Address | None]:
    """Serve `/healthz`, `/readyz` and `/metrics` meanwhile; the address with its real port. Raises `SettingError`.

    `refresh` is awaited before metrics are answered, once a second at most and never for long.
    """
    if address is None:
        yield None
        return

    refreshing = None if refresh is None else _Refreshing(refresh)

    async def metrics() -> Page:
        if refreshing is not None:
            await refreshing.look()
        return Page(generate_latest(registry), CONTENT_TYPE_LATEST)

    pages = {"/healthz": _telling(unhealthy), "/readyz": _telling(unready), "/metrics": metrics}
    async with AsyncExitStack() as stack:
        try:
            found = await stack.enter_async_context(serving_pages(address.host, address.port, pages))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise SettingError(
                f"{OPTION} is {str(address)!r:.80}, where nothing can be served ({reason}): "
                "name a free address of this machine."
            ) from None
        served = Address(*found)
        _log.info("metrics and probes are served at %s", served, extra={"address": str(served)})
        try:
            yield served
        finally:
            if refreshing is not None:
                refreshing.cancel()


class _Refreshing:
    """One look at a time, shared by all who ask meanwhile."""

    def __init__(self, refresh: Refresh) -> None:
        self._refresh = refresh
        self._task: asyncio.Task[None] | None = None
        self._begun = -REFRESH_AT_MOST_S

    async def look(self) -> None:
        running = self._task is not None and not self._task.done()
        if not running:
            if time.monotonic() - self._begun < REFRESH_AT_MOST_S:
                return
            self._begun = time.monotonic()
            self._task = asyncio.create_task(self._run(), name="refresh of metrics")
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=REFRESH_LIMIT_S)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            await self._refresh()
        except Exception:  # noqa: BLE001 - old figures are better than none
            _log.exception("figures could not be refreshed")


def _telling(reasons: Reasons) -> Callable[[], Awaitable[Page]]:
    async def tell() -> Page:
        found = reasons()
        text = "".join(f"{reason}\n" for reason in found) if found else "ok\n"
        return Page(text.encode(), status=HTTPStatus.SERVICE_UNAVAILABLE if found else HTTPStatus.OK)

    return tell
