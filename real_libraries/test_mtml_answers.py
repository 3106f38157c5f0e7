"""Function by function, the twin answers as Moore Threads' library does."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.mtml_twin import Machine
from real_libraries import mtml_calls
from real_libraries.comparing import REPOSITORY, Verdict, compared, table
from real_libraries.conftest import TABLES, Show
from real_libraries.mtml_calls import UNTOLD
from real_libraries.mtml_scenes import SCENES

UUIDS = """
import json, sys
from real_libraries.asking import Asked
from real_libraries.mtml_calls import LIBRARY, TEXT
from real_libraries.questions import Call, Handle, Made, Out
asked = Asked(sys.argv[1], LIBRARY)
asked.answer(LIBRARY.begin)
found = []
for at in range(int(sys.argv[2])):
    asked.answer(Call("LibraryInitDeviceByIndex", (Handle("library"), at, Made(str(at)))))
    found.append(asked.answer(Call("DeviceGetUUID", (Handle(str(at)), Out("text", TEXT), TEXT)))["out"][0])
print(json.dumps(found))
"""


def named_as(library: Path, machine: Machine) -> Machine:
    """The machine with the UUIDs that the library makes of its chips' numbers."""
    done = subprocess.run(
        [sys.executable, "-c", UUIDS, str(library), str(len(machine.cards))],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    cards = (
        replace(card, uuid=uuid) for card, uuid in zip(machine.cards, json.loads(done.stdout), strict=True)
    )
    return replace(machine, cards=tuple(cards))


def said(verdict: Verdict) -> str:
    return f"{verdict.call.label}: {verdict.theirs} and not {verdict.ours}"


@pytest.mark.parametrize("scene", SCENES)
def test_both_answer_the_same(
    scene: str, show: Show, real_mtml: Path, twin_mtml: Path, request: pytest.FixtureRequest
) -> None:
    show(SCENES[scene])
    show(named_as(real_mtml, SCENES[scene]))
    verdicts = compared(real_mtml, twin_mtml, mtml_calls)
    rows = request.config.stash[TABLES].setdefault("mtml", {})
    for name, words in table(verdicts).items():
        rows[name] = rows.get(name, type(words)()) + words
    strange = [each for each in verdicts if each.word in ("different", "ends the process")]
    wrong = [
        said(each) for each in strange if each.call.name not in UNTOLD or each.word == "ends the process"
    ]
    if wrong:
        pytest.fail("\n".join(wrong))
