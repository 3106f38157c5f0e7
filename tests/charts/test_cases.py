"""Every option of every chart is changed by a case, does something, and what it does is kept."""

from typing import Any

import pytest
import yaml

from builders.charts.cases import CHARTS, DEFAULT, OTHER_SPELLINGS, Case, cases, leaves
from builders.charts.goldens import CHARTS as FOLDER
from builders.charts.goldens import GOLDENS, changes_of, golden_file, told_in, told_of

EVERY = [case for chart in CHARTS for case in cases(chart)]
ALL = [pytest.param(case, id=f"{case.chart}-{case.name}") for case in EVERY]
OPTIONS = [pytest.param(case, id=f"{case.chart}-{case.name}") for case in EVERY if case.values and case.on]

ONE_VALUE = {
    "scheduler.config.tangram",
    "driver.fwUpgradePolicy",
    "driver.fwEnableVirt",
    "driver.deviceAsRootGroup",
}
"""Options that have a single legal value."""


def values_file(chart: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / chart / "values.yaml").read_text("utf-8"))


@pytest.mark.parametrize("chart", CHARTS)
def test_every_option_is_changed_by_a_case(chart: str) -> None:
    options = dict(leaves(values_file(chart)))
    changed = [each for case in cases(chart) for each in leaves(case.values)]
    missed = {
        option
        for option, usual in options.items()
        if not any(
            (path == option or path.startswith(f"{option}.")) and value != usual for path, value in changed
        )
    }
    assert missed - ONE_VALUE == set()


@pytest.mark.parametrize("chart", CHARTS)
def test_no_case_sets_an_option_that_is_not_there(chart: str) -> None:
    options = dict(leaves(values_file(chart)))
    maps = {option for option, usual in options.items() if usual == {}}
    free = (
        *OTHER_SPELLINGS,
        "scheduler.config.",
        "monitoring.dashboards.labels.",
        *(f"{each}." for each in maps),
    )
    unknown = {
        path
        for case in cases(chart)
        for path, _ in leaves(case.values)
        if path not in options and not path.startswith(free) and ".resources." not in path
    }
    assert unknown == set()


@pytest.mark.parametrize("case", ALL)
def test_what_is_kept_says_which_case_it_is_of(case: Case) -> None:
    assert told_in(case) == told_of(case)


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_does_something(case: Case) -> None:
    assert changes_of(case)


def test_nothing_is_kept_of_a_case_that_is_gone() -> None:
    kept = {file for chart in CHARTS for file in (GOLDENS / chart).glob("*.yaml")}
    assert kept == {golden_file(case) for chart in CHARTS for case in cases(chart)}


@pytest.mark.parametrize("chart", CHARTS)
def test_every_case_stands_on_one_before_it(chart: str) -> None:
    names = [case.name for case in cases(chart)]
    assert names[0] == DEFAULT
    assert len(set(names)) == len(names)
    for position, case in enumerate(cases(chart)):
        assert case.on in names[:position] or case.name == DEFAULT
