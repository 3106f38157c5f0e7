"""A device plugin of the agent with scripted answers, and ways to wait for what it does."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tangram.kubelet.plugin import Plugin
from tangram.kubelet.watching import FolderWatch
from tangram.model.offers import Unit
from tangram.wire.kubelet.deviceplugin import CDIDevice, ContainerAllocateResponse
from testbed.changes import Changes, cut_off

GPU = "metax-tech.com/gpu"
PATIENCE = 30.0
"""For whatever a busy machine may delay. Nothing is asserted about speed."""


@contextmanager
def short_directory() -> Generator[Path]:
    """A short path: the folders of pytest, with the test's name in them, can be too long for a socket."""
    made = Path(tempfile.mkdtemp(prefix="kubelet-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def eventually(holds: Callable[[], bool]) -> None:
    """For what gives no sign when it comes to hold: a file that appears, a call that a server has counted."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.002)


class ScriptedAnswers:
    """Prefers the first ids, grants a CDI name made of the ids, lets everything start; each can be replaced."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.on_prefer: Callable[[], Awaitable[None]] | None = None
        self.on_allocate: Callable[[], Awaitable[None]] | None = None
        self.on_pre_start: Callable[[], Awaitable[None]] | None = None

    async def prefer(
        self, resource: str, available: Sequence[str], must_include: Sequence[str], size: int
    ) -> Sequence[str]:
        self.calls.append(("prefer", resource, *available, "with", *must_include))
        if self.on_prefer is not None:
            await self.on_prefer()
        return available[:size]

    async def allocate(self, resource: str, ids: Sequence[str]) -> ContainerAllocateResponse:
        self.calls.append(("allocate", resource, *ids))
        if self.on_allocate is not None:
            await self.on_allocate()
        return ContainerAllocateResponse(cdi_devices=[CDIDevice(name=f"tangram.dev/test={'-'.join(ids)}")])

    async def pre_start(self, resource: str, ids: Sequence[str]) -> None:
        self.calls.append(("pre_start", resource, *ids))
        if self.on_pre_start is not None:
            await self.on_pre_start()


class Run:
    """A plugin that runs, with what happened to it."""

    def __init__(self, directory: Path, resource: str, watch: FolderWatch | None) -> None:
        self.answers = ScriptedAnswers()
        self.changes = Changes()
        self.history: list[bool] = []
        """Whether it was registered, at each change."""
        self.plugin = Plugin(
            directory, resource, self.answers, prefers=True, on_change=self._on_change, watch=watch
        )
        self.task = asyncio.create_task(self.plugin.run())

    def _on_change(self) -> None:
        self.history.append(self.plugin.registered)
        self.changes.announce()

    async def until(self, holds: Callable[[], bool]) -> None:
        assert await self.changes.until(holds, within=PATIENCE), self.history

    async def until_registered(self, times: int = 1) -> None:
        await self.until(lambda: self.plugin.registered and self.plugin.registrations == times)


@asynccontextmanager
async def running(
    directory: Path,
    *ids: str,
    resource: str = GPU,
    watch: FolderWatch | None = None,
) -> AsyncGenerator[Run]:
    """A plugin that offers these ids. It ends with the block, and it must not have ended before."""
    run = Run(directory, resource, watch)
    run.plugin.offer([Unit(id=one) for one in ids])
    try:
        yield run
    finally:
        await cut_off(run.task)
