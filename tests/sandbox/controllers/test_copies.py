"""The common copy: what we wrote is in it at once, and what the server says later is the truth."""

from __future__ import annotations

from builders.controlled import Controlled, uncontrolled
from builders.waiting import until
from tangram.daemon.running import Supervisor
from tangram.kube.informer import Change
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copies, Copy
from tangram.sandbox.controllers.hands import Hands
from tangram.sandbox.controllers.reading import key_of
from tangram.sandbox.controllers.resources import CONFIG_MAPS, PODS

HERE = Key("n", "p")


def pod(version: int, uid: str = "u", **metadata: object) -> Object:
    return {
        "metadata": {"namespace": "n", "name": "p", "uid": uid, "resourceVersion": str(version), **metadata}
    }


def still(cluster: Controlled, version: str = "5") -> Copy:
    """A copy whose informer is not running; the test plays it."""
    copy = Copies(cluster.api).of(PODS)
    reach(copy, version)
    return copy


def reach(copy: Copy, version: str) -> None:
    copy.informer._replica.version = version  # pyright: ignore[reportPrivateUsage] - plays it


def told(copy: Copy, old: Object | None, new: Object | None) -> None:
    copy._changed(Change(key_of(new or old or {}), old, new))  # pyright: ignore[reportPrivateUsage] - plays its informer


async def test_what_was_written_is_there_before_the_server_tells_of_it() -> None:
    async with uncontrolled() as cluster:
        copy = still(cluster)
        copy.note(pod(8))
        assert copy.get(HERE) == pod(8)
        told(copy, None, pod(7))
        assert copy.get(HERE) == pod(8)
        told(copy, pod(7), pod(9))
        assert copy.get(HERE) == pod(9)


async def test_news_from_before_what_is_known_change_nothing() -> None:
    async with uncontrolled() as cluster:
        copy = still(cluster, "9")
        # Gone already, and the informer is past it.
        copy.note(pod(8))
        assert copy.get(HERE) is None


async def test_one_that_was_made_and_went_unseen_does_not_stay() -> None:
    async with uncontrolled() as cluster:
        copy = still(cluster)
        copy.note(pod(8))
        reach(copy, "12")
        told(copy, None, pod(12, name="other"))
        assert copy.get(HERE) is None


async def test_one_whose_end_was_asked_for_counts_as_going_at_once() -> None:
    async with uncontrolled() as cluster:
        copy = still(cluster)
        told(copy, None, pod(6))
        copy.note_going(pod(6), {})
        found = copy.get(HERE)
        assert found is not None
        assert "deletionTimestamp" in found["metadata"]
        told(copy, pod(6), None)
        assert copy.get(HERE) is None


async def test_children_are_found_by_their_controller_whatever_becomes_of_it() -> None:
    async with uncontrolled() as cluster:
        copy = still(cluster)
        owner = {"kind": "ReplicaSet", "name": "r", "uid": "owner", "controller": True}
        told(copy, None, pod(6, ownerReferences=[owner]))
        assert [key_of(each) for each in copy.owned_by("owner")] == [HERE]
        told(copy, None, pod(7))
        assert copy.owned_by("owner") == []
        assert [key_of(each) for each in copy.without_controller("n")] == [HERE]


async def test_a_write_from_an_old_copy_is_refused_and_one_that_changes_nothing_is_not_made() -> None:
    async with uncontrolled() as cluster:
        copies = Copies(cluster.api)
        copy = copies.of(CONFIG_MAPS)
        supervisor = Supervisor()
        await copies.begin(supervisor)
        hands = Hands(cluster.api, copies, cluster.clock)
        made = await hands.create(copy, {"metadata": {"name": "c", "namespace": "default"}}, "default")
        assert copy.get(Key("default", "c")) is not None
        assert await hands.write_status(copy, made, {}) is made
        assert await hands.delete(copy, made)
        await until(lambda: copy.get(Key("default", "c")) is None)
        assert not await hands.delete(copy, made)
        supervisor.stop()
        await supervisor.until_stopped()
