"""The history, fed by a picture as a scheduler moves it along."""

from __future__ import annotations

import msgspec

from builders.dashboards import NOW, card, held, node, view
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY, NodeStatus
from tangram.reports.view_shape import IdleRoom
from tangram.web.history import happening
from tangram.web.history.course import COARSE_S, MOST_COARSE, MOST_FINE, Course
from tangram.web.history.keeping import History, Point
from tangram.web.picture import Picture


def followed() -> tuple[Picture, History]:
    picture, history = Picture(), History()
    picture.listeners.append(history.note)
    return picture, history


def one(*pods: str, state: str = "", reason: str = "", node_state: str = "ready") -> NodeStatus:
    first = card(0, *(held(pod, whole=True) for pod in pods), state=state, reason=reason)
    return node("gpu-1", first, card(1), state=node_state)


def kinds(history: History, name: str = "gpu-1") -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.card, each.pod or each.detail) for each in history.moments_of(name)]


def test_what_happens_to_a_card_is_told_newest_first() -> None:
    picture, history = followed()
    picture.take(view(one(), at=NOW))
    picture.take(view(one("a/x"), version=2, at=NOW + 1))
    picture.take(view(one("a/x", state=UNHEALTHY, reason="ECC"), version=3, at=NOW + 2))
    picture.take(view(one(state=CORDONED), version=4, at=NOW + 3))
    picture.take(view(one(), version=5, at=NOW + 4))
    picture.take(view(one(node_state=NOT_READY), version=6, at=NOW + 5))
    assert kinds(history) == [
        ("node-state", None, "not-ready"),
        ("uncordoned", 0, ""),
        ("freed", 0, "a/x"),
        ("cordoned", 0, ""),
        ("healthy", 0, ""),
        ("unhealthy", 0, "ECC"),
        ("given", 0, "a/x"),
    ]
    assert [each.kind for each in history.health_moments()] == [
        "node-state",
        "uncordoned",
        "cordoned",
        "healthy",
        "unhealthy",
    ]
    assert history.since("gpu-1") == NOW + 5


def test_since_when_a_card_is_unhealthy_is_known_only_when_it_was_seen_healthy() -> None:
    picture, history = followed()
    bad = one(state=UNHEALTHY, reason="ECC")
    uuid = bad.cards[0].uuid
    picture.take(view(bad, at=NOW))
    assert history.since("gpu-1", uuid) is None
    picture.take(view(one(), version=2, at=NOW + 1))
    picture.take(view(bad, version=3, at=NOW + 2))
    assert history.since("gpu-1", uuid) == NOW + 2
    assert history.begun == NOW


def test_the_first_look_at_a_cluster_is_no_news() -> None:
    picture, history = followed()
    picture.take(view(one("a/x"), at=NOW, more=True))
    picture.take(view(node("gpu-2", card(0)), version=2, at=NOW + 1))
    assert not kinds(history)
    assert not kinds(history, "gpu-2")
    picture.take(view(node("gpu-3", card(0)), version=3, at=NOW + 2))
    assert kinds(history, "gpu-3") == [("node-added", None, "")]


def test_a_scheduler_that_begins_again_makes_no_nodes_leave_and_come_back() -> None:
    picture, history = followed()
    other = node("gpu-2", card(0, held("b/y", whole=True)))
    picture.take(view(one("a/x"), other, at=NOW))
    picture.take(view(one("a/x"), epoch="two", version=1, at=NOW + 60, more=True))
    assert {name: held.cards for name, held in history.held_now().items()} == {"a": 1.0, "b": 1.0}
    picture.take(view(node("gpu-2", card(0)), epoch="two", version=2, at=NOW + 120))
    assert not kinds(history)
    assert kinds(history, "gpu-2") == [("freed", 0, "b/y")]
    used = {each.namespace: each.card_hours for each in history.used(0)}
    assert used == {"a": round(120 / 3600, 6), "b": round(120 / 3600, 6)}


def test_a_node_that_the_next_scheduler_does_not_name_is_gone_once_all_was_told() -> None:
    picture, history = followed()
    picture.take(view(one("a/x"), node("gpu-2", card(0)), at=NOW))
    picture.take(view(one("a/x"), epoch="two", at=NOW + 5, more=True))
    picture.take(view(epoch="three", at=NOW + 6))
    assert [each.kind for each in history.moments_of("gpu-2")] == ["node-removed"]
    assert [each.kind for each in history.moments_of("gpu-1")] == ["node-removed"]
    assert history.held_now() == {}


def test_moments_are_bounded_for_each_node_and_in_all() -> None:
    picture, history = followed()
    picture.take(view(one(), at=NOW))
    for number in range(200):
        picture.take(view(one("a/x") if number % 2 else one("a/y"), version=number + 2, at=NOW + number))
    assert len(history.moments_of("gpu-1", 1000)) == happening.MOST_OF_NODE
    assert len(history.moments_of("gpu-1", 5)) == 5
    told = happening.Happenings()
    for number in range(happening.MOST_IN_ALL + 100):
        told.note(None, msgspec.structs.replace(one(), node=f"n{number}"), NOW)
    assert sum(bool(told.of_node(f"n{number}", 1)) for number in range(happening.MOST_IN_ALL + 100)) == (
        happening.MOST_IN_ALL
    )


def test_a_point_is_noted_once_a_minute_with_what_the_scheduler_worked_out() -> None:
    picture, history = followed()
    room = IdleRoom(at=NOW, idle=1.5, fragmented=0.5, shapes=3)
    for second in range(0, 200, 20):
        picture.take(view(one("a/x"), version=second + 1, at=NOW + second, room=room))
    course = history.course(0)
    assert [int(point.at // 60) for point in course] == sorted(
        {int((NOW + s) // 60) for s in range(0, 200, 20)}
    )
    assert (course[0].cards, course[0].used, course[0].idle, course[0].fragmented) == (2, 1.0, 1.5, 0.5)
    assert course[0].typical


def test_the_course_has_a_day_in_minutes_and_a_month_in_quarters_of_an_hour() -> None:
    course = Course()
    begin = NOW // COARSE_S * COARSE_S
    for minute in range(40 * 24 * 60):
        at = begin + 60 * minute
        assert course.due(at)
        course.add(Point(at=at, cards=1, used=0, idle=1, fragmented=minute % 15, waiting=0))
    assert len(course.fine) == MOST_FINE
    assert len(course.coarse) == MOST_COARSE
    assert {point.fragmented for point in course.coarse} == {7.0}
    everything = course.since(0)
    assert [point.at for point in everything] == sorted({point.at for point in everything})
    assert not course.due(begin)
