"""Which tiles are shown: the fields of the cluster page's form, read from an address that anybody may have written.

The server filters for pages without scripts, `static/cluster.js` for the others, by the same rules. A value that cannot
mean anything is said to be so and not applied; one that merely matches nothing leaves nothing. A namespace outside the
viewer's sight matches nothing, exactly as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tangram.reports.status_shape import CORDONED, FREE, NOT_READY, UNHEALTHY, USED
from tangram.web.sight import Sight
from tangram.web.tiles import NODE_STATES, Book, Tile

STATES: Final = (FREE, USED, UNHEALTHY, CORDONED, NOT_READY)
FIELDS: Final = ("vendor", "product", "namespace", "policy", "state", "q")
LONGEST: Final = 253
"""No name of Kubernetes is longer."""


class Wrong(msgspec.Struct, frozen=True):
    """A field that was not applied."""

    field: str
    value: str
    legal: tuple[str, ...] = ()
    """Empty where a number is wanted."""


class TileFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Empty fields match everything."""

    vendor: str = ""
    product: str = ""
    namespace: str = ""
    policy: str = ""
    state: str = ""
    q: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """Those that say something, as they are written into an address."""
        return {name: value for name in FIELDS if (value := getattr(self, name))}

    def matches(self, tile: Tile, sight: Sight) -> bool:
        return (
            (not self.vendor or any(vendor == self.vendor for vendor, _ in tile.kinds))
            and (not self.product or any(product == self.product for _, product in tile.kinds))
            and (not self.policy or self.policy in tile.policies)
            and (not self.q or self.q.lower() in tile.name.lower())
            and (not self.state or self._in_state(tile))
            and (not self.namespace or self.namespace in tile.namespaces(sight))
        )

    def _in_state(self, tile: Tile) -> bool:
        """A node is free if a pod could come to one of its cards, and cordoned if it is or a card of it is."""
        if self.state == FREE:
            return tile.free > 0
        if self.state == NOT_READY:
            return tile.state == NODE_STATES.index(NOT_READY)
        if self.state == CORDONED:
            return tile.state == NODE_STATES.index(CORDONED) or tile.count(CORDONED) > 0
        return tile.count(self.state) > 0


def read_filter(query: Mapping[str, str]) -> tuple[TileFilter, Sequence[Wrong]]:
    """What an address asks for, and what of it cannot be."""
    wrong: list[Wrong] = []
    fields = {name: query.get(name, "").strip() for name in FIELDS}
    if fields["state"] and fields["state"] not in STATES:
        wrong.append(Wrong("state", fields.pop("state"), STATES))
    too_long = [name for name, value in fields.items() if len(value) > LONGEST]
    wrong.extend(Wrong(name, fields.pop(name)) for name in too_long)
    return TileFilter(**fields), wrong


def filtered(tiles: Iterable[Tile], by: TileFilter, sight: Sight) -> list[Tile]:
    """Those that match."""
    if by == TileFilter():
        return list(tiles)
    return [tile for tile in tiles if by.matches(tile, sight)]


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """What can be chosen, of what there is."""

    vendors: tuple[str, ...]
    products: tuple[str, ...]
    policies: tuple[str, ...]
    namespaces: tuple[str, ...]


def offered(book: Book, sight: Sight) -> Offered:
    """Of the tiles that may be seen."""
    kinds, policies = set(book.kinds), set(book.policies)
    if not sight.nodes:
        seen = book.seen(sight)
        kinds = {kind for tile in seen for kind in tile.kinds}
        policies = {policy for tile in seen for policy in tile.policies}
    return Offered(
        vendors=tuple(sorted({vendor for vendor, _ in kinds})),
        products=tuple(sorted({product for _, product in kinds if product})),
        policies=tuple(sorted(policies)),
        namespaces=tuple(sorted(filter(sight.of_namespace, book.pods))),
    )
