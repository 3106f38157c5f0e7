"""What is kept for people who see a part of the cluster, held against a look at everything after each answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import card, held, node, view
from tangram.reports.status_shape import CORDONED, READY, UNHEALTHY, NodeStatus
from tangram.reports.view_shape import WaitingPod
from tangram.web.picture import Picture, sums_of
from tangram.web.placed import placed_of, placed_on
from tangram.web.sight import Sight
from tangram.web.tile_filter import offered
from tangram.web.tiles import book_of, tile_of

NAMES = ("gpu-1", "gpu-2", "gpu-10", "gpu-11")
NAMESPACES = ("research", "serving", "vision")


def one_node(name: str, pods: list[tuple[int, str]], sick: int, state: str) -> NodeStatus:
    cards = [
        card(
            index,
            *(
                held(f"{namespace}/{name}-{index}", memory=1, cores=1)
                for at, namespace in pods
                if at == index
            ),
            state=UNHEALTHY if index == sick else "",
        )
        for index in range(2)
    ]
    return node(name, *cards, state=state)


nodes = st.builds(
    one_node,
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from(NAMESPACES)), max_size=4, unique=True),
    st.integers(-1, 1),
    st.sampled_from((READY, READY, CORDONED)),
)
steps = st.lists(
    st.tuples(st.lists(nodes, max_size=3, unique_by=lambda each: each.node), st.sets(st.sampled_from(NAMES))),
    min_size=1,
    max_size=6,
)
sights = st.builds(
    Sight,
    everything=st.booleans(),
    nodes=st.booleans(),
    namespaces=st.frozensets(st.sampled_from(NAMESPACES)),
)


def waits(number: int) -> WaitingPod:
    namespace = NAMESPACES[number % len(NAMESPACES)]
    return WaitingPod(pod=f"{namespace}/late-{number}", uid=f"late-{number}", since=1.0)


@given(st.lists(st.tuples(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6))), max_size=6), sights)
def test_pods_that_wait_are_counted_as_far_as_they_are_seen(
    story: list[tuple[set[int], set[int]]], sight: Sight
) -> None:
    picture = Picture()
    for step, (come, go) in enumerate(story, 1):
        before, at = dict(picture.waiting), picture.waiting_moved(sight)
        gone = [f"late-{number}" for number in sorted(go - come)]
        picture.take(view(waiting=[waits(each) for each in sorted(come)], gone_waiting=gone, version=step))
        seen = [uid for uid, pod in picture.waiting.items() if sight.of_pod(pod.pod)]
        assert picture.waiting_in(sight) == len(seen)
        if picture.waiting_moved(sight) == at:
            assert seen == [uid for uid, pod in before.items() if sight.of_pod(pod.pod)]


def put(picture: Picture, step: int, told: list[NodeStatus], gone: set[str]) -> None:
    left = sorted(gone - {each.node for each in told})
    picture.take(view(*told, gone=left, version=step))


@given(steps, sights)
def test_what_somebody_sees_is_what_a_look_at_every_node_shows(
    story: list[tuple[list[NodeStatus], set[str]]], sight: Sight
) -> None:
    picture = Picture()
    for step, (told, gone) in enumerate(story, 1):
        put(picture, step, told, gone)
        book, placed = book_of(picture), placed_of(picture)
        seen = {name: each for name, each in picture.nodes.items() if tile_of(each).seen(sight)}
        assert [tile.name for tile in book.seen(sight)] == sorted(seen, key=NAMES.index)
        assert {tile.name: tile for tile in book.seen(sight)} == {
            name: tile_of(each) for name, each in seen.items()
        }
        if not sight.nodes:
            assert book.sums(sight) == sums_of(seen)
        rows = [row for each in picture.nodes.values() for row in placed_on(each) if sight.of_pod(row.pod)]
        assert list(placed.rows(sight)) == sorted(rows, key=lambda row: (row.namespace, row.name, row.node))
        assert sorted(placed.namespaces(sight)) == sorted({row.namespace for row in rows})
        choice = offered(book, sight)
        assert choice.vendors == tuple(
            sorted({each.vendor for known in seen.values() for each in known.cards})
        )
        assert choice.namespaces == tuple(sorted({row.namespace for row in rows}))


@given(steps, sights)
def test_whoever_is_not_told_of_a_change_would_have_seen_the_same(
    story: list[tuple[list[NodeStatus], set[str]]], sight: Sight
) -> None:
    picture = Picture()
    before: object = None
    at = placed_at = -1
    for step, (told, gone) in enumerate(story, 1):
        put(picture, step, told, gone)
        book, placed = book_of(picture), placed_of(picture)
        now = list(book.seen(sight)), list(placed.rows(sight))
        if (book.moved(sight), placed.moved(sight)) == (at, placed_at):
            assert now == before
        before, at, placed_at = now, book.moved(sight), placed.moved(sight)


@given(steps)
def test_names_of_nodes_that_changed_after_any_version(
    story: list[tuple[list[NodeStatus], set[str]]],
) -> None:
    picture = Picture()
    changed: dict[str, int] = {}
    for step, (told, gone) in enumerate(story, 1):
        was = dict(picture.nodes)
        put(picture, step, told, gone)
        for name in NAMES:
            if was.get(name) != picture.nodes.get(name):
                changed[name] = picture.version
        for version in range(picture.version + 1):
            expected = {name for name, at in changed.items() if at > version}
            assert set(picture.changed_since(version)) == expected
            assert len(picture.changed_since(version)) == len(expected)
