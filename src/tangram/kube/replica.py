"""The copy behind an informer: which objects there are and what is kept of each, without any connection.

It turns lists and events, in whatever order they come, into steps that chain: `old` of each step is `new` of the one
before it for the same name. Events that are older than what is known change nothing, so a connection that repeats
itself or comes back too early cannot turn an object back. A list is the truth: what it does not name is gone.

An object that `keep` cannot take (it raised) is told as trouble and named in `unread`. Its last good state stays in the
copy, because the object is still there and forgetting it would free what it holds; what was never read cannot be in the
copy, so who must not overlook anything looks at `unread` too. The next event or list of the object tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from tangram.kube.objects import Identity, Key, Object, identity_of, older, version_of

Kept = TypeVar("Kept")

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"


class Change(NamedTuple, Generic[Kept]):
    """One step: `new` is None when the object is gone, `old` when it was not known before.

    Where `keep` itself may make None of an object, the two cannot be told apart here; `objects` still can.
    """

    key: Key
    old: Kept | None
    new: Kept | None


class _Entry(NamedTuple, Generic[Kept]):
    uid: str
    version: str
    kept: Kept


class Listing(Generic[Kept]):
    """What one full list has brought so far."""

    def __init__(self) -> None:
        self.version = ""
        self.entries: dict[Key, _Entry[Kept]] = {}
        self.unread: dict[Key, str] = {}


class _View(Mapping[Key, Kept]):
    def __init__(self, entries: Mapping[Key, _Entry[Kept]]) -> None:
        self._entries = entries

    def __getitem__(self, key: Key) -> Kept:
        return self._entries[key].kept

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class Replica(Generic[Kept]):
    def __init__(
        self,
        keep: Callable[[Object], Kept],
        told: Callable[[Change[Kept]], None],
        troubled: Callable[[str], None],
    ) -> None:
        self._keep = keep
        self._told = told
        self._troubled = troubled
        self._entries: dict[Key, _Entry[Kept]] = {}
        self.objects: Final[Mapping[Key, Kept]] = _View(self._entries)
        self.unread: Final[dict[Key, str]] = {}
        """Objects whose present state could not be read, each with the reason."""
        self.version = ""
        """The moment of the server's history that the copy has reached."""

    def take_page(self, listing: Listing[Kept], page: Object) -> None:
        """Read one page of a list. Nothing of it is in the copy before `replace`."""
        # Should pages differ in age, only the first one's moment is surely before all that may have been missed.
        listing.version = listing.version or version_of(page)
        items: list[Object] = page.get("items") or []
        for item in items:
            self._read_listed(listing, item)

    def replace(self, listing: Listing[Kept]) -> None:
        """Make the copy what the list says. The gone are told first: what they held is free for the new."""
        for key in [key for key, entry in self._entries.items() if _ended(entry, listing.entries.get(key))]:
            self._remove(key)
        self.unread.clear()
        self.unread.update(listing.unread)
        for key, entry in listing.entries.items():
            if self._entries.get(key) is not entry:
                self._put(key, entry)
        self.version = listing.version

    def take_event(self, kind: str, thing: Object) -> None:
        """One event of a watch. Kinds of events that are not known are left for those who do."""
        if kind == BOOKMARK:
            self._advance(version_of(thing))
        elif kind in (ADDED, MODIFIED, DELETED):
            seen = identity_of(thing)
            if kind == DELETED:
                self._take_end(seen)
            elif not older(seen.version, self.version):
                self._take_state(seen, thing)
            self._advance(seen.version)

    def _read_listed(self, listing: Listing[Kept], item: Object) -> None:
        key, uid, version = identity_of(item)
        known = self._entries.get(key)
        if known is not None and known[:2] == (uid, version):
            listing.entries[key] = known
            return
        listing.unread.pop(key, None)
        entry = self._kept(Identity(key, uid, version), item, listing.unread)
        if entry is not None:
            listing.entries[key] = entry
        elif known is not None and known.uid == uid:
            listing.entries[key] = known

    def _take_end(self, seen: Identity) -> None:
        known = self._entries.get(seen.key)
        if known is not None and older(seen.version, known.version):
            return
        self.unread.pop(seen.key, None)
        if known is not None:
            self._remove(seen.key)

    def _take_state(self, seen: Identity, thing: Object) -> None:
        key, uid, version = seen
        known = self._entries.get(key)
        if known is not None:
            if older(version, known.version):
                return
            if known[:2] == (uid, version):
                return
            if known.uid != uid:
                # Deleted and made again while nobody watched: two steps, never one.
                self._remove(key)
        self.unread.pop(key, None)
        entry = self._kept(seen, thing, self.unread)
        if entry is not None:
            self._put(key, entry)

    def _kept(self, seen: Identity, thing: Object, unread: dict[Key, str]) -> _Entry[Kept] | None:
        try:
            return _Entry(seen.uid, seen.version, self._keep(thing))
        except Exception as error:  # noqa: BLE001 - whatever one object does to its reader, the others go on
            name = "/".join(filter(None, seen.key))
            unread[seen.key] = f"{name} could not be read: {type(error).__name__}: {error}"
            self._troubled(unread[seen.key])
            return None

    def _put(self, key: Key, entry: _Entry[Kept]) -> None:
        known = self._entries.get(key)
        self._entries[key] = entry
        self._told(Change(key, None if known is None else known.kept, entry.kept))

    def _remove(self, key: Key) -> None:
        self._told(Change(key, self._entries.pop(key).kept, None))

    def _advance(self, version: str) -> None:
        if version and not older(version, self.version):
            self.version = version


def _ended(entry: _Entry[Kept], listed: _Entry[Kept] | None) -> bool:
    return listed is None or listed.uid != entry.uid
