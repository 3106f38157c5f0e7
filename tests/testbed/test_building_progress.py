"""What a person sees while it builds."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.parts import Component, Part
from testbed.progress import Estimate, Progress, duration


def component(name: str, typical_seconds: float) -> Component:
    part = Part(name, typical_seconds=typical_seconds)
    return Component(part, Path(name), "v1.0.0", "1.26", (), {}, "")


THREE = (component("small", 60), component("large", 300), component("last", 60))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_first_estimate_is_the_sum_of_the_table() -> None:
    assert Estimate(THREE, cores=2).whole() == 420
    assert Estimate(THREE, cores=4).whole() == 210
    assert Estimate(THREE, cores=1).whole() == 840


def test_many_cores_do_not_promise_wonders() -> None:
    assert Estimate(THREE, cores=64).whole() == 420 * 0.4


def test_a_slow_machine_lengthens_what_is_left_and_a_fast_one_shortens_it() -> None:
    slow, fast = Estimate(THREE, cores=2), Estimate(THREE, cores=2)
    slow.done("small", 180)
    fast.done("small", 6)
    assert slow.left("large", 0) > 360 > fast.left("large", 0)


def test_time_that_passes_shortens_what_is_left_until_a_component_is_overdue() -> None:
    estimate = Estimate(THREE[1:], cores=2)
    assert [estimate.left("large", elapsed) for elapsed in (0, 100, 300)] == [360, 260, 60]
    assert estimate.left("large", 900) > 60, "who is late once is late again"


def test_without_a_terminal_there_is_one_line_for_each_start_and_each_end() -> None:
    output, clock = io.StringIO(), Clock()
    progress = Progress(output, THREE[:2], clock, cores=2)
    progress.announce("/cache", total=2)
    for each, seconds in zip(THREE[:2], (60, 310), strict=True):
        progress.start(each)
        progress.tick(each)
        clock.now += seconds
        progress.done(each)
    progress.finish()
    assert output.getvalue().splitlines() == [
        (
            "Building all components of the test bed into /cache: about 6 min; "
            "a first build takes about this long, the next call less than a second."
        ),
        "Building small 1.0.0 (1 of 2).",
        "Built small 1.0.0 (1 of 2) in 60 s; about 5 min left.",
        "Building large 1.0.0 (2 of 2).",
        "Built large 1.0.0 (2 of 2) in 5 min 10 s.",
        "The test bed is built, in 6 min 10 s.",
    ]


def test_a_terminal_gets_a_line_that_rewrites_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    output, clock = Terminal(), Clock()
    progress = Progress(output, THREE, clock, cores=2)
    progress.start(THREE[0])
    clock.now = 20
    progress.tick(THREE[0])
    assert output.getvalue().split("\r\x1b[K")[1:] == [
        "Building small 1.0.0 (1 of 3): 0 s (about 7 min left in all)",
        "Building small 1.0.0 (1 of 3): 20 s (about 7 min left in all)",
    ]
    progress.stop()
    assert output.getvalue().endswith("\r\x1b[K"), "an error message starts on a clean line"


def test_a_narrow_terminal_gets_no_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    output = Terminal()
    Progress(output, THREE, Clock(), cores=2).start(THREE[0])
    assert output.getvalue() == "\r\x1b[KBuilding small 1.0.0 (1 of 3)"[: 4 + 29]


def test_building_some_says_how_many_and_promises_nothing_about_a_first_build() -> None:
    output = io.StringIO()
    Progress(output, THREE[:1], cores=2).announce("/cache", total=3)
    assert output.getvalue() == "Building 1 of 3 components of the test bed into /cache: about 60 s.\n"


@pytest.mark.parametrize(
    ("seconds", "exact", "coarse"),
    [(0.2, "0 s", "10 s"), (44, "44 s", "40 s"), (89, "89 s", "90 s"), (91, "1 min 31 s", "2 min")],
)
def test_durations_read_like_a_person_says_them(seconds: float, exact: str, coarse: str) -> None:
    assert duration(seconds) == exact
    assert duration(seconds, coarse=True) == coarse
