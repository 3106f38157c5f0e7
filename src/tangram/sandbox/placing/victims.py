"""Whose end would make room for a pod, and where that hurts least: kube-scheduler's preemption, without the doing.

On each node that pods stand in the way on, all less important ones are taken away in thought; if the pod then fits, as
many as possible are given back, the most important first and those under a budget before the others. What is left are
the victims. A node where everybody can be given back was refused by an extender, and no preemption helps against that.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tangram.kube.objects import Object
from tangram.sandbox.placing.budgets import Budget, split
from tangram.sandbox.placing.hosts import Host
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import Judge, No

MOST_LOOKED_AT: Final = 100
"""Or a tenth of the nodes, if that is more."""
NOBODY_LESS_IMPORTANT: Final = No(("No preemption victims found for incoming pod",), resolvable=False)
_NOT_STARTED: Final = "~"
"""Later than every time that is written."""
_LOWEST: Final = 1 << 31


class Victims(NamedTuple):
    pods: tuple[Pod, ...]
    """The most important first."""
    violations: int = 0


class Found(NamedTuple):
    candidates: dict[str, Victims]
    noes: dict[str, No]
    needless: list[str]
    """Nodes on which the pod would fit as they are."""


def find(
    judge: Judge, hosts: Sequence[Host], total: int, budgets: Sequence[Budget], chance: random.Random
) -> Found:
    """Candidates among these hosts; `total` is the number of nodes there are."""
    found = Found({}, {}, [])
    wanted = min(max(total // 10, MOST_LOOKED_AT), len(hosts))
    start = chance.randrange(len(hosts)) if hosts else 0
    for host in (*hosts[start:], *hosts[:start]):
        answer = on_host(judge, host, budgets)
        if isinstance(answer, No):
            found.noes[host.name] = answer
        elif answer.pods:
            found.candidates[host.name] = answer
        else:
            found.needless.append(host.name)
        harmless = any(not each.violations for each in found.candidates.values())
        if harmless and len(found.candidates) >= wanted:
            break
    return found


def on_host(judge: Judge, host: Host, budgets: Iterable[Budget]) -> Victims | No:
    """The fewest pods of this node that have to go, or why their going would not help."""
    here, thought = judge.imagine(host)
    possible = sorted(
        (each for each in host.pods.values() if each.priority < judge.pod.priority), key=importance
    )
    if not possible:
        return NOBODY_LESS_IMPORTANT
    for each in possible:
        thought.take(here, each)
    no = thought.verdict(here)
    if no is not None:
        return no
    breaking, harmless = split(possible, budgets)
    victims: list[Pod] = []
    violations = 0
    for pods, breaks in ((breaking, 1), (harmless, 0)):
        for each in pods:
            thought.put(here, each)
            if thought.verdict(here) is not None:
                thought.take(here, each)
                victims.append(each)
                violations += breaks
    return Victims(tuple(sorted(victims, key=importance)), violations)


def least_harmful(candidates: Mapping[str, Victims]) -> str:
    """The node to choose: fewest broken budgets, least important victims, fewest of them, latest begun."""

    def harm(name: str) -> tuple[int, int, int, int]:
        pods = candidates[name].pods
        total = sum(each.priority + _LOWEST for each in pods)
        return candidates[name].violations, pods[0].priority, total, len(pods)

    least = min(map(harm, candidates))
    return max(
        (name for name in candidates if harm(name) == least), key=lambda name: _begun(candidates[name].pods)
    )


def importance(pod: Pod) -> tuple[int, str]:
    """Sorts the most important first: by priority, then by age."""
    return -pod.priority, pod.started or _NOT_STARTED


def may_preempt(pod: Pod, no: No | None, picture: Picture) -> str:
    """Why the pod may not evict anybody now; empty if it may. `no` is what was said of its nominated node."""
    if pod.patient:
        return "not eligible due to preemptionPolicy=Never."
    host = picture.node(pod.nominated) if pod.nominated else None
    if host is None or no is None or not no.resolvable:
        return ""
    if any(each.priority < pod.priority and _evicted(each) for each in host.pods.values()):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def _evicted(pod: Pod) -> bool:
    conditions: list[Object] = pod.manifest.get("status", {}).get("conditions") or []
    told = next((each for each in conditions if each.get("type") == "DisruptionTarget"), Object())
    return pod.deleting and told.get("status") == "True" and told.get("reason") == "PreemptionByScheduler"


def _begun(pods: Sequence[Pod]) -> str:
    highest = max(each.priority for each in pods)
    return min(each.started or _NOT_STARTED for each in pods if each.priority == highest)
