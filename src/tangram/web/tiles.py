"""Nodes as tiles: the little of each that a picture of thousands shows, kept beside the picture and moved with it.

A tile is made once for everybody and again only when its node is another; what a viewer may not see, which is whose
pods sit there, is taken off as it is told (`tile_telling`). Nothing here is HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from tangram.reports.status_shape import (
    CORDONED,
    FREE,
    NOT_READY,
    READY,
    UNHEALTHY,
    USED,
    CardStatus,
    NodeStatus,
)
from tangram.units.ids import natural_key
from tangram.web.picture import Change, Picture, Sums, added_up, sums_of
from tangram.web.sight import Sight

MODES: Final = ("whole", "sliced", "virtual", "shared", "undecided")
CARD_STATES: Final = (FREE, USED, CORDONED, UNHEALTHY)
NODE_STATES: Final = (READY, CORDONED, NOT_READY)
"""A tile says each by its position here, and so does `static/cluster.js`."""
_MODE_OF: Final = {"native": 0, "sgpu": 1, "vgpu": 2, "shared": 3, "undecided": 4}
_PERCENTS: Final = 101
MOST_SIGHTS: Final = 64
"""Whose tiles are kept at hand."""
MOST_LEFT: Final = 20_000
"""Departures that are remembered; who asks from before them is told everything again."""


class Cell(NamedTuple):
    """One card."""

    mode: int
    state: int
    memory: int
    """Percent given away, and so for compute. Never 0 for something, nor 100 for less than all."""
    compute: int

    @property
    def packed(self) -> int:
        """All of it in one number, for browsers."""
        kind = self.mode * len(CARD_STATES) + self.state
        return (kind * _PERCENTS + self.memory) * _PERCENTS + self.compute


class Tile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One node, as far as a picture of all of them shows it."""

    name: str
    state: int
    kinds: tuple[tuple[str, str], ...]
    """Vendor and product of its cards, each once."""
    policies: tuple[str, ...]
    pods: tuple[tuple[str, int], ...]
    """Namespaces, and how many of their pods sit here."""
    cells: tuple[Cell, ...]
    free: int
    """On a node that takes pods."""

    def namespaces(self, sight: Sight) -> list[str]:
        """Whose pods sit here, of those that may be seen."""
        return [namespace for namespace, _ in self.pods if sight.of_namespace(namespace)]

    def seen(self, sight: Sight) -> bool:
        """Whether the node may be shown at all."""
        return sight.nodes or any(sight.of_namespace(namespace) for namespace, _ in self.pods)

    def count(self, state: str) -> int:
        """How many cards are in that state."""
        number = CARD_STATES.index(state)
        return sum(cell.state == number for cell in self.cells)


def tile_of(node: NodeStatus) -> Tile:
    """A node's tile."""
    pods: dict[str, set[str]] = {}
    for card in node.cards:
        for holder in card.holders:
            pods.setdefault(holder.pod.partition("/")[0], set()).add(holder.pod)
    cells = tuple(_cell(card) for card in node.cards)
    return Tile(
        name=node.node,
        state=NODE_STATES.index(node.state) if node.state in NODE_STATES else NODE_STATES.index(NOT_READY),
        kinds=tuple(sorted({(card.vendor, card.product) for card in node.cards})),
        policies=tuple(sorted({card.qos for card in node.cards if card.qos})),
        pods=tuple(sorted((namespace, len(names)) for namespace, names in pods.items())),
        cells=cells,
        free=sum(card.state == FREE for card in node.cards) if node.state == READY else 0,
    )


def _cell(card: CardStatus) -> Cell:
    return Cell(
        mode=_MODE_OF.get(card.mode, 4),
        # A state this version does not know is not one to place pods on.
        state=CARD_STATES.index(card.state) if card.state in CARD_STATES else CARD_STATES.index(UNHEALTHY),
        memory=_percent(card.memory_used, card.memory),
        compute=_percent(card.cores_used, card.cores),
    )


def _percent(used: int, total: int) -> int:
    if used <= 0 or total <= 0:
        return 0
    return 100 if used >= total else min(99, max(1, round(100 * used / total)))


_Key = TypeVar("_Key")


class Book:
    """The tiles of one picture. Asked through `book_of`."""

    def __init__(self) -> None:
        self.version = 0
        self.tiles: dict[str, Tile] = {}
        """By name, in the order in which people count."""
        self.pods: Counter[str] = Counter()
        """On cards, by namespace."""
        self.kinds: Counter[tuple[str, str]] = Counter()
        """How many nodes have cards of that vendor and product; likewise the next two."""
        self.policies: Counter[str] = Counter()
        self.sizes: Counter[int] = Counter()
        """By how many cards."""
        self._moved: dict[str, int] = {}
        """By namespace, at which version a node with pods of it was last another."""
        self._homes: dict[str, set[str]] = {}
        """By namespace, nodes with pods of it."""
        self._places: dict[str, int] = {}
        """Of each tile among all."""
        self._sums: dict[str, tuple[float, ...]] = {}
        self._shown: dict[frozenset[str], tuple[int, Sequence[Tile], Sums]] = {}
        self._left: dict[str, dict[str, int]] = {}
        """Nodes, with the namespaces whose last pod there went, and the version at which it did."""
        self._left_since = 0
        self._left_count = 0

    def follow(self, picture: Picture) -> None:
        """Make anew what changed."""
        if picture.version == self.version:
            return
        changed, before = picture.changed_since(self.version), len(self.tiles)
        if not picture.remembers(self.version):
            changed = list({**self.tiles, **picture.nodes})
        self.version = picture.version
        added = False
        for name in changed:
            old, node = self.tiles.get(name), picture.nodes.get(name)
            tile = None if node is None else tile_of(node)
            self._count(old, -1)
            self._count(tile, 1)
            for namespace, _ in (*(old.pods if old else ()), *(tile.pods if tile else ())):
                self._moved[namespace] = self.version
            self._note_leaving(old, tile)
            self._move_in(name, old, tile)
            if node is None or tile is None:
                self.tiles.pop(name, None)
                self._sums.pop(name, None)
                continue
            self._sums[name] = msgspec.structs.astuple(sums_of({name: node}))
            added = added or old is None
            self.tiles[name] = tile
        if added or before == 0:
            self.tiles = dict(sorted(self.tiles.items(), key=lambda item: natural_key(item[0])))
            self._places = {name: place for place, name in enumerate(self.tiles)}

    def _count(self, tile: Tile | None, sign: int) -> None:
        if tile is None:
            return
        for namespace, pods in tile.pods:
            _add(self.pods, namespace, sign * pods)
        for kind in tile.kinds:
            _add(self.kinds, kind, sign)
        for policy in tile.policies:
            _add(self.policies, policy, sign)
        _add(self.sizes, len(tile.cells), sign)

    def _move_in(self, name: str, old: Tile | None, tile: Tile | None) -> None:
        for namespace, _ in old.pods if old is not None else ():
            homes = self._homes[namespace]
            homes.discard(name)
            if not homes:
                del self._homes[namespace]
        for namespace, _ in tile.pods if tile is not None else ():
            self._homes.setdefault(namespace, set()).add(name)

    def _note_leaving(self, old: Tile | None, tile: Tile | None) -> None:
        if old is None or not old.pods:
            return
        there = {namespace for namespace, _ in tile.pods} if tile is not None else set[str]()
        for namespace, _ in old.pods:
            if namespace not in there:
                self._left.setdefault(old.name, {})[namespace] = self.version
                self._left_count += 1
        if self._left_count > MOST_LEFT:
            self._left.clear()
            self._left_count, self._left_since = 0, self.version

    def left(self, names: Iterable[str], sight: Sight, since: int) -> list[str] | None:
        """Of those nodes the ones that this sight showed at that version and shows no more; None if that is forgotten.

        A node whose pods were never seen is not among them, so that nobody learns a name by its going.
        """
        if since < self._left_since:
            return None
        return [
            name
            for name in names
            if any(at > since and sight.of_namespace(each) for each, at in self._left.get(name, {}).items())
            and (name not in self.tiles or not self.tiles[name].seen(sight))
        ]

    def seen(self, sight: Sight) -> Sequence[Tile]:
        """Those that may be shown."""
        if sight.nodes:
            return list(self.tiles.values())
        if sight.everything:
            return [tile for tile in self.tiles.values() if tile.pods]
        return self._of(sight)[1]

    def sums(self, sight: Sight) -> Sums:
        """Of the nodes that may be shown, to whoever may not list them all."""
        if sight.everything:
            return added_up([self._sums[tile.name] for tile in self.seen(sight)])
        return self._of(sight)[2]

    def _of(self, sight: Sight) -> tuple[int, Sequence[Tile], Sums]:
        """Kept for as long as nothing of theirs changes: of others' nodes many may change every second."""
        at = self.moved(sight)
        kept = self._shown.get(sight.namespaces)
        if kept is None or kept[0] != at:
            names = set[str]().union(*(self._homes.get(each, ()) for each in sight.namespaces))
            shown = [self.tiles[name] for name in sorted(names, key=self._places.__getitem__)]
            if len(self._shown) >= MOST_SIGHTS:
                self._shown.clear()
            kept = self._shown[sight.namespaces] = at, shown, added_up([self._sums[name] for name in names])
        return kept

    def moved(self, sight: Sight) -> int:
        """At which version something that this sight shows was last another."""
        if sight.nodes or sight.everything:
            return self.version
        return max((self._moved.get(namespace, 0) for namespace in sight.namespaces), default=0)


def _add(counter: Counter[_Key], key: _Key, count: int) -> None:
    counter[key] += count
    if not counter[key]:
        del counter[key]


_books: Final[WeakKeyDictionary[Picture, Book]] = WeakKeyDictionary()


def book_of(picture: Picture) -> Book:
    """The tiles as they are now; the same book for as long as the picture is the same."""
    book = _books.get(picture)
    if book is None:
        book = _books[picture] = Book()
    book.follow(picture)
    return book


def keeps_tiles(picture: Picture) -> Callable[[Change], None]:
    """For the picture's listeners: tiles are made as nodes are told of, and the first page waits for none of them."""

    def note(_change: Change) -> None:
        book_of(picture)

    return note
