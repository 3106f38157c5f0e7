"""Nothing is removed while somebody of ours runs who would write it again.

Pods on their way out are waited for; on a node that is gone they stay for ever, so in the end only what they kept up
stays with them. A DaemonSet that still stands will never be gone by waiting, nor will an agent
that no installation owns: there the one who asked has to do something first, and is told what.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.installation.asking import listed
from tangram.services.installation.cleaning_agents import (
    CHART_LABEL,
    AgentPod,
    Company,
    Holder,
    agent_in,
    company,
    holder_in,
)
from tangram.services.installation.cleaning_keys import WRITERS
from tangram.services.installation.cleaning_reading import read_all
from tangram.services.installation.wording import by_value, counted, cut, some_of
from tangram.services.installation.workloads import our_workloads
from tangram.units.durations import duration_text
from tangram.wire import loose

Object = dict[str, Any]
Tell = Callable[[str], None]

BETWEEN_S: Final = 2.0
_PODS: Final = "/api/v1/pods"


class NotYet(Exception):  # noqa: N818 - says what is the case
    """Why nothing can be removed now, and what to do about it."""


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be cleaned up."""

    namespace: str
    chart: str
    nodes: tuple[str, ...] | None = None
    """None for all."""
    dry: bool = False
    patience: float = 120.0
    """How long pods that end are waited for, in seconds."""


class Crowd(msgspec.Struct, frozen=True):
    """The pods of a cluster that matter here."""

    agents: tuple[AgentPod, ...]
    holders: tuple[Holder, ...]

    def company(self, aim: Aim) -> Company:
        return company(self.agents, aim.namespace, aim.chart, aim.nodes)


async def read_crowd(api: Api) -> Crowd:
    """Every pod looked at once, few kept. Raises `NotYet` where they cannot be seen."""
    try:
        found = await read_all(api, _PODS, _matters)
    except (ApiError, ApiUnreachable) as error:
        raise NotYet(
            f"whether pods of Tangram still run cannot be seen ({cut(str(error))}): "
            "nothing is removed that they might write again"
        ) from None
    return Crowd(
        tuple(each for each in found if isinstance(each, AgentPod)),
        tuple(each for each in found if isinstance(each, Holder)),
    )


def _matters(pod: Object) -> AgentPod | Holder | None:
    return agent_in(pod) or holder_in(pod)


async def until_gone(
    api: Api, aim: Aim, crowd: Crowd, tell: Tell, clock: Callable[[], float] = time.monotonic
) -> Company:
    """Whoever else of ours runs, when this installation's agents have ended or are late. Raises `NotYet`."""
    ends, told = clock() + aim.patience, ""
    present = crowd.company(aim)
    while True:
        if present.strays:
            raise NotYet(about_strays(present.strays))
        if not present.ours:
            return present
        await _refuse_what_stands(api, aim, present.ours)
        left = ends - clock()
        if left <= 0 and all(pod.leaving for pod in present.ours):
            return replace(present, ours=(), late=present.ours)
        if left <= 0:
            raise NotYet(
                f"after {duration_text(aim.patience)} {_spoken(present.ours)} still "
                f"{'runs' if len(present.ours) == 1 else 'run'}, and would write everything again: see why "
                f"(kubectl -n {present.ours[0].namespace} describe pod {present.ours[0].name}), and ask again"
            )
        sentence = f"waiting for {_spoken(present.ours)} to end"
        if sentence != told:
            tell(f"{sentence} ({duration_text(max(1, round(left)))} left)")
            told = sentence
        await asyncio.sleep(min(BETWEEN_S, left))
        present = await _again(api, aim, crowd, present)


async def _again(api: Api, aim: Aim, crowd: Crowd, before: Company) -> Company:
    """The same after a while. Only namespaces with pods that are waited for are read; the rest is as it was."""
    read = {pod.namespace for pod in before.ours}
    agents = [pod for pod in crowd.agents if pod.namespace not in read]
    for namespace in sorted(read):
        try:
            agents += await read_all(api, f"/api/v1/namespaces/{namespace}/pods", agent_in)
        except (ApiError, ApiUnreachable):
            # Nobody answers just now, or nobody lets us see any more: no news.
            return before
    return company(agents, aim.namespace, aim.chart, aim.nodes)


async def _refuse_what_stands(api: Api, aim: Aim, pods: tuple[AgentPod, ...]) -> None:
    """Pods whose owner is still wanted will not end. Where owners cannot be seen, waiting tells as well."""
    for namespace in sorted({pod.namespace for pod in pods if not pod.leaving}):
        for kind in ("DaemonSet", "Deployment"):
            told = await listed(api, f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s")
            wanted = (
                each
                for each in told.items
                if not loose.members(each.get("metadata")).get("deletionTimestamp")
            )
            for standing in our_workloads(wanted, kind):
                if standing.role in WRITERS and standing.selector.get(CHART_LABEL) == aim.chart:
                    raise NotYet(
                        f"{standing.full_name} is still installed and keeps its pods: uninstall it first (helm list "
                        f"-n {namespace} names the release, helm uninstall removes it), or see with --dry-run what "
                        "would be removed"
                    )


def about_late(pods: tuple[AgentPod, ...], patience: float) -> str:
    """Why what they kept up stays, and what to do."""
    first = pods[0]
    return (
        f"after {duration_text(patience)} {_spoken(pods)} {'has' if len(pods) == 1 else 'have'} not ended, so what "
        f"{'it' if len(pods) == 1 else 'they'} kept up stays: see why (kubectl -n {first.namespace} describe pod "
        f"{first.name}), delete nodes that are gone for good, and ask again"
    )


def about_strays(pods: tuple[AgentPod, ...]) -> str:
    """Why nothing can be removed while they run, and how to end the first of them."""
    first = pods[0]
    kind, _, name = first.owner.partition(" ")
    command = f"kubectl -n {first.namespace} delete {kind.lower() or 'pod'} {name or first.name}"
    if kind == "Node":
        command = f"remove its manifest on {name}, from the folder in which the kubelet looks for static pods"
    return (
        f"{_spoken(pods)} {'runs' if len(pods) == 1 else 'run'} and no release of a chart owns "
        f"{'it' if len(pods) == 1 else 'them'}, so everything would be written again: end "
        f"{'it' if len(pods) == 1 else 'them'} first ({command})"
    )


def _spoken(pods: tuple[AgentPod, ...]) -> str:
    """How many pods, and what they do where."""
    groups = by_value((" and ".join(pod.roles), pod.node or pod.full_name) for pod in pods)
    where = "; ".join(f"{roles} on {some_of(sorted(nodes))}" for roles, nodes in groups.items())
    return f"{counted(len(pods), 'pod')} ({where})"
