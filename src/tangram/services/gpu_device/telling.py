"""Telling people and peers what came of the kubelet's calls, and what is wrong with the node.

A refusal becomes an event on the pod it concerns; on the node where nobody can say which pod that is. Events and phases
wait while the API server is away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tangram.kube.recorder import About, Event, Recorder
from tangram.model.cards import Card
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.giving import Given
from tangram.services.gpu_device.peers import Outcome, phase_change
from tangram.services.gpu_device.pod_writes import PodWrites
from tangram.services.gpu_device.records import BoundPod
from tangram.services.gpu_device.refusing import Refused
from tangram.services.gpu_device.telemetry import Telemetry
from tangram.services.gpu_device.unserved import asked_units, runs_without
from tangram.units.ids import NodeName, PodUid

log = logging.getLogger("tangram.gpu-device")

REFUSED: Final = "GpuNotGiven"
MISCONFIGURED: Final = "GpuConfigRefused"
NOT_READ: Final = "GpuConfigNotRead"
UNCONFIGURED: Final = "GpuConfigGone"
UNREPORTED: Final = "GpuNotReported"
CARD_BROKEN: Final = "GpuUnhealthy"
CARD_WELL: Final = "GpuRecovered"


class Telling:
    def __init__(
        self,
        *,
        node: NodeName,
        recorder: Recorder,
        writes: PodWrites,
        pods: BoundPods,
        telemetry: Telemetry,
        happened: Callable[[], None],
    ) -> None:
        self._node = node
        self._recorder = recorder
        self._writes = writes
        self._pods = pods
        self._telemetry = telemetry
        self._happened = happened
        self._health: dict[str, str] = {}
        self._unserved: frozenset[PodUid] = frozenset()

    def took(self, call: str, resource: str, seconds: float) -> None:
        self._telemetry.took(call, resource, seconds)

    def allocated(self) -> None:
        self._happened()

    def given(self, given: Given) -> None:
        self._tell_peer(given.starting.bound, Outcome.SUCCESS)
        self._happened()

    def refused(self, resource: str, refused: Refused) -> None:
        code, sentence = refused.refusal.code, refused.refusal.sentence
        self._telemetry.refused(resource, code)
        log.warning(
            "a container was not given devices", extra={"resource": resource, "code": code, "why": sentence}
        )
        bound = self._whose(refused)
        if bound is None:
            whose = f" (pod {refused.named})" if refused.named else ""
            self._tell_node(REFUSED, f"{resource}{whose}: {sentence} [{code}]")
            return
        ref = bound.pod.ref
        about = About("Pod", str(ref.name), str(ref.namespace), str(ref.uid))
        self._recorder.record(Event(about, REFUSED, f"{sentence} [{code}]"))
        self._tell_peer(bound, Outcome.FAILED)

    def misconfigured(self, trouble: str, about: About | None) -> None:
        """On the node, and on the ConfigMap where it is one: who wrote it looks there first."""
        log.error("the configuration is not in force", extra={"why": trouble})
        self._tell_node(MISCONFIGURED, trouble)
        if about is not None:
            self._recorder.record(Event(about, MISCONFIGURED, trouble))

    def not_read(self, about: About, instead: str) -> None:
        sentence = (
            f"nothing of this is read, because {instead} is there too; delete the one that is not meant"
        )
        log.warning("a ConfigMap is not read", extra={"config_map": about.name, "why": sentence})
        self._recorder.record(Event(about, NOT_READ, sentence))

    def in_another_namespace(self, about: About, followed: str) -> None:
        sentence = (
            f"nothing of this is read: the agents look in namespace {followed}, and this is in {about.namespace}; "
            f"write metadata.namespace: {followed} into it, apply it again and delete this one"
        )
        log.warning(
            "a ConfigMap is not read",
            extra={"config_map": f"{about.namespace}/{about.name}", "why": sentence},
        )
        self._recorder.record(Event(about, NOT_READ, sentence))

    def unconfigured(self, place: str) -> None:
        where = f" in namespace {place}" if place else ""
        self._tell_node(
            UNCONFIGURED,
            f"there is no device configuration{where} any more: every MetaX card is to be whole again (native)",
            warning=False,
        )

    def unreported(self, sentence: str) -> None:
        self._tell_node(UNREPORTED, sentence)

    def health(self, cards: Iterable[Card]) -> None:
        """One event for each card that fails or recovers; what was so before is old news."""
        now = {str(card.uuid): "" if card.healthy else card.health_reason for card in cards}
        for uuid, reason in now.items():
            before = self._health.get(uuid, "")
            if reason and not before:
                self._tell_node(CARD_BROKEN, f"card {uuid} is unhealthy: {reason}")
            elif before and not reason:
                self._tell_node(CARD_WELL, f"card {uuid} is healthy again", warning=False)
        self._health = now

    def unserved(self, pods: Sequence[BoundPod]) -> None:
        """Each pod that runs without its cards once: on the pod, on the node and for the peer that waits for it."""
        for bound in pods:
            if bound.kubelet_uid in self._unserved:
                continue
            refusal = runs_without(bound, self._node)
            said = f"{refusal.sentence} [{refusal.code}]"
            log.warning(
                "a pod runs without its cards", extra={"pod": str(bound.pod.ref), "why": refusal.sentence}
            )
            for resource in asked_units(bound):
                self._telemetry.refused(resource, refusal.code)
            ref = bound.pod.ref
            about = About("Pod", str(ref.name), str(ref.namespace), str(ref.uid))
            self._recorder.record(Event(about, REFUSED, said))
            self._tell_node(REFUSED, said)
            self._tell_peer(bound, Outcome.FAILED)
        self._unserved = frozenset(bound.kubelet_uid for bound in pods)

    def _whose(self, refused: Refused) -> BoundPod | None:
        if refused.pod is not None:
            return self._pods.by_name.get((str(refused.pod.namespace), str(refused.pod.name)))
        namespace, _, name = refused.named.partition("/")
        return self._pods.by_name.get((namespace, name))

    def _tell_peer(self, bound: BoundPod, outcome: Outcome) -> None:
        change = phase_change(bound.pod, outcome)
        if change:
            self._writes.owe(bound.pod.ref, change)

    def _tell_node(self, reason: str, message: str, *, warning: bool = True) -> None:
        self._recorder.record(Event(About("Node", str(self._node)), reason, message, warning))
