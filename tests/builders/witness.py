"""Somebody who hears everything an informer tells, and knows what it may never say."""

from __future__ import annotations

from typing import Any, NamedTuple

from builders.hostile_world import HostileWorld
from tangram.kube.informer import Change, Key


class Seen(NamedTuple):
    """All that is kept of an object."""

    uid: str
    version: int


def keep(thing: dict[str, Any]) -> Seen:
    if thing["spoiled"]:
        raise ValueError("spoiled")
    return Seen(thing["metadata"]["uid"], int(thing["metadata"]["resourceVersion"]))


class Witness:
    def __init__(self, world: HostileWorld) -> None:
        self.world = world
        self.changes: list[Change[Seen]] = []
        self.troubles: list[str] = []
        self._last: dict[Key, Seen] = {}
        self._newest: dict[str, int] = {}
        self._gone: set[str] = set()

    def told(self, change: Change[Seen]) -> None:
        self.changes.append(change)
        key, old, new = change
        assert old == self._last.get(key), "each step starts where the one before it ended"
        if new is None:
            assert old is not None
            del self._last[key]
            self._gone.add(old.uid)
            return
        assert old is None or old.uid == new.uid, "another object is two steps"
        assert new.version > self._newest.get(new.uid, 0), "time never runs back"
        # Pages of different age can show an object after its end; the end is then told again.
        assert new.uid not in self._gone or self.world.torn, "what is gone stays gone"
        self._last[key] = new
        self._newest[new.uid] = new.version
