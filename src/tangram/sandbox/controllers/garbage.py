"""Garbage collection: what nobody owns any more is deleted, and what asks for it waits until it owns nothing.

Owners are known from the copies of every kind. One that is not in any copy is asked for by name before it counts as
absent: the copies are of different kinds, and what one of them has heard of the others may hear later.

Two kinds are not followed, because they change all the time and matter to nobody here: events and leases. The lease of
a node that is gone is removed by `node_leftovers`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Final, Literal

from tangram.daemon.running import Supervisor
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copy, metadata_only
from tangram.sandbox.controllers.hands import BACKGROUND, FOREGROUND, ORPHAN, Hands
from tangram.sandbox.controllers.reading import finalizers_of, is_going, key_of, owners_of, uid_of
from tangram.sandbox.controllers.resources import DEFINITIONS
from tangram.sandbox.controllers.served import Served
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "garbage-collector"
WAITS_FOR_DEPENDENTS: Final = "foregroundDeletion"
ORPHANS_DEPENDENTS: Final = "orphan"
NOT_FOLLOWED: Final = frozenset(
    {("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases")}
)
NEEDED: Final = frozenset({"delete", "list", "watch"})
MOST_ABSENT: Final = 2000

_State = Literal["solid", "absent", "waiting"]


class Garbage:
    def __init__(self, hands: Hands, served: Served) -> None:
        self._hands = hands
        self._served = served
        self._places: dict[str, tuple[Copy, Key]] = {}
        self._dependents: defaultdict[str, set[str]] = defaultdict(set)
        self._absent: OrderedDict[str, None] = OrderedDict()
        self._followed: set[int] = set()
        self.gone: Final[list[Callable[[Object], None]]] = []
        """Who hears of every object that is gone, whatever its kind."""
        self._undecided: set[str] = set()
        """Whose owners are of a kind that nobody knows, yet."""
        self.queue: Final = WorkQueue[str](COMPONENT, self.look)

    async def follow_everything(self, supervisor: Supervisor) -> None:
        """Follow every kind that can be deleted; called again when there are new ones."""
        for kind in self._served.kinds:
            place = (kind.resource.group, kind.resource.plural)
            if kind.verbs >= NEEDED and place not in NOT_FOLLOWED:
                self._follow(self._hands.copies.of(kind.resource, metadata_only))
        await self._hands.copies.begin(supervisor)
        undecided, self._undecided = self._undecided, set()
        for uid in undecided:
            self.queue.add(uid)

    def _follow(self, copy: Copy) -> None:
        if id(copy) in self._followed:
            return
        self._followed.add(id(copy))
        copy.listeners.append(lambda before, after: self._changed(copy, before, after))
        for thing in list(copy.things.values()):
            self._changed(copy, None, thing)

    def _changed(self, copy: Copy, before: Object | None, after: Object | None) -> None:
        if before is not None and (after is None or uid_of(after) != uid_of(before)):
            self._gone(before)
            before = None
        if after is None:
            return
        uid = uid_of(after)
        self._places[uid] = (copy, key_of(after))
        was, now = _owner_uids(before), _owner_uids(after)
        for owner in now - was:
            self._dependents[owner].add(uid)
        for owner in was - now:
            self._dependents[owner].discard(uid)
        changed = before is None or owners_of(before) != owners_of(after)
        if changed:
            self._wake_waiting(was | now)
        if (changed and now) or (is_going(after) and _special(after)):
            self.queue.add(uid)

    def _gone(self, thing: Object) -> None:
        uid = uid_of(thing)
        self._places.pop(uid, None)
        self._undecided.discard(uid)
        self._remember_absent(uid)
        for owner in _owner_uids(thing):
            self._dependents[owner].discard(uid)
            if not self._dependents[owner]:
                del self._dependents[owner]
        self._wake_waiting(_owner_uids(thing))
        for dependent in self._dependents.get(uid, ()):
            self.queue.add(dependent)
        self.queue.forget(uid)
        for listener in self.gone:
            listener(thing)

    def _wake_waiting(self, owners: set[str]) -> None:
        """Owners that wait until they own nothing may have come to that."""
        for uid in owners:
            owner = self._thing(uid)
            if owner is not None and is_going(owner):
                self.queue.add(uid)

    async def look(self, uid: str) -> None:
        place = self._places.get(uid)
        thing = self._thing(uid)
        if place is None or thing is None:
            return
        copy = place[0]
        if is_going(thing):
            if WAITS_FOR_DEPENDENTS in finalizers_of(thing):
                await self._delete_dependents(copy, thing)
            elif ORPHANS_DEPENDENTS in finalizers_of(thing):
                await self._orphan_dependents(copy, thing)
        elif owners_of(thing):
            await self._judge(copy, thing)

    async def _judge(self, copy: Copy, thing: Object) -> None:
        """Delete it if none of its owners is left; else drop the references to those that are not."""
        states = {owner["uid"]: await self._state(owner, thing) for owner in owners_of(thing)}
        if "solid" in states.values():
            left = [each for each in owners_of(thing) if states[each["uid"]] == "solid"]
            if len(left) != len(states):
                await self._hands.merge(copy, thing, {"metadata": {"ownerReferences": left}}, strict=True)
            return
        if "waiting" in states.values() and self._dependents.get(uid_of(thing)):
            await self._hands.delete(copy, thing, how=FOREGROUND)
            return
        how = BACKGROUND
        if ORPHANS_DEPENDENTS in finalizers_of(thing):
            how = ORPHAN
        elif WAITS_FOR_DEPENDENTS in finalizers_of(thing):
            how = FOREGROUND
        await self._hands.delete(copy, thing, how=how)

    async def _state(self, owner: Object, dependent: Object) -> _State:
        namespace = key_of(dependent).namespace
        known = self._thing(owner["uid"])
        if known is not None and key_of(known).namespace in ("", namespace):
            return "waiting" if is_going(known) and WAITS_FOR_DEPENDENTS in finalizers_of(known) else "solid"
        if owner["uid"] in self._absent:
            return "absent"
        resource = self._served.of(owner["apiVersion"], owner["kind"])
        if resource is None:
            self._undecided.add(uid_of(dependent))
            return "solid"
        if resource.namespaced and not namespace:
            # One in a namespace cannot own what is in none: no reason to delete anything.
            return "solid"
        found = await self._hands.read(resource, Key(namespace if resource.namespaced else "", owner["name"]))
        if found is None or uid_of(found) != owner["uid"]:
            self._remember_absent(owner["uid"])
            return "absent"
        return "waiting" if is_going(found) and WAITS_FOR_DEPENDENTS in finalizers_of(found) else "solid"

    async def _delete_dependents(self, copy: Copy, owner: Object) -> None:
        """Its dependents go first; it goes when none is left of those that hold it back."""
        dependents = [
            each for uid in self._dependents.get(uid_of(owner), set()) if (each := self._thing(uid))
        ]
        if not any(_holds_back(each, uid_of(owner)) for each in dependents):
            await self._without_finalizer(copy, owner, WAITS_FOR_DEPENDENTS)
            return
        for each in dependents:
            if not is_going(each):
                self.queue.add(uid_of(each))

    async def _orphan_dependents(self, copy: Copy, owner: Object) -> None:
        """Its dependents stay, without it."""
        for uid in list(self._dependents.get(uid_of(owner), set())):
            place, each = self._places.get(uid), self._thing(uid)
            if place is None or each is None:
                continue
            left = [one for one in owners_of(each) if one["uid"] != uid_of(owner)]
            await self._hands.merge(
                place[0], each, {"metadata": {"ownerReferences": left or None}}, strict=True
            )
        await self._without_finalizer(copy, owner, ORPHANS_DEPENDENTS)

    async def _without_finalizer(self, copy: Copy, thing: Object, finalizer: str) -> None:
        left = [each for each in finalizers_of(thing) if each != finalizer]
        await self._hands.merge(copy, thing, {"metadata": {"finalizers": left or None}}, strict=True)

    def _thing(self, uid: str) -> Object | None:
        place = self._places.get(uid)
        found = None if place is None else place[0].get(place[1])
        return found if found is not None and uid_of(found) == uid else None

    def _remember_absent(self, uid: str) -> None:
        self._absent[uid] = None
        if len(self._absent) > MOST_ABSENT:
            self._absent.popitem(last=False)


def _owner_uids(thing: Object | None) -> set[str]:
    return set() if thing is None else {owner["uid"] for owner in owners_of(thing)}


def _special(thing: Object) -> bool:
    return WAITS_FOR_DEPENDENTS in finalizers_of(thing) or ORPHANS_DEPENDENTS in finalizers_of(thing)


def _holds_back(dependent: Object, owner: str) -> bool:
    return any(each["uid"] == owner and each.get("blockOwnerDeletion") for each in owners_of(dependent))


class NewKinds:
    """Definitions of kinds that people make: what is served is asked for again when one is there or gone."""

    def __init__(self, hands: Hands, served: Served, garbage: Garbage, supervisor: Supervisor) -> None:
        self._served = served
        self._garbage = garbage
        self._supervisor = supervisor
        self.queue: Final = WorkQueue[str]("kinds served", self.look)
        hands.copies.of(DEFINITIONS).listeners.append(lambda _before, _after: self.queue.add("all"))

    async def look(self, _all: str) -> None:
        await self._served.read()
        await self._garbage.follow_everything(self._supervisor)
