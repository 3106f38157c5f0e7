"""The cluster page: what stands in it, for whom, and what it says to an address that makes no sense."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from builders.dashboards import (
    EVERYTHING,
    GIB,
    NOW,
    FakeKnown,
    asked,
    card,
    held,
    node,
    view,
    viewer,
)
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY
from tangram.reports.view_shape import IdleRoom, WaitingPod
from tangram.web.figures import UNKNOWN
from tangram.web.language import Language
from tangram.web.pages import cluster, cluster_tiles
from tangram.web.rendering import Rendering
from tangram.web.sight import Sight

TENANT = Sight(namespaces=frozenset({"research"}))
_RENDERING = Rendering(lambda name: f"/static/0/{name}")
_UNSAFE = re.compile(r"""\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)""")


def waits(pod: str, sentence: str, word: str = "CardInsufficientMemory") -> WaitingPod:
    return WaitingPod(pod=pod, uid=pod, since=NOW, word=word, sentence=sentence)


def known() -> FakeKnown:
    found = FakeKnown(
        node(
            "gpu-1",
            card(0, held("research/train", whole=True)),
            card(1, state=UNHEALTHY, reason="it fell off the bus"),
            card(2, state=CORDONED),
            card(3),
        ),
        node(
            "gpu-2", card(0, held("vision/chat", memory=16 * GIB, cores=20), mode="sgpu", qos="fixed-share")
        ),
        node("gpu-3", card(0, vendor="mthreads", product="MTT S4000", memory=48 * GIB), state=NOT_READY),
        waiting=(
            waits("research/next", "none of 3 nodes has 80 GiB"),
            waits("vision/b", "none of 3 nodes has 96 GiB"),
            waits("vision/c", "no card of that kind", word=""),
        ),
    )
    room = IdleRoom(at=NOW, idle=4.0, fragmented=1.0, shapes=3)
    found.picture.take(view(version=2, room=room))
    return found


def html(
    over: FakeKnown,
    sight: Sight = EVERYTHING,
    language: Language = Language.ENGLISH,
    query: Mapping[str, str] | None = None,
) -> str:
    question = asked("/", by=viewer(sight=sight, language=language), query=query or {})
    shown = asyncio.run(cluster.page(question, over))
    return _RENDERING.page(shown.template, shown.values, question, known=over, stamp="0.1").decode()


def tiles_in(text: str) -> list[str]:
    return re.findall(r'class="tile-name">([^<]*)<', text)


def figure(text: str, name: str) -> str:
    found = re.search(rf'data-figure="{name}">(?:<a[^>]*>)?([^<]*)<', text)
    assert found is not None
    return found[1]


def test_the_headline_is_what_status_prints() -> None:
    text = html(known())
    said = {name: figure(text, name) for name in ("cards", "nodes", "free", "unhealthy", "cordoned", "pods")}
    assert said == {"cards": "6", "nodes": "3", "free": "1", "unhealthy": "1", "cordoned": "1", "pods": "2"}
    assert figure(text, "waiting") == "3"
    assert figure(text, "fragmented") == "25%"
    assert figure(text, "memory_of") == "80 GiB / 368 GiB"


def test_every_number_of_the_headline_leads_to_the_command_that_prints_it() -> None:
    text = html(known())
    linked = set(re.findall(r'class="num" href="#(by-[a-z]+)"', text))
    assert linked
    assert linked <= set(re.findall(r'id="(by-[a-z]+)"', text))


def test_a_tile(snapshot: SnapshotAssertion) -> None:
    text = html(known())
    found = re.search(r'<li><a class="tile .*?</li>', text, re.DOTALL)
    assert found is not None
    assert found[0] == snapshot


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        (Language.ENGLISH, ", ready, 4 MXC500, 1 free, 1 unhealthy, 1 cordoned"),
        (Language.CHINESE, "，就绪，4 张 MXC500，1 张空闲，1 张异常，1 张已封锁"),  # noqa: RUF001
    ],
)
def test_a_tile_says_itself_in_a_sentence(language: Language, sentence: str) -> None:
    assert f'gpu-1</span><span class="unseen">{sentence}</span>' in html(known(), language=language)


def test_who_waits_stands_together_by_reason_the_most_frequent_first() -> None:
    text = html(known())
    assert text.index("too little free memory on cards") < text.index("no card of that kind")
    assert "2 pods" in text
    assert "96 GiB" not in text, "which is true of one of them only"
    assert "none of 3 nodes has 80 GiB" in html(known(), TENANT)
    assert 'href="/pods/vision/b"' in text


def test_a_tenant_sees_their_pods_the_nodes_of_these_and_nothing_else() -> None:
    text = html(known(), TENANT)
    assert tiles_in(text) == ["gpu-1"]
    assert "vision" not in text
    assert "fixed-share" not in text
    assert figure(text, "cards") == "4"
    assert figure(text, "pods") == "1"
    assert figure(text, "waiting") == "1"
    assert figure(text, "fragmented") == UNKNOWN
    assert "kubectl get pods -o wide -n research" in text


def test_who_may_list_nodes_but_no_pods_sees_all_nodes_and_no_namespace() -> None:
    text = html(known(), Sight(nodes=True))
    assert tiles_in(text) == ["gpu-1", "gpu-2", "gpu-3"]
    assert "vision" not in text
    assert "research" not in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"vendor": "mthreads"}, ["gpu-3"]),
        ({"product": "MXC500"}, ["gpu-1", "gpu-2"]),
        ({"policy": "fixed-share"}, ["gpu-2"]),
        ({"namespace": "vision"}, ["gpu-2"]),
        ({"state": "free"}, ["gpu-1"]),
        ({"state": "not-ready"}, ["gpu-3"]),
        ({"q": "PU-2"}, ["gpu-2"]),
        ({"q": "nothing like it"}, []),
    ],
)
def test_the_form_is_answered_without_scripts(query: dict[str, str], found: list[str]) -> None:
    text = html(known(), query=query)
    assert tiles_in(text) == found
    assert ('id="no-match" hidden' in text) == bool(found)


def test_the_form_shows_what_was_chosen() -> None:
    text = html(known(), query={"vendor": "metax", "q": '"><script>'})
    assert '<option value="metax" selected>' in text
    assert 'value="&#34;&gt;&lt;script&gt;"' in text


def test_many_nodes_come_in_pages_that_keep_the_filter() -> None:
    many = FakeKnown(*(node(f"gpu-{number}", card(0)) for number in range(130)))
    first, last = html(many, query={"q": "gpu"}), html(many, query={"q": "gpu", "page": "3"})
    assert len(tiles_in(first)) == cluster.PAGE_SIZE
    assert tiles_in(last) == [f"gpu-{number}" for number in range(120, 130)]
    assert 'rel="next" href="/?page=2&amp;q=gpu"' in first
    assert 'rel="next"' not in last
    assert tiles_in(html(many, query={"page": "999"})) == tiles_in(last)


@pytest.mark.parametrize("page", ["x", "0", "-1", "1e3", "٣", "9" * 30])
def test_a_page_that_is_no_number_is_said_to_be_none(page: str) -> None:
    assert "where a number from 1 on is meant" in html(known(), query={"page": page})


def test_a_state_that_is_none_is_said_with_those_that_are() -> None:
    text = html(known(), query={"state": "tired"})
    assert "state is “tired”, which is none of free, used, unhealthy, cordoned, not-ready" in text
    assert len(tiles_in(text)) == 3


@given(
    st.dictionaries(
        st.sampled_from(("vendor", "product", "namespace", "policy", "state", "q", "page", "x")),
        st.text(max_size=60),
    )
)
def test_no_address_breaks_the_page_or_gets_markup_into_it(query: dict[str, str]) -> None:
    text = html(known(), query=query)
    assert _UNSAFE.search(re.sub(r'"[^"]*"', '""', text)) is None


def test_nothing_is_promised_before_everything_was_told() -> None:
    text = html(FakeKnown())
    assert "still being read" in text
    assert {figure(text, name) for name in ("cards", "free", "waiting", "unhealthy")} == {UNKNOWN}
    assert "Nobody waits" not in text


def test_an_empty_cluster_says_what_to_do_next() -> None:
    over = FakeKnown()
    over.picture.take(view())
    assert "The Health page says what the agents lack" in html(over)
    assert figure(html(over), "cards") == "0"
    assert "Nobody waits" in html(over)


def test_all_who_wait_are_counted_also_those_who_are_not_named() -> None:
    over = known()
    named = len(over.picture.waiting)
    over.picture.take(msgspec.structs.replace(view(version=over.picture.told + 1), untold_waiting=500))
    assert figure(html(over), "waiting") == f"{named + 500}"


def test_browsers_are_told_the_headline_with_the_tiles() -> None:
    over = known()
    seen = over.picture.version
    over.picture.take(view(node("gpu-2", card(0, state=UNHEALTHY, reason="gone")), version=3))
    told = json.loads(cluster.tiles(EVERYTHING, over, seen))
    assert [row[0] for row in told["rows"]] == ["gpu-2"]
    assert told["figures"]["unhealthy"] == "2"
    assert set(told["shares"]) == {"memory", "compute"}
    assert told["figures"].keys() == json.loads(cluster.tiles(TENANT, over, seen))["figures"].keys()


def test_a_card_that_changes_does_not_make_the_page_be_fetched_again_but_a_pod_that_waits_does() -> None:
    over = known()
    question = asked("/")
    before = cluster.moment(question, over)
    over.picture.take(view(node("gpu-2", card(0, state=UNHEALTHY)), version=3))
    assert cluster.moment(question, over) == before
    over.picture.take(view(waiting=(waits("research/more", "too little memory"),), version=4))
    assert cluster.moment(question, over) != before


def test_the_first_pod_ever_makes_the_page_be_fetched_again_though_nothing_is_fragmented() -> None:
    over, question = known(), asked("/")
    over.picture.take(view(version=3, room=IdleRoom(at=NOW, idle=4.0, fragmented=0.0, shapes=0)))
    before = cluster.moment(question, over)
    assert figure(html(over), "fragmented") == UNKNOWN
    over.picture.take(view(version=4, room=IdleRoom(at=NOW, idle=4.0, fragmented=0.0, shapes=1)))
    assert cluster.moment(question, over) != before
    assert figure(html(over), "fragmented") == "0%"


def test_all_tiles_come_as_json_for_the_sight_that_asks() -> None:
    question = asked("/cluster.json", by=viewer(sight=TENANT))
    shown = asyncio.run(cluster_tiles.page(question, known()))
    assert shown.kind == "application/json"
    told = json.loads(shown.body)
    assert [row[0] for row in told["rows"]] == ["gpu-1"]
    assert told["namespaces"] == ["research"]


@pytest.mark.parametrize(("nodes", "size"), [(1, "large"), (48, "large"), (49, "middle"), (601, "small")])
def test_the_more_nodes_the_smaller_their_tiles(nodes: int, size: str) -> None:
    assert cluster.size_for(nodes) == size
