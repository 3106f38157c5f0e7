"""Labels, selectors and containers in one cell."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.apiserver.printing.reading import NONE, at, each, text, texts
from tangram.wire import loose

_SIGNS: Final = {"In": " in ", "NotIn": " notin "}


def labels_text(labels: object) -> str:
    """`app=a,tier=b`, in the order of the alphabet."""
    found = sorted(f"{key}={loose.text(value)}" for key, value in loose.members(labels).items())
    return ",".join(found) or NONE


def selector_text(selector: object) -> str:
    """A label selector as it is written in a query; empty for one that selects nothing or everything."""
    wanted = [
        (key, f"{key}={loose.text(value)}")
        for key, value in loose.members(at(selector, "matchLabels")).items()
    ]
    for requirement in each(selector, "matchExpressions"):
        key, operator = text(requirement, "key"), text(requirement, "operator")
        if operator in _SIGNS:
            values = ",".join(sorted(texts(requirement, "values")))
            wanted.append((key, f"{key}{_SIGNS[operator]}({values})"))
        else:
            wanted.append((key, f"!{key}" if operator == "DoesNotExist" else key))
    return ",".join(written for _, written in sorted(wanted, key=lambda pair: pair[0]))


def container_cells(spec: object) -> list[str]:
    """The names and the images of a pod's containers."""
    containers = each(spec, "containers")
    return [",".join(text(one, field) for one in containers) for field in ("name", "image")]
