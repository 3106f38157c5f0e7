"""Formats for programs, figures that are missing, and input that makes no sense."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from builders import mtml_twin, mxsml_twin
from builders.commands import run
from builders.places import Place

PLAIN = "{tangram: cards/v1, cards: [{product: C500, count: 2, without: [temperature, power, memory, processes]}]}"


def test_a_missing_figure_is_null_for_programs_and_na_for_people(simulated: Callable[[str], Place]) -> None:
    place = simulated(PLAIN)
    card = json.loads(place.run("devices", "-o", "json").out)["cards"][0]
    assert card["temperature_celsius"] is None
    assert card["power_watts"] is None
    assert card["memory_used"] is None
    assert card["processes"] is None
    row = place.run("devices").out.splitlines()[1]
    assert row.count("N/A") >= 3
    assert " 0 C" not in row


@pytest.mark.parametrize("command", ["devices", "topology", "doctor"])
def test_json_and_yaml_say_the_same(mixed: Place, command: str) -> None:
    as_json = json.loads(mixed.run(command, "-o", "json").out)
    as_yaml = yaml.safe_load(mixed.run(command, "-o", "yaml").out)
    assert as_json == as_yaml
    assert as_json["tangram"] == f"{command}/v1"


def test_equal_machines_give_equal_bytes(mixed: Place) -> None:
    for command in ("topology", "doctor"):
        assert mixed.run(command, "-o", "json") == mixed.run(command, "-o", "json")


def test_the_topology_for_programs_has_every_pair_group_and_size(eight_c500: Place) -> None:
    report = json.loads(eight_c500.run("topology", "-o", "json").out)
    assert [row[at] for at, row in enumerate(report["matrix"])] == ["X"] * 8
    assert [group["cards"] for group in report["groups"]] == [
        [f"GPU{n}" for n in range(4)],
        [f"GPU{n}" for n in range(4, 8)],
    ]
    sizes = {size["cards"]: (size["score"], size["loss"]) for size in report["requests"][0]["sizes"]}
    assert sizes[4] == (660, 160)
    assert sizes[8][1] == 0


def finding_of(place: Place, check: str) -> dict[str, str]:
    found = json.loads(place.run("doctor", "-o", "json").out)["findings"]
    return next(finding for finding in found if finding["check"] == check)


def test_doctor_names_the_functions_an_older_library_lacks(metax_twin: Callable[..., Place]) -> None:
    found = finding_of(metax_twin(mxsml_twin.c500(2), left_out=("mxSmlGetClocks",)), "metax-library")
    assert found["outcome"] == "warn"
    assert "mxSmlGetClocks" in found["why"]


def test_doctor_does_not_complain_of_a_function_whose_older_form_is_there(
    metax_twin: Callable[..., Place],
) -> None:
    place = metax_twin(mxsml_twin.c500(2), left_out=mxsml_twin.NEWER_THAN_2_2_8)
    assert finding_of(place, "metax-library")["outcome"] == "ok"


def test_doctor_sees_through_an_s4000_behind_a_wrong_iommu(mthreads_twin: Callable[..., Place]) -> None:
    place = mthreads_twin(mtml_twin.eight_s4000().changing(3, memory=32 << 30))
    answer = place.run("doctor")
    assert answer.status == 1
    assert "FAIL  mthreads-iommu: S4000 3 shows 32768 MiB" in answer.out
    assert "iommu=pt" in answer.out


def test_doctor_fails_a_driver_that_is_too_old(metax_twin: Callable[..., Place]) -> None:
    answer = metax_twin(mxsml_twin.c500(2, versions=("2.31.0", "1.33.5.0"))).run("doctor")
    assert answer.status == 1
    assert "FAIL  metax-driver-version: the MetaX driver is 2.31.0" in answer.out


def test_warnings_alone_do_not_fail_the_doctor(eight_s4000: Place) -> None:
    answer = eight_s4000.run("doctor")
    assert "WARN" in answer.out
    assert answer.status == 0


def test_cards_on_the_bus_that_nothing_drives_are_a_failure_and_not_nothing(
    eight_c500: Place, tmp_path: Path
) -> None:
    """The node has cards and no library: there is much to check."""
    answer = run("doctor", "--driver", f"mxsml:{tmp_path}/none.so", "--root", str(eight_c500.root))
    assert answer.status == 1
    assert "FAIL  cards:" in answer.out


def test_a_card_that_vanishes_is_shown_with_its_reason(simulated: Callable[[str], Place]) -> None:
    place = simulated(
        "{tangram: cards/v1, cards: [{product: C500, count: 2}], faults: [{card: 1, fault: vanish}]}"
    )
    answer = place.run("devices")
    assert "Traceback" not in answer.out + answer.err
    assert answer.status in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(
            ("devices", "--driver", "nvml"), "a driver is auto, simulated:FILE", id="unknown-driver"
        ),
        pytest.param(("devices", "--driver", ""), "a driver is auto", id="empty-driver"),
        pytest.param(
            ("devices", "--driver", "simulated"), "simulated:FILE or simulated:unix:SOCKET", id="no-file"
        ),
        pytest.param(("devices", "--driver", "mxsml:"), "write mxsml[:LIBRARY]", id="no-library"),
        pytest.param(("devices", "--driver", "simulated:/no/such"), "cannot be read", id="missing-file"),
        pytest.param(("devices", "-o", "xml"), "table, json or yaml", id="format"),
        pytest.param(("devices", "--timeout", "0"), "between 50ms and 1h", id="no-time"),
        pytest.param(("devices", "--timeout", "soon"), "a duration is", id="no-duration"),
        pytest.param(("devices", "--timeout", "1e9"), "a duration is", id="float"),
        pytest.param(("devices", "--watch", "2d"), "between 50ms and 1h", id="too-slow"),
        pytest.param(("top", "--interval", "-1s"), "legal", id="negative"),
        pytest.param(("doctor", "--root", "/no/such"), "is no folder", id="no-root"),
        pytest.param(("doctor", "--root", "a\0b"), "is no folder", id="null-in-root"),
        pytest.param(("topology", "--svg"), "--svg", id="no-picture"),
    ],
)
def test_input_that_makes_no_sense_is_refused_in_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    answer = run(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("tangram: ")
    assert len(answer.err.splitlines()) == 1
    assert words in answer.err


def test_a_picture_that_cannot_be_written_is_refused(mixed: Place, tmp_path: Path) -> None:
    answer = mixed.run("topology", "--svg", str(tmp_path / "no" / "folder.svg"))
    assert answer.status == 2
    assert "cannot be written (No such file or directory)" in answer.err


def test_more_cards_than_a_table_holds_are_shown_without_one(simulated: Callable[[str], Place]) -> None:
    place = simulated("{tangram: cards/v1, cards: [{product: C500, count: 17, links: islands-of-four}]}")
    answer = place.run("topology")
    assert answer.status == 0
    assert "17 cards are more than the 16 whose best sets are worked out" in answer.out


@pytest.mark.parametrize("command", [("devices",), ("topology",), ("top", "--once"), ("doctor",)])
def test_a_driver_that_knows_no_card_gives_status_3(
    simulated: Callable[[str], Place], command: tuple[str, ...]
) -> None:
    answer = simulated("{tangram: cards/v1, cards: []}").run(*command)
    assert answer.status == 3
    assert "simulated answers and knows no card" in answer.out + answer.err


def test_top_stays_within_80_columns(mixed: Place, eight_c500: Place) -> None:
    for place in (mixed, eight_c500):
        lines = place.run("top", "--once").out.splitlines()
        assert max(len(line) for line in lines) <= 80


def test_a_terminal_without_block_characters_gets_plain_ones(mixed: Place) -> None:
    answer = run("top", "--once", "--driver", mixed.driver, "--timeout", "60s", encoding="ascii")
    assert answer.status == 0
    assert "######....  60%" in answer.out
    assert answer.out.isascii()


@pytest.mark.parametrize("command", ["devices", "topology", "top", "doctor"])
def test_every_command_explains_itself_by_example(command: str) -> None:
    answer = run(command, "--help")
    assert answer.status == 0
    assert f"tangram {command}" in answer.out
    assert "Exit status:" in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80
