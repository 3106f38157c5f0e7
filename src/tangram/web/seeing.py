"""What a person may see, found out from the API server and kept for moments.

A question costs the API server a SubjectAccessReview, and a cluster has many namespaces. So rights that reach
everywhere are asked for first, and most people with them need no more. For others each namespace is asked about that
has ever had something to show: what was granted is asked again all together and often, so that a right that is taken
away ends within half a minute; what was refused only now and then. When the API server does not say, `RightsUnknown`
is raised and nobody sees anything: a sight is never older, and never wider, than what was last said.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from tangram.kube.rights import RightsUnknown, User
from tangram.web.picture import Change
from tangram.web.sight import Sight

GRANTED_S: Final = 20.0
"""With the ten seconds for which `kube.rights` remembers an answer, half a minute."""
REFUSED_S: Final = 300.0
MOST_AT_A_LOOK: Final = 500
"""Namespaces. What is left over is asked about at the next look."""
MOST_AT_ONCE: Final = 6
"""Of the reviews that `kube.rights` lets run at once, so that somebody else can still sign in meanwhile."""
MOST_USERS: Final = 256
MOST_NAMESPACES: Final = 20_000


class Judge(Protocol):
    """Raises `RightsUnknown`."""

    async def may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool: ...


class Seen(NamedTuple):
    sight: Sight
    may_patch_nodes: bool


class Namespaces:
    """Those that have had pods here that want or hold cards, newest last. `note` is a listener of the picture."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()
        self.version = 0
        """Grows when one comes that was not known."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def note(self, change: Change) -> None:
        """Whatever an answer of the scheduler names."""
        self.add(
            holder.pod.partition("/")[0]
            for _before, node in change.nodes
            if node is not None
            for card in node.cards
            for holder in card.holders
        )
        self.add(pod.pod.partition("/")[0] for _before, pod in change.waiting if pod is not None)

    def add(self, names: Iterable[str]) -> None:
        """Also those that a history brings from before."""
        for name in names:
            if name and name not in self._names:
                self._names[name] = None
                self.version += 1
        while len(self._names) > MOST_NAMESPACES:
            self._names.popitem(last=False)


class _Person:
    """What the API server has said about one of them, and when."""

    def __init__(self) -> None:
        self.asked = float("-inf")
        self.everything = False
        self.nodes = False
        self.patches = False
        self.granted: dict[str, float] = {}
        self.refused: dict[str, float] = {}
        self.version = -1
        self.seen: Seen | None = None
        self.looking: asyncio.Task[Seen] | None = None


class Seeing:
    def __init__(
        self, rights: Judge, namespaces: Namespaces, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rights = rights
        self._namespaces = namespaces
        self._clock = clock
        self._people: OrderedDict[User, _Person] = OrderedDict()
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)

    def __len__(self) -> int:
        """How many people are remembered."""
        return len(self._people)

    async def of(self, user: User) -> Seen:
        """What that user may see now. Raises `RightsUnknown`.

        Costs nothing while the last answers hold, so that whoever serves a stream asks each time before it says more.
        """
        person = self._people.get(user)
        if person is None:
            person = self._people[user] = _Person()
            while len(self._people) > MOST_USERS:
                self._people.popitem(last=False)
        self._people.move_to_end(user)
        if person.seen is not None and self._holds(person):
            return person.seen
        if person.looking is None or person.looking.done():
            person.looking = asyncio.create_task(self._look(user, person))
            # Those who asked may all be gone before it ends; what it ended with is nobody's business then.
            person.looking.add_done_callback(lambda done: done.cancelled() or done.exception())
        # One look for everybody who asks meanwhile, and no one of them ends it for the others.
        return await asyncio.shield(person.looking)

    def forget(self, user: User) -> None:
        """Ask everything anew the next time: somebody signs in who was just given a right."""
        self._people.pop(user, None)

    def _holds(self, person: _Person) -> bool:
        fresh = self._clock() - person.asked < GRANTED_S
        return fresh and (person.everything or person.version == self._namespaces.version)

    async def _look(self, user: User, person: _Person) -> Seen:
        now, version = self._clock(), self._namespaces.version
        anew = now - person.asked >= GRANTED_S
        if anew:
            person.seen = None
            everything, nodes, patches = await asyncio.gather(
                self._may(user, "list", "pods"),
                self._may(user, "list", "nodes"),
                self._may(user, "patch", "nodes"),
            )
            person.everything, person.nodes, person.patches = everything, nodes, patches
            asked = now
        else:
            asked = person.asked
        if not person.everything:
            await self._ask(user, person, self._due(person, now, anew=anew), now)
        granted = frozenset(name for name, at in person.granted.items() if now - at < 2 * GRANTED_S)
        sight = Sight(
            everything=person.everything,
            nodes=person.nodes,
            namespaces=frozenset() if person.everything else granted,
        )
        person.asked, person.version = asked, version
        person.seen = Seen(sight, person.patches)
        return person.seen

    def _due(self, person: _Person, now: float, *, anew: bool) -> list[str]:
        """Namespaces to ask about, those first whose answer somebody lives on.

        A new look asks about all of these, however young some answers are: the next one is a while away.
        """
        known = self._namespaces
        for said in (person.granted, person.refused):
            for name in [name for name in said if name not in known]:
                del said[name]
        again = sorted((at, name) for name, at in person.granted.items()) if anew else []
        new = [name for name in known if name not in person.granted and name not in person.refused]
        late = sorted((at, name) for name, at in person.refused.items() if now - at >= REFUSED_S)
        return [*(name for _, name in again), *new, *(name for _, name in late)][:MOST_AT_A_LOOK]

    async def _ask(self, user: User, person: _Person, names: list[str], now: float) -> None:
        left = iter(names)

        async def some() -> None:
            for name in left:
                allowed = await self._may(user, "list", "pods", name)
                (person.refused if allowed else person.granted).pop(name, None)
                (person.granted if allowed else person.refused)[name] = now

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(MOST_AT_ONCE, len(names))):
                    group.create_task(some())
        except BaseExceptionGroup as failed:
            unknown = failed.subgroup(RightsUnknown)
            if unknown is None:
                raise
            raise _first(unknown) from None

    async def _may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool:
        async with self._turn:
            return await self._rights.may(user, verb, resource, namespace)


def _first(group: BaseExceptionGroup[RightsUnknown]) -> RightsUnknown:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
