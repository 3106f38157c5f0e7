"""A bar that cannot be missed says nothing."""

import io
from collections.abc import Sequence

import pytest

from cluster import read_command_line, reason
from cluster_bars import Bar, bar_lines, memory_bars, run_bars, run_lines
from cluster_manifests import SURE_PER_NODE
from cluster_memory import Memory
from cluster_processes import Process, family, read_process
from cluster_progress import Progress
from cluster_runs import Calls, Run
from testbed.errors import BedError


def run(
    rival: str,
    rate: float = 100.0,
    *,
    bound: int = 2000,
    p99_ms: float | None = 5.0,
    writes: float = 2.0,
    faults: int = 0,
) -> Run:
    """A run with these figures."""
    return Run(
        rival=rival,
        pods=2000,
        bound=bound,
        seconds=bound / rate,
        filter=Calls(2000, 1.0, p99_ms),
        bind=Calls(2000, 4.0, 9.0),
        writes={"POST pods/binding": 1.0, "PATCH pods/status": writes - 1.0},
        peak_rss_mb=120.0,
        cpu_ms_per_pod=3.0,
        faults=faults,
    )


def missed(bars: Sequence[Bar]) -> list[str]:
    return [bar.what for bar in bars if bar.missed]


@pytest.mark.parametrize(
    ("nodes", "nothing", "ours", "held"),
    [
        pytest.param(1_000, 69.0, 76.0, True, id="1.1 times at 1,000 nodes"),
        pytest.param(1_000, 69.0, 75.0, False, id="less at 1,000 nodes"),
        pytest.param(5_000, 23.0, 69.0, True, id="3 times at 5,000 nodes"),
        pytest.param(5_000, 23.0, 68.0, False, id="less at 5,000 nodes"),
        pytest.param(15_000, 9.0, 45.0, True, id="5 times at 15,000 nodes"),
        pytest.param(15_000, 9.0, 44.0, False, id="less at 15,000 nodes"),
        pytest.param(100, 200.0, 10.0, True, id="no bar on small clusters"),
    ],
)
def test_the_rate_is_held_against_the_do_nothing_extender_of_the_same_run(
    nodes: int, nothing: float, ours: float, *, held: bool
) -> None:
    bars = run_bars(nodes, {"nothing": run("nothing", nothing), "tangram": run("tangram", ours)}, {})
    assert missed(bars) == ([] if held else ["rate against a do-nothing extender"])


def test_the_aim_is_shown_and_fails_nothing() -> None:
    bars = run_bars(1_000, {"nominating": run("nominating", 100.0), "tangram": run("tangram", 84.0)}, {})
    assert missed(bars) == []
    assert [bar.verdict for bar in bars if bar.aim] == ["below the aim"]


@pytest.mark.parametrize(
    ("nodes", "p99_ms", "held"),
    [
        pytest.param(1_000, 10.0, True, id="10 ms at 1,000 nodes"),
        pytest.param(1_000, 10.1, False, id="more at 1,000 nodes"),
        pytest.param(5_000, 40.0, True, id="40 ms at 5,000 nodes"),
        pytest.param(5_000, 40.1, False, id="more at 5,000 nodes"),
        pytest.param(5_000, None, False, id="not told"),
        pytest.param(15_000, 500.0, True, id="no bar at 15,000 nodes"),
    ],
)
def test_the_filter_has_a_bar_for_each_size(nodes: int, p99_ms: float | None, *, held: bool) -> None:
    bars = run_bars(nodes, {"tangram": run("tangram", p99_ms=p99_ms)}, {})
    assert missed(bars) == ([] if held else ["filter p99, ms"])


@pytest.mark.parametrize(
    ("burst", "single", "found"),
    [
        pytest.param(run("tangram"), run("tangram", writes=1.0), [], id="all well"),
        pytest.param(
            run("tangram", writes=2.01),
            run("tangram", writes=1.0),
            ["API writes per pod in a burst"],
            id="writes in a burst",
        ),
        pytest.param(
            run("tangram"), run("tangram", writes=1.02), ["API writes per pod alone"], id="writes alone"
        ),
        pytest.param(
            run("tangram", faults=1),
            run("tangram", writes=1.0),
            ["pods and cards as they must be"],
            id="a card sold twice",
        ),
        pytest.param(
            run("tangram"),
            run("tangram", writes=1.0, bound=1999),
            ["pods bound, alone, tangram"],
            id="a pod that was not bound",
        ),
    ],
)
def test_writes_faults_and_pods_left_over_each_miss_a_bar(burst: Run, single: Run, found: list[str]) -> None:
    assert missed(run_bars(1_000, {"tangram": burst}, {"tangram": single})) == found


@pytest.mark.parametrize(
    ("peak", "first", "wrong", "found"),
    [
        pytest.param(300.0, 10.0, 0, [], id="all well"),
        pytest.param(300.1, 10.0, 0, ["peak memory, MB"], id="too heavy"),
        pytest.param(300.0, 10.1, 0, ["first right answer, s"], id="too late"),
        pytest.param(300.0, 10.0, 1, ["wrong answers"], id="wrong first"),
    ],
)
def test_a_cold_start_has_three_bars(peak: float, first: float, wrong: int, found: list[str]) -> None:
    assert missed(memory_bars(Memory(5_000, 50_000, 4.0, first, 3.0, wrong, peak))) == found


def test_tables_put_rivals_side_by_side_and_leave_no_hole_where_one_was_not_run() -> None:
    lines = run_lines({"nothing": run("nothing", 69.0), "tangram": run("tangram", 96.5)}, {})
    assert lines[0].split() == ["nothing", "tangram"]
    assert lines[1].split() == ["burst:", "pods/s", "69.0", "96.5"]
    assert bar_lines([Bar("a", "<= 1", "2.00", ok=False)])[-1].split() == ["a", "<=", "1", "2.00", "MISSED"]


def test_without_words_the_sizes_are_those_of_the_bars() -> None:
    asked, cold = read_command_line([]), read_command_line(["--memory"])
    assert (asked.nodes, asked.pods, asked.bursts, asked.singles) == (1_000, 2_000, True, True)
    assert (cold.nodes, cold.pods, cold.memory) == (5_000, 50_000, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(["--nodes", "0"], "write 1 to 20000 nodes", id="no nodes"),
        pytest.param(["--pods", "-1"], "write 1 to 20000 nodes and 1 to 100000 pods", id="fewer than none"),
        pytest.param(
            ["--nodes", "2", "--pods", str(2 * SURE_PER_NODE + 1)], "are sure to hold 128 pods", id="too full"
        ),
        pytest.param(["--memory", "--only", "nothing"], "leave out --only", id="memory of another"),
        pytest.param(["--burst", "--alone"], "not allowed with", id="neither nor"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_command_line(words)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_an_error_among_tasks_is_told_by_its_own_sentence() -> None:
    assert reason(ExceptionGroup("tasks", [ExceptionGroup("inner", [BedError("no disk")])])) == "no disk"


def test_an_error_of_our_own_is_not_hidden_in_a_sentence() -> None:
    with pytest.raises(ZeroDivisionError):
        reason(ExceptionGroup("tasks", [ZeroDivisionError()]))


def test_progress_is_told_when_a_step_begins_and_then_only_from_time_to_time() -> None:
    now = 0.0
    stream = io.StringIO()
    progress = Progress(stream, lambda: now)
    progress.say("making 4 nodes")
    for done, moment in enumerate((1.0, 4.9, 5.0, 9.0), start=1):
        now = moment
        progress.count("nodes", done, 4)
    assert [line.split("  ")[-1] for line in stream.getvalue().splitlines()] == [
        "making 4 nodes",
        "nodes: 3 of 4",
    ]


STATUS = "Name:\tpython\nPPid:\t{parent}\nNSpid:\t{number}\t{inside}\nVmHWM:\t    2048 kB\nThreads:\t1\n"
STAT = "70 (a (tricky) name) S 60 70 70 0 -1 4194304 900 0 0 0 250 30 0 0 20 0 4 0 100 0 0"


def test_a_process_is_known_by_its_number_inside_the_box() -> None:
    status = STATUS.format(parent=60, number=70, inside=5)
    assert read_process(70, status, STAT) == Process(70, 60, 5, peak_kib=2048, cpu_ticks=280)


def test_the_weight_of_a_program_includes_all_that_descend_from_it_and_nobody_else() -> None:
    first, ours, other = Process(60, 1, 1, 1, 0), Process(70, 60, 5, 10, 0), Process(99, 60, 8, 500, 0)
    child, grandchild = Process(80, 70, 6, 20, 0), Process(90, 80, 7, 40, 0)
    processes = [first, ours, grandchild, child, other]
    assert sum(each.peak_kib for each in family(processes, 5)) == 70


def test_a_program_that_is_gone_is_told() -> None:
    with pytest.raises(BedError, match="no process 5"):
        family([Process(60, 1, 1, 1, 0)], 5)
