"""Changes in a folder, told by the kernel or, where it will not, by looking."""

import asyncio
import resource
import socket
from pathlib import Path

import pytest

from builders.plugins import GPU, PATIENCE, eventually, running
from tangram.kubelet import watching
from tangram.kubelet.sockets import socket_file_at
from tangram.kubelet.watching import FolderWatch
from testbed.changes import Changes
from testbed.fake_kubelet import FakeKubelet


class Listener:
    def __init__(self, watch: FolderWatch) -> None:
        self.times = 0
        self._changes = Changes()
        self.end = watch.listen(self._told)

    def _told(self) -> None:
        self.times += 1
        self._changes.announce()

    async def told_after(self, times: int) -> None:
        assert await self._changes.until(lambda: self.times > times, within=PATIENCE)


def inotify_files() -> int:
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        try:
            found += str(one.readlink()) == "anon_inode:inotify"
        except OSError:
            continue
    return found


async def test_a_file_that_comes_goes_or_is_replaced_is_told_to_everyone_who_listens(directory: Path) -> None:
    held = inotify_files()
    watch = FolderWatch(directory)
    first, second = Listener(watch), Listener(watch)
    assert inotify_files() == held + 1
    (directory / "outside").mkdir()
    await first.told_after(0)

    def come() -> None:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(directory / "kubelet.sock"))

    def replaced() -> None:
        (directory / "other").touch()
        (directory / "other").rename(directory / "kubelet.sock")

    def move_out() -> None:
        (directory / "kubelet.sock").rename(directory / "outside" / "x")

    for step in (come, replaced, move_out, come, (directory / "kubelet.sock").unlink):
        before = first.times, second.times
        step()
        await first.told_after(before[0])
        await second.told_after(before[1])
    first.end()
    first.end()
    before = second.times
    (directory / "more").touch()
    await second.told_after(before)
    assert first.times <= before
    second.end()


async def test_nothing_is_told_while_nothing_happens_and_nothing_is_held_after_the_last_listener(
    directory: Path,
) -> None:
    held = inotify_files()
    watch = FolderWatch(directory)
    listeners = [Listener(watch) for _ in range(5)]
    assert inotify_files() == held + 1
    (directory / "last").touch()
    await listeners[0].told_after(0)
    told = listeners[0].times
    await asyncio.sleep(0.3)
    assert listeners[0].times == told
    for one in listeners:
        one.end()
    assert inotify_files() == held
    again = Listener(watch)
    assert inotify_files() == held + 1
    again.end()
    assert inotify_files() == held


async def test_a_folder_that_is_missing_is_watched_once_it_is_made_and_again_when_it_is_another(
    directory: Path,
) -> None:
    held = inotify_files()
    folder = directory / "plugins"
    watch = FolderWatch(folder)
    listener = Listener(watch)
    assert inotify_files() == held
    for leave in (folder.rmdir, lambda: folder.rename(directory / "away")):
        before = listener.times
        folder.mkdir()
        await eventually(lambda: inotify_files() == held + 1)
        await listener.told_after(before)
        leave()
        await eventually(lambda: inotify_files() == held)
    folder.touch()
    before = listener.times
    await listener.told_after(before)
    assert inotify_files() == held, "a file is no folder"
    listener.end()
    assert inotify_files() == held


async def test_listeners_look_by_themselves_while_the_kernel_refuses_and_no_longer_than_that(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = inotify_files()
    with monkeypatch.context() as refused:
        refused.setattr(watching, "_opened", refusing)
        watch = FolderWatch(directory)
        listener = Listener(watch)
        assert inotify_files() == held
        for times in range(3):
            await listener.told_after(times)
    await eventually(lambda: inotify_files() == held + 1)
    before = listener.times
    (directory / "x").touch()
    await listener.told_after(before)
    listener.end()


def refusing(_folder: Path) -> int:
    raise OSError(24, "Too many open files")


async def test_a_plugin_follows_the_kubelet_without_the_kernels_help(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_opened", refusing)
    async with FakeKubelet(directory) as kubelet, running(directory, "a") as run:
        for round_ in (1, 2, 3):
            await run.until_registered(round_)
            await kubelet.plugin(GPU).wait_for_devices({"a": "Healthy"}, within=PATIENCE)
            await kubelet.restart()


async def test_the_kernels_own_refusal_is_survived(directory: Path) -> None:
    """With no file left it refuses as with no instance left: by the same error."""
    held = inotify_files()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    watch = FolderWatch(directory)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        listener = Listener(watch)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert inotify_files() == held
    await eventually(lambda: inotify_files() == held + 1)
    listener.end()


async def test_plugins_of_a_directory_can_share_a_watch(directory: Path) -> None:
    held = inotify_files()
    watch = FolderWatch(directory)
    async with (
        FakeKubelet(directory) as kubelet,
        running(directory, "a", watch=watch) as gpu,
        running(directory, "b", resource="metax-tech.com/sgpu", watch=watch) as sgpu,
    ):
        await gpu.until_registered()
        await sgpu.until_registered()
        assert inotify_files() == held + 1
        before = socket_file_at(directory / "kubelet.sock")
        await kubelet.restart()
        assert socket_file_at(directory / "kubelet.sock") != before
        await gpu.until_registered(2)
        await sgpu.until_registered(2)
    assert inotify_files() == held
