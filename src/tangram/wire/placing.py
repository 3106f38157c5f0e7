"""What a pod asks of the host around the cards: selectors, node affinity and tolerations.

The engine repeats kube-scheduler's reading of these, so the shapes keep Kubernetes' meaning in the odd corners too: an
empty required term matches nothing, an empty preferred term says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.model.pods import LabelRule, NodePreference, Placing, Toleration
from tangram.wire import loose

NO_NODE = (LabelRule("metadata.name", "In", (), is_field=True),)
"""A term that no node satisfies."""


def read_placing(spec: Mapping[str, object]) -> Placing:
    """The placing part of a pod spec."""
    affinity = loose.members(loose.members(spec.get("affinity")).get("nodeAffinity"))
    return Placing(
        # Sorted, so that two spellings of one selector are one key in the engine's memo.
        node_selector=tuple(sorted(loose.text_map(spec.get("nodeSelector")).items())),
        required=_required(affinity.get("requiredDuringSchedulingIgnoredDuringExecution")),
        preferred=_preferred(affinity.get("preferredDuringSchedulingIgnoredDuringExecution")),
        tolerations=tuple(
            read_toleration(loose.members(each)) for each in loose.elements(spec.get("tolerations"))
        ),
    )


def _required(selector: object) -> tuple[tuple[LabelRule, ...], ...]:
    if selector is None:
        return ()
    terms = loose.elements(loose.members(selector).get("nodeSelectorTerms"))
    rules = tuple(found for term in terms if (found := _rules(term)))
    # Kubernetes reads a selector of only empty terms as one that matches nothing; leaving it out would match all.
    return rules or (NO_NODE,)


def _preferred(terms: object) -> tuple[NodePreference, ...]:
    found: list[NodePreference] = []
    for term in loose.elements(terms):
        weight = loose.integer(loose.members(term).get("weight"))
        rules = _rules(loose.members(term).get("preference"))
        if weight and rules:
            found.append(NodePreference(max(1, min(weight, 100)), rules))
    return tuple(found)


def _rules(term: object) -> tuple[LabelRule, ...]:
    parts = loose.members(term)
    return tuple(
        _rule(loose.members(each), is_field=field == "matchFields")
        for field in ("matchExpressions", "matchFields")
        for each in loose.elements(parts.get(field))
    )


def _rule(written: Mapping[str, object], *, is_field: bool) -> LabelRule:
    values = (loose.scalar_text(each) for each in loose.elements(written.get("values")))
    return LabelRule(
        key=loose.text(written.get("key")),
        operator=loose.text(written.get("operator")),
        values=tuple(value for value in values if value is not None),
        is_field=is_field,
    )


def read_toleration(written: Mapping[str, object]) -> Toleration:
    """One of a pod's tolerations."""
    return Toleration(
        key=loose.text(written.get("key")),
        operator=loose.text(written.get("operator")) or "Equal",
        value=loose.scalar_text(written.get("value")) or "",
        effect=loose.text(written.get("effect")),
    )
