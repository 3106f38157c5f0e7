"""Who used how much, as a page and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import EVERYTHING, GIB, NOW, FakeKnown, asked, card, held, node, view, viewer
from tangram.web.history.keeping import History, Used
from tangram.web.language import Language
from tangram.web.page import Shown
from tangram.web.pages import usage, usage_file
from tangram.web.periods import read_period
from tangram.web.rendering import Rendering
from tangram.web.sight import Sight
from tangram.web.usage_table import table_of

TENANT = Sight(namespaces=frozenset({"research"}))
HOUR = 3600
NO_QUERY: Mapping[str, str] = {}


def lived(hours: int = 3) -> FakeKnown:
    """Three hours in which two namespaces held one and a half cards of four."""
    known = FakeKnown()
    known.history = History()
    known.picture.listeners.append(known.history.note)
    nodes = [
        node("gpu-1", card(0, held("research/train", whole=True)), card(1)),
        node(
            "gpu-2",
            card(0, held("serving/chat", memory=32 * GIB, cores=20), mode="sgpu"),
            card(1, mode="sgpu"),
        ),
    ]
    for step in range(hours * HOUR // 20 + 1):
        at = NOW - hours * HOUR + 20 * step
        known.picture.take(view(*nodes, version=step + 1, at=at))
    return known


LIVED = lived()


def html(shown: Shown, query: Mapping[str, str] = NO_QUERY, *, sight: Sight = EVERYTHING) -> str:
    question = asked("/usage", by=viewer(sight=sight), query=query)
    return (
        Rendering(lambda name: f"/{name}")
        .page(shown.template, shown.values, question, fragment=True, known=LIVED, stamp="")
        .decode()
    )


async def page_of(sight: Sight = EVERYTHING, query: Mapping[str, str] = NO_QUERY) -> str:
    question = asked("/usage", by=viewer(sight=sight), query=query)
    return html(await usage.page(question, LIVED), query, sight=sight)


async def file_of(sight: Sight = EVERYTHING, query: Mapping[str, str] = NO_QUERY) -> Shown:
    return await usage_file.page(asked("/usage.csv", by=viewer(sight=sight), query=query), LIVED)


async def test_fractions_are_charged_as_fractions() -> None:
    table = table_of(LIVED.history, EVERYTHING, read_period({}, NOW))
    found = {line.namespace: line for line in table.lines}
    assert found["research"].card_hours == pytest.approx(3, abs=1e-4)
    assert found["serving"].card_hours == pytest.approx(1.5, abs=1e-4)
    assert found["serving"].compute_card_hours == pytest.approx(0.6, abs=1e-4)
    assert found["serving"].memory_gib_hours == pytest.approx(96, abs=1e-2)
    assert found["serving"].now.cards == 0.5
    assert table.capacity == pytest.approx(12, abs=1e-3)
    assert table.idle == pytest.approx(7.5, abs=1e-3)
    assert found["research"].share == pytest.approx(0.25, abs=1e-4)


async def test_a_tenant_sees_its_own_namespace_and_nothing_that_the_others_could_be_worked_out_from() -> None:
    text = await page_of(TENANT)
    assert "research" in text
    assert "serving" not in text
    assert ">Idle<" not in text
    assert "Of the cluster" not in text
    assert "serving" not in (await file_of(TENANT)).body.decode()
    everything = await page_of()
    assert "serving" in everything
    assert ">Idle<" in everything


async def test_who_may_see_nothing_is_told_which_right_is_missing() -> None:
    assert "right to list pods" in await page_of(Sight())
    assert (
        await file_of(Sight())
    ).body == b"hour_utc,namespace,card_hours,memory_gib_hours,compute_card_hours,pods\r\n"


@pytest.mark.parametrize("sight", [EVERYTHING, TENANT], ids=["admin", "tenant"])
@pytest.mark.parametrize("period", ["24h", "7d", "31d"])
async def test_the_sums_of_the_file_are_those_of_the_page(sight: Sight, period: str) -> None:
    file = await file_of(sight, {"period": period})
    rows = list(csv.DictReader(io.StringIO(file.body.decode(), newline="")))
    table = table_of(LIVED.history, sight, read_period({"period": period}, NOW))
    for column, total in (
        ("card_hours", table.total.card_hours),
        ("memory_gib_hours", table.total.memory_gib_hours),
        ("compute_card_hours", table.total.compute_card_hours),
    ):
        assert round(sum(float(row[column]) for row in rows), 6) == total
    assert f"{table.total.card_hours:,.2f}" in await page_of(sight, {"period": period})


async def test_the_file_is_kept_under_the_name_of_its_days() -> None:
    file = await file_of(query={"from": "2026-09-01", "to": "2026-09-03"})
    assert file.file_name == "usage-2026-09-01-2026-09-03.csv"
    assert file.kind.startswith("text/csv; charset=utf-8")


@given(st.text(max_size=20))
def test_no_cell_is_a_formula_and_every_row_can_be_read_back(name: str) -> None:
    used = Used(hour=0, namespace=name, card_hours=1, memory_gib_hours=2, compute_card_hours=3, pods=4)
    (row,) = csv.DictReader(io.StringIO(usage_file.text_of([used]), newline=""))
    assert not row["namespace"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert row["namespace"].removeprefix("'") == name.removeprefix("'")
    assert row["hour_utc"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("query", [{"period": "x"}, {"from": "<script>"}, {"to": "2026-13-01"}])
async def test_a_period_that_cannot_be_read_is_a_sentence_and_no_figures(query: dict[str, str]) -> None:
    shown = await usage.page(asked("/usage", query=query), LIVED)
    assert shown.status == 400
    text = html(shown, query)
    assert "note-bad" in text
    assert "research" not in text
    assert "<script" not in text
    assert (await file_of(query=query)).status == 400


@pytest.mark.parametrize("language", list(Language))
async def test_it_is_said_from_when_on_and_for_how_long_nothing_is_known(language: Language) -> None:
    known = FakeKnown()
    known.history = History()
    known.picture.listeners.append(known.history.note)
    one = node("gpu-1", card(0, held("research/train", whole=True)))
    for version, at in enumerate((NOW - 5 * HOUR, NOW - 4.9 * HOUR, NOW - HOUR, NOW), 1):
        known.picture.take(view(one, version=version, at=at))
    question = asked("/usage", by=viewer(language=language))
    shown = await usage.page(question, known)
    table = shown.values["table"]
    assert table.begun is not None
    assert table.unheard_s == pytest.approx(2.9 * HOUR, abs=2)
    assert "173" in shown.values["unheard"] or "174" in shown.values["unheard"]


async def test_the_moment_is_another_when_ten_seconds_were_charged() -> None:
    known = lived(1)
    before = usage.moment(asked("/usage"), known)
    known.picture.take(view(version=10_000, at=NOW + 11))
    assert usage.moment(asked("/usage"), known) != before
