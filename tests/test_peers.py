"""What `make peers` says to a person who named no program, or one that is none, and the table that it ends with.

What it does with one needs a program of another project, which no test here has.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from peers import __main__ as main
from peers.programs import HAMI, PEERS, expectation, named_program
from peers.table import Row, Stories, peer_of, story_of, table
from testbed.errors import BedError

ROOT = Path(__file__).resolve().parents[1]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        # Where CI is set, stories that are left out are a failure.
        env={key: value for key, value in os.environ.items() if not key.startswith("TANGRAM_PEER_")}
        | {"CI": ""},
    )


@pytest.mark.parametrize(
    ("words", "first"),
    [
        pytest.param((), "No scheduler was named.", id="none"),
        pytest.param(("--hami", ""), "No scheduler was named.", id="an empty name, as of an unset variable"),
        pytest.param(("--hami", "/nowhere/hami"), "HAMI is /nowhere/hami, which is no program", id="no file"),
        pytest.param(
            ("--koord", "/etc/passwd"), "KOORD is /etc/passwd, which is no program", id="no program"
        ),
        pytest.param(
            ("--hami", "/bin/true", "--examples", "/nowhere"),
            "EXAMPLES is /nowhere, which has no folder metax.",
            id="no examples",
        ),
    ],
)
def test_without_a_program_it_says_which_and_which_versions_and_ends_with_status_2(
    words: tuple[str, ...], first: str
) -> None:
    done = run("peers", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(first)
    for peer in PEERS:
        assert f"{peer.option}: {peer.name}'s scheduler {peer.version}" in done.stderr
        assert peer.source in done.stderr


def test_the_version_is_what_the_program_says(tmp_path: Path) -> None:
    program = tmp_path / "hami"
    for said, found in (("Version: v2.10.3-abc", "v2.10.3-abc"), ("nothing", "of an unknown version")):
        program.write_text(f"#!/bin/sh\necho {said}\n")
        program.chmod(0o755)
        assert named_program(HAMI, program) == found
    program.write_text("no program")
    with pytest.raises(BedError, match="cannot be run"):
        named_program(HAMI, program)


def test_a_program_that_prints_no_text_has_no_version(tmp_path: Path) -> None:
    program = tmp_path / "hami"
    program.write_text("#!/bin/sh\nprintf '\\377\\376'\n")
    program.chmod(0o755)
    assert named_program(HAMI, program) == "of an unknown version"


def test_a_program_in_this_folder_is_not_looked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "hami-scheduler"
    program.write_text("#!/bin/sh\necho v2.10.0\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert named_program(HAMI, Path("hami-scheduler")) == "v2.10.0"


def test_nothing_is_built_before_every_name_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def ready(_built: object) -> str:
        return "Ready."

    def play(_words: list[str], _plugins: list[object]) -> int:
        done.append("played")
        return 0

    monkeypatch.setattr(main, "build", lambda: done.append("built"))
    monkeypatch.setattr(main, "readiness", ready)
    monkeypatch.setattr(pytest, "main", play)
    monkeypatch.setenv(HAMI.variable, "")
    program = tmp_path / "a folder with blanks" / "hami"
    program.parent.mkdir()
    with pytest.raises(BedError, match="which is no program"):
        main.run(hami=program)
    program.write_text("#!/bin/sh\necho v2.10.0\n")
    program.chmod(0o755)
    with pytest.raises(BedError, match="has no folder metax"):
        main.run(hami=program, examples=tmp_path)
    assert done == []
    assert main.run(hami=program) == 0
    assert done == ["built", "played"]


def test_make_leaves_the_building_to_the_program_and_keeps_blanks_in_a_name() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\npeers: setup")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line.split()[:3] for line in recipe] == [["@$(BIN)/python", "-m", "peers"]]
    assert '--hami "$(HAMI)"' in recipe[0]


def test_collected_without_a_program_every_story_is_left_out() -> None:
    done = run("pytest", "-q", "-p", "no:cacheprovider", "peers")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "passed" not in done.stdout
    assert "failed" not in done.stdout
    assert "skipped" in done.stdout


def report(nodeid: str, when: str, outcome: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", 0, ""), {}, outcome, None, when, duration=seconds)  # pyright: ignore[reportArgumentType]


def test_the_table_has_a_line_for_each_story_with_its_peer_and_how_it_ended() -> None:
    stories = Stories()
    for nodeid, outcomes in (
        ("peers/test_hami.py::test_whole_cards[2]", ("passed", "passed", "passed")),
        ("peers/test_hami.py::test_slices", ("passed", "failed", "passed")),
        ("peers/test_koordinator.py::test_beside", ("passed", "passed", "failed")),
        ("peers/test_koordinator.py::test_under", ("failed", "", "passed")),
    ):
        for when, outcome in zip(("setup", "call", "teardown"), outcomes, strict=True):
            if outcome:
                stories.pytest_runtest_logreport(report(nodeid, when, outcome, 1.5))
    rows = [*stories.rows.values()]
    assert rows[0] == Row("whole cards (2)", "HAMi", "passed", 4.5)
    assert [(row.peer, row.outcome) for row in rows[1:]] == [
        ("HAMi", "failed"),
        ("Koordinator", "failed"),
        ("Koordinator", "failed"),
    ]
    lines = table(rows).splitlines()
    assert lines[0].split() == ["story", "peer", "result", "seconds"]
    assert len({len(line) for line in lines}) == 1
    assert (story_of("x::test_a_b"), peer_of("peers/test_hami_migration.py::x")) == ("a b", "HAMi")
    assert expectation().startswith("make peers HAMI=")
