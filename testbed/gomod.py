"""What a go.mod file says, read without calling Go.

The go.mod files are the only place where versions are written down; everything else asks here. Calling `go list`
for it would cost more than the whole of a call that finds everything built. Of the format only what such files
contain is understood: `go`, `require`, `tool`, alone or in parentheses. `go build` is the judge of the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BedError

GoVersion = tuple[int, int, int]

_GO_VERSION = re.compile(r"(?:^|\bgo)(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class GoMod:
    go: str
    tools: tuple[str, ...]
    requires: Mapping[str, str]

    def version_of(self, package: str) -> str | None:
        """The version of the module that holds the package: of all requirements the longest path that leads to it."""
        owners = [path for path in self.requires if package == path or package.startswith(f"{path}/")]
        return self.requires[max(owners, key=len)] if owners else None


def read_go_mod(path: Path) -> GoMod:
    """The parts of a go.mod file that the test bed needs. Raises `BedError` where one of them is missing."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BedError(f"{path} cannot be read ({error}): restore it from the repository.") from None
    go = ""
    tools: list[str] = []
    requires: dict[str, str] = {}
    for verb, words in _statements(text):
        if verb == "go" and words:
            go = words[0]
        elif verb == "tool" and words:
            tools.append(words[0])
        elif verb == "require" and len(words) == 2:
            requires[words[0]] = words[1]
    for verb, found in (("go", go), ("tool", tools), ("require", requires)):
        if not found:
            raise BedError(f"{path} has no `{verb}` line: restore it from the repository.")
    parse_go_version(go, where=str(path))
    return GoMod(go, tuple(tools), requires)


def parse_go_version(text: str, *, where: str) -> GoVersion:
    """1.26 is 1.26.0, and what follows the numbers (rc1, -custom) does not count. Raises `BedError`."""
    found = _GO_VERSION.search(text)
    if found is None:
        raise BedError(f"{where} gives the Go version as {text!r:.60}: it must look like 1.26.0.")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def _statements(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each statement as its verb and its words; in parentheses the verb stands once for many."""
    block = ""
    for line in text.splitlines():
        words = line.partition("//")[0].split()
        if not words:
            continue
        if words == [")"]:
            block = ""
        elif block:
            yield block, words
        elif words[-1] == "(":
            block = words[0]
        else:
            yield words[0], words[1:]
