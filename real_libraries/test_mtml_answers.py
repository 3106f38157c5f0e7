"""Function by function, the twin answers as Moore Threads' library does."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from builders.mtml_twin import Machine
from real_libraries import mtml_calls
from real_libraries.comparing import EQUAL, NOT_EXPORTED, REPOSITORY, Verdict, compared
from real_libraries.conftest import TABLES, Show
from real_libraries.mtml_calls import DRIVER_FAILURE, UNTOLD
from real_libraries.mtml_scenes import SCENES
from real_libraries.tables import note, told

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


def is_known(verdict: Verdict) -> bool:
    """Whether the library answers that the driver failed, to a question that the stand-in cannot answer."""
    if verdict.call.name not in UNTOLD or not isinstance(verdict.theirs, dict):
        return False
    return cast("dict[str, object]", verdict.theirs)["code"] == DRIVER_FAILURE


@pytest.mark.parametrize("scene", SCENES)
def test_both_answer_the_same(
    scene: str, show: Show, real_mtml: Path, twin_mtml: Path, request: pytest.FixtureRequest
) -> None:
    show(SCENES[scene])
    show(named_as(real_mtml, SCENES[scene]))
    verdicts = compared(real_mtml, twin_mtml, mtml_calls)
    note(request.config.stash[TABLES].setdefault("mtml", {}), verdicts, UNTOLD)
    strange = [each for each in verdicts if each.word not in (EQUAL, NOT_EXPORTED)]
    assert [told(each) for each in strange if not is_known(each)] == []
