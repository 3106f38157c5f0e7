"""A pod as somebody asks about it: what admission says to it, and what looks like a slip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tangram.model.pods import Pod, PodRef
from tangram.model.refusals import Caution
from tangram.vendors.admission import Admission, admit
from tangram.vendors.registry import rules_for_all
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.clusterfile.fields import nearest

OTHER_SCHEDULER: Final = "other-scheduler"
"""The caution of a pod whose scheduler may never ask us."""

Asked = tuple[PodRef, Admission, tuple[str, ...]]
"""A pod, what admission says to it, and the resources its containers name."""


def asked_of(pod: Pod, settings: AdmissionSettings, admission: Admission | None = None) -> Asked:
    """One pod, read by admission, unless it has been."""
    resources = tuple(
        dict.fromkeys(
            name for container in pod.containers for name in (*container.limits, *container.requests)
        )
    )
    admission = admission or admit(pod, settings)
    cautions = (*admission.cautions, *_misspelt(resources))
    return pod.ref, msgspec.structs.replace(admission, cautions=cautions), resources


def _misspelt(resources: Iterable[str]) -> Iterator[Caution]:
    """Names under a vendor's domain that are none of its resources: a slip that would cost the pod its card."""
    known = sorted(name for rules in rules_for_all() for name in rules.resource_names)
    domains = {name.partition("/")[0] for name in known}
    for name in resources:
        if name.partition("/")[0] in domains and name not in known:
            yield Caution(
                "resource-unknown", f"{name} is no resource of that vendor; {nearest(name, known)}."
            )
