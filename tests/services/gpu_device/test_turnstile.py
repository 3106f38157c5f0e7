"""One agent at a time on a node."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from builders.waiting import until
from tangram.services.gpu_device.turnstile import FILE, Turnstile


async def test_the_second_waits_until_the_first_has_left(tmp_path: Path) -> None:
    first, second = Turnstile(tmp_path / "made"), Turnstile(tmp_path / "made")
    await first.enter()
    entering = asyncio.create_task(second.enter())
    await asyncio.sleep(0.12)
    assert not entering.done()
    first.leave()
    await entering
    second.leave()
    second.leave()


async def test_whoever_stops_waiting_stands_in_nobodys_way(tmp_path: Path) -> None:
    first, second, third = (Turnstile(tmp_path) for _ in range(3))
    await first.enter()
    waiting = asyncio.create_task(second.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    first.leave()
    await third.enter()
    third.leave()


_HOLDS = """
import asyncio, sys
from pathlib import Path
from tangram.services.gpu_device.turnstile import Turnstile
asyncio.run(Turnstile(Path(sys.argv[1])).enter())
print("in", flush=True)
sys.stdin.read()
"""


async def test_an_agent_that_was_killed_does_not_keep_the_door(tmp_path: Path) -> None:
    holder = subprocess.Popen(  # noqa: ASYNC220 - our own interpreter and script
        [sys.executable, "-c", _HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == b"in\n"
        next_one = Turnstile(tmp_path)
        entering = asyncio.create_task(next_one.enter())
        await asyncio.sleep(0.06)
        assert not entering.done()
        holder.kill()
        await until(entering.done)
        next_one.leave()
    finally:
        holder.kill()
        holder.communicate()


async def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        await Turnstile(tmp_path / "file").enter()


async def test_the_file_is_for_root_alone(tmp_path: Path) -> None:
    turnstile = Turnstile(tmp_path)
    await turnstile.enter()
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    turnstile.leave()
