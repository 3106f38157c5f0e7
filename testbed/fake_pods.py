"""A kubelet that admits pods, without containers: it gives out ids, keeps its notes, and shows who holds what.

It follows the real one where a plugin can tell: containers in the pod's order, init containers first; ids of an init
container that will have ended are given to those after it; a preference is asked for and Allocate called once per
container and resource; notes of ended pods stay until the next pod is admitted; PodResources hides init containers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tangram.kubelet.sockets import Refusal, SocketServer, answering, serve
from tangram.units.ids import PodUid
from tangram.wire.kubelet import podresources
from tangram.wire.kubelet.checkpoint import NO_NUMA, CheckpointedAllocation, NumaIds
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse
from testbed.changes import Changes
from testbed.checkpoint import write_checkpoint
from testbed.errors import BedError
from testbed.fake_kubelet import FakeKubelet, PluginClient

HEALTHY = "Healthy"
STATIC_HASH = "kubernetes.io/config.hash"
MIRROR = "kubernetes.io/config.mirror"

Object = Mapping[str, Any]


class NotAdmitted(BedError):  # noqa: N818 - says what is the case
    """There are not as many healthy, free units as a container asks for."""


class FakePods:
    """The pods of one node. Everything is keyed by the pod's UID, as the kubelet spells it."""

    def __init__(self, device_plugins: Path, pod_resources: Path) -> None:
        self.kubelet = FakeKubelet(device_plugins)
        self.noted: list[CheckpointedAllocation] = []
        self.changes = Changes()
        self.silent: Refusal | None = None
        """Set it to have PodResources refuse to answer."""
        self.keeps_notes = True
        """Unset it to leave the checkpoint as it is, as if in a form nobody knows."""
        self.questions = 0
        """How often somebody asked PodResources."""
        self._directory = device_plugins
        self._socket = pod_resources
        self._server: SocketServer | None = None
        self._pods: dict[PodUid, Object] = {}

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.die()

    async def start(self) -> None:
        self._note()
        self._server = await serve(self._socket, [answering(podresources.LIST, self._on_list)])
        await self.kubelet.start()

    async def die(self) -> None:
        await self.kubelet.die()
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop()

    async def restart(self) -> None:
        """Pods stay, and so do the notes; every plugin has to introduce itself again."""
        await self.die()
        await self.start()

    def plugin(self, resource: str) -> PluginClient:
        return self.kubelet.plugin(resource)

    # ---- pods

    async def admit(self, pod: Object) -> dict[str, dict[str, tuple[str, ...]]]:
        """Give every container its ids, in order. By container and resource, the ids. Raises `NotAdmitted`."""
        uid = kubelet_uid(pod)
        self.noted = [each for each in self.noted if each.pod_uid in self._pods]
        self._pods[uid] = pod
        given: dict[str, dict[str, tuple[str, ...]]] = {}
        reusable: dict[str, list[str]] = {}
        try:
            for container, is_init in containers_in(pod):
                for resource, count in self._asked(container).items():
                    ids = await self._allocate(
                        uid, container["name"], resource, count, reusable.get(resource, [])
                    )
                    given.setdefault(container["name"], {})[resource] = ids
                    kept = reusable.setdefault(resource, [])
                    reusable[resource] = (
                        [*kept, *ids] if is_init else [each for each in kept if each not in ids]
                    )
        except BaseException:
            self.forget(pod)
            raise
        self.changes.announce()
        return given

    async def start_container(self, pod: Object, container: str, within: float = 30.0) -> None:
        """What precedes its creation: PreStartContainer for each resource. Raises what the plugin answers."""
        for each in self.held(pod, container):
            await self.plugin(each.resource).pre_start(*each.ids, within=within)

    async def run(self, pod: Object) -> dict[str, dict[str, tuple[str, ...]]]:
        """Admit the pod and start all its containers."""
        given = await self.admit(pod)
        for container, _ in containers_in(pod):
            await self.start_container(pod, container["name"])
        return given

    def forget(self, pod: Object) -> None:
        """The pod is over: PodResources shows it no more, the notes keep it until the next admission."""
        self._pods.pop(kubelet_uid(pod), None)
        self.changes.announce()

    def held(self, pod: Object, container: str) -> list[CheckpointedAllocation]:
        uid = kubelet_uid(pod)
        return [each for each in self.noted if (each.pod_uid, each.container) == (uid, container)]

    def answer(self, pod: Object, container: str, resource: str) -> ContainerAllocateResponse:
        """What the plugin answered when the container was admitted."""
        return next(each.response() for each in self.held(pod, container) if each.resource == resource)

    # ---- inside

    def _asked(self, container: Object) -> dict[str, int]:
        limits = container.get("resources", {}).get("limits", {})
        return {
            resource: int(count)
            for resource, count in sorted(limits.items())
            if resource in self.kubelet.resources and int(count)
        }

    async def _allocate(
        self, uid: PodUid, container: str, resource: str, count: int, reusable: Sequence[str]
    ) -> tuple[str, ...]:
        plugin = self.plugin(resource)
        taken = {unit for each in self.noted if each.resource == resource for unit in each.ids}
        healthy = (
            [unit for unit, state in plugin.lists[-1].items() if state == HEALTHY] if plugin.lists else []
        )
        chosen = [unit for unit in reusable if unit in healthy][:count]
        free = [unit for unit in healthy if unit not in taken and unit not in chosen]
        missing = count - len(chosen)
        if missing > len(free):
            raise NotAdmitted(
                f"{container} wants {count} of {resource}, and {len(free) + len(chosen)} are free"
            )
        if missing and plugin.introduction.options.get_preferred_allocation_available:
            preferred = await plugin.prefer([*chosen, *free], count, chosen)
            if len(preferred) == count and set(chosen) <= set(preferred) <= {*chosen, *free}:
                chosen = list(preferred)
        chosen += [unit for unit in free if unit not in chosen][: count - len(chosen)]
        answer = await plugin.allocate(*chosen)
        self.noted = [
            each
            for each in self.noted
            if (each.pod_uid, each.container, each.resource) != (uid, container, resource)
        ]
        self.noted.append(
            CheckpointedAllocation(
                pod_uid=uid,
                container=container,
                resource=resource,
                by_numa=(NumaIds(NO_NUMA, tuple(chosen)),),
                answer=answer.SerializeToString(),
            )
        )
        self._note()
        return tuple(chosen)

    def _note(self) -> None:
        if self.keeps_notes:
            write_checkpoint(self._directory, self.noted, {})

    async def _on_list(
        self, _asked: podresources.ListPodResourcesRequest
    ) -> podresources.ListPodResourcesResponse:
        self.questions += 1
        if self.silent is not None:
            raise self.silent
        return podresources.ListPodResourcesResponse(
            pod_resources=[
                podresources.PodResources(
                    name=pod["metadata"]["name"],
                    namespace=pod["metadata"].get("namespace", "default"),
                    containers=[
                        podresources.ContainerResources(
                            name=container["name"],
                            devices=[
                                podresources.ContainerDevices(
                                    resource_name=each.resource, device_ids=each.ids
                                )
                                for each in self.held(pod, container["name"])
                            ],
                        )
                        for container, is_init in containers_in(pod)
                        if not is_init
                    ],
                )
                for pod in self._pods.values()
            ]
        )


def containers_in(pod: Object) -> list[tuple[Object, bool]]:
    """Containers in the order in which they are admitted, and whether each ends before the next begins."""
    spec = pod["spec"]
    first = [(each, each.get("restartPolicy") != "Always") for each in spec.get("initContainers", ())]
    return [*first, *((each, False) for each in spec["containers"])]


def kubelet_uid(pod: Object) -> PodUid:
    """The UID that the kubelet writes down: for a static pod the hash of its file."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations", {})
    return PodUid(annotations[STATIC_HASH] if MIRROR in annotations else metadata["uid"])
