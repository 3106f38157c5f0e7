"""An ordinary user of the bare Debian: how commands, shells and terminals of theirs are started."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.consoles import Shell, shell
from testbed.debian import SYSTEM_PATH
from testbed.fresh.terminal import Say, Terminal, opened

USER: Final = "person"
HOME: Final = f"/home/{USER}"
CHECKOUT: Final = f"{HOME}/tangram"
_ADMINISTRATOR: Final = "root"
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SHELL: Final = ("/bin/bash", "--noprofile", "--norc")


@dataclass(frozen=True, slots=True)
class Person:
    """Types in a root folder, which the calling process has in a mount namespace of its own."""

    root: Path
    environment: Mapping[str, str]

    def command(self, *words: str, user: str = USER, path: str = _PATH, folder: str = CHECKOUT) -> list[str]:
        """The words as they are run there, with nothing of this process's environment."""
        variables = {
            "HOME": HOME if user == USER else f"/{user}",
            "USER": user,
            "LOGNAME": user,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PATH": path,
            **self.environment,
        }
        return [
            *("/usr/sbin/chroot", f"--userspec={user}:{user}", str(self.root)),
            *("/usr/bin/env", "--ignore-environment", f"--chdir={folder}"),
            *(f"{name}={value}" for name, value in variables.items()),
            *words,
        ]

    def as_root(self, line: str) -> list[str]:
        """A line of a shell, for what only an administrator may do."""
        return self.command("/bin/bash", "-c", line, user=_ADMINISTRATOR, path=SYSTEM_PATH, folder="/")

    @asynccontextmanager
    async def second_shell(self, programs: str = "") -> AsyncGenerator[Shell]:
        """A shell in the checkout, beside a terminal that is busy; with a folder of more programs on its PATH."""
        path = f"{programs}:{_PATH}" if programs else _PATH
        async with shell(Path("/"), {}, command=self.command(*_SHELL, path=path)) as typed:
            yield typed

    @asynccontextmanager
    async def terminal(self, say: Say) -> AsyncGenerator[Terminal]:
        """A terminal with a shell in the checkout."""
        async with opened(self.command(*_SHELL), say) as terminal:
            yield terminal
