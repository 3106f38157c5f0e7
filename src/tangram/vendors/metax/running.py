"""What a running pod holds of MetaX cards, by what its kubelet counted.

The kubelet hands out `gpu` and `sgpu`; the other names only say how large a slice is, and alone bring no card.
"""

from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import Container, Pod
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes
from tangram.units.vmemory import VmemoryError, vmemory_bytes
from tangram.vendors.amounts import LARGEST_MEMORY, counted, counted_cards, names_any
from tangram.vendors.koordinator_counted import counted_per_card
from tangram.vendors.metax import names
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.protocol import RunningReading

_ALL_COMPUTE = 100
"""Percent of one card."""
_POLICIES = {policy.value: policy for policy in QosPolicy}
_CLASSES = {each.value: each for each in AppClass}


def read_running(pod: Pod) -> RunningReading:
    """The pod's whole cards and slices. An unknown policy or class counts as none."""
    asks = tuple(_asks(container) for container in pod.containers)
    sliced = any(ask.kind is AskKind.SLICE for each in asks for ask in each)
    app_class = _CLASSES.get(pod.annotations.get(names.APP_CLASS, "")) if sliced else None
    pinned = sliced and app_class is not AppClass.ONLINE
    written = pod.annotations.get(names.QOS_POLICY, QosPolicy.BEST_EFFORT.value)
    return RunningReading(asks=asks, qos=_POLICIES.get(written) if pinned else None, app_class=app_class)


def _asks(container: Container) -> tuple[Ask, ...]:
    koordinators = names_any(container, KOORDINATOR_RESOURCES)
    words = Vocabulary.KOORDINATOR if koordinators else Vocabulary.METAX
    whole, sliced = counted_cards(container, names.GPU), counted_cards(container, names.SGPU)
    asks: list[Ask] = []
    if whole:
        asks.append(Ask(vendor=Vendor.METAX, kind=AskKind.WHOLE, count=whole, vocabulary=words))
    if sliced and koordinators:
        of_card = counted_per_card(container, sliced)
        asks.append(
            Ask(
                vendor=Vendor.METAX,
                kind=AskKind.SLICE,
                count=sliced,
                memory=of_card.memory,
                memory_percent=of_card.memory_percent,
                cores=of_card.core_percent,
                vocabulary=words,
            )
        )
    elif sliced:
        cores = counted(container, names.VCORE)
        asks.append(
            Ask(
                vendor=Vendor.METAX,
                kind=AskKind.SLICE,
                count=sliced,
                memory=_memory(container),
                cores=_ALL_COMPUTE if cores is None else min(cores, _ALL_COMPUTE),
                vocabulary=words,
            )
        )
    return tuple(asks)


def _memory(container: Container) -> Bytes | None:
    """The size that is written down; none, which is the whole card, where that is no size."""
    text = container.limits.get(names.VMEMORY, container.requests.get(names.VMEMORY))
    if text is None:
        return None
    try:
        return Bytes(min(vmemory_bytes(text), LARGEST_MEMORY))
    except VmemoryError:
        return None
