"""All that a Koordinator user may say about the choice of cards, beside the amounts: four annotations and a label.

Each is honoured or refused with a sentence; none is passed over. What Koordinator itself would pass over, such as a
field that it does not know, is refused too. Reading never fails, and what is refused here only counts once somebody
knows that the pod asks for cards of ours: a hint on any other pod is somebody else's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tangram.model.pods import NO_HINTS, Hints
from tangram.model.refusals import Refusal
from tangram.units.refusal import quoted
from tangram.vendors.codes import Code
from tangram.vendors.wording import sentence
from tangram.wire.koordinator import names
from tangram.wire.koordinator.device_hints import read_allocate_hint, read_joint_allocate
from tangram.wire.koordinator.nearness_hints import read_numa_spec, read_partition_spec

_READERS: Final[Mapping[str, Callable[[str], Hints]]] = {
    names.ALLOCATE_HINT: read_allocate_hint,
    names.JOINT_ALLOCATE: read_joint_allocate,
    names.PARTITION_SPEC: read_partition_spec,
    names.NUMA_TOPOLOGY_SPEC: read_numa_spec,
}


def read_hints(annotations: Mapping[str, str], labels: Mapping[str, str]) -> Hints:
    """Every wish of the pod and every reason why one cannot be met. Never raises."""
    provider = labels.get(names.ISOLATION_PROVIDER, "")
    said = [
        reader(written)
        for key, reader in _READERS.items()
        if (written := annotations.get(key)) is not None and written.strip()
    ]
    if not said and not provider:
        return NO_HINTS
    isolation = (_isolated(provider),) if provider else ()
    return Hints(
        scopes=tuple(wish for each in said for wish in each.scopes),
        numa_first=any(each.numa_first for each in said),
        refusals=(*(refusal for each in said for refusal in each.refusals), *isolation),
    )


def _isolated(provider: str) -> Refusal:
    return Refusal(
        Code.ISOLATION_PROVIDER,
        sentence(
            f"label {names.ISOLATION_PROVIDER} is {quoted(provider)}",
            "the driver of these cards keeps containers apart, and no library is put into them",
            "remove the label",
        ),
    )
