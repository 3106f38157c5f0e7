"""Who tells koordlet of a node's cards, as the doctor of a machine sees it."""

import json
from pathlib import Path

import pytest

from tangram.drivers.doctor.device_infos import device_infos
from tangram.drivers.doctor.findings import Outcome
from tangram.drivers.doctor.machine import Machine
from tangram.wire.koordinator.device_info import DIRECTORY


def cards(*uuids: str) -> str:
    return json.dumps([{"uuid": uuid, "minor": str(number)} for number, uuid in enumerate(uuids)])


def said(root: Path, files: dict[str, str]) -> list[tuple[Outcome, str]]:
    folder = root / DIRECTORY.lstrip("/")
    folder.mkdir(parents=True)
    (folder / ".tangram").mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    found = list(device_infos(Machine(root)))
    assert all(each.todo for each in found if each.outcome is Outcome.FAIL)
    return [(each.outcome, each.why) for each in found]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, "nobody tells koordlet of cards", id="empty"),
        pytest.param({"tangram": cards("a", "b")}, "koordlet is told of 2 cards by tangram", id="ours"),
        pytest.param(
            {"tangram": cards("a"), "ic-device": cards("b")},
            "koordlet is told of 2 cards by ic-device, tangram",
            id="each-its-own",
        ),
    ],
)
def test_one_teller_for_each_card_is_well(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert said(tmp_path, files) == [(Outcome.OK, expected)]


def test_a_card_in_two_files_is_counted_twice(tmp_path: Path) -> None:
    files = {"ic-device": cards("a", "b", "c"), "tangram": cards("b", "c", "d")}
    assert said(tmp_path, files) == [
        (
            Outcome.FAIL,
            f"ic-device and tangram in {DIRECTORY} both list b and 1 more, so koordlet counts it twice",
        )
    ]


@pytest.mark.parametrize("text", ["", "{}", "[", '[{"uuid": "a"}]'])
def test_a_file_that_koordlet_stumbles_over_is_named(tmp_path: Path, text: str) -> None:
    ((outcome, why),) = said(tmp_path, {"ic-device": text, "tangram": cards("a")})
    assert outcome is Outcome.FAIL
    assert f"{DIRECTORY}/ic-device" in why


def test_a_machine_without_koordlet_is_told_nothing(tmp_path: Path) -> None:
    assert list(device_infos(Machine(tmp_path))) == []
