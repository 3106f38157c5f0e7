"""Lists and events in any order become steps that chain, and nothing old undoes anything new."""

from typing import Any

import pytest

from tangram.kube.errors import ApiUnreachable
from tangram.kube.objects import Key, older
from tangram.kube.replica import Change, Listing, Replica

Object = dict[str, Any]


def thing(name: str, version: int, uid: str = "u1", **more: object) -> Object:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}, **more}


class Copy:
    """A replica that keeps uid and version, and refuses what says `spoiled`."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str | None, str | None]] = []
        self.troubles: list[str] = []
        self.replica = Replica(self._keep, self._told, self.troubles.append)

    def _keep(self, one: Object) -> str:
        if one.get("spoiled"):
            raise KeyError("spec")
        return f"{one['metadata']['uid']}@{one['metadata']['resourceVersion']}"

    def _told(self, change: Change[str]) -> None:
        self.steps.append((change.key.name, change.old, change.new))

    def list(self, version: int, *things: Object) -> None:
        self.list_pages((version, things))

    def list_pages(self, *pages: tuple[int, tuple[Object, ...]]) -> None:
        listing = Listing[str]()
        for version, things in pages:
            self.replica.take_page(
                listing, {"metadata": {"resourceVersion": str(version)}, "items": list(things)}
            )
        self.replica.replace(listing)
        self.steps, told = [], self.steps
        self.last_list = told

    @property
    def objects(self) -> dict[str, str]:
        return {key.name: kept for key, kept in self.replica.objects.items()}


@pytest.fixture
def copy() -> Copy:
    made = Copy()
    made.list(10, thing("a", 5), thing("b", 7))
    return made


def test_a_list_tells_the_gone_before_the_new_because_they_made_room(copy: Copy) -> None:
    copy.list(20, thing("b", 12), thing("c", 15))
    assert copy.last_list == [("a", "u1@5", None), ("b", "u1@7", "u1@12"), ("c", None, "u1@15")]


def test_what_did_not_change_is_not_read_again(copy: Copy) -> None:
    copy.list(20, thing("a", 5, spoiled=True), thing("b", 7, spoiled=True))
    assert copy.last_list == []
    assert copy.troubles == []


@pytest.mark.parametrize(
    ("kind", "late"),
    [
        pytest.param("MODIFIED", thing("a", 5), id="the-same-again"),
        pytest.param("MODIFIED", thing("a", 3), id="an-earlier-state"),
        pytest.param("ADDED", thing("a", 2, "u0"), id="an-object-that-had-the-name-before"),
        pytest.param("DELETED", thing("a", 4, "u0"), id="the-end-of-that-one"),
        pytest.param("ADDED", thing("z", 9), id="one-that-ended-before-the-list"),
        pytest.param("DELETED", thing("z", 11), id="the-end-of-one-never-known"),
        pytest.param("BOOKMARK", {"metadata": {"resourceVersion": "3"}}, id="an-old-bookmark"),
        pytest.param("BOOKMARK", {"metadata": {}}, id="a-bookmark-without-a-version"),
    ],
)
def test_old_news_changes_nothing(copy: Copy, kind: str, late: Object) -> None:
    copy.replica.take_event(kind, late)
    assert copy.steps == []
    assert copy.objects == {"a": "u1@5", "b": "u1@7"}


def test_an_event_of_an_unknown_kind_changes_nothing_not_even_the_moment_reached(copy: Copy) -> None:
    copy.replica.take_event("SURPRISE", thing("a", 99))
    assert copy.objects == {"a": "u1@5", "b": "u1@7"}
    assert copy.replica.version == "10"


def test_the_moment_reached_never_goes_back(copy: Copy) -> None:
    for kind, one in [("MODIFIED", thing("a", 12)), ("DELETED", thing("z", 8)), ("MODIFIED", thing("b", 9))]:
        copy.replica.take_event(kind, one)
    assert copy.replica.version == "12"
    copy.replica.take_event("BOOKMARK", {"metadata": {"resourceVersion": "30"}})
    assert copy.replica.version == "30"


def test_another_object_under_the_same_name_is_two_steps(copy: Copy) -> None:
    copy.replica.take_event("ADDED", thing("a", 12, "u2"))
    assert copy.steps == [("a", "u1@5", None), ("a", None, "u2@12")]


def test_the_end_of_a_later_object_ends_the_earlier_one_too(copy: Copy) -> None:
    copy.replica.take_event("DELETED", thing("a", 14, "u2"))
    assert copy.steps == [("a", "u1@5", None)]


def test_pages_of_different_age_are_followed_from_the_oldest_and_nothing_turns_back() -> None:
    copy = Copy()
    # Between the pages: a changed (11), b ended (12), another b was made (13), c changed (14).
    copy.list_pages((10, (thing("a", 5),)), (14, (thing("b", 13, "u2"), thing("c", 14))))
    assert copy.replica.version == "10", "what happened to the first page's objects must be heard"
    for kind, one in [
        ("MODIFIED", thing("a", 11)),
        ("MODIFIED", thing("b", 11, "u1")),
        ("DELETED", thing("b", 12, "u1")),
        ("ADDED", thing("b", 13, "u2")),
        ("MODIFIED", thing("c", 14)),
    ]:
        copy.replica.take_event(kind, one)
    assert copy.steps == [("a", "u1@5", "u1@11")]


def test_an_object_that_leaves_the_selection_and_returns_is_followed(copy: Copy) -> None:
    copy.replica.take_event("DELETED", thing("a", 11))
    copy.replica.take_event("ADDED", thing("a", 12))
    assert copy.steps == [("a", "u1@5", None), ("a", None, "u1@12")]


def test_a_restored_server_is_believed(copy: Copy) -> None:
    copy.list(4, thing("a", 2))
    assert copy.objects == {"a": "u1@2"}
    assert copy.replica.version == "4"


# ---- what cannot be read


@pytest.mark.parametrize("listed", [False, True])
def test_an_object_that_cannot_be_read_keeps_its_last_good_state_and_is_named(
    copy: Copy,
    listed: bool,  # noqa: FBT001 - a case of the table
) -> None:
    bad = thing("a", 12, spoiled=True)
    if listed:
        copy.list(20, bad, thing("b", 7))
    else:
        copy.replica.take_event("MODIFIED", bad)
    assert copy.objects == {"a": "u1@5", "b": "u1@7"}
    assert copy.replica.unread == {Key("", "a"): "a could not be read: KeyError: 'spec'"}
    assert copy.troubles == ["a could not be read: KeyError: 'spec'"]
    copy.replica.take_event("MODIFIED", thing("a", 21))
    assert copy.objects["a"] == "u1@21"
    assert not copy.replica.unread


@pytest.mark.parametrize("listed", [False, True])
def test_one_never_read_is_named_and_its_predecessor_is_gone(
    copy: Copy,
    listed: bool,  # noqa: FBT001 - a case of the table
) -> None:
    bad = thing("a", 12, "u2", spoiled=True)
    if listed:
        copy.list(20, bad, thing("b", 7))
    else:
        copy.replica.take_event("ADDED", bad)
    assert copy.objects == {"b": "u1@7"}
    assert list(copy.replica.unread) == [Key("", "a")]
    copy.replica.take_event("DELETED", thing("a", 30, "u2"))
    assert not copy.replica.unread


def test_the_next_list_tries_again_and_forgets_who_is_gone(copy: Copy) -> None:
    for name in "ab":
        copy.replica.take_event("MODIFIED", thing(name, 12, spoiled=True))
    copy.list(20, thing("a", 12))
    assert copy.last_list[-2:] == [("b", "u1@7", None), ("a", "u1@5", "u1@12")]
    assert not copy.replica.unread


# ---- what is no object


@pytest.mark.parametrize(
    "nonsense",
    [
        pytest.param({}, id="empty"),
        pytest.param({"metadata": None}, id="no-metadata"),
        pytest.param({"metadata": []}, id="metadata-is-a-list"),
        pytest.param({"metadata": {"name": 7}}, id="a-name-that-is-a-number"),
        pytest.param({"metadata": {"name": ""}}, id="an-empty-name"),
        pytest.param("text", id="a-text"),
        pytest.param(None, id="null"),
    ],
)
def test_what_is_no_object_is_the_connections_fault_and_changes_nothing(copy: Copy, nonsense: Any) -> None:  # noqa: ANN401 - JSON of any shape
    with pytest.raises(ApiUnreachable, match="no API object"):
        copy.replica.take_event("ADDED", nonsense)
    with pytest.raises(ApiUnreachable, match="no API object"):
        copy.list(20, nonsense)
    assert copy.objects == {"a": "u1@5", "b": "u1@7"}


@pytest.mark.parametrize(
    ("version", "than", "expected"),
    [
        pytest.param("9", "10", True, id="fewer-digits"),
        pytest.param("10", "9", False, id="more-digits"),
        pytest.param("10", "10", False, id="the-same"),
        pytest.param("18446744073709551615", "18446744073709551616", True, id="beyond-64-bits"),
        pytest.param("", "10", False, id="none"),
        pytest.param("abc", "abd", False, id="no-numbers"),
        pytest.param("-1", "3", False, id="a-sign"),
    ],
)
def test_versions_have_an_order_only_where_they_are_numbers(
    version: str,
    than: str,
    expected: bool,  # noqa: FBT001 - a case of the table
) -> None:
    assert older(version, than) is expected
