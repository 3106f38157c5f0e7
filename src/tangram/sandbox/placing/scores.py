"""Which of several nodes is best: emptier ones, those the pod prefers, and whatever extenders think.

Ties are broken at random, as in kube-scheduler, from a seed. Image locality, soft spreading and preferred pod affinity
are not weighed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from tangram.engine.hostrules import term_holds
from tangram.sandbox.placing.amounts import CPU, MEMORY
from tangram.sandbox.placing.hosts import Host
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.standing import SHUNS, tolerates

BEST: Final = 100
EXTENDER_STEP: Final = BEST // 10
"""Extenders score from 0 to 10."""
TAINTS_WEIGHT: Final = 3
AFFINITY_WEIGHT: Final = 2


def scores(pod: Pod, hosts: Sequence[Host]) -> dict[str, int]:
    """The score of each host by kube-scheduler's own lights."""
    shunned = _scaled([_shunned(pod, host) for host in hosts], reverse=True)
    liked = _scaled([_liked(pod, host) for host in hosts]) if pod.placing.preferred else [0] * len(hosts)
    return {
        host.name: TAINTS_WEIGHT * worst + AFFINITY_WEIGHT * best + _emptiness(pod, host)
        for host, worst, best in zip(hosts, shunned, liked, strict=True)
    }


def best(totals: Mapping[str, int], chance: random.Random) -> str:
    """The node with the highest score, any of them if there are several."""
    highest = max(totals.values())
    return chance.choice([name for name, score in totals.items() if score == highest])


def _emptiness(pod: Pod, host: Host) -> int:
    cpu, memory = pod.weighed
    pairs = (
        (host.weighed_cpu + cpu, host.facts.allocatable.get(CPU, 0)),
        (host.weighed_memory + memory, host.facts.allocatable.get(MEMORY, 0)),
    )
    parts = [max(0, has - asked) * BEST // has for asked, has in pairs if has]
    return sum(parts) // len(parts) if parts else 0


def _liked(pod: Pod, host: Host) -> int:
    name, labels = host.facts.name, host.facts.labels
    return sum(each.weight for each in pod.placing.preferred if term_holds(each.rules, name, labels))


def _shunned(pod: Pod, host: Host) -> int:
    if not host.facts.taints:
        return 0
    tolerations = [each for each in pod.placing.tolerations if each.effect in ("", SHUNS)]
    return sum(1 for each in host.facts.taints if each.effect == SHUNS and not tolerates(tolerations, each))


def _scaled(counts: Sequence[int], *, reverse: bool = False) -> list[int]:
    highest = max(counts, default=0)
    scaled = [BEST * each // highest if highest else 0 for each in counts]
    return [BEST - each for each in scaled] if reverse else scaled
