"""The cards that the kubelet really gave, written on the pod in the words in which a scheduler reads them.

For whole cards a scheduler's annotation is a prediction: the kubelet chooses by ids. What it chose is written over the
prediction, container by container, so that every reader counts the cards that are really gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.pods import Pod
from tangram.units.memory import Bytes, floor_mib
from tangram.wire import hami

_WORDS = {
    Vendor.METAX: (hami.METAX_WHOLE_ALLOCATED, hami.METAX_WHOLE),
    Vendor.MTHREADS: (hami.MTHREADS_ALLOCATED, hami.MTHREADS),
}


def given_annotations(pod: Pod, vendor: Vendor, given: Mapping[str, Sequence[Card]]) -> dict[str, str]:
    """What to write on a pod whose containers were given these cards; nothing when it says so already.

    A card that was given in parts (virtual functions, turns) is listed once for each. Raises `WireError` for ids no
    allocation string can hold.
    """
    key, word = _WORDS[vendor]
    text = hami.encode_allocation(
        [_held(card, word) for card in given.get(container.name, ())] for container in pod.containers
    )
    wanted = {key: text}
    if pod.node_name is not None and hami.NODE not in pod.annotations:
        wanted[hami.NODE] = str(pod.node_name)
    return {name: value for name, value in wanted.items() if pod.annotations.get(name) != value}


def _held(card: Card, word: str) -> hami.HeldCard:
    parts = card.slots if card.mode in (CardMode.VIRTUAL, CardMode.SHARED) else 1
    return hami.HeldCard(
        str(card.uuid), word, floor_mib(Bytes(card.memory // max(1, parts))), card.cores // max(1, parts)
    )
