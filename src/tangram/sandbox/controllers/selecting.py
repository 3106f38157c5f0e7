"""Label selectors as workloads write them: `matchLabels` and `matchExpressions`, all of which must hold."""

from __future__ import annotations

from collections.abc import Mapping

from tangram.kube.objects import Object


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector takes an object with these labels. No selector takes nothing, an empty one everything."""
    if selector is None:
        return False
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    rules: list[Object] = selector.get("matchExpressions") or []
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        requirement_holds(rule, labels) for rule in rules
    )


def requirement_holds(rule: Object, labels: Mapping[str, str]) -> bool:
    """One requirement of a selector or of a node affinity; one with an operator that nobody knows does not hold."""
    key: str = rule["key"]
    values: list[str] = rule.get("values") or []
    match rule.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt":
            return _number(labels.get(key)) is not None and _compares(labels[key], values) > 0
        case "Lt":
            return _number(labels.get(key)) is not None and _compares(labels[key], values) < 0
        case _:
            return False


def _compares(label: str, values: list[str]) -> int:
    ours, theirs = _number(label), _number(values[0]) if len(values) == 1 else None
    if ours is None or theirs is None:
        return 0
    return (ours > theirs) - (ours < theirs)


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
