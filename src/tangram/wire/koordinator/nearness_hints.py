"""Hints about how near to each other cards are: groups of linked cards, and NUMA nodes.

Koordinator looks a partition up in a table of groups that the node reports; both of its policies bind a pod with this
annotation to such a group. Here a group is cards that are all linked with each other. Of a NUMA policy the two ends are
honoured; the one between, as few NUMA nodes as would do on an empty machine, is not what any scope says.
"""

from __future__ import annotations

from collections.abc import Iterator

from tangram.model.pods import Hints
from tangram.model.refusals import Refusal
from tangram.model.topology import TopologyScope
from tangram.wire.koordinator import names
from tangram.wire.koordinator.hint_texts import HintText, says_something

_POLICY = "allocatePolicy"
_POLICIES = ("Restricted", "BestEffort")
_BANDWIDTH = "ringBusBandwidth"

_NUMA_POLICY = "numaTopologyPolicy"
_SINGLE = "SingleNUMANode"
_BEST_EFFORT = "BestEffort"
_RESTRICTED = "Restricted"
_NO_NUMA_POLICY = (None, "", "None")
_EXCLUSIVE = "singleNUMANodeExclusive"


def read_partition_spec(written: str) -> Hints:
    """What `gpu-partition-spec` asks for; one without a policy means the gentler of the two."""
    text = HintText(
        key=names.PARTITION_SPEC,
        written=written,
        form="it is a JSON object with an allocatePolicy",
        example='{"allocatePolicy":"Restricted"}',
    )
    found = text.fields()
    if isinstance(found, Refusal):
        return Hints(refusals=(found,))
    refusals = [*text.unknown_fields(found, (_POLICY, _BANDWIDTH))]
    policy = found.get(_POLICY)
    if policy not in (None, "", *_POLICIES):
        refusals.append(text.unknown_word(_POLICY, policy, _POLICIES))
    if says_something(found.get(_BANDWIDTH)):
        why = "no card tells the bandwidth of its links"
        refusals.append(text.unsupported(_BANDWIDTH, why, "remove it; the cards are linked all the same"))
    return Hints(scopes=(text.wish(TopologyScope.LINK),), refusals=tuple(refusals))


def read_numa_spec(written: str) -> Hints:
    """What `numa-topology-spec` asks for of the cards; processors and memory are the kubelet's to place."""
    text = HintText(
        key=names.NUMA_TOPOLOGY_SPEC,
        written=written,
        form="it is a JSON object with a numaTopologyPolicy",
        example='{"numaTopologyPolicy":"SingleNUMANode"}',
    )
    found = text.fields()
    if isinstance(found, Refusal):
        return Hints(refusals=(found,))
    policy = found.get(_NUMA_POLICY)
    return Hints(
        scopes=(text.wish(TopologyScope.NUMA),) if policy == _SINGLE else (),
        numa_first=policy == _BEST_EFFORT,
        refusals=(
            *text.unknown_fields(found, (_NUMA_POLICY, _EXCLUSIVE)),
            *_unmet(text, policy, exclusive=says_something(found.get(_EXCLUSIVE))),
        ),
    )


def _unmet(text: HintText, policy: object, *, exclusive: bool) -> Iterator[Refusal]:
    if policy == _RESTRICTED:
        yield text.unsupported(
            f"{_NUMA_POLICY} {_RESTRICTED!r}",
            "the cards can be kept on one NUMA node, or there if possible, and not on as few as possible",
            f"write {_SINGLE} or {_BEST_EFFORT}",
        )
    elif policy not in (*_NO_NUMA_POLICY, _SINGLE, _BEST_EFFORT):
        yield text.unknown_word(_NUMA_POLICY, policy, (_SINGLE, _BEST_EFFORT))
    if exclusive:
        yield text.unsupported(_EXCLUSIVE, "a NUMA node is not kept for pods of one kind", "remove it")
