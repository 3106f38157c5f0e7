"""`devices`, `topology`, `top` and `doctor` over every kind of machine, word for word."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.mxsml_twin import c500
from builders.places import Place

COMMAND = Path(sys.executable).with_name("tangram")
COMMANDS = {
    "devices": ("devices",),
    "topology": ("topology",),
    "top": ("top", "--once"),
    "doctor": ("doctor",),
}
REAL_CARDS = any(Path(node).exists() for node in ("/dev/mxcd", "/dev/mxgvm", "/dev/mtgpu.0"))
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "hardware.md"
PICTURES = DOCUMENT.parent / "pictures"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("machine", ["mixed", "eight_c500", "eight_s4000"])
def test_every_command_answers_on_every_machine_as_the_document_shows(
    machine: str, command: str, request: pytest.FixtureRequest, snapshot: SnapshotAssertion
) -> None:
    place: Place = request.getfixturevalue(machine)
    answer = place.run(*COMMANDS[command])
    assert answer.err == ""
    assert answer.status == (1 if (machine, command) == ("mixed", "doctor") else 0)
    assert answer.out == snapshot
    assert answer.out in DOCUMENT.read_text("utf-8"), "docs/hardware.md shows another answer"


@pytest.mark.parametrize("machine", ["mixed", "eight_c500", "eight_s4000"])
def test_the_picture_of_a_machine_is_the_one_in_the_document(
    machine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(machine)
    file = tmp_path / "picture.svg"
    assert place.run("topology", "--svg", str(file)).status == 0
    assert file.read_text("utf-8") == (PICTURES / f"{machine.replace('_', '-')}.svg").read_text("utf-8")
    assert place.run("topology", "--svg", "-").out == file.read_text("utf-8")


@pytest.mark.skipif(REAL_CARDS, reason="this machine has cards")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_machine_with_nothing_is_told_so_in_one_line_and_status_3(command: str, tmp_path: Path) -> None:
    """In a process of its own: a library loaded by another test would be found again by its name."""
    answer = subprocess.run(
        [COMMAND, *COMMANDS[command], "--root", str(tmp_path), "--timeout", "60s"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={"PATH": str(tmp_path)},
        timeout=120,
    )
    assert answer.returncode == 3
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1
    for looked_for in ("libmxsml.so", "mx-smi", "libmtml.so.2", "mthreads-gmi", "/sys/bus/pci"):
        assert looked_for in answer.stderr
    sentence = answer.stderr.removeprefix("tangram: ").removeprefix("nothing to check: ")
    assert sentence in DOCUMENT.read_text("utf-8")


def test_processes_that_have_no_number_here_are_not_told_as_none(metax_twin: Callable[..., Place]) -> None:
    place: Place = metax_twin(c500(2).with_process(4242, 1, nspid=0))
    (first, second) = json.loads(place.run("devices", "-o", "json").out)["cards"]
    assert (first["processes"], second["processes"]) == ([], None)
    said = place.run("devices").out
    assert "the processes on card 1 cannot be listed" in said
    assert "no process uses a card" not in said
