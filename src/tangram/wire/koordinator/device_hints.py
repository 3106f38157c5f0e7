"""Hints about devices: how those of one type are chosen, and which types are chosen together.

Of a hint for GPUs the required scope is honoured. Its other fields choose by labels that no card has, or count network
cards; of those, as of hints for other devices and of joint allocation with them, the pod's author is told, because a
pod that runs without the network card beside its GPU looks as if all were well.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.model.pods import Hints
from tangram.model.refusals import Refusal
from tangram.model.topology import TopologyScope
from tangram.vendors.codes import Code
from tangram.wire import loose
from tangram.wire.koordinator import names
from tangram.wire.koordinator.hint_texts import HintText, says_something

_SCOPES = {
    "Device": TopologyScope.LINK,
    "PCIe": TopologyScope.PCIE,
    "NUMANode": TopologyScope.NUMA,
    "Node": TopologyScope.NODE,
}
_SCOPE = "requiredTopologyScope"
_UNSUPPORTED = {
    "selector": (
        "cards have no labels to select by",
        "remove it, and choose cards with the annotations use-gputype or use-gpuuuid of their vendor",
    ),
    "vfSelector": ("cards have no virtual functions to select", "remove it"),
    "allocateStrategy": (
        "it says how network cards and FPGAs are counted, and GPUs are counted by the pod's resources",
        "remove it",
    ),
    "exclusivePolicy": (
        "pods are kept apart by the amounts they ask for, not by device or PCIe switch",
        "remove it, and ask for whole cards if nobody else may use them",
    ),
}

_TYPES = "deviceTypes"
_JOINT_SCOPE = "requiredScope"
_JOINT_SCOPES = ("SamePCIe",)


def read_allocate_hint(written: str) -> Hints:
    """What `device-allocate-hint` asks for."""
    text = HintText(
        key=names.ALLOCATE_HINT,
        written=written,
        form="it is a JSON object from device type to an object of hints",
        example='{"gpu":{"requiredTopologyScope":"PCIe"}}',
    )
    found = text.fields()
    if isinstance(found, Refusal):
        return Hints(refusals=(found,))
    others = [kind for kind, hint in found.items() if kind != names.GPU and says_something(hint)]
    refusals = [text.other_device(kind) for kind in others]
    hint = found.get(names.GPU)
    if hint is not None and not loose.is_object(hint):
        refusals.append(text.malformed())
    of_gpus = loose.members(hint)
    refusals += text.unknown_fields(of_gpus, (_SCOPE, *_UNSUPPORTED))
    refusals += [
        text.unsupported(field, why, instead)
        for field, (why, instead) in _UNSUPPORTED.items()
        if says_something(of_gpus.get(field))
    ]
    scope = _required_scope(text, of_gpus)
    if isinstance(scope, Refusal):
        return Hints(refusals=(*refusals, scope))
    return Hints(scopes=() if scope is None else (text.wish(scope),), refusals=tuple(refusals))


def read_joint_allocate(written: str) -> Hints:
    """What `device-joint-allocate` asks for: with GPUs alone there is nothing to join them with."""
    text = HintText(
        key=names.JOINT_ALLOCATE,
        written=written,
        form="it is a JSON object with a list of deviceTypes",
        example='{"deviceTypes":["gpu"]}, or remove it',
    )
    found = text.fields()
    if isinstance(found, Refusal):
        return Hints(refusals=(found,))
    kinds = found.get(_TYPES)
    listed = [loose.text(kind) for kind in loose.elements(kinds)]
    if (kinds is not None and not loose.is_list(kinds)) or not all(listed):
        return Hints(refusals=(text.malformed(),))
    refusals = [*text.unknown_fields(found, (_TYPES, _JOINT_SCOPE))]
    refusals += [text.other_device(kind) for kind in dict.fromkeys(listed) if kind != names.GPU]
    scope = found.get(_JOINT_SCOPE)
    if says_something(scope) and scope not in _JOINT_SCOPES:
        refusals.append(text.unknown_word(_JOINT_SCOPE, scope, _JOINT_SCOPES))
    return Hints(refusals=tuple(refusals))


def _required_scope(text: HintText, hint: Mapping[str, object]) -> TopologyScope | Refusal | None:
    scope = hint.get(_SCOPE)
    if scope is None or scope == "":
        return None
    known = _SCOPES.get(loose.text(scope))
    return text.unknown_word(_SCOPE, scope, _SCOPES, Code.HINT_SCOPE_UNKNOWN) if known is None else known
