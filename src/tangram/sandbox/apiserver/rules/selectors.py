"""Label selectors: whether they can be read, and whom they take."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import child, each_invalid, forbidden, invalid, required
from tangram.sandbox.apiserver.rules.looking import members, placed, record, records, texts, word
from tangram.sandbox.apiserver.rules.metadata import label_faults
from tangram.sandbox.apiserver.wording import label_value, qualified
from tangram.wire.label_selectors import read_selector

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT: Final = ("Exists", "DoesNotExist")
_COMPARING: Final = ("Gt", "Lt")


def selector_faults(selector: object, path: str) -> list[Fault]:
    """Of a selector with matchLabels and matchExpressions."""
    whole = members(selector)
    faults = label_faults(whole.get("matchLabels"), child(path, "matchLabels"))
    for at, requirement in placed(whole, "matchExpressions", path):
        faults += requirement_faults(requirement, at)
    return faults


def requirement_faults(
    requirement: Object, path: str, *, compares: bool = False, loose: bool = False
) -> list[Fault]:
    """Of one expression. Nodes' can compare numbers; preferences may name values that no label has."""
    operator, values = word(requirement, "operator"), texts(requirement, "values")
    faults: list[Fault] = []
    if operator in _WITH_VALUES:
        if not values:
            faults.append(
                required(child(path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
            )
    elif operator in _WITHOUT:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            faults.append(forbidden(child(path, "values"), detail))
    elif compares and operator in _COMPARING:
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            faults.append(required(child(path, "values"), detail))
    else:
        faults.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    key = word(requirement, "key")
    faults += each_invalid(child(path, "key"), key, qualified(key))
    if not loose:
        for position, value in enumerate(values):
            faults += each_invalid(f"{path}.values[{position}]", value, label_value(value))
    return faults


def takes(selector: object, labels: Object) -> bool:
    """Whether a selector selects something with these labels. None selects nothing, an empty one everything."""
    return read_selector(selector).matches(labels)


def is_empty(selector: object) -> bool:
    """Whether a selector sorts nobody out."""
    whole = members(selector)
    return not record(whole, "matchLabels") and not records(whole, "matchExpressions")
