"""Who holds how much of which card, under the names HAMi's dashboards ask for.

A large cluster has hundreds of thousands of such lines. They are written piece by piece from the live ledger, each
piece small enough that no pod waits for it, and nothing of it is kept: a scrape costs time in proportion to cards and
pods, and hardly any memory. Two pieces are of two moments, so sums over a scrape may be off by a pod that came between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from tangram.engine.ledger import Ledger
from tangram.model.cards import Card, CardMode, Vendor
from tangram.units.memory import MIB
from tangram.wire import hami

PIECE: Final = 256
"""Cards or pods per piece: well under a millisecond of work."""

_ZONE: Final = 'zone="vGPU"'
_Each = TypeVar("_Each")
_WORDS: Final = {Vendor.METAX: hami.METAX_SLICE, Vendor.MTHREADS: hami.MTHREADS}


class QuotaFigure(NamedTuple):
    """One limit of one namespace, in the units of the quota."""

    namespace: str
    quota: str
    used: float
    limit: int


class _Use(NamedTuple):
    memory: int
    cores: int
    slots: int


class _OfCards(msgspec.Struct, frozen=True):
    """A family with a line for every card."""

    name: str
    old_name: str
    sentence: str
    value: Callable[[Card, _Use], float]
    more: tuple[tuple[str, str, Callable[[Card], int]], ...] = ()
    """Further labels: their name, their old name, and what they say."""
    old_type: bool = True
    """Whether the old name has the label with the card's type."""


def _cores(card: Card) -> int:
    return card.cores


def _memory_mib(card: Card) -> int:
    return card.memory // MIB


_CORES: Final = ("device_cores", "devicecores", _cores)
_CARDS: Final[tuple[_OfCards, ...]] = (
    _OfCards(
        "gpu_memory_limit_bytes", "GPUDeviceMemoryLimit", "Memory of a card.", lambda card, _: card.memory
    ),
    _OfCards(
        "gpu_core_limit_ratio", "GPUDeviceCoreLimit", "Compute of a card in percent.", lambda _card, _use: 100
    ),
    _OfCards(
        "gpu_memory_allocated_bytes",
        "GPUDeviceMemoryAllocated",
        "Memory of a card that pods hold.",
        lambda _, use: use.memory,
        (_CORES,),
    ),
    _OfCards(
        "gpu_core_allocated_ratio",
        "GPUDeviceCoreAllocated",
        "Compute of a card that pods hold, in percent.",
        lambda card, use: percent(use.cores, card),
    ),
    _OfCards(
        "gpu_shared_count",
        "GPUDeviceSharedNum",
        "Containers that hold a part of a card.",
        lambda _, use: use.slots,
    ),
    _OfCards(
        "node_gpu_overview",
        "nodeGPUOverview",
        "Memory of a card that pods hold, beside what it has.",
        lambda _, use: use.memory,
        (_CORES, ("device_memory_limit", "devicememorylimit", _memory_mib)),
    ),
    _OfCards(
        "node_gpu_memory_allocated_ratio",
        "nodeGPUMemoryPercentage",
        "Part of a card's memory that pods hold, from 0 to 1.",
        lambda card, use: use.memory / max(1, card.memory),
        old_type=False,
    ),
)


def hami_lines(
    ledger: Ledger, quotas: Iterable[QuotaFigure] = (), *, legacy: bool = False
) -> Iterator[bytes]:
    """Every line, in pieces. The ledger may change between two of them."""
    for family in _CARDS:
        yield from _card_lines(ledger, family, old=False)
        if legacy:
            yield from _card_lines(ledger, family, old=True)
    for name, old_name, sentence, take in (
        (
            "hami_vgpu_memory_allocated_bytes",
            "vGPUMemoryAllocated",
            "Memory of a card that a pod holds.",
            _memory,
        ),
        (
            "hami_vgpu_core_allocated_ratio",
            "vGPUCoreAllocated",
            "Compute of a card that a pod holds, in percent.",
            percent,
        ),
    ):
        yield from _pod_lines(ledger, name, sentence, take, old=False)
        if legacy:
            yield from _pod_lines(ledger, old_name, sentence, take, old=True)
    yield from _quota_lines(tuple(quotas), legacy=legacy)


def percent(cores: int, card: Card) -> float:
    """Compute units of a card as percent of it."""
    return 100 * cores / max(1, card.cores)


def label(text: str) -> str:
    """A text as the value of a label."""
    if '"' in text or "\\" in text or "\n" in text:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text


def _memory(held: int, _card: Card) -> float:
    return held


def _card_lines(ledger: Ledger, family: _OfCards, *, old: bool) -> Iterator[bytes]:
    name = family.old_name if old else f"hami_{family.name}"
    yield _head(name, family.sentence)
    node_label, uuid, index, kind = (
        ("nodeid", "deviceuuid", "deviceidx", "devicetype")
        if old
        else ("node", "device_uuid", "device_index", "device_type")
    )
    further = "".join(f'{mores[1 if old else 0]}="%d",' for mores in family.more)
    typed = not old or family.old_type
    value, getters = family.value, [each[2] for each in family.more]
    nodes = [node.name for node in ledger.nodes()]
    for some in _pieces(nodes, max(1, PIECE // ledger.columns.width)):
        lines: list[str] = []
        for node_name in some:
            node, row = ledger.node(node_name), ledger.row_of(node_name)
            if node is None or row is None:
                continue
            start = f'{name}{{{_ZONE},{node_label}="{label(node_name)}",{uuid}="'
            used = ledger.columns.use
            uses = zip(
                used.memory[row].tolist(), used.cores[row].tolist(), used.slots[row].tolist(), strict=True
            )
            for card, use in zip(node.cards, uses, strict=False):
                more = further % tuple(get(card) for get in getters) if further else ""
                of_type = f'{kind}="{_word(card)}",' if typed else ""
                lines.append(
                    f'{start}{label(card.uuid)}",{more}{of_type}{index}="{card.index}"}} {value(card, _Use(*use))}\n'
                )
        yield "".join(lines).encode()


def _pod_lines(
    ledger: Ledger, name: str, sentence: str, take: Callable[[int, Card], float], *, old: bool
) -> Iterator[bytes]:
    """A line for every pod on every card it holds. HAMi adds a pod's containers up, so their number is always 0."""
    yield _head(name, sentence)
    template = (
        '%s{%s,podnamespace="%s",nodename="%s",podname="%s",containeridx="0",deviceuuid="%s"} %s\n'
        if old
        else '%s{%s,namespace="%s",node="%s",pod="%s",container_index="0",device_uuid="%s"} %s\n'
    )
    of_memory = take is _memory
    for some in _pieces(list(ledger.holdings())):
        lines: list[str] = []
        for earlier in some:
            # Read again: its node may have been replaced since, and the charges with it.
            holding = ledger.holding(earlier.tenant.pod.uid)
            node = None if holding is None else ledger.node(holding.tenant.allocation.node)
            if holding is None or node is None:
                continue
            pod = holding.tenant.pod
            for charge in holding.charges:
                card = node.cards[charge.column]
                held = take(charge.memory if of_memory else charge.cores, card)
                lines.append(
                    template % (name, _ZONE, pod.namespace, node.name, pod.name, label(card.uuid), held)
                )
        yield "".join(lines).encode()


def _quota_lines(quotas: Sequence[QuotaFigure], *, legacy: bool) -> Iterator[bytes]:
    used = "What a namespace holds of a quota on cards."
    families = [("hami_resource_quota_used", used, '{%s,namespace="%s",quota_name="%s",limit="%d"} %s\n')]
    if legacy:
        families.append(("QuotaUsed", used, '{%s,quotanamespace="%s",quotaName="%s",limit="%d"} %s\n'))
    for name, sentence, template in families:
        yield _head(name, sentence)
        for some in _pieces(quotas):
            yield "".join(
                name + template % (_ZONE, label(each.namespace), label(each.quota), each.limit, each.used)
                for each in some
            ).encode()
    name = "hami_resource_quota_limit"
    yield _head(name, "What a quota allows a namespace to hold.")
    for some in _pieces(quotas):
        yield "".join(
            f'{name}{{{_ZONE},namespace="{label(each.namespace)}",quota_name="{label(each.quota)}"}} {each.limit}\n'
            for each in some
        ).encode()


def _pieces(all_of_them: Sequence[_Each], size: int = PIECE) -> Iterator[Sequence[_Each]]:
    return (all_of_them[begin : begin + size] for begin in range(0, len(all_of_them), size))


def _head(name: str, sentence: str) -> bytes:
    return f"# HELP {name} {sentence}\n# TYPE {name} gauge\n".encode()


def _word(card: Card) -> str:
    """HAMi's word for the type of a card: how it is offered, for MetaX."""
    if card.vendor is Vendor.METAX and card.mode not in (CardMode.SLICED, CardMode.UNDECIDED):
        return hami.METAX_WHOLE
    return _WORDS.get(card.vendor, card.vendor.value)
