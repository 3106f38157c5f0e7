"""Label selectors as workloads write them: `matchLabels` and `matchExpressions`, all of which must hold."""

from __future__ import annotations

from collections.abc import Mapping

from tangram.kube.objects import Object
from tangram.wire.label_selectors import read_selector


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector takes an object with these labels. No selector takes nothing, an empty one everything."""
    return read_selector(selector).matches(labels)
