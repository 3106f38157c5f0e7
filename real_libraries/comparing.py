"""The answers of two libraries to the same questions, side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from real_libraries.asking import written_argument
from real_libraries.questions import Call, Library

REPOSITORY: Final = Path(__file__).resolve().parents[1]
CRASHED: Final = "crashed"


class Verdict(NamedTuple):
    call: Call
    word: str
    """`equal`, `different`, `not exported`, `both end the process`, `ends the process`."""
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


def table(verdicts: Sequence[Verdict]) -> Mapping[str, Counter[str]]:
    """By function, how often each word."""
    rows: dict[str, Counter[str]] = {}
    for each in verdicts:
        rows.setdefault(each.call.name, Counter())[each.word] += 1
    return rows


def _word(theirs: object, ours: object) -> str:
    if theirs == CRASHED:
        return "both end the process" if ours == CRASHED else "ends the process"
    if theirs is None:
        return "not exported"
    return "equal" if theirs == ours else "different"
