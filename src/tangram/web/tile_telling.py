"""Tiles as browsers are told them: all of them once, then what changed, each time for one sight.

They are numbers and positions in short tables, so that 5,000 nodes of eight cards are about half a megabyte before it
is packed. What changed has the same shape as the whole. `static/tiles.js` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tangram.web.picture import Picture
from tangram.web.sight import Sight
from tangram.web.tiles import Tile, book_of


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
    """What came after a version. A node that may be seen no more is gone."""
    book = book_of(picture)
    if not picture.remembers(version):
        return told_whole(picture, sight, **also)
    names = picture.changed_since(version)
    gone = (
        [name for name in names if name not in book.tiles]
        if sight.nodes
        else book.left(names, sight, version)
    )
    if gone is None:
        return told_whole(picture, sight, **also)
    found = (book.tiles.get(name) for name in names)
    changed = [tile for tile in found if tile is not None and tile.seen(sight)]
    return told(changed, gone, sight, book.version, whole=False, **also)
