"""How an administrator says in which mode the cards of each node are offered: the vendor's device ConfigMap.

Read as MetaX's plugin reads it, plus the mode `mixed` of ours. Keys nobody here knows are left alone, as releases add
some; a word or number that is known but wrong is refused with a sentence, since the alternative is a node that quietly
offers its cards in another way than somebody wrote. An entry that names another node is that node's business: a slip
there must not stop every agent of the cluster. A refusal names its place in the document, so that a reader who has
the text can say the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.model.cards import CardMode, Vendor
from tangram.model.devices import Device
from tangram.units.ids import CardUuid, NodeName
from tangram.wire import loose
from tangram.wire.errors import WireError, shown

VERSION_KEY: Final = "version"
CLUSTER_KEY: Final = "cluster-config"
NODES_KEY: Final = "nodes-config"
KEYS: Final = (VERSION_KEY, CLUSTER_KEY, NODES_KEY)
"""The keys of the ConfigMap that are read, each the name of a file where it is mounted."""

CONFIG_MAPS: Final = ("metax-device-config", "device-config")
"""What the ConfigMap is called by the vendor's operator and by its extensions chart. The first that exists counts."""

USUAL_SHARE_COUNT: Final = 4
SLICED_CARDS: Final = "config-sliced-cards"
"""The code of a document whose mode and list of sliced cards do not go together."""

Place = tuple[str | int, ...]
"""Where in the document: a key of the ConfigMap, and the way from there."""

_VERSION = "v1"
_MODE, _SHARES, _SLICED, _HYBRID = "mode", "shareNums", "slicedCards", "sgpuHybrid"
_MOST_SHARES = 64
_MOST_CARDS = 128


class ConfigError(WireError):
    """A document that has no meaning, with the place of what is wrong."""

    def __init__(self, code: str, sentence: str, place: Place = ()) -> None:
        super().__init__(code, sentence)
        self.place = place


class NodeMode(StrEnum):
    NATIVE = "native"
    SGPU = "sgpu"
    SHARED = "shared"
    VGPU = "vgpu"
    MIXED = "mixed"
    """The cards that are named are sliced, the rest are whole."""


_CARD_MODES: Final = {
    NodeMode.NATIVE: CardMode.WHOLE,
    NodeMode.SGPU: CardMode.SLICED,
    NodeMode.SHARED: CardMode.SHARED,
    NodeMode.VGPU: CardMode.VIRTUAL,
}


class DeviceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of one node's MetaX cards. Without a ConfigMap they are whole."""

    mode: NodeMode = NodeMode.NATIVE
    share_count: int = USUAL_SHARE_COUNT
    """How often each card is offered in mode `shared`."""
    sliced: tuple[str, ...] = ()
    """Numbers or uuids of the cards that are sliced in mode `mixed`."""

    def modes_for(self, devices: Sequence[Device]) -> dict[CardUuid, CardMode]:
        """The mode wanted for every card. Moore Threads cards are what their kernel module makes of them."""
        return {device.uuid: self._wanted(device) for device in devices if device.virtual_function_of is None}

    def unmatched(self, devices: Sequence[Device]) -> tuple[str, ...]:
        """The cards to be sliced that are not there: a slip of the pen, or a card that is away for now."""
        there = {name for device in devices for name in _names(device)}
        return tuple(name for name in self.sliced if name not in there)

    def _wanted(self, device: Device) -> CardMode:
        if device.vendor is not Vendor.METAX:
            return CardMode.SLICED if device.sliced is True else CardMode.WHOLE
        if self.mode is NodeMode.MIXED:
            return CardMode.SLICED if _names(device) & set(self.sliced) else CardMode.WHOLE
        return _CARD_MODES[self.mode]


class _Where(msgspec.Struct, frozen=True):
    """One map of the document, as people call it and as it is found."""

    words: str
    place: Place


class _Wish(msgspec.Struct, frozen=True):
    """What one map says: the cluster's, or a node's."""

    where: _Where
    mode: NodeMode | None = None
    share_count: int | None = None
    sliced: tuple[str, ...] | None = None


def read_device_config(data: Mapping[str, object], node: NodeName) -> DeviceConfig:
    """What the ConfigMap's parsed values say about a node; no keys at all is no ConfigMap.

    What the node's own entry does not say, the cluster's map does. Raises `ConfigError` for what has no meaning.
    """
    if not data:
        return DeviceConfig()
    if data.get(VERSION_KEY) != _VERSION:
        raise ConfigError(
            "config-version",
            f"{VERSION_KEY} is {shown(data.get(VERSION_KEY))}: only {_VERSION} is known; write {_VERSION}",
        )
    whole = _Where(CLUSTER_KEY, (CLUSTER_KEY,))
    cluster = _read_wish(_map(data.get(CLUSTER_KEY), whole), whole)
    own = _own_wish(data.get(NODES_KEY), node)
    mode = own.mode or cluster.mode or NodeMode.NATIVE
    says = cluster if own.mode is None else own
    sliced = cluster.sliced if own.sliced is None else own.sliced
    if mode is NodeMode.MIXED and sliced is None:
        raise ConfigError(
            SLICED_CARDS,
            f"{_MODE} {NodeMode.MIXED} does not say which cards of node {node} are sliced; "
            f"write for example {_SLICED}: [0, 1]",
            (*says.where.place, _MODE),
        )
    # What the cluster says for its mixed nodes is no mistake on a node that says it is none of them.
    for_nothing = own.sliced is not None or (cluster.sliced is not None and own.mode is None)
    if mode is not NodeMode.MIXED and for_nothing:
        raise ConfigError(
            SLICED_CARDS,
            f"cards of node {node} are named to be sliced, but its {_MODE} is {mode}; "
            f"write {_MODE}: {NodeMode.MIXED}, or leave {_SLICED} and {_HYBRID} out",
            (cluster if own.sliced is None else own).where.place,
        )
    shares = cluster.share_count if own.share_count is None else own.share_count
    return DeviceConfig(
        mode=mode,
        share_count=USUAL_SHARE_COUNT if shares is None else shares,
        sliced=sliced or () if mode is NodeMode.MIXED else (),
    )


def _own_wish(rows: object, node: NodeName) -> _Wish:
    if rows is not None and not loose.is_list(rows):
        raise ConfigError(
            "config-malformed",
            f"{NODES_KEY} is {shown(rows)}: it is a list; write for example - nodeName: {node}",
            (NODES_KEY,),
        )
    found: _Wish | None = None
    for position, row in enumerate(loose.elements(rows)):
        where = _Where(f"{NODES_KEY}[{position}]", (NODES_KEY, position))
        entry = _map(row, where)
        name = loose.scalar_text(entry.get("nodeName"))
        if not name:
            raise ConfigError(
                "config-node-name",
                f"{where.words} has no nodeName, so nobody knows whom it is about; write one",
                where.place,
            )
        if name != node:
            continue
        if found is not None:
            raise ConfigError(
                "config-node-twice",
                f"{where.words} names node {node} a second time; leave one entry of the two",
                where.place,
            )
        found = _read_wish(entry, _Where(f"{where.words} (node {node})", where.place))
    return found or _Wish(_Where(NODES_KEY, (NODES_KEY,)))


def _read_wish(entry: Mapping[str, object], where: _Where) -> _Wish:
    sliced = _read_sliced(entry.get(_SLICED), where)
    hybrid = _read_hybrid(entry.get(_HYBRID), where)
    if sliced is not None and hybrid is not None:
        raise ConfigError(
            SLICED_CARDS,
            f"{where.words} names cards under {_SLICED} and under {_HYBRID}; leave one of the two",
            (*where.place, _SLICED),
        )
    return _Wish(
        where,
        _read_mode(entry.get(_MODE), where),
        _read_shares(entry.get(_SHARES), where),
        hybrid if sliced is None else sliced,
    )


def _read_mode(value: object, where: _Where) -> NodeMode | None:
    if value is None:
        return None
    if value not in tuple(NodeMode):
        raise ConfigError(
            "config-mode",
            f"{_MODE} in {where.words} is {shown(value)}: it is one of {', '.join(NodeMode)}; write one of these",
            (*where.place, _MODE),
        )
    return NodeMode(loose.text(value))


def _read_shares(value: object, where: _Where) -> int | None:
    if value is None:
        return None
    count = loose.integer(value)
    if count is None or not 1 <= count <= _MOST_SHARES:
        raise ConfigError(
            "config-share-count",
            f"{_SHARES} in {where.words} is {shown(value)}: it is a number from 1 to {_MOST_SHARES}; "
            f"write for example {USUAL_SHARE_COUNT}",
            (*where.place, _SHARES),
        )
    return count


def _read_hybrid(value: object, where: _Where) -> tuple[str, ...] | None:
    """The vendor's key. A truth value there says nothing about single cards, so it changes nothing here."""
    if value is None or loose.flag(value) is not None:
        return None
    count = loose.integer(value)
    if count is None and loose.is_list(value):
        return _read_cards(value, _HYBRID, where)
    if count is None or not 0 <= count <= _MOST_CARDS:
        raise ConfigError(
            SLICED_CARDS,
            f"{_HYBRID} in {where.words} is {shown(value)}: it is a list of cards, or a number up to {_MOST_CARDS} "
            "that counts them from the first; write for example [0, 1] or 2",
            (*where.place, _HYBRID),
        )
    return tuple(map(str, range(count)))


def _read_sliced(value: object, where: _Where) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not loose.is_list(value):
        raise ConfigError(
            SLICED_CARDS,
            f"{_SLICED} in {where.words} is {shown(value)}: it is a list of card numbers or uuids; "
            "write for example [0, 1]",
            (*where.place, _SLICED),
        )
    return _read_cards(value, _SLICED, where)


def _read_cards(value: object, key: str, where: _Where) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for each in loose.elements(value):
        number = loose.integer(each)
        name = loose.text(each).strip() if number is None else str(number)
        if not name or (number is not None and number < 0):
            raise ConfigError(
                SLICED_CARDS,
                f"{key} in {where.words} lists {shown(each)}: cards are numbers from 0 or uuids; write for example 0",
                (*where.place, key),
            )
        names[name] = None
    return tuple(names)


def _map(value: object, where: _Where) -> Mapping[str, object]:
    if value is not None and not loose.is_object(value):
        raise ConfigError(
            "config-malformed",
            f"{where.words} is {shown(value)}: it is a map; write for example {_MODE}: {NodeMode.SGPU}",
            where.place,
        )
    return loose.members(value)


def _names(device: Device) -> set[str]:
    """What a MetaX card may be called; other vendors' cards are not for this file to switch."""
    metax = device.vendor is Vendor.METAX and device.virtual_function_of is None
    return {str(device.index), device.uuid} if metax else set()
