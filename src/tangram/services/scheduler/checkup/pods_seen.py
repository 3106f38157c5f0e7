"""The pods of a cluster, each looked at once as its page arrives, and only what the checks ask about kept.

There may be a hundred thousand of them, and a pod is many kilobytes. What is kept is who asks for cards and where it
is, and which programs of other makers run. Pods that have ended hold nothing and are not asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.model.allocations import Tenant
from tangram.model.pods import Phase
from tangram.model.requests import AskKind
from tangram.services.scheduler.checkup.parts import Part, PartPod, config_places_in, parts_in
from tangram.vendors.renaming import usual_names
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.hami import BIND_PHASE
from tangram.wire.nodelock import parse_rfc3339
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

_PODS: Final = "/api/v1/pods"
_NOT_OVER: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
_CARDS: Final = usual_names()
_FAILED: Final = "failed"
DEFAULT_SCHEDULER: Final = "default-scheduler"


class CardPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that asks for cards."""

    namespace: str
    name: str
    node: str
    """Empty while it waits."""
    scheduler: str
    looked_at: bool
    """Whether a scheduler has said anything about it."""
    made: int | None
    """Unix seconds."""
    running: bool = False
    slices: tuple[str, ...] = ()
    """The cards of which its annotations say that it holds slices; of bound pods alone."""
    refused: bool = False
    """Whether the agent of its node told HAMi that it was given nothing."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"


class PodsSeen(msgspec.Struct, frozen=True):
    """What the pods tell; or why they are not known."""

    asking: tuple[CardPod, ...] = ()
    parts: tuple[PartPod, ...] = ()
    unknown: str = ""
    config_places: frozenset[str] = frozenset()
    """The namespaces in which node agents of ours look for the device ConfigMap."""

    def running(self, part: Part) -> list[PartPod]:
        return [each for each in self.parts if each.part is part]

    def nodes_with(self, part: Part) -> set[str]:
        """Where such a program runs."""
        return {each.node for each in self.running(part) if each.node}


async def look_at_pods(api: Api, patience: float | None = None) -> PodsSeen:
    """All pods that are not over, within so many seconds. Never raises: half of them would tell half the truth."""
    asking: list[CardPod] = []
    parts: list[PartPod] = []
    places: set[str] = set()
    count = 0
    try:
        async with asyncio.timeout(patience):
            async for page in api.pages(_PODS, _NOT_OVER):
                for pod in loose.elements(page.get("items")):
                    count += 1
                    _take(loose.members(pod), asking, parts, places)
    except ApiError as error:
        return PodsSeen(unknown=error.message or str(error))
    except ApiUnreachable as error:
        return PodsSeen(unknown=str(error))
    except TimeoutError:
        return PodsSeen(unknown=f"only {count} could be read within {patience:g} s")
    return PodsSeen(tuple(asking), tuple(parts), config_places=frozenset(places))


def _take(pod: Mapping[str, object], asking: list[CardPod], parts: list[PartPod], places: set[str]) -> None:
    metadata, spec = loose.members(pod.get("metadata")), loose.members(pod.get("spec"))
    name, node = loose.text(metadata.get("name")), loose.text(spec.get("nodeName"))
    parts += parts_in(name, node, spec, loose.members(metadata.get("labels")))
    places.update(config_places_in(spec))
    if asks_for_cards(spec):
        asking.append(_card_pod(pod, metadata, spec, loose.members(pod.get("status"))))


def asks_for_cards(spec: Mapping[str, object]) -> bool:
    """Whether a container names a resource of ours."""
    return any(not _CARDS.isdisjoint(amounts) for amounts in _amounts(spec))


def _amounts(spec: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for field in ("containers", "initContainers"):
        for each in loose.elements(spec.get(field)):
            resources = loose.members(loose.members(each).get("resources"))
            yield loose.members(resources.get("limits"))
            yield loose.members(resources.get("requests"))


def _card_pod(
    pod: Mapping[str, object],
    metadata: Mapping[str, object],
    spec: Mapping[str, object],
    status: Mapping[str, object],
) -> CardPod:
    conditions = [loose.members(each) for each in loose.elements(status.get("conditions"))]
    try:
        made = parse_rfc3339(loose.text(metadata.get("creationTimestamp")))
    except WireError:
        made = None
    return CardPod(
        namespace=loose.text(metadata.get("namespace")),
        name=loose.text(metadata.get("name")),
        node=loose.text(spec.get("nodeName")),
        scheduler=loose.text(spec.get("schedulerName")) or DEFAULT_SCHEDULER,
        # A pod with scheduling gates has the condition from the beginning: nobody is to look at it yet.
        looked_at=any(each.get("type") == "PodScheduled" for each in conditions),
        made=made,
        running=loose.text(status.get("phase")) == Phase.RUNNING,
        slices=_slices(pod) if spec.get("nodeName") else (),
        refused=loose.text_map(metadata.get("annotations")).get(BIND_PHASE) == _FAILED,
    )


def _slices(pod: Mapping[str, object]) -> tuple[str, ...]:
    tenant = read_tenant(read_pod(pod), None)
    if not isinstance(tenant, Tenant):
        return ()
    shares = (share for each in tenant.allocation.containers for share in each.shares)
    return tuple(dict.fromkeys(share.card for share in shares if share.kind is AskKind.SLICE))
