"""The checks of `tangram doctor --cluster`, made in a process of their own and remembered for a minute.

They read every node and pod of the cluster as whole objects, which would make this small process a large one for good;
the other one ends. Whoever asks meanwhile waits for the same answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tangram.web.known import NotKnown

if TYPE_CHECKING:
    from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis

HOLDS_S: Final = 60.0
LIMIT_S: Final = 60.0
PATIENCE_S: Final = 30.0
"""For the pods of a large cluster; what is not known then is a finding of its own."""
COMMAND: Final = (sys.executable, "-P", "-m", "tangram.web.checking")
"""`-P`: of our own modules, whatever lies in the folder that somebody started us in."""


class Checking:
    """`kubeconfig` is that of the dashboard itself."""

    def __init__(
        self,
        kubeconfig: Path | None,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.time,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._command = (*command, *((str(kubeconfig),) if kubeconfig is not None else ()))
        self._clock = clock
        self._limit_s = limit_s
        self._known: tuple[float, ClusterDiagnosis] | None = None
        self._running: asyncio.Task[tuple[float, ClusterDiagnosis]] | None = None

    async def diagnosis(self) -> tuple[float, ClusterDiagnosis]:
        """What was found, and when. Raises `NotKnown`."""
        if self._known is not None and self._clock() - self._known[0] < HOLDS_S:
            return self._known
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._check(), name="checks of the cluster")
            self._running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._running)

    async def close(self) -> None:
        """End what is under way."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _check(self) -> tuple[float, ClusterDiagnosis]:
        from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis  # noqa: PLC0415 - see `known`

        began = self._clock()
        try:
            said = await self._said()
            self._known = began, msgspec.json.decode(said, type=ClusterDiagnosis)
        except TimeoutError:
            raise _failed(f"they took longer than {self._limit_s:g} s") from None
        except (OSError, msgspec.MsgspecError) as error:
            raise _failed(f"{error!s:.200}") from None
        return self._known

    async def _said(self) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(self._limit_s):
                said, complaint = await process.communicate()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise _failed(f"their process ended with {process.returncode}: {last[0]:.200}")
        return said


def _failed(why: str) -> NotKnown:
    return NotKnown(
        "checks",
        f"The checks of the cluster could not be made ({why}); 'tangram doctor --cluster' makes the same.",
    )


def main(arguments: Sequence[str]) -> int:
    """The other process: check, and print what was found."""
    from tangram.kube.api import Api  # noqa: PLC0415 - only the other process needs all of this
    from tangram.kube.connection import find_connection  # noqa: PLC0415
    from tangram.kube.errors import NoConnection  # noqa: PLC0415
    from tangram.services.scheduler.checkup.diagnosis import diagnose_cluster  # noqa: PLC0415
    from tangram.services.scheduler.checkup.seeing import look  # noqa: PLC0415

    async def seen() -> bytes:
        connection = find_connection(Path(arguments[0]) if arguments else None, os.environ)
        async with Api(connection, limit=PATIENCE_S, agent="tangram-dashboard") as api:
            return msgspec.json.encode(diagnose_cluster(await look(api, patience=PATIENCE_S)))

    try:
        sys.stdout.buffer.write(asyncio.run(seen()))
    except NoConnection as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
