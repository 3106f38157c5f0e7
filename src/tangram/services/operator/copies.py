"""The copies of the cluster that the operator decides from.

Of nodes and pods only what is decided from is kept: a cluster's pods are too much to hold whole, and their statuses
change all the time. Objects of ours are few and kept whole, with the notes of who wrote which field.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tangram.daemon.running import Supervisor
from tangram.kube.api import Api, Object
from tangram.kube.informer import Change, Informer, Key
from tangram.services.operator.node_views import GpuPod, NodeView, gpu_pod, has_cards, is_ours, node_view
from tangram.services.operator.objects import Name, name_of
from tangram.services.operator.part_pods import PartPod, part_pod
from tangram.wire import loose
from tangram.wire.device_config import CONFIG_MAPS
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import DRIVER_CONFIG, GROUP, MANAGED, OBJECT, PLURAL, RUNTIME_CLASS, VERSION

OBJECTS: Final = f"/apis/{GROUP}/{VERSION}/{PLURAL}"
NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
NOT_ENDED: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
STALE_S: Final = 10.0
"""A copy that has not followed the API server for so long is not decided from."""

_SCHEDULER: Final = {"app.kubernetes.io/name": "tangram", "app.kubernetes.io/component": "scheduler"}

_log = logging.getLogger("tangram.operator")


class SeenNode(msgspec.Struct, frozen=True, kw_only=True):
    view: NodeView
    """Without its pods."""
    installed: str = ""
    """The label of gpu-label; empty where there is none."""
    managed: str = ""
    labels: Mapping[str, str] = {}
    offers: bool = False
    """The node says that it has cards to give, whole ones or shares."""


class SeenPod(msgspec.Struct, frozen=True, kw_only=True):
    gpu: GpuPod | None = None
    part: PartPod | None = None
    scheduler_in: str = ""
    """The namespace, for a pod of our scheduler."""
    ready: bool = False


class Copies:
    """`fill` begins to follow everything. `changed` is called at every change of anything."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._changed = changed
        self._clock = clock
        self._troubles: dict[str, str] = {}
        self.operators: Final = self._whole(OBJECTS, "ClusterOperator")
        self.daemon_sets: Final = self._whole(f"/apis/apps/v1/namespaces/{namespace}/daemonsets", "DaemonSet")
        self.runtime_classes: Final = self._whole(
            "/apis/node.k8s.io/v1/runtimeclasses", "RuntimeClass", RUNTIME_CLASS
        )
        self.driver_configs: Final = self._config_map(DRIVER_CONFIG, namespace)
        self.device_configs: Final[dict[str, Informer[Object]]] = {}
        """By namespace: one that the spec does not name any more is followed on, so that what is there is removed."""
        self._of_interest: dict[Key, SeenPod] = {}
        """Of a cluster's pods few hold cards or are ours; they are looked through all the time."""
        self.nodes: Final = Informer(
            api, NODES, self._node_changed, keep=seen_node, troubled=self._troubled("nodes"), clock=clock
        )
        self.pods: Final = Informer(
            api,
            PODS,
            self._pod_changed,
            keep=seen_pod,
            query=NOT_ENDED,
            troubled=self._troubled("pods"),
            clock=clock,
        )
        self._followed: dict[str, Informer[Any]] = {}

    async def fill(self, supervisor: Supervisor) -> None:
        """Begin to follow everything; returns once each copy was complete."""
        self._followed = {
            "ClusterOperator": self.operators,
            "DaemonSets": self.daemon_sets,
            "RuntimeClasses": self.runtime_classes,
            "ConfigMap driver-config": self.driver_configs,
            "nodes": self.nodes,
            "pods": self.pods,
        }
        for name, copy in self._followed.items():
            supervisor.vital(f"copy of {name}", copy.run())
        for copy in tuple(self._followed.values()):
            await copy.synced.wait()

    def follow_device_config(self, supervisor: Supervisor, namespace: str) -> str:
        """Follow the ConfigMap of device modes where the spec has it. Why it is not read yet; empty if it is.

        Also where the spec gives no content, as one of ours may be left from when it did.
        """
        name = f"ConfigMap {CONFIG_MAPS[0]} in namespace {namespace}"
        copy = self.device_configs.get(namespace)
        if copy is None:
            copy = self._config_map(CONFIG_MAPS[0], namespace, name)
            self.device_configs[namespace] = copy
            supervisor.vital(f"copy of {name}", copy.run())
        return "" if copy.synced.is_set() else self._why_not(name, copy)

    def unready(self) -> list[str]:
        """What keeps the copies from being true."""
        if not self._followed:
            return ["the cluster has not been read yet"]
        return [
            self._why_not(name, copy)
            for name, copy in self._followed.items()
            if not copy.synced.is_set() or copy.stale_for(self._clock()) > STALE_S
        ]

    # ---- what is there

    def operator(self) -> Object | None:
        """The one object that counts."""
        return next((thing for key, thing in self.operators.objects.items() if key.name == OBJECT), None)

    def others(self) -> Iterator[Object]:
        """Objects of our kind that do not count."""
        return (thing for key, thing in self.operators.objects.items() if key.name != OBJECT)

    def live(self) -> dict[Name, Object]:
        """Objects of the parts, ours and those that only have their names."""
        copies = (
            self.daemon_sets,
            self.runtime_classes,
            self.driver_configs,
            *self.device_configs.values(),
        )
        return {name_of(thing): thing for copy in copies for thing in copy.objects.values()}

    def cards_held(self) -> dict[str, list[GpuPod]]:
        """Pods that hold cards, by their node."""
        by_node: dict[str, list[GpuPod]] = {}
        for pod in self._of_interest.values():
            if pod.gpu is not None:
                by_node.setdefault(pod.gpu.node, []).append(pod.gpu)
        return by_node

    def views(self) -> tuple[NodeView, ...]:
        """Nodes that are managed or carry something of ours, with the pods that hold their cards."""
        held = self.cards_held()
        found: list[NodeView] = []
        for node in self.nodes.objects.values():
            if is_ours(node.view):
                here = sorted(held.get(node.view.name, ()), key=lambda pod: pod.full_name)
                found.append(msgspec.structs.replace(node.view, pods=tuple(here)))
        return tuple(sorted(found, key=lambda view: view.name))

    def seen_nodes(self) -> tuple[SeenNode, ...]:
        """All nodes, by name."""
        return tuple(sorted(self.nodes.objects.values(), key=lambda node: node.view.name))

    def part_pods(self) -> tuple[PartPod, ...]:
        found = (pod.part for key, pod in self._of_interest.items() if key.namespace == self._namespace)
        return tuple(sorted((pod for pod in found if pod is not None), key=lambda pod: pod.name))

    def schedulers(self, namespace: str) -> tuple[bool, ...]:
        """Whether each pod of our scheduler is ready, in a namespace or in any."""
        return tuple(
            pod.ready
            for pod in self._of_interest.values()
            if pod.scheduler_in and namespace in ("", pod.scheduler_in)
        )

    # ---- how it is read

    def _node_changed(self, change: Change[SeenNode]) -> None:
        if _said(change.old) != _said(change.new):
            self._changed()

    def _pod_changed(self, change: Change[SeenPod]) -> None:
        if change.new is not None and change.new != _NOBODY:
            self._of_interest[change.key] = change.new
        else:
            self._of_interest.pop(change.key, None)
        if (change.old or _NOBODY) != (change.new or _NOBODY):
            self._changed()

    def _whole(self, path: str, kind: str, name: str = "", told: str = "") -> Informer[Object]:
        def keep(thing: Object) -> Object:
            # Items of a list do not say of what kind they are.
            return {**thing, "kind": kind}

        query = {"fieldSelector": f"metadata.name={name}"} if name else {}
        return Informer(
            self._api,
            path,
            lambda _: self._changed(),
            keep=keep,
            query=query,
            troubled=self._troubled(told or kind),
            clock=self._clock,
        )

    def _config_map(self, name: str, namespace: str, told: str = "") -> Informer[Object]:
        return self._whole(f"/api/v1/namespaces/{namespace}/configmaps", "ConfigMap", name, told)

    def _troubled(self, what: str) -> Callable[[str], None]:
        def say(sentence: str) -> None:
            if self._troubles.get(what) != sentence:
                _log.warning("the copy of %s cannot be kept: %s", what, sentence)
            self._troubles[what] = sentence

        return say

    def _why_not(self, name: str, copy: Informer[Any]) -> str:
        why = self._troubles.get(name) or self._troubles.get(name.partition(" ")[0], "")
        if copy is self.operators and not copy.synced.is_set():
            return f"the kind {PLURAL}.{GROUP} cannot be read, which chart metax-operator brings" + (
                f": {why}" if why else ""
            )
        age = copy.stale_for(self._clock())
        behind = f"{age:.0f} s behind the API server" if copy.synced.is_set() else "not read yet"
        return f"the copy of {name} is {behind}" + (f": {why}" if why else "")


_NOBODY: Final = SeenPod()


def _said(node: SeenNode | None) -> SeenNode | None:
    """A node without its version: heartbeats change that, and nothing that anybody decides from."""
    if node is None:
        return None
    return msgspec.structs.replace(node, view=msgspec.structs.replace(node.view, version=""))


def is_concerned(node: SeenNode) -> bool:
    """Whether the operator has or had to do with a node."""
    return node.installed == "true" or is_ours(node.view)


def seen_node(thing: Object) -> SeenNode:
    """What is kept of a node. Never raises."""
    labels = loose.text_map(loose.members(thing.get("metadata")).get("labels"))
    return SeenNode(
        view=node_view(thing),
        installed=labels.get(INSTALLED, ""),
        managed=labels.get(MANAGED, ""),
        labels=labels,
        offers=has_cards(loose.text_map(loose.members(thing.get("status")).get("allocatable"))),
    )


def seen_pod(thing: Object) -> SeenPod:
    """What is kept of a pod. Never raises."""
    metadata = loose.members(thing.get("metadata"))
    labels = loose.text_map(metadata.get("labels"))
    ours = all(labels.get(key) == value for key, value in _SCHEDULER.items())
    part = part_pod(thing)
    conditions = loose.elements(loose.members(thing.get("status")).get("conditions")) if ours else ()
    return SeenPod(
        gpu=gpu_pod(thing),
        part=part,
        scheduler_in=loose.text(metadata.get("namespace")) if ours else "",
        ready=any(
            each.get("type") == "Ready" and each.get("status") == "True"
            for each in map(loose.members, conditions)
        ),
    )
