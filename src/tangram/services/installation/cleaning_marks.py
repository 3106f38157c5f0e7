"""What of a node is Tangram's, told by who wrote it last, and the two patches after which it is gone.

The API server keeps for every field who set it to what it is. A label that somebody else has set since, or states as
well, is theirs and stays. Where many write to a node the server forgets the oldest writers. What is in our own domain
is ours then all the same, and on a node that our agent has served until now so is what our services kept true there;
anywhere else it stays, and is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tangram.services.installation.cleaning_keys import (
    CONDITIONS,
    FORGOTTEN,
    OUR_NAMES,
    WRITERS,
    kept_up,
    ours_alone,
    writer_of,
)
from tangram.services.installation.workloads import DEVICE, SCHEDULER
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.wire import loose
from tangram.wire.agent_state import AGENT
from tangram.wire.hami import CORDONED_CARDS
from tangram.wire.inventory import INVENTORY
from tangram.wire.koordinator.node_resources import NODE_LABELS
from tangram.wire.managed_fields import owners_below
from tangram.wire.nodelock import NODE_LOCK, owner_of
from tangram.wire.operator.names import UPGRADE
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_of

Object = dict[str, Any]

_AMOUNTS: Final = frozenset({KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO, KOORDINATOR_SHARED})
_KUBELET: Final = "kubelet"
_LABELS, _ANNOTATIONS = ("metadata", "labels"), ("metadata", "annotations")
_SIDES: Final = ("capacity", "allocatable")


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """What a node carries of ours, and what looks as if it were."""

    node: str
    version: str
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    capacity: tuple[str, ...] = ()
    allocatable: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    """Labels and annotations that our services write too, and who wrote these."""
    forgotten: tuple[str, ...] = ()
    """The same where nobody knows who wrote them."""
    cordoned: bool = False
    """Whether cards of it are taken out of placement, which people decide."""
    held: bool = False
    """Whether it is cordoned as a whole, and by the operator, for a change of its driver."""

    @property
    def amounts(self) -> tuple[str, ...]:
        return tuple(sorted({*self.capacity, *self.allocatable}))

    def __bool__(self) -> bool:
        return bool(self.labels or self.annotations or self.conditions or self.amounts)


def node_called(node: Mapping[str, object]) -> str:
    """Its name."""
    return loose.text(loose.members(node.get("metadata")).get("name"))


def marks_of(node: Mapping[str, object], roles: Iterable[str]) -> Marks:
    """What of a node the services of these roles wrote. Never raises."""
    gone = frozenset(roles)
    ours = frozenset(WRITERS[role] for role in gone if role in WRITERS)
    metadata = loose.members(node.get("metadata"))
    labels, annotations = _Fields(node, *_LABELS), _Fields(node, *_ANNOTATIONS)
    judge = _Judge(
        ours,
        gone,
        served=DEVICE in gone and annotations.is_ours(AGENT, INVENTORY),
        locked=owner_of(annotations.present) is not None,
    )
    removed, taken_off = labels.chosen(judge.is_ours), annotations.chosen(judge.is_ours)
    reported = bool(set(NODE_LABELS) & set(removed))
    return Marks(
        node=node_called(node),
        version=loose.text(metadata.get("resourceVersion")),
        labels=removed,
        annotations=taken_off,
        conditions=_conditions(node, ours, gone),
        capacity=_amounts(node, "capacity", ours, reported=reported),
        allocatable=_amounts(node, "allocatable", ours, reported=reported),
        others=tuple(sorted({*labels.of_others(), *annotations.of_others()})),
        forgotten=tuple(sorted({*labels.of_nobody(judge), *annotations.of_nobody(judge)})),
        cordoned=bool(annotations.present.get(CORDONED_CARDS, "").strip()),
        held=UPGRADE in taken_off and _is_held(node, annotations.present),
    )


def metadata_patch(marks: Marks) -> Object:
    """The merge patch that removes labels and annotations, if the node is still as it was read."""
    change: Object = {"resourceVersion": marks.version}
    if marks.labels:
        change["labels"] = dict.fromkeys(marks.labels)
    if marks.annotations:
        change["annotations"] = dict.fromkeys(marks.annotations)
    # An operator cordons in the same patch that says so, and was ended before it could take both back.
    return {"metadata": change} | ({"spec": {"unschedulable": None}} if marks.held else {})


def status_patch(marks: Marks) -> Object:
    """The strategic merge patch that removes conditions and amounts, likewise."""
    change: Object = {side: dict.fromkeys(getattr(marks, side)) for side in _SIDES if getattr(marks, side)}
    if marks.conditions:
        change["conditions"] = [{"$patch": "delete", "type": each} for each in marks.conditions]
    return {"metadata": {"resourceVersion": marks.version}, "status": change}


def _is_held(node: Mapping[str, object], annotations: Mapping[str, str]) -> bool:
    upgrade = state_of(Upgrade, dict(annotations), UPGRADE)
    cordoned = loose.members(node.get("spec")).get("unschedulable") is True
    return cordoned and upgrade is not None and upgrade.phase is not UpgradePhase.FAILED


class _Judge(NamedTuple):
    """Whether a key with such writers has to go."""

    ours: frozenset[str]
    roles: frozenset[str]
    served: bool
    """Whether our agent has been on the node until now."""
    locked: bool
    """Whether the node's lock says itself that we took it."""

    def is_ours(self, key: str, owners: frozenset[str]) -> bool:
        if owners and owners <= self.ours:
            return True
        if not owners <= self.ours | FORGOTTEN:
            return False
        by_name = kept_up(key) if self.served else ours_alone(key)
        return by_name in self.roles or (key == NODE_LOCK and self.locked and SCHEDULER in self.roles)


class _Fields:
    """One map of texts in a node's metadata, with its writers."""

    def __init__(self, node: Mapping[str, object], *path: str) -> None:
        place: object = node
        for part in path:
            place = loose.members(place).get(part)
        # A value that is no text is still a key that is there.
        self.present: Final = dict.fromkeys(loose.members(place), "") | loose.text_map(place)
        self._owners = owners_below(node, *path)

    def is_ours(self, *keys: str) -> bool:
        """Whether one of these is there, and nobody else wrote it."""
        return any(key in self.present and self._by(key) <= OUR_NAMES | FORGOTTEN for key in keys)

    def chosen(self, choose: Callable[[str, frozenset[str]], bool]) -> tuple[str, ...]:
        return tuple(sorted(key for key in self.present if choose(key, self._by(key))))

    def of_others(self) -> Iterator[tuple[str, str]]:
        for key in self.present:
            strangers = sorted(self._by(key) - FORGOTTEN - OUR_NAMES)
            if kept_up(key) is not None and strangers:
                yield key, " and ".join(strangers)

    def of_nobody(self, judge: _Judge) -> Iterator[str]:
        for key in self.present:
            by = self._by(key)
            if writer_of(key) in judge.roles and by <= FORGOTTEN and not judge.is_ours(key, by):
                yield key

    def _by(self, key: str) -> frozenset[str]:
        return self._owners.get(key, frozenset())


def _all(owners: frozenset[str] | None, ours: frozenset[str]) -> bool:
    """Whether it has writers and all of them are ours."""
    return owners is not None and owners <= ours


def _conditions(node: Mapping[str, object], ours: frozenset[str], gone: frozenset[str]) -> tuple[str, ...]:
    """Types of conditions we wrote; those of services that are gone go by their names as well."""
    listed = loose.elements(loose.members(node.get("status")).get("conditions"))
    types = {loose.text(loose.members(each).get("type")) for each in listed}
    owners = owners_below(node, "status", "conditions")
    return tuple(
        sorted(
            each
            for each in types
            if _all(owners.get(each), ours)
            or (CONDITIONS.get(each) in gone and owners.get(each, frozenset()) <= ours | FORGOTTEN)
        )
    )


def _amounts(
    node: Mapping[str, object], side: str, ours: frozenset[str], *, reported: bool
) -> tuple[str, ...]:
    """Amounts we stated. A kubelet that starts sets them to 0, and where the labels are ours so was the amount."""
    stated = loose.members(loose.members(node.get("status")).get(side))
    owners = owners_below(node, "status", side)
    zeroed = ours | FORGOTTEN | {_KUBELET}
    return tuple(
        sorted(
            name
            for name, amount in stated.items()
            if _all(owners.get(name), ours)
            or (
                reported and name in _AMOUNTS and _is_zero(amount) and owners.get(name, frozenset()) <= zeroed
            )
        )
    )


def _is_zero(amount: object) -> bool:
    try:
        return parse_quantity(loose.scalar_text(amount) or "").value() == 0
    except QuantityError:
        return False
