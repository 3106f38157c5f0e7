"""What README tells a newcomer to type, read from the page itself, so that the page and the check cannot differ.

The page is read by its form: `sh` blocks are commands without shown output, `console` blocks have both. The `sh` line
that calls apt-get is the list of prerequisites. A console block that calls kubectl, and every one after it, is for
people who have kubectl.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from testbed.consoles import Step, blocks, steps
from testbed.errors import BedError

SANDBOX: Final = "make sandbox"
TESTS: Final = "make test"
_SHELL: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STORY: Final = re.compile(r"^\S*tangram sandbox --scenario \S+$")
_INSTALL: Final = re.compile(r"\bapt-get install\b")
_KUBECTL: Final = re.compile(r"(?:^|[|;&] *)kubectl\b")


@dataclass(frozen=True, slots=True)
class Guide:
    """The commands of the page in the order in which they are typed."""

    install: str
    sandbox: str
    story: str
    """Starts a sandbox that runs pods by itself, for people without kubectl."""
    without_kubectl: tuple[tuple[Step, ...], ...]
    with_kubectl: tuple[tuple[Step, ...], ...]
    """Every block, those of `without_kubectl` too: one reader follows the page from the top."""
    tests: str


def read_guide(page: str) -> Guide:
    """Raises `BedError` for a page that leaves out one of the commands."""
    commands = [line for block in _SHELL.findall(page) for line in block.splitlines() if line.strip()]
    shown = tuple(tuple(steps(block)) for block in blocks(page))
    first = next((number for number, block in enumerate(shown) if _needs_kubectl(block)), len(shown))
    return Guide(
        install=_only(commands, _INSTALL.search, "an apt-get line that installs the prerequisites"),
        sandbox=_only(commands, re.compile(f"^{SANDBOX}$").match, f"the command `{SANDBOX}`"),
        story=_only(commands, _STORY.match, "a `tangram sandbox --scenario` command"),
        without_kubectl=shown[:first],
        with_kubectl=shown,
        tests=_only(commands, re.compile(f"^{TESTS}$").match, f"the command `{TESTS}`"),
    )


def _needs_kubectl(block: tuple[Step, ...]) -> bool:
    return any(_KUBECTL.search(step.command) for step in block)


def _only(commands: list[str], fits: Callable[[str], object], what: str) -> str:
    found = [command for command in commands if fits(command)]
    if len(found) != 1:
        raise BedError(
            f"README.md has {len(found) or 'no'} `sh` lines with {what}, and a newcomer needs exactly one: "
            + (f"keep one of {found}." if found else "write it into an `sh` block.")
        )
    return found[0]
