"""A real pseudo-terminal with a shell in it, for what only happens in one.

Ctrl-C is a character here, which the kernel turns into a signal for the whole foreground group: `make`, its shell and
the program, as for a person at a keyboard.
"""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from testbed.errors import BedError

_PROMPT: Final = "fresh-prompt> "
"""No program prints it, so that its return shows the end of a command."""
_ECHO_S: Final = 30.0
_END_S: Final = 120.0
_ROWS, _COLUMNS = 50, 120
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_LAST: Final = 2_000

Say = Callable[[str], None]


@asynccontextmanager
async def opened(command: Sequence[str], say: Say) -> AsyncGenerator["Terminal"]:
    """A terminal in which this command runs a bash; `say` gets every line that commands print. Closed at the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    process = await asyncio.create_subprocess_exec(
        "/usr/bin/setsid", "--ctty", "--wait", *command, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    terminal = Terminal(ours, process, say)
    try:
        await terminal.begin()
        yield terminal
    finally:
        await terminal.close()


class Terminal:
    """One pseudo-terminal and the shell in it."""

    def __init__(self, descriptor: int, process: asyncio.subprocess.Process, say: Say) -> None:
        self._descriptor = descriptor
        self._process = process
        self._say = say
        self._unread = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._changed = asyncio.Event()
        self._over = False
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    async def begin(self) -> None:
        """Set the prompt. It is written in two parts, because the terminal echoes what is typed."""
        self._write(f"PS1='{_PROMPT[:5]}''{_PROMPT[5:]}'; PROMPT_COMMAND=\n")
        await self.until(_PROMPT, _ECHO_S, say=_ignore)

    async def start(self, line: str) -> None:
        """Type a line, and do not wait for its end."""
        self._write(f"{line}\n")
        await self.until("\n", _ECHO_S, say=_ignore)

    async def interrupt(self) -> int:
        """Type Ctrl-C. The exit status of what was interrupted, once the prompt is back."""
        self._write("\x03")
        await self.until(_PROMPT, _END_S)
        self._write("echo status=$?\n")
        await self.until("echo status=$?\n", _ECHO_S, say=_ignore)
        status = await self.until("\n", _ECHO_S, say=_ignore)
        await self.until(_PROMPT, _ECHO_S, say=_ignore)
        return int(status.partition("status=")[2])

    async def until(self, text: str, within: float, say: Say | None = None) -> str:
        """Everything printed up to and with that text, one line at most. Raises `BedError` where it does not come."""
        printed = ""
        try:
            async with asyncio.timeout(within):
                while text not in self._unread:
                    if self._over:
                        last = (printed + self._unread)[-_LAST:]
                        raise BedError(f"The shell ended before it printed {text!r}; its last lines:\n{last}")
                    whole, newline, _ = self._unread.rpartition("\n")
                    printed += self._taken(whole + newline, say)
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            last = (printed + self._unread)[-_LAST:]
            raise BedError(
                f"{text!r} was not printed within {within:.0f} s; the last lines:\n{last}"
            ) from None
        return printed + self._taken(self._unread.partition(text)[0] + text, say)

    async def close(self) -> None:
        """Hang up: the kernel sends SIGHUP to the shell and its jobs."""
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        try:
            await asyncio.wait_for(self._process.wait(), _END_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _taken(self, text: str, say: Say | None) -> str:
        self._unread = self._unread.removeprefix(text)
        for line in text.splitlines():
            if line.strip() and _PROMPT not in line:
                (say or self._say)(line)
        return text

    def _write(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process of the terminal has ended
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._over = True
        self._unread += _CONTROL.sub("", self._decoder.decode(data, final=self._over))
        self._changed.set()


def _ignore(_line: str) -> None:
    """What is typed is no output."""
