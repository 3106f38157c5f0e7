"""Whether what was placed quickly was also placed rightly: a scheduler that sells a card twice is not fast.

Judged from the pods alone, as the API server has them after a burst: what each asked for, where it is bound, and the
allocation written on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from cluster_manifests import CARD_GIB, CARDS, SLICES_PER_CARD, Slice, card_uuid, node_number
from tangram.vendors.metax.names import VCORE, VMEMORY
from tangram.wire.errors import WireError
from tangram.wire.metax_allocated import ALLOCATED, GivenCard, decode_given

Pod = Mapping[str, Any]


def placement_faults(pods: Iterable[Pod]) -> list[str]:
    """One sentence for every pod or card of the cluster that is not as it must be."""
    faults: list[str] = []
    percent: Counter[str] = Counter()
    mib: Counter[str] = Counter()
    slices: Counter[str] = Counter()
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
        try:
            given = _given(pod)
        except WireError as error:
            faults.append(f"pod {name}: {error.sentence}")
            continue
        if given is None:
            faults.append(f"pod {name} is bound without exactly one card")
            continue
        if given.uuid not in _cards_on(node):
            faults.append(f"pod {name} is on node {node!r} and holds {given.uuid}, which is not there")
        asked = asked_by(pod)
        if (given.compute, given.vram_mib) != (asked.percent, asked.gib * 1024):
            faults.append(f"pod {name} asked for {asked} and holds {given}")
        percent[given.uuid] += given.compute
        mib[given.uuid] += given.vram_mib
        slices[given.uuid] += 1
    faults += [
        f"card {uuid} is oversold: {percent[uuid]} %, {mib[uuid]} MiB, {slices[uuid]} slices"
        for uuid in slices
        if percent[uuid] > 100 or mib[uuid] > CARD_GIB * 1024 or slices[uuid] > SLICES_PER_CARD
    ]
    return faults


def asked_by(pod: Pod) -> Slice:
    """The slice in the limits of a pod of this benchmark."""
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    return Slice(int(limits[VCORE]), int(limits[VMEMORY]))


@cache
def _cards_on(node: str) -> frozenset[str]:
    return frozenset(card_uuid(node_number(node), index) for index in range(CARDS)) if node else frozenset()


def _given(pod: Pod) -> GivenCard | None:
    annotations: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    written = annotations.get(ALLOCATED, "")
    cards = [card for row in decode_given(written) for card in row] if written else []
    return cards[0] if len(cards) == 1 else None
