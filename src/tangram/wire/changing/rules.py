"""Rules of a pod that a suggestion drops, loosens or adds: annotations, selectors, affinity and tolerations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.model.requests import CardOrder
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.names import CARD_POLICY, NODE_POLICY, REQUIRED_SCOPE
from tangram.wire import jsontext, loose
from tangram.wire.changing.templates import Json, Template, inside, without_empty
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names as koordinator

_CARD_LISTS: Final = (
    metax.USE_UUIDS,
    metax.AVOID_UUIDS,
    metax.USE_PRODUCTS,
    metax.AVOID_PRODUCTS,
    mthreads.USE_UUIDS,
    mthreads.AVOID_UUIDS,
    mthreads.USE_PRODUCTS,
    mthreads.AVOID_PRODUCTS,
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_SCOPE: Final = "requiredTopologyScope"
_NUMA_POLICY: Final = "numaTopologyPolicy"
_SINGLE_NUMA: Final = "SingleNUMANode"


def drop_scope(template: Template, _change: Mapping[str, str]) -> None:
    """Every wording of it: ours, and three of Koordinator's."""
    annotations = template.annotations()
    annotations.pop(REQUIRED_SCOPE, None)
    annotations.pop(koordinator.PARTITION_SPEC, None)
    numa = _json(annotations.get(koordinator.NUMA_TOPOLOGY_SPEC))
    if numa.get(_NUMA_POLICY) == _SINGLE_NUMA:
        _put_json(annotations, koordinator.NUMA_TOPOLOGY_SPEC, _without(numa, _NUMA_POLICY))
    hint = _json(annotations.get(koordinator.ALLOCATE_HINT))
    of_cards = loose.members(hint.get(koordinator.GPU))
    if _SCOPE in of_cards:
        left = _without(of_cards, _SCOPE)
        rest = _without(hint, koordinator.GPU)
        _put_json(annotations, koordinator.ALLOCATE_HINT, {**rest, koordinator.GPU: left} if left else rest)


def drop_mutex(template: Template, _change: Mapping[str, str]) -> None:
    """The other words of the card policy stay."""
    annotations = template.annotations()
    words = [word.strip() for word in loose.text(annotations.get(CARD_POLICY)).split(",")]
    left = [word for word in words if word and word != CardOrder.MUTEX]
    if left:
        annotations[CARD_POLICY] = ",".join(left)
    else:
        annotations.pop(CARD_POLICY, None)


def drop_card_lists(template: Template, _change: Mapping[str, str]) -> None:
    """Of both vendors, by uuid and by model, what is allowed and what is avoided."""
    for key in _CARD_LISTS:
        template.annotations().pop(key, None)


def drop_app_class(template: Template, _change: Mapping[str, str]) -> None:
    """The pod is then neither online nor offline."""
    template.annotations().pop(metax.APP_CLASS, None)


def other_qos(template: Template, change: Mapping[str, str]) -> None:
    """Also where none stood and admission chose one."""
    template.annotations()[metax.QOS_POLICY] = change["qos"]


def drop_node_rules(template: Template, _change: Mapping[str, str]) -> None:
    """What is preferred stays: it keeps nobody out."""
    spec = template.spec
    spec.pop("nodeSelector", None)
    affinity = inside(spec, "affinity")
    inside(affinity, "nodeAffinity").pop(_REQUIRED, None)
    without_empty(affinity, "nodeAffinity")
    without_empty(spec, "affinity")


def tolerate(template: Template, change: Mapping[str, str]) -> None:
    """One more toleration, as narrow as the taint."""
    value, effect = change.get("value", ""), change.get("effect", "")
    added: Json = {"key": change["key"]}
    added |= {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    added |= {"effect": effect} if effect else {}
    template.spec["tolerations"] = [*loose.elements(template.spec.get("tolerations")), added]


def put_policies(template: Template, node_policy: str, card_policy: str) -> None:
    """How the pods are to be placed, where somebody asks what another policy would do; empty leaves what is there."""
    for key, policy in ((NODE_POLICY, node_policy), (CARD_POLICY, card_policy)):
        if policy:
            template.annotations()[key] = policy


def _json(written: object) -> Mapping[str, object]:
    if not loose.text(written).strip():
        return {}
    try:
        return loose.members(jsontext.parse(loose.text(written), "the annotation"))
    except WireError:
        return {}


def _put_json(annotations: Json, key: str, value: Mapping[str, object]) -> None:
    if value:
        annotations[key] = jsontext.compact(value, key)
    else:
        annotations.pop(key, None)


def _without(fields: Mapping[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in fields.items() if key != name}
