"""Nodes as tiles: the little of each that a picture of thousands shows, kept beside the picture and moved with it.

A tile is made once for everybody and again only when its node is another; what a viewer may not see, which is whose
pods sit there, is taken off as it is told. For browsers tiles are numbers and positions in short tables, so that 5,000
nodes of eight cards are about half a megabyte before it is packed. Nothing here is HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
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
from tangram.web.picture import Picture
from tangram.web.sight import Sight

MODES: Final = ("whole", "sliced", "virtual", "shared", "undecided")
CARD_STATES: Final = (FREE, USED, CORDONED, UNHEALTHY)
NODE_STATES: Final = (READY, CORDONED, NOT_READY)
"""A tile says each by its position here, and so does `static/cluster.js`."""
_MODE_OF: Final = {"native": 0, "sgpu": 1, "vgpu": 2, "shared": 3, "undecided": 4}
_PERCENTS: Final = 101


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


class Book:
    """The tiles of one picture. Asked through `book_of`."""

    def __init__(self) -> None:
        self.version = 0
        self.tiles: dict[str, Tile] = {}
        """By name, in the order in which people count."""
        self.pods: Counter[str] = Counter()
        """On cards, by namespace."""

    def follow(self, picture: Picture) -> None:
        """Make anew what changed."""
        if picture.version == self.version:
            return
        changed, before = picture.changed_since(self.version), len(self.tiles)
        self.version = picture.version
        added = False
        for name in changed:
            old, node = self.tiles.get(name), picture.nodes.get(name)
            self._count(old, -1)
            if node is None:
                self.tiles.pop(name, None)
                continue
            added = added or old is None
            self.tiles[name] = tile_of(node)
            self._count(self.tiles[name], 1)
        if added or before == 0:
            self.tiles = dict(sorted(self.tiles.items(), key=lambda item: natural_key(item[0])))

    def _count(self, tile: Tile | None, sign: int) -> None:
        for namespace, pods in tile.pods if tile is not None else ():
            self.pods[namespace] += sign * pods
            if not self.pods[namespace]:
                del self.pods[namespace]

    def seen(self, sight: Sight) -> Sequence[Tile]:
        """Those that may be shown."""
        if sight.nodes:
            return list(self.tiles.values())
        return [tile for tile in self.tiles.values() if tile.seen(sight)]


_books: Final[WeakKeyDictionary[Picture, Book]] = WeakKeyDictionary()


def book_of(picture: Picture) -> Book:
    """The tiles as they are now; the same book for as long as the picture is the same."""
    book = _books.get(picture)
    if book is None:
        book = _books[picture] = Book()
    book.follow(picture)
    return book


# --- for browsers ----------------------------------------------------------------------------------------------------


class _Tables:
    """Words by position, in the order in which they were first met."""

    def __init__(self) -> None:
        self._places: dict[object, int] = {}

    def place(self, word: object) -> int:
        return self._places.setdefault(word, len(self._places))

    def words(self) -> list[object]:
        return list(self._places)


def told(tiles: Iterable[Tile], gone: Sequence[str], sight: Sight, version: int, **also: object) -> bytes:
    """Tiles as one line of JSON, for one sight: whole or what changed, in the same shape."""
    kinds, policies, namespaces = _Tables(), _Tables(), _Tables()
    rows = [
        (
            tile.name,
            tile.state,
            [kinds.place(kind) for kind in tile.kinds],
            [policies.place(policy) for policy in tile.policies],
            [namespaces.place(namespace) for namespace in tile.namespaces(sight)],
            [cell.packed for cell in tile.cells],
        )
        for tile in tiles
    ]
    return msgspec.json.encode(
        {
            "version": version,
            "kinds": kinds.words(),
            "policies": policies.words(),
            "namespaces": namespaces.words(),
            "rows": rows,
            "gone": gone,
            **also,
        }
    )


def told_whole(picture: Picture, sight: Sight, **also: object) -> bytes:
    """Every tile that may be seen."""
    book = book_of(picture)
    return told(book.seen(sight), (), sight, book.version, whole=True, **also)


def told_since(picture: Picture, sight: Sight, version: int, **also: object) -> bytes:
    """What came after a version.

    Who may not list nodes is told all tiles again, of which there are few: to say that a node is gone would name it,
    and nobody remembers whether it was ever shown to them.
    """
    if not sight.nodes:
        return told_whole(picture, sight, **also)
    book = book_of(picture)
    found = [(name, book.tiles.get(name)) for name in picture.changed_since(version)]
    changed = [tile for _, tile in found if tile is not None]
    gone = [name for name, tile in found if tile is None]
    return told(changed, gone, sight, book.version, whole=False, **also)
