"""What a person may ask of the test bed, and what they are told when it cannot be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import people, places
from testbed.errors import BedError
from testbed.options import Options

ROOT = Path(__file__).resolve().parents[2]


def bed(*words: str, state: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TANGRAM_TESTBED_STATE": str(state), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "testbed", *words],
        capture_output=True,
        check=False,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=120,
    )


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root of its own; short, as it must be, so not below pytest's long folder names."""
    folder = Path(tmp_path_factory.getbasetemp().parent.parent) / f"bed-{os.getpid()}"
    monkeypatch.setenv(places.VARIABLE, str(folder))
    return folder


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        pytest.param("relative", "absolute path", id="relative"),
        pytest.param("/run/bed", "outside /run", id="hidden inside the box"),
        pytest.param("/" + "x" * 60, "at most 40", id="too long for the kubelet's sockets"),
    ],
)
def test_a_root_that_cannot_work_is_refused_with_the_reason(
    root: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(places.VARIABLE, root)
    with pytest.raises(BedError, match=reason):
        places.state_root()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"nodes": 4}, "0 to 3 real nodes, not 4"), ({"kwok_nodes": -1}, "0 to 20000 kwok nodes, not -1")],
)
def test_a_cluster_that_cannot_be_is_refused(fields: dict[str, int], reason: str) -> None:
    with pytest.raises(BedError, match=reason):
        Options(**fields)  # pyright: ignore[reportArgumentType] - the fields of this table are all whole numbers


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[1]", "holds list, not one JSON object")],
)
def test_a_configuration_file_that_is_no_object_is_refused(
    content: str | None, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "fields.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(BedError, match=reason):
        people.read_fields(file)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["up", "--nodes", "many"], 2, "Run 'testbed up --help' to see what is legal."),
        (["stat"], 2, "Unknown command"),
        (["up", "--nodes", "9"], 1, "a cluster has 0 to 3 real nodes, not 9"),
        (["down"], 1, "no cluster runs: start one with 'testbed up'"),
        (["logs", "etcd"], 1, "no cluster runs: start one with 'testbed up'"),
        (["logs", "--tail", "-1"], 1, "--tail -1 is not a number of lines"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",  # pyright: ignore[reportUnknownArgumentType] - pytest gives any value
)
def test_a_wrong_command_is_answered_in_one_sentence(
    words: list[str], status: int, sentence: str, state: Path
) -> None:
    answer = bed(*words, state=state)
    assert answer.returncode == status
    assert answer.stdout == ""
    assert sentence in answer.stderr
    assert answer.stderr.startswith("testbed: ")
    assert len(answer.stderr.splitlines()) == 1


def test_help_teaches_by_example(state: Path) -> None:
    answer = bed("--help", state=state)
    assert answer.returncode == 0
    assert "testbed up --nodes 3 --kwok 500" in answer.stdout
