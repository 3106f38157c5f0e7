"""Nodes as tiles: made once, narrowed for each viewer, told to browsers in little."""

from __future__ import annotations

import json
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import EVERYTHING, GIB, card, held, node, view
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY, NodeStatus
from tangram.web import picture as picture_module
from tangram.web.picture import Picture
from tangram.web.placed import placed_of
from tangram.web.sight import Sight
from tangram.web.tile_telling import told_since, told_whole
from tangram.web.tiles import CARD_STATES, MODES, Cell, book_of, tile_of

WHO = ("research", "vision", "serving")
NODES_ONLY = Sight(nodes=True)
TENANT = Sight(namespaces=frozenset({"research"}))
TENANT_WITH_NODES = Sight(nodes=True, namespaces=frozenset({"research"}))


def sliced() -> NodeStatus:
    return node(
        "gpu-7",
        card(
            0,
            held("research/a", memory=16 * GIB, cores=30),
            held("vision/b", memory=GIB, cores=1),
            mode="sgpu",
            qos="fixed-share",
        ),
        card(1, held("research/a", memory=8 * GIB, cores=10), mode="sgpu"),
        card(2, state=UNHEALTHY, reason="it fell off the bus"),
        card(3),
    )


def pictured(*nodes: NodeStatus) -> Picture:
    picture = Picture()
    picture.take(view(*nodes))
    return picture


def loaded(body: bytes) -> dict[str, Any]:
    assert b"\n" not in body
    return json.loads(body)


def names(told: dict[str, Any]) -> list[str]:
    return [row[0] for row in told["rows"]]


def test_a_tile_says_what_is_offered_who_sits_there_and_how_full_each_card_is() -> None:
    tile = tile_of(sliced())
    assert tile.kinds == (("metax", "MXC500"),)
    assert tile.policies == ("fixed-share",)
    assert tile.pods == (("research", 1), ("vision", 1))
    assert tile.free == 1
    assert tile.cells == (Cell(1, 1, 27, 31), Cell(1, 1, 12, 10), Cell(0, 3, 0, 0), Cell(0, 0, 0, 0))


@pytest.mark.parametrize("state", [CORDONED, NOT_READY])
def test_no_card_is_free_on_a_node_that_takes_no_pods(state: str) -> None:
    assert tile_of(node("gpu-1", card(0), state=state)).free == 0


def test_something_is_never_shown_as_nothing_nor_nearly_all_as_all() -> None:
    little = tile_of(node("n", card(0, held("a/b", memory=1, cores=0)))).cells[0]
    nearly = tile_of(node("n", card(0, held("a/b", memory=64 * GIB - 1, cores=99)))).cells[0]
    assert (little.memory, little.compute) == (1, 0)
    assert (nearly.memory, nearly.compute) == (99, 99)


def test_a_state_or_mode_of_a_later_version_is_shown_as_one_to_stay_away_from() -> None:
    tile = tile_of(node("n", card(0, mode="quantum", state="upside-down"), state="asleep"))
    assert tile.cells[0] == Cell(MODES.index("undecided"), CARD_STATES.index(UNHEALTHY), 0, 0)
    assert tile.free == 0


@given(
    st.builds(
        Cell, st.integers(0, len(MODES) - 1), st.integers(0, 3), st.integers(0, 100), st.integers(0, 100)
    )
)
def test_a_cell_is_one_number_from_which_all_of_it_comes_back(cell: Cell) -> None:
    rest, compute = divmod(cell.packed, 101)
    kind, memory = divmod(rest, 101)
    assert Cell(*divmod(kind, len(CARD_STATES)), memory, compute) == cell


def test_a_tile_is_made_again_only_when_its_node_is_another() -> None:
    picture = pictured(node("gpu-1", card(0)), node("gpu-2", card(0)))
    before = dict(book_of(picture).tiles)
    picture.take(view(node("gpu-2", card(0, held("a/b", whole=True))), version=2))
    after = book_of(picture).tiles
    assert after["gpu-1"] is before["gpu-1"]
    assert after["gpu-2"] is not before["gpu-2"]


def test_pods_are_counted_along_with_every_change() -> None:
    picture = pictured(node("gpu-1", card(0, held("a/one", whole=True)), card(1, held("a/one", whole=True))))
    assert book_of(picture).pods == {"a": 1}
    picture.take(view(node("gpu-2", card(0, held("b/two", whole=True))), gone=["gpu-1"], version=2))
    assert book_of(picture).pods == {"b": 1}


def test_tiles_come_in_the_order_in_which_people_count() -> None:
    picture = pictured(*(node(f"gpu-{number}", card(0)) for number in (10, 9, 100)))
    picture.take(view(node("gpu-1", card(0)), version=2))
    assert names(loaded(told_whole(picture, EVERYTHING))) == ["gpu-1", "gpu-9", "gpu-10", "gpu-100"]


def test_a_book_goes_with_its_picture() -> None:
    picture = pictured(node("gpu-1", card(0)))
    book = weakref.ref(book_of(picture))
    del picture
    assert book() is None


def test_namespaces_outside_the_sight_are_in_no_tile() -> None:
    told = loaded(told_whole(pictured(sliced()), TENANT_WITH_NODES))
    assert told["namespaces"] == ["research"]
    assert loaded(told_whole(pictured(sliced()), NODES_ONLY))["namespaces"] == []
    assert "vision" not in json.dumps(told)


def test_without_the_right_to_list_nodes_only_those_with_a_visible_pod_are_told() -> None:
    picture = pictured(
        sliced(), node("secret-box", card(0, held("vision/x", whole=True))), node("idle", card(0))
    )
    assert names(loaded(told_whole(picture, TENANT))) == ["gpu-7"]
    assert names(loaded(told_whole(picture, Sight()))) == []


def test_only_what_changed_is_told_and_what_is_gone_by_name() -> None:
    picture = pictured(*(node(f"gpu-{number}", card(0)) for number in range(3)))
    seen = picture.version
    picture.take(view(node("gpu-1", card(0, held("a/b", whole=True))), gone=["gpu-2"], version=2))
    told = loaded(told_since(picture, EVERYTHING, seen, figures={"cards": "2"}))
    assert names(told) == ["gpu-1"]
    assert told["gone"] == ["gpu-2"]
    assert told["whole"] is False
    assert told["figures"] == {"cards": "2"}


def test_who_may_not_list_nodes_never_learns_a_name_by_its_going() -> None:
    picture = pictured(sliced(), node("secret-box", card(0, held("vision/x", whole=True))))
    told_whole(picture, TENANT)
    seen = picture.version
    picture.take(view(gone=["secret-box", "gpu-7"], version=2))
    told = loaded(told_since(picture, TENANT, seen))
    assert (told["rows"], told["gone"], told["whole"]) == ([], ["gpu-7"], False)


def test_a_node_is_gone_for_a_tenant_when_their_last_pod_has_left_it() -> None:
    picture = pictured(sliced())
    told_whole(picture, TENANT)
    seen = picture.version
    picture.take(view(node("gpu-7", card(0, held("vision/b", whole=True))), version=2))
    assert loaded(told_since(picture, TENANT, seen))["gone"] == ["gpu-7"]
    assert loaded(told_since(picture, TENANT_WITH_NODES, seen))["gone"] == []
    came = picture.version
    picture.take(view(sliced(), version=3))
    told = loaded(told_since(picture, TENANT, came))
    assert (names(told), told["gone"]) == (["gpu-7"], [])
    assert (names(told), told["gone"]) == (["gpu-7"], loaded(told_since(picture, TENANT, seen))["gone"])


def test_who_comes_back_after_too_many_departures_is_told_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangram.web.tiles.MOST_LEFT", 1)
    picture = pictured(sliced(), node("gpu-8", card(0, held("research/c", whole=True))))
    told_whole(picture, TENANT)
    seen = picture.version
    picture.take(view(node("gpu-8", card(0)), version=2))
    told_whole(picture, TENANT)
    picture.take(view(gone=["gpu-7"], version=3))
    told = loaded(told_since(picture, TENANT, seen))
    assert (told["whole"], names(told)) == (True, [])


def test_names_of_nodes_that_went_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_module, "MOST_GONE", 4)
    picture = pictured(node("gpu-0", card(0, held("research/a", whole=True))))
    seen = picture.version
    assert len(placed_of(picture).rows(EVERYTHING)) == 1
    for number in range(1, 50):
        here = node(f"gpu-{number}", card(0, held("research/a", whole=True)))
        picture.take(view(here, gone=[f"gpu-{number - 1}"], version=1 + number))
        assert len(picture.changed_since(0)) <= 6
    told = loaded(told_since(picture, EVERYTHING, seen))
    assert (told["whole"], names(told)) == (True, ["gpu-49"])
    assert [each.node for each in placed_of(picture).rows(EVERYTHING)] == ["gpu-49"]
    assert list(book_of(picture).tiles) == ["gpu-49"]


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3), max_size=6))
def test_whoever_follows_has_what_whoever_comes_new_gets(rounds: list[list[tuple[int, int]]]) -> None:
    """Moves say which namespace sits on which node then; 3 is nobody."""
    picture = pictured(*(node(f"gpu-{number}", card(0)) for number in range(4)))
    sights = (TENANT, EVERYTHING, Sight(namespaces=frozenset({"vision", "serving"})))
    have = {sight: {row[0]: row for row in loaded(told_whole(picture, sight))["rows"]} for sight in sights}
    for version, moves in enumerate(rounds, 2):
        seen = picture.version
        changed = {
            f"gpu-{number}": card(0, *([] if who == 3 else [held(f"{WHO[who]}/pod", whole=True)]))
            for number, who in moves
        }
        picture.take(view(*(node(name, one) for name, one in changed.items()), version=version))
        for sight in sights:
            told = loaded(told_since(picture, sight, seen))
            have[sight] = {} if told["whole"] else have[sight]
            have[sight].update({row[0]: row for row in told["rows"]})
            for name in told["gone"]:
                del have[sight][name]
            assert set(have[sight]) == set(names(loaded(told_whole(picture, sight))))


def test_five_thousand_nodes_are_small_enough_to_send() -> None:
    holders = [held("team-a/train-0", memory=20 * GIB, cores=30)]
    cards = [card(number, *holders, mode="sgpu", qos="fixed-share") for number in range(8)]
    picture = pictured(*(node(f"gpu-node-{number:04d}", *cards) for number in range(5000)))
    assert len(told_whole(picture, EVERYTHING)) < 1_000_000
