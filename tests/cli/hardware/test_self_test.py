"""`tangram doctor --self-test` through the real command line: word for word, and whatever ends it in the middle."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from builders import mtml_twin, mxsml_twin
from builders.commands import run
from builders.hanging import LONG, Fifo, eventually
from builders.places import Place
from builders.self_tests import tree_of

COMMAND = Path(sys.executable).with_name("tangram")
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "hardware.md"
HEARING_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""What a shell puts into the background is deaf to Ctrl-C, and so are all its children; the tests may be there."""


@pytest.fixture
def two_idle(metax_twin: Callable[..., Place]) -> Place:
    return metax_twin(mxsml_twin.c500(2, usage=0))


@pytest.mark.parametrize(
    ("machine", "words", "status"),
    [
        pytest.param("eight_c500", (), 0, id="eight-c500"),
        pytest.param("two_idle", ("--slices",), 0, id="two-idle-c500-with-slices"),
        pytest.param("eight_c500", ("--slices", "--card", "4"), 1, id="a-busy-card"),
        pytest.param("eight_s4000", ("--slices",), 0, id="eight-s4000"),
        pytest.param("mixed", ("--slices",), 1, id="mixed"),
        pytest.param("two_idle", ("--clean",), 0, id="nothing-to-clean"),
    ],
)
def test_the_answer_is_as_the_document_shows(
    machine: str,
    words: tuple[str, ...],
    status: int,
    request: pytest.FixtureRequest,
    snapshot: SnapshotAssertion,
) -> None:
    place: Place = request.getfixturevalue(machine)
    answer = place.run("doctor", "--self-test", *words)
    assert answer.err == ""
    assert answer.out == snapshot
    assert answer.status == status
    if (machine, words) in (("eight_c500", ()), ("two_idle", ("--slices",)), ("eight_s4000", ("--slices",))):
        assert answer.out in DOCUMENT.read_text("utf-8"), "docs/hardware.md shows another answer"


def test_json_and_yaml_say_the_same_to_programs(two_idle: Place) -> None:
    as_json = json.loads(two_idle.run("doctor", "--self-test", "--slices", "-o", "json").out)
    as_yaml = yaml.safe_load(two_idle.run("doctor", "--self-test", "--slices", "-o", "yaml").out)
    assert as_json == as_yaml
    assert as_json["tangram"] == "self-test/v1"
    assert as_json["driver"] == "mxsml"
    assert [card["index"] for card in as_json["cards"]] == [0, 1]
    assert {row["result"] for row in as_json["checks"]} == {"ok"}
    restored = next(row for row in as_json["checks"] if row["check"] == "restored")
    assert restored["cards"] == [as_json["cards"][0]["uuid"]]


@pytest.mark.parametrize("words", [(), ("--slices",), ("--clean",)])
def test_a_machine_without_cards_has_status_3(
    simulated: Callable[[str], Place], words: tuple[str, ...]
) -> None:
    place = simulated("{tangram: cards/v1, cards: []}")
    answer = place.run("doctor", "--self-test", *words)
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.count("\n") == 1
    told = place.run("doctor", "--self-test", *words, "-o", "json")
    assert json.loads(told.out)["nothing"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        pytest.param(("--slices",), "--self-test", id="slices-alone"),
        pytest.param(("--clean",), "--self-test", id="clean-alone"),
        pytest.param(("--card", "1"), "--self-test", id="card-alone"),
        pytest.param(("--self-test", "--card", "1"), "--slices", id="card-without-slices"),
        pytest.param(("--self-test", "--slices", "--clean"), "--clean", id="slices-and-clean"),
        pytest.param(("--self-test", "--slices", "--card", " "), "--card is empty", id="empty-card"),
        pytest.param(("--self-test", "--cluster"), "--cluster", id="cluster"),
        pytest.param(("--self-test", "--driver", "nvml"), "a driver is", id="driver"),
        pytest.param(("--self-test", "--timeout", "0"), "between 50ms and 1h", id="timeout"),
        pytest.param(("--self-test", "--root", "/no/such"), "is no folder", id="root"),
        pytest.param(("--self-test", "-o", "xml"), "table, json or yaml", id="format"),
    ],
)
def test_words_that_make_no_sense_together_are_refused(words: tuple[str, ...], named: str) -> None:
    answer = run("doctor", *words)
    assert (answer.status, answer.out) == (2, "")
    assert named in answer.err
    assert answer.err.count("\n") == 1


def test_a_card_that_is_not_here_is_refused_with_those_that_are(two_idle: Place) -> None:
    answer = two_idle.run("doctor", "--self-test", "--slices", "--card", "9")
    assert (answer.status, answer.out) == (2, "")
    assert "0000:03:00.0" in answer.err


class Started:
    """The command in a process of its own, at work on a card whose library hangs where it was told to."""

    def __init__(self, place: Place, fifo: Fifo) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", HEARING_CTRL_C, COMMAND, "doctor", "--self-test", "--slices",
                "--driver", place.driver, "--root", str(place.root), "--timeout", f"{2 * LONG:g}s",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert eventually(fifo.hangs)
        (self.child,) = map(
            int, Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        )

    def end(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=2 * LONG)
        return self.process.returncode, err


def has_ended(pid: int) -> bool:
    """Its parent is dead too. Who inherits it then may never wait for it, as the first process of a container."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@contextmanager
def started(place: Place, fifo: Fifo) -> Generator[Started]:
    made = Started(place, fifo)
    try:
        yield made
    finally:
        for pid in (made.process.pid, made.child):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        made.process.communicate()


HANGING = [
    pytest.param("mxSmlSetSgpuAlias", 0, id="a-slice-without-a-name"),
    pytest.param("mxSmlSetSgpuVramQuota", 0, id="one-slice"),
    pytest.param("mxSmlCreateSgpu", 9, id="nine-slices"),
    pytest.param("mxSmlSetDeviceSchedClass", 1, id="another-policy"),
    pytest.param("mxSmlRemoveSgpu", 3, id="some-removed"),
]


class Hung:
    def __init__(self, make: Callable[..., Place], folder: Path, call: str, after: int) -> None:
        self.fifo = Fifo(folder / "never")
        machine = mxsml_twin.c500(1, usage=0, policy=1)
        self._machine = machine
        # Others' calls do not count: the rule is there when the first slice is made.
        self.place = make(machine.rule("block", call=call, fifo=str(self.fifo.path), after=after, times=1))
        self.sysfs = self.place.root / "sys"
        self.before = tree_of(self.sysfs)

    def heal(self) -> None:
        """The card answers again."""
        (self.place.root / "rules").write_text("")

    @property
    def changed(self) -> bool:
        return tree_of(self.sysfs) != self.before


@pytest.fixture
def hung(metax_twin: Callable[..., Place], tmp_path: Path, request: pytest.FixtureRequest) -> Hung:
    return Hung(metax_twin, tmp_path, *request.param)


def cases() -> list[object]:
    return [pytest.param(param.values, id=param.id) for param in HANGING]


@pytest.mark.parametrize("hung", cases(), indirect=True)
def test_ctrl_c_puts_the_card_back(hung: Hung) -> None:
    with started(hung.place, hung.fifo) as running:
        running.process.send_signal(signal.SIGINT)
        hung.fifo.release()
        status, err = running.end()
    assert status == 130
    assert "as it was" in err
    assert "Traceback" not in err
    assert not hung.changed


@pytest.mark.parametrize("hung", cases(), indirect=True)
def test_the_process_that_asks_cleans_up_when_the_other_is_killed(hung: Hung) -> None:
    with started(hung.place, hung.fifo) as running:
        os.kill(running.process.pid, signal.SIGKILL)
        hung.fifo.release()
        assert eventually(lambda: has_ended(running.child))
        assert not hung.changed


@pytest.mark.parametrize("hung", cases(), indirect=True)
def test_a_process_that_is_killed_is_cleaned_up_after(hung: Hung) -> None:
    with started(hung.place, hung.fifo) as running:
        hung.heal()
        os.kill(running.child, signal.SIGKILL)
        status, err = running.end()
    assert (status, err) == (1, "")
    assert not hung.changed


@pytest.mark.parametrize("how", [("--clean",), ("--slices",)], ids=["clean", "slices"])
@pytest.mark.parametrize("hung", cases(), indirect=True)
def test_what_both_leave_when_they_are_killed_goes_with_the_next_run(
    hung: Hung, how: tuple[str, ...]
) -> None:
    with started(hung.place, hung.fifo) as running:
        # The one that asks first: it would clean up.
        os.kill(running.process.pid, signal.SIGSTOP)
        os.kill(running.child, signal.SIGKILL)
        os.kill(running.process.pid, signal.SIGKILL)
        assert eventually(lambda: has_ended(running.child))
    hung.heal()
    assert hung.changed
    answer = hung.place.run("doctor", "--self-test", *how)
    assert answer.err == ""
    assert "clean" in answer.out
    assert not hung.changed


def test_the_real_process_reports_a_library_that_ends_it(
    metax_twin: Callable[..., Place], tmp_path: Path
) -> None:
    """A library that is none of ours: it ends whoever loads it."""
    library = tmp_path / "libmxsml.so"
    source = tmp_path / "end.c"
    source.write_text(
        "#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { abort(); }\n"
    )
    from builders.system_programs import system_program  # noqa: PLC0415 - of this test alone

    subprocess.run([system_program("gcc"), "-shared", "-fPIC", "-o", library, source], check=True)
    place = metax_twin(mxsml_twin.c500(1))
    answer = run("doctor", "--self-test", "--driver", f"mxsml:{library}", "--root", str(place.root))
    assert answer.status == 1
    assert "SIGABRT" in answer.out


def test_moore_threads_library_is_read_as_well(mthreads_twin: Callable[..., Place]) -> None:
    answer = mthreads_twin(mtml_twin.eight_s4000()).run("doctor", "--self-test", "-o", "json")
    assert answer.status == 0
    assert json.loads(answer.out)["driver"] == "mtml"


def test_the_help_teaches_the_self_test() -> None:
    answer = run("doctor", "--help")
    for words in ("--self-test", "--slices", "--card", "--clean"):
        assert words in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80
