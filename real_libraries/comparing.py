"""The answers of two libraries to the same questions, side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from real_libraries.asking import written_argument
from real_libraries.questions import Call, Library

REPOSITORY: Final = Path(__file__).resolve().parents[1]
CRASHED: Final = "crashed"
EQUAL, DIFFERENT, NOT_EXPORTED = "equal", "different", "not exported"
ENDS, BOTH_END = "ends the process", "both end the process"
SYSFS: Final = Path("/sys")


class Verdict(NamedTuple):
    call: Call
    word: str
    """One of those above."""
    theirs: object
    ours: object


def compared(real: Path, twin: Path, module: ModuleType) -> list[Verdict]:
    """Every question of that module, asked of both on the tree at `/sys`."""
    library: Library = module.LIBRARY
    calls = [library.begin, *module.questions()]
    theirs, ours = (answers(file, module.__name__, calls) for file in (real, twin))
    return [
        Verdict(call, _word(one, other), one, other)
        for call, one, other in zip(calls, theirs, ours, strict=True)
    ]


class Left(NamedTuple):
    """Files of one of the libraries' trees after a story, where they are not those of the other."""

    path: str
    theirs: str
    ours: str


def changed(
    real: Path, twin: Path, module: ModuleType, calls: Sequence[Call], begin: Callable[[], None]
) -> tuple[list[Verdict], list[Left]]:
    """Those calls on a tree of each one's own, which `begin` grows, and how the two trees differ at the end."""
    library: Library = module.LIBRARY
    whole = [library.begin, *calls]
    found: list[list[object]] = []
    trees: list[dict[str, str]] = []
    for file in (real, twin):
        begin()
        found.append(answers(file, module.__name__, whole))
        trees.append(files_below(SYSFS))
    theirs, ours = trees
    left = [
        Left(path, theirs.get(path, "not there"), ours.get(path, "not there"))
        for path in sorted({*theirs, *ours})
        if theirs.get(path) != ours.get(path)
    ]
    verdicts = [
        Verdict(call, _word(one, other), one, other) for call, one, other in zip(whole, *found, strict=True)
    ]
    return verdicts, left


def files_below(root: Path) -> dict[str, str]:
    """The text of every file."""
    return {
        str(path.relative_to(root)): path.read_text(errors="backslashreplace")
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def answers(library: Path, module: str, calls: Sequence[Call]) -> list[object]:
    """What it answers to each; `CRASHED` for a call that ends the process, None for one that is not there."""
    asked = "".join(
        json.dumps([call.name, [written_argument(each) for each in call.arguments]]) + "\n" for call in calls
    )
    found: dict[int, object] = {}
    first = 0
    while first < len(calls):
        done = subprocess.run(
            [sys.executable, "-m", "real_libraries.asking", str(library), module, str(first)],
            input=asked,
            capture_output=True,
            text=True,
            check=False,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}"},
        )
        found |= dict(json.loads(line) for line in done.stdout.splitlines())
        if done.returncode == 0:
            break
        if done.returncode > 0:
            raise AssertionError(done.stderr)
        first = _next(calls, found, first)
        found[first] = CRASHED
        first += 1
    return [found[at] for at in range(len(calls))]


def _next(calls: Sequence[Call], found: Mapping[int, object], first: int) -> int:
    """The call that ended the process: the first one that was made and not answered."""
    return next(at for at in range(first, len(calls)) if at not in found)


def _word(theirs: object, ours: object) -> str:
    if theirs == CRASHED:
        return BOTH_END if ours == CRASHED else ENDS
    if theirs is None:
        return NOT_EXPORTED
    return EQUAL if theirs == ours else DIFFERENT
