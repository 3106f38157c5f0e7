"""What Kubernetes holds on an object. The API server does not check what a Binding merges into a pod, and a pod that
ends up with too much can never be updated again; so it is checked here, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.units.ids import is_label_value
from tangram.wire.errors import WireError, shown

MOST_ANNOTATION_BYTES = 256 * 1024


def check_annotations(annotations: Mapping[str, str]) -> None:
    """Raises `WireError` for annotations that together exceed what one object may carry, or that are not UTF-8."""
    try:
        total = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    except UnicodeEncodeError as error:
        raise WireError("text-not-utf8", "an annotation would hold text that is not valid UTF-8") from error
    if total > MOST_ANNOTATION_BYTES:
        raise WireError(
            "annotations-too-large",
            f"the pod's annotations would take {total} bytes: Kubernetes holds {MOST_ANNOTATION_BYTES} on one object",
        )


def check_labels(labels: Mapping[str, str]) -> None:
    """Raises `WireError` for a value that no label may have."""
    for key, value in labels.items():
        if not is_label_value(value):
            raise WireError("label-illegal", f"label {key} would be {shown(value)}, which is no label value")
