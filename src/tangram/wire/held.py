"""The cards a bound pod holds, as each of its possible writers wrote them down.

HAMi and our own scheduler write per container, Koordinator per pod, and the MetaX plugin's key comes in both forms.
Ids are matched to the node's cards here: an id that HAMi made up still means a card of that node after its real ids
have become known, and where the real ones are written beside them, it means those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from tangram.model.allocations import Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_mib
from tangram.wire import hami, mthreads, stand_ins
from tangram.wire.errors import WireError, shown
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import decode_allocated, gpu_share
from tangram.wire.metax_allocated import ALLOCATED, GivenCard, decode_given

_NO_NUMBER = -1

_Entry = TypeVar("_Entry")
_Rows = tuple[tuple[hami.HeldCard, ...], ...]

_HAMI_KEYS = (
    (hami.METAX_WHOLE_ALLOCATED, hami.METAX_WHOLE_TO_ALLOCATE, AskKind.WHOLE),
    (hami.METAX_SLICE_ALLOCATED, None, AskKind.SLICE),
    (hami.MTHREADS_ALLOCATED, hami.MTHREADS_TO_ALLOCATE, AskKind.SLICE),
)
"""What HAMi counts, where the real ids of the same cards may be, and how they are held."""


class Held(msgspec.Struct, frozen=True):
    """Shares by container, or for the pod as a whole; never both."""

    per_container: tuple[tuple[Share, ...], ...] = ()
    per_pod: tuple[Share, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.per_pod) or any(self.per_container)


def held_by_hami(pod: Pod, node: Node | None) -> Held:
    """What HAMi's allocation strings say. Raises `WireError` for strings that cannot be read or are of another node."""
    written = [(pod.annotations.get(key, ""), named, kind) for key, named, kind in _HAMI_KEYS]
    placed_on = pod.annotations.get(hami.NODE) or pod.node_name
    if any(text for text, *_ in written) and placed_on != pod.node_name:
        raise WireError(
            "allocation-elsewhere",
            f"its allocation is for node {shown(placed_on)} and it runs on {shown(pod.node_name)}",
        )
    rows: list[tuple[Share, ...]] = [() for _ in pod.containers]
    for text, named, kind in written:
        counted = hami.decode_allocation(text)
        found = counted if named is None else _named(node, pod, counted, pod.annotations.get(named, ""))
        for position, held in enumerate(_fitted(found, len(rows))):
            rows[position] += tuple(
                _share(node, card.id, from_mib(card.memory_mib), card.cores, kind) for card in held
            )
    return Held(per_container=tuple(rows))


def held_by_metax(pod: Pod, node: Node | None) -> Held:
    """What the MetaX plugin was told. Raises `WireError` for a list that cannot be read."""
    written = pod.annotations.get(ALLOCATED, "")
    if not written.strip():
        return Held()
    rows = decode_given(written)
    if len(rows) == 1 and len(pod.containers) > 1:
        return Held(per_pod=_given_shares(node, rows[0]))
    return Held(per_container=tuple(_given_shares(node, row) for row in _fitted(rows, len(pod.containers))))


def held_by_koordinator(pod: Pod, node: Node | None) -> Held:
    """What koord-scheduler wrote. Raises `WireError` for devices that do not say how much is held."""
    written = pod.annotations.get(names.DEVICE_ALLOCATED, "")
    if not written.strip() or not pod.containers:
        return Held()
    shares: list[Share] = []
    for device in decode_allocated(written).get(names.GPU, ()):
        uuid, card = _find(node, device.id, device.minor)
        part = gpu_share(device, None if card is None else card.memory)
        cores = part.core_percent if card is None else _whole_units(pod, part.core_percent, card)
        shares.append(Share(uuid, device.minor if card is None else card.index, part.memory, cores))
    return Held(per_pod=tuple(shares))


def _whole_units(pod: Pod, percent: int, card: Card) -> int:
    """Compute in the card's own units: of a percentage that was asked for as many as it takes.

    Where we bound the pod, which Moore Threads' toolkit is told of, the percentage is of whole units, rounded up.
    """
    exact = percent * card.cores
    return exact // 100 if mthreads.PREDICATE_TIME in pod.annotations else -(-exact // 100)


def _named(node: Node | None, pod: Pod, counted: _Rows, written: str) -> _Rows:
    """The real ids behind those that HAMi made up, where as many are written beside them; else what is counted.

    Where the node's own cards go by such ids, as they do once no agent tells the real ones, only these can be matched.
    """
    ids = [card.id for row in counted for card in row]
    if not written or not ids or not all(stand_ins.is_stand_in(pod.node_name, each) for each in ids):
        return counted
    if node is not None and stand_ins.hide_real_ids(node):
        return counted
    try:
        named = hami.decode_allocation(written)
    except WireError:
        return counted
    alike = [len(row) for row in named] == [len(row) for row in counted]
    real = not any(stand_ins.is_stand_in(pod.node_name, card.id) for row in named for card in row)
    return named if alike and real else counted


def _fitted(rows: Sequence[tuple[_Entry, ...]], count: int) -> list[tuple[_Entry, ...]]:
    """As many rows as the pod has containers; rows too many may only be empty."""
    if any(rows[count:]):
        raise WireError("allocation-misfit", "its allocation names cards for more containers than it has")
    return [*rows[:count], *[() for _ in range(count - len(rows))]]


def _given_shares(node: Node | None, row: Sequence[GivenCard]) -> tuple[Share, ...]:
    return tuple(
        _share(node, card.uuid, from_mib(card.vram_mib), card.compute, AskKind.SLICE) for card in row
    )


def _share(node: Node | None, identity: str, memory: Bytes, cores: int, kind: AskKind) -> Share:
    uuid, card = _find(node, identity, None)
    if card is None:
        number = stand_ins.number_of(identity)
        return Share(uuid, _NO_NUMBER if number is None else number, memory, cores, kind)
    if card.vendor is Vendor.MTHREADS and card.mode is CardMode.WHOLE:
        kind = AskKind.WHOLE
    if kind is AskKind.WHOLE and card.mode in (CardMode.WHOLE, CardMode.UNDECIDED):
        # HAMi assumes 64 GiB for every whole card; what is taken is the card.
        memory, cores = max(memory, card.memory), max(cores, card.cores)
    return Share(uuid, card.index, memory, cores, kind)


def _find(node: Node | None, identity: str, minor: int | None) -> tuple[CardUuid, Card | None]:
    """The node's card of that id, stand-in or number; none when the node is unknown or has it no more.

    Raises `WireError` where the card is on the node under a name that cannot be matched: passing over it would sell it
    again.
    """
    if node is None:
        return CardUuid(identity), None
    by_id = next((card for card in node.cards if card.uuid == identity), None)
    meant = by_id or stand_ins.behind(node, identity)
    if meant is None and minor is not None:
        # The number that the node's `Device` gives the card, where there is one.
        numbered = (card for card in node.cards if node.minors.get(card.uuid, card.index) == minor)
        meant = next(numbered, None)
    if meant is not None:
        return meant.uuid, meant
    if stand_ins.is_stand_in(node.name, identity) or stand_ins.hide_real_ids(node):
        raise WireError(
            "card-unknown",
            f"its allocation names {shown(identity)}, and its node does not say which card that is",
        )
    return CardUuid(identity), None
