"""A terminal types like a person: output line by line, Ctrl-C for the whole foreground group, and an end to waiting."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from testbed.errors import BedError
from testbed.fresh.terminal import Terminal, opened

SHELL = ("/bin/bash", "--noprofile", "--norc")
INTERRUPTED = 130
WAITS = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("begun", flush=True)
time.sleep(600)
"""
"""Says "begun" itself: of `sh -c 'echo begun; sleep 600'`, dash drops a SIGINT between its vfork and the exec."""


@pytest.fixture
def said() -> list[str]:
    return []


@pytest_asyncio.fixture
async def terminal(said: list[str]) -> AsyncIterator[Terminal]:
    async with opened(SHELL, said.append) as running:
        yield running


async def test_what_commands_print_is_passed_on_line_by_line(terminal: Terminal, said: list[str]) -> None:
    await terminal.start("printf 'one\\n\\033[31mtwo\\033[0m ✓\\n'; echo ready")
    printed = await terminal.until("ready", 10)
    assert printed.startswith("one\ntwo ✓\n")
    assert said == ["one", "two ✓", "ready"]


async def test_ctrl_c_ends_the_command_and_its_children(terminal: Terminal, tmp_path: Path) -> None:
    child = tmp_path / "waits.py"
    child.write_text(WAITS)
    await terminal.start(f"sh -c '{sys.executable} {child}; echo never' ; true")
    await terminal.until("begun", 10)
    assert await terminal.interrupt() == INTERRUPTED


async def test_a_program_may_end_well_after_ctrl_c(terminal: Terminal) -> None:
    await terminal.start("bash -c 'trap \"exit 0\" INT; echo begun; while :; do sleep 0.05; done'")
    await terminal.until("begun", 10)
    assert await terminal.interrupt() == 0


async def test_what_is_not_printed_in_time_is_an_error_with_the_last_lines(terminal: Terminal) -> None:
    await terminal.start("echo something; echo else")
    with pytest.raises(BedError, match=r"(?s)'ready' was not printed within 0 s.*something\nelse"):
        await terminal.until("ready", 0.3)


async def test_a_shell_that_ends_is_an_error_and_no_wait(terminal: Terminal) -> None:
    await terminal.start("exit 3")
    with pytest.raises(BedError, match="ended before it printed"):
        await terminal.until("ready", 30)
