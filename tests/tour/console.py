"""The page of an example: its commands typed into a shell, and what they print held against what the page shows.

With TANGRAM_REFRESH=1 a page is given the new output of the commands that printed something else; the diff is then the
review.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from testbed.consoles import PROMPT, Rule, blocks, normal, shell, steps, with_blocks
from tour.records import EXAMPLES, Example

REFRESH: Final = os.environ.get("TANGRAM_REFRESH") == "1"

_LOGS: Final = re.compile(
    r"kubectl logs (?P<pod>[a-z0-9-]+)(?: -c (?P<container>\S+))?(?: -n (?P<namespace>\S+))?(?: \||$)"
)
_RULES: Final = (
    Rule("address of a pod", re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    Rule("number of a slice on its card", re.compile(r"\bslice \d+:|#\d+(?=;)"), "NUMBER"),
    Rule("random end of a name", re.compile(r"-(?:MADE|[bcdfghjklmnpqrstvwxz2456789]{5})\b"), "-RANDOM"),
    Rule("time of an object", re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    Rule(
        "identity and version of an object",
        re.compile(r"(?<=uid: )[0-9a-f-]{36}|(?<=Version: )\"\d+\""),
        "MADE",
    ),
    Rule("how often an object was changed", re.compile(r"(?<=generation: )\d+"), "MADE"),
    Rule("empty cells at the end of a line", re.compile(r" +$", re.MULTILINE), ""),
)


class Quoted(Struct, frozen=True):
    """What a page quotes from the log of a container; the first one of its pod where it names none."""

    namespace: str
    pod: str
    container: str
    lines: tuple[str, ...]


def page_of(example: Example) -> Path:
    return example.folder / "README.md"


def commands_of(page: str) -> list[str]:
    return [step.command for block in blocks(page) for step in steps(block)]


def quoted_logs(page: str) -> list[Quoted]:
    """Comparable with the lines of a log after `comparable`."""
    return [
        Quoted(
            found["namespace"] or "default",
            found["pod"],
            found["container"] or "",
            tuple(comparable(step.shown).splitlines()),
        )
        for block in blocks(page)
        for step in steps(block)
        if (found := _LOGS.match(step.command)) is not None
    ]


def environment(folder: Path, kubeconfig: Path, kubectl: Path) -> dict[str, str]:
    """Variables under which `kubectl` is that program, and `tangram` the one of this Python."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, program in (("kubectl", kubectl), ("tangram", Path(sys.executable).with_name("tangram"))):
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(program)
    return {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "KUBECONFIG": str(kubeconfig),
        "KUBECACHEDIR": str(folder / "cache"),
    }


async def played(page: str, variables: Mapping[str, str]) -> str:
    """The page with what its commands print now; as it was where only rules tell the two apart."""
    made: list[str] = []
    async with shell(EXAMPLES.parent, variables) as typing:
        for block in blocks(page):
            lines: list[str] = []
            for step in steps(block):
                printed = (await typing.type(step.command)).text
                same = comparable(printed) == comparable(step.shown)
                lines += [f"{PROMPT}{step.command}\n", step.shown if same else _trimmed(printed)]
            made.append("".join(lines))
    new = iter(made)
    return with_blocks(page, lambda _block: next(new))


def comparable(text: str) -> str:
    """The text without what no two runs have in common."""
    text = normal(text)
    for rule in _RULES:
        text = rule.pattern.sub(rule.instead, text)
    return text


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
