"""The store keeps every change in order, shows the recent past, and forgets the rest in words clients know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.journal import FileJournal, JournalError
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.store import KEPT_CHANGES, Spot, Store

PODS = ("", "pods")


def spot(name: str, namespace: str = "default") -> Spot:
    return Spot(PODS, namespace, name)


def thing(name: str, **more: object) -> Object:
    return {"metadata": {"name": name, "namespace": "default"}, **more}


def names(things: Iterable[Object]) -> list[str]:
    return [each["metadata"]["name"] for each in things]


def test_every_change_has_a_larger_version_than_the_one_before() -> None:
    store = Store()
    first, second = store.put(spot("a"), thing("a")), store.put(spot("a"), thing("a", spec=1))
    gone = store.remove(spot("a"))
    versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second, gone)]
    assert versions == sorted(set(versions))


def test_an_object_that_is_kept_is_not_the_one_that_was_given() -> None:
    store, given_thing = Store(), thing("a")
    store.put(spot("a"), given_thing)
    assert "resourceVersion" not in given_thing["metadata"]


async def test_a_watch_brings_what_came_after_its_version_and_nothing_before() -> None:
    store = Store()
    store.put(spot("a"), thing("a"))
    since = store.revision
    store.put(spot("b"), thing("b"))
    watcher = store.watch(PODS, "", since)
    store.put(spot("c"), thing("c"))
    store.remove(spot("a"))
    found = await watcher.some(0)
    assert [(each.type, each.spot.name) for each in found] == [
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("DELETED", "a"),
    ]


async def test_a_watch_of_one_namespace_hears_of_no_other() -> None:
    store = Store()
    watcher = store.watch(PODS, "mine", None)
    store.put(spot("a", "other"), thing("a"))
    store.put(spot("b", "mine"), thing("b"))
    assert [each.spot.name for each in await watcher.some(0)] == ["b"]


def test_a_version_that_is_forgotten_is_answered_with_410() -> None:
    store = Store()
    for number in range(KEPT_CHANGES + 2):
        store.put(spot("a"), thing("a", spec=number))
    with pytest.raises(Refused) as refused:
        store.watch(PODS, "", 1)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    with pytest.raises(Refused):
        store.as_of(PODS, "", 1)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30))
def test_the_past_is_shown_as_it_was(steps: list[tuple[str, bool]]) -> None:
    store, then = Store(), {1: list[str]()}
    for name, wanted in steps:
        if wanted:
            store.put(spot(name), thing(name))
        elif store.get(spot(name)) is not None:
            store.remove(spot(name))
        then[store.revision] = names(store.all(PODS))
    for revision, seen in then.items():
        assert names(store.as_of(PODS, "", revision)) == seen


def test_what_a_journal_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    store = Store(journal)
    store.put(spot("a"), thing("a"))
    store.put(spot("b"), thing("b"))
    store.remove(spot("a"))
    journal.close()
    again = FileJournal(tmp_path)
    restored = Store(again)
    assert again.load_into(restored) == 1
    assert names(restored.all(PODS)) == ["b"]
    assert restored.revision == store.revision
    with pytest.raises(Refused):
        restored.watch(PODS, "", 1)
    again.close()


def test_a_file_that_is_no_journal_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "objects.sqlite").write_bytes(b"something else altogether, and long enough to be read" * 40)
    with pytest.raises(JournalError, match="is no file of a sandbox"):
        FileJournal(tmp_path)


def test_what_cannot_be_written_down_has_not_happened() -> None:
    class Full:
        def wrote(self, spot: Spot, thing: Object | None, revision: int) -> None:
            raise OSError(spot, thing, revision)

    store = Store(Full())
    with pytest.raises(OSError, match="a"):
        store.put(spot("a"), thing("a"))
    assert names(store.all(PODS)) == []
