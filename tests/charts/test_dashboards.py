"""Dashboards ask only for what the daemons tell, show labels that come out, and work in anybody's Grafana."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import CHARTS, objects_of
from builders.charts.promql import Series, Unanswerable, labels_of
from builders.charts.reading import of_kind
from builders.charts.series import all_series

FILES = sorted((CHARTS / TANGRAM / "dashboards").glob("*.json"))
BOARDS = [pytest.param(file, id=file.stem) for file in FILES]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS = {
    "short", "bytes", "percent", "percentunit", "s", "ops", "wps", "celsius", "watt",
}  # fmt: skip
OF_PANELS = re.compile(r"\{\{\s*(\w+)\s*\}\}")
ASKED_FOR_VALUES = re.compile(r"label_values\((?P<series>.+), (?P<label>\w+)\)")
SERIES = all_series()

Board = dict[str, Any]


def read(file: Path) -> Board:
    return json.loads(file.read_text("utf-8"))


def panels(board: Board) -> list[Board]:
    return [each for each in board["panels"] if each["type"] != "row"]


def queries(board: Board) -> Iterator[tuple[Board, Board]]:
    for panel in panels(board):
        for target in panel["targets"]:
            yield panel, target


def variables(board: Board) -> dict[str, Board]:
    return {each["name"]: each for each in board["templating"]["list"]}


def plain(query: str) -> str:
    """A query as Prometheus gets it: ranges are a time, choices are some pattern."""
    return query.replace("$__rate_interval", "5m")


@pytest.mark.parametrize("file", BOARDS)
def test_every_query_is_answerable_and_its_legend_names_labels_that_come_out(file: Path) -> None:
    for panel, target in queries(read(file)):
        labels = labels_of(plain(target["expr"]), SERIES)
        shown = set(OF_PANELS.findall(target["legendFormat"]))
        assert shown <= (labels or frozenset()), panel["title"]
        if panel["type"] in {"timeseries", "state-timeline"} and labels:
            assert shown, f"{panel['title']} draws lines that nobody can tell apart"


@pytest.mark.parametrize("file", BOARDS)
def test_every_choice_is_offered_from_a_label_that_is_there_and_used(file: Path) -> None:
    board = read(file)
    said = json.dumps([target["expr"] for _, target in queries(board)])
    for name, variable in variables(board).items():
        if variable["type"] == "datasource":
            continue
        asked = ASKED_FOR_VALUES.fullmatch(variable["query"]["query"])
        assert asked is not None
        assert asked["label"] in (labels_of(asked["series"], SERIES) or ())
        assert variable["definition"] == variable["query"]["query"]
        assert f"${name}" in said
    assert set(re.findall(r"\$(?!__)(\w+)", said)) <= variables(board).keys()


@pytest.mark.parametrize("file", BOARDS)
def test_a_dashboard_belongs_to_nobodys_grafana(file: Path) -> None:
    board = read(file)
    assert board["uid"] == file.stem
    assert board["schemaVersion"] >= 39
    assert "id" not in board
    assert variables(board)["datasource"]["query"] == "prometheus"
    for panel, target in queries(board):
        assert panel["datasource"] == target["datasource"] == SOURCE
    for variable in board["templating"]["list"]:
        assert variable["type"] == "datasource" or variable["datasource"] == SOURCE


@pytest.mark.parametrize("file", BOARDS)
def test_every_panel_says_what_it_shows_in_a_unit_and_none_covers_another(file: Path) -> None:
    board = read(file)
    cells: set[tuple[int, int]] = set()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for panel in panels(board):
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        covered = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & covered, panel["title"]
        cells |= covered


def test_every_figure_of_the_scheduler_is_on_a_dashboard() -> None:
    said = " ".join(target["expr"] for file in FILES for _, target in queries(read(file)))
    ours = {
        re.sub(r"_(?:bucket|count|sum|created)$", "", name)
        for name in SERIES
        if name.startswith("tangram_scheduler_") and not name.endswith("_created")
    }
    assert {name for name in ours if name not in said} == set()


def test_the_monitors_give_what_the_dashboards_take_for_granted() -> None:
    objects = objects_of(case_named(TANGRAM, "monitoring.serviceMonitor.with-gpu-aware"))
    monitors = of_kind(objects, "PodMonitor")
    assert len(monitors) == 3
    for monitor in monitors:
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert [each["targetLabel"] for each in endpoint["relabelings"]] == ["node"]
        assert endpoint["honorLabels"]
    (scheduler,) = of_kind(objects, "ServiceMonitor")
    assert scheduler["spec"]["endpoints"][0]["honorLabels"]


CARDS: Series = {
    "cards": frozenset({"node", "uuid"}),
    "used": frozenset({"node", "uuid", "pod"}),
    "calls_total": frozenset({"verb"}),
    "time_bucket": frozenset({"le", "verb"}),
}


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        pytest.param("cards", {"node", "uuid"}, id="as it is"),
        pytest.param('sum by (node) (used{pod=~"$p"}) / sum by (node) (cards)', {"node"}, id="a ratio"),
        pytest.param(
            "histogram_quantile(0.9, sum by (le) (rate(time_bucket[5m])))", set[str](), id="a quantile"
        ),
        pytest.param("topk(3, used) > 0", {"node", "uuid", "pod"}, id="the largest"),
        pytest.param("count(cards == 0) or vector(0)", set[str](), id="none is 0"),
    ],
)
def test_a_query_is_understood(query: str, labels: set[str]) -> None:
    assert labels_of(query, CARDS) == labels


@pytest.mark.parametrize(
    ("query", "why"),
    [
        pytest.param("sum(card)", "nobody tells card", id="a metric that is not there"),
        pytest.param('cards{pod="a"}', "no label pod", id="a label that is not there"),
        pytest.param("sum by (pod) (cards)", "which its series do not have", id="a sum by it"),
        pytest.param("sum by (node) (sum(cards))", "which its series do not have", id="summed away before"),
        pytest.param("used / cards", "never matches", id="two sides that never match"),
        pytest.param("rate(cards[5m])", "is not for cards", id="a rate of a gauge"),
        pytest.param("delta(calls_total[5m])", "is not for calls_total", id="a difference of a counter"),
        pytest.param("rate(calls_total)", "needs a range", id="a rate of a moment"),
        pytest.param("calls_total[5m]", "needless range", id="a range of nothing"),
        pytest.param("sum(cards", "ends in the middle", id="cut off"),
        pytest.param("sum(cards))", "should end", id="too long"),
        pytest.param("histogram_quantile(0.9, cards)", "without le", id="a quantile of no histogram"),
    ],
)
def test_a_query_that_nobody_could_answer_is_found_out(query: str, why: str) -> None:
    with pytest.raises(Unanswerable, match=why):
        labels_of(query, CARDS)
