"""The list of pods: those in sight, in the order in which they are taken, filtered and in pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import (
    GIB,
    NOW,
    FakeKnown,
    FakeReception,
    asked,
    card,
    dashboard,
    held,
    node,
    view,
    viewer,
)
from tangram.reports.view_shape import WaitingPod
from tangram.web.catalogue import catalogue
from tangram.web.language import Language
from tangram.web.page import Viewer
from tangram.web.pages.pods import PAGE_SIZE, moment, page, read_wanted, waiting_rows
from tangram.web.placed import placed_of, placed_on
from tangram.web.sight import Sight
from tangram.wire.reasons import _CARD_WORDS, _NODE_WORDS  # pyright: ignore[reportPrivateUsage] - every word there is

RESEARCH = Sight(namespaces=frozenset({"research"}))


def waits(
    pod: str, *, priority: int = 0, since: float = NOW - 60, word: str = "", stage: str = ""
) -> WaitingPod:
    return WaitingPod(
        pod=pod,
        uid=pod,
        since=since,
        priority=priority,
        vendor="metax",
        cards=2,
        memory=16 * GIB,
        cores=25,
        word=word,
        stage=stage,
        sentence=f"no node fits {pod}" if word else "",
    )


def cluster(*waiting: WaitingPod) -> FakeKnown:
    return FakeKnown(
        node(
            "gpu-1", card(0, held("research/train", whole=True)), card(1, held("research/train", whole=True))
        ),
        node(
            "gpu-2",
            card(
                0,
                held("rivals/secret", memory=8 * GIB, cores=25),
                held("research/chat", memory=16 * GIB, cores=50, phase="Pending"),
                mode="sgpu",
                slots=16,
            ),
        ),
        waiting=waiting,
    )


async def html(known: FakeKnown, by: Viewer | None = None, path: str = "/pods") -> str:
    async with dashboard(known, FakeReception(by or viewer())) as session, session.get(path) as answer:
        assert answer.status == 200
        return await answer.text()


def test_a_pod_is_one_row_with_everything_it_holds() -> None:
    rows = placed_of(cluster().picture).rows(Sight(everything=True))
    assert [(row.pod, row.node, row.cards, row.memory, row.compute, row.whole) for row in rows] == [
        ("research/chat", "gpu-2", (0,), 16 * GIB, 0.5, False),
        ("research/train", "gpu-1", (0, 1), 128 * GIB, 2.0, True),
        ("rivals/secret", "gpu-2", (0,), 8 * GIB, 0.25, False),
    ]


def test_a_virtual_function_is_no_whole_card() -> None:
    functions = card(0, held("research/a", whole=True), held("research/b", whole=True), mode="vgpu", slots=4)
    alone = card(1, held("research/c", whole=True))
    assert [each.whole for each in placed_on(node("gpu-1", functions, alone))] == [False, False, True]


def test_rows_are_read_again_only_for_nodes_whose_pods_changed() -> None:
    picture = cluster().picture
    version = placed_of(picture).version
    picture.take(view(node("gpu-1", *picture.nodes["gpu-1"].cards, state="cordoned"), version=2))
    assert placed_of(picture).version == version
    picture.take(view(node("gpu-1", card(0)), version=3))
    assert placed_of(picture).version > version
    assert [row.pod for row in placed_of(picture).rows(RESEARCH)] == ["research/chat"]
    picture.take(view(version=4, gone=["gpu-2"]))
    assert placed_of(picture).rows(Sight(everything=True)) == []


async def test_pods_of_other_namespaces_are_neither_named_nor_counted() -> None:
    known = cluster(waits("research/next"), waits("rivals/covert", priority=5))
    known.picture.untold_waiting = 7
    text = await html(known, viewer(sight=RESEARCH))
    assert "research/next" in text
    assert not any(word in text for word in ("rivals", "secret", "covert", "7 pods", "Place"))


async def test_who_may_list_all_pods_is_told_how_many_wait_beyond_those_that_are_named() -> None:
    known = cluster(waits("research/next"))
    known.picture.untold_waiting = 7
    assert "And 7 pods wait" in await html(known)


def test_the_queue_is_in_the_order_in_which_pods_are_taken() -> None:
    known = cluster(waits("a/late", since=NOW), waits("a/early", since=NOW - 9), waits("b/first", priority=9))
    rows = waiting_rows(known.picture, Sight(everything=True))
    assert [(row.place, row.pod.pod) for row in rows] == [(1, "b/first"), (2, "a/early"), (3, "a/late")]
    assert [row.asks for row in rows] == ["16 GiB, 25%"] * 3


@pytest.mark.parametrize(
    ("language", "words"),
    [(Language.ENGLISH, "too little free memory on cards"), (Language.CHINESE, "卡的空闲显存不足")],
)
async def test_reasons_are_in_the_language_of_the_viewer(language: Language, words: str) -> None:
    known = cluster(waits("a/b", word="CardInsufficientMemory", stage="filter"))
    text = await html(known, viewer(language=language))
    assert words in text
    assert '<small lang="en">no node fits a/b</small>' in text


def test_every_reason_word_of_the_scheduler_has_a_translation() -> None:
    words = {*_CARD_WORDS.values(), *_NODE_WORDS.values()} - {"NodeFitPod"}
    assert not [word for word in words if f"pods.word.{word}" not in catalogue().words]


@pytest.mark.parametrize(
    ("query", "pods"),
    [
        ("?namespace=rivals", {"rivals/secret"}),
        ("?q=TRA", {"research/train"}),
        ("?q=gpu-2", {"research/chat", "rivals/secret"}),
        ("?namespace=nobody", set[str]()),
        ("?q=%3Cscript%3E", set[str]()),
    ],
)
async def test_pods_are_found_by_namespace_name_and_node(query: str, pods: set[str]) -> None:
    text = await html(cluster(), path=f"/pods{query}")
    assert {pod for pod in ("research/train", "research/chat", "rivals/secret") if f">{pod}<" in text} == pods
    assert "<script>" not in text


async def test_long_lists_come_in_pages_that_lead_on() -> None:
    pods = [held(f"a/p-{number:03}", memory=GIB) for number in range(PAGE_SIZE + 1)]
    known = FakeKnown(
        node("gpu-1", card(0, *pods, mode="sgpu")),
        waiting=[waits(f"b/w-{number:03}", since=NOW + number) for number in range(PAGE_SIZE + 1)],
    )
    first = await html(known, path="/pods?q=gpu")
    assert "a/p-000" in first
    assert "a/p-050" not in first
    assert "/pods?q=gpu&amp;waiting=1&amp;page=2" in first
    last = await html(known, path="/pods?page=999&waiting=2")
    assert "a/p-050" in last
    assert "b/w-050" in last
    assert "b/w-000" not in last


@given(st.dictionaries(st.sampled_from(["namespace", "q", "page", "waiting"]), st.text(max_size=300)))
def test_no_address_is_too_strange(query: dict[str, str]) -> None:
    wanted = read_wanted(asked(query=query))
    assert wanted.page >= 1
    assert wanted.waiting >= 1


@pytest.mark.parametrize("value", ["0", "-1", "two", "1e3", "٣", "9" * 40])
async def test_a_page_that_cannot_be_one_is_said_to_be_so(value: str) -> None:
    assert "it is a page number of 1 or more" in await html(cluster(), path=f"/pods?page={value}")


async def test_an_empty_cluster_says_so() -> None:
    text = await html(FakeKnown(node("gpu-1", card(0))))
    assert "No pod waits for cards." in text
    assert "No pod holds a card." in text


async def test_a_column_that_nothing_would_stand_in_is_left_out() -> None:
    assert '<th scope="col">State</th>' in await html(cluster())
    untold = FakeKnown(node("gpu-1", card(0, held("research/train", whole=True, phase=""))))
    assert '<th scope="col">State</th>' not in await html(untold)


def test_the_moment_is_another_when_pods_come_or_go_and_not_when_a_card_fails() -> None:
    known = cluster()
    first = moment(asked(), known)
    known.picture.take(view(node("gpu-3", card(0, state="unhealthy")), version=2))
    assert moment(asked(), known) == first
    known.picture.take(view(waiting=[waits("a/b")], version=3))
    assert moment(asked(), known) != first


async def test_every_number_names_a_command_that_is_on_the_page() -> None:
    for by in (viewer(), viewer(sight=RESEARCH)):
        text = await html(cluster(waits("research/next")), by)
        asked_for = {part.split('"')[0] for part in text.split('class="num" href="#')[1:]}
        assert asked_for
        assert all(f'id="{each}"' in text for each in asked_for)


async def test_a_page_is_asked_with_its_values() -> None:
    shown = await page(asked("/pods"), cluster())
    assert shown.template == "pods.html"
