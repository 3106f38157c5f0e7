"""The device manager of a kubelet: plugins register with it, pods are given units when they are admitted.

It does what the kubelet of Kubernetes 1.36 was seen and read to do, its awkward sides too: our agent has to live with
them. Units of init containers are used again by later containers of the pod. An error while a pod is admitted ends the
pod; one before a container starts only delays it. After a restart nobody is asked before a container starts until the
plugin is back.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.nodes.device_book import DeviceBook
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.sandbox.nodes.plugin_door import PluginDoor
from tangram.sandbox.nodes.plugin_list import Amounts, PluginList
from tangram.sandbox.nodes.pod_specs import Container, containers_of, devices_asked, kubelet_uid
from tangram.units.ids import PodUid
from tangram.wire.errors import WireError
from tangram.wire.kubelet import deviceplugin
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE, CheckpointedAllocation, parse_checkpoint
from tangram.wire.kubelet.checkpoint_text import checkpoint_text

Reusable = dict[str, dict[str, None]]


class NotAllocated(Exception):  # noqa: N818 - says what is the case
    """A container cannot be given its units; the kubelet's own sentence, which ends the pod."""


class DeviceManager:
    """`start` and `stop` as the kubelet does; what it knows of pods survives in the checkpoint alone.

    `living` names the pods whose units count; `changed` is called when the node's amounts may have changed, and `sick`
    with a pod of which a unit changed its health.
    """

    def __init__(
        self,
        folder: Path,
        *,
        living: Callable[[], Collection[PodUid]],
        changed: Callable[[], None] = lambda: None,
        sick: Callable[[PodUid], None] = lambda _pod: None,
        clock: Callable[[], float] | None = None,
        order: random.Random | None = None,
    ) -> None:
        self._folder: Final = folder
        self._living = living
        self._changed = changed
        self._sick = sick
        self._order = order or random.Random(str(folder))  # noqa: S311 - so that nobody relies on an order
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self.book = DeviceBook()
        self.plugins = PluginList(self._clock)
        self.door: Final = PluginDoor(
            folder, came=self._plugin_came, listed=self._plugin_listed, went=self._plugin_went
        )

    # ---- life

    async def start(self) -> None:
        """Read the notes of the kubelet before, then let plugins register."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._read_notes()
        await self.door.start()

    async def stop(self) -> None:
        """As if killed: connections are cut, and only what is written down is known to the next one."""
        await self.door.stop()
        self.book, self.plugins = DeviceBook(), PluginList(self._clock)

    def amounts(self) -> Amounts:
        found = self.plugins.amounts()
        if found.removed:
            self._note()
        return found

    def has_plugin(self, resource: str) -> bool:
        """Whether a plugin of the resource is there now, whatever it has to give."""
        return self.door.client(resource) is not None

    def registered(self, resource: str) -> bool:
        """Whether a plugin of the resource is there now and has told of devices."""
        return self.has_plugin(resource) and bool(self.plugins.healthy(resource))

    # ---- pods

    async def admit(self, pod: Object, running: Collection[str] = ()) -> None:
        """Give every container its units. Raises `NotAllocated`; what was given until then goes with the pod.

        `running` names containers that run already, which a restarted kubelet finds; they have what they need.
        """
        reusable: Reusable = {}
        for container in containers_of(pod):
            if container.name not in running:
                await self._allocate_container(pod, container, reusable)
            held = self.book.of_container(kubelet_uid(pod), container.name)
            for each in held:
                kept = reusable.setdefault(each.resource, {})
                for unit in each.ids:
                    if container.ends_first:
                        kept[unit] = None
                    else:
                        kept.pop(unit, None)

    async def prepare(
        self, pod: Object, container: Container
    ) -> list[deviceplugin.ContainerAllocateResponse]:
        """What precedes a container's creation. The answers of its plugins at admission; raises `PluginError`."""
        uid = kubelet_uid(pod)
        asked = [
            resource
            for resource, count in devices_asked(container).items()
            if count and self._knows(resource)
        ]
        self._order.shuffle(asked)
        for resource in asked:
            client = self.door.client(resource)
            if client is None and resource not in self.plugins:
                raise PluginError(f"endpoint not found in cache for a registered resource: {resource}")
            if client is None:
                self._check_without(resource)
                continue
            if client.options.pre_start_required:
                held = self.book.held(uid, container.name, resource)
                if held is None:
                    raise PluginError(
                        f"no devices found allocated in local cache for pod {uid}, container {container.name}, "
                        f"resource {resource}"
                    )
                await client.pre_start(held.ids)
        return [each.response() for each in self.book.of_container(uid, container.name)]

    def clear_out(self) -> None:
        """Forget pods that are over, as the kubelet does whenever somebody asks who holds what."""
        self.book.keep_only(self._living())

    # ---- inside: pods

    async def _allocate_container(self, pod: Object, container: Container, reusable: Reusable) -> None:
        uid, noted, cleared = kubelet_uid(pod), False, False
        for resource, needed in devices_asked(container).items():
            if not self._knows(resource):
                continue
            if not cleared:
                self.clear_out()
                cleared = True
            chosen = await self._choose(uid, container.name, resource, needed, reusable.get(resource, {}))
            if not chosen:
                continue
            client = self.door.client(resource)
            if client is None:
                raise NotAllocated(f"endpoint {resource} has been stopped")
            try:
                answer = await client.allocate(chosen)
            except PluginError as error:
                raise NotAllocated(str(error)) from error
            self.book.insert(
                CheckpointedAllocation(
                    pod_uid=uid,
                    container=container.name,
                    resource=resource,
                    by_numa=self.plugins.by_numa(resource, chosen),
                    answer=answer.SerializeToString(),
                )
            )
            noted = True
        if noted:
            self._note()

    async def _choose(
        self, uid: PodUid, container: str, resource: str, needed: int, reusable: Collection[str]
    ) -> list[str]:
        """The units to ask Allocate for; none where the container has its units already."""
        held = self.book.held(uid, container, resource)
        before = () if held is None else held.ids
        if before and len(before) != needed:
            raise NotAllocated(
                f'pod "{uid}" container "{container}" changed request for resource "{resource}" from '
                f"{len(before)} to {needed}"
            )
        if resource not in self.plugins:
            raise NotAllocated(f"cannot allocate unregistered device {resource}")
        healthy = self.plugins.healthy(resource)
        if not healthy:
            raise NotAllocated(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        if not set(before) <= set(healthy):
            raise NotAllocated(
                f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
            )
        if before or not needed:
            return []
        chosen = list(reusable)[:needed]
        missing = needed - len(chosen)
        if not missing:
            return chosen
        taken = self.book.taken().get(resource, set[str]()) | set(chosen)
        free = [unit for unit in healthy if unit not in taken]
        if missing > len(free):
            raise NotAllocated(
                f"requested number of devices unavailable for {resource}. Requested: {missing}, "
                f"Available: {len(free)}"
            )
        self._order.shuffle(free)
        preferred = [unit for unit in await self._preferred(resource, free, chosen, needed) if unit in free]
        return list(dict.fromkeys((*chosen, *preferred, *free)))[:needed]

    async def _preferred(
        self, resource: str, free: Sequence[str], chosen: Sequence[str], size: int
    ) -> Sequence[str]:
        client = self.door.client(resource)
        if client is None or not client.options.get_preferred_allocation_available:
            return ()
        try:
            return await client.prefer([*chosen, *free], chosen, size)
        except PluginError as error:
            raise NotAllocated(str(error)) from error

    def _check_without(self, resource: str) -> None:
        """The plugin is away. One that left this kubelet is missed; one that it only read of is not asked."""
        if self.door.has_left(resource):
            raise PluginError(
                f"device plugin PreStartContainer rpc failed with err: endpoint {resource} has been stopped"
            )

    def _knows(self, resource: str) -> bool:
        return resource in self.plugins or resource in self.book.taken()

    # ---- inside: plugins

    def _plugin_came(self, resource: str) -> None:
        self.plugins.connected(resource)

    def _plugin_listed(self, resource: str, devices: Sequence[deviceplugin.Device]) -> None:
        moved = self.plugins.take(resource, devices)
        for uid in self.book.holders_of(moved):
            self._sick(uid)
        self._note()
        self._changed()

    def _plugin_went(self, resource: str) -> None:
        self.plugins.disconnected(resource)
        self._changed()

    # ---- inside: notes

    def _note(self) -> None:
        unfinished = self._folder / f".{CHECKPOINT_FILE}"
        unfinished.write_text(checkpoint_text(self.book.all(), self.plugins.registered()), "utf-8")
        unfinished.replace(self._folder / CHECKPOINT_FILE)

    def _read_notes(self) -> None:
        self.book, self.plugins = DeviceBook(), PluginList(self._clock)
        try:
            notes = parse_checkpoint((self._folder / CHECKPOINT_FILE).read_bytes())
        except (OSError, WireError):
            # None yet, or those of a machine that lost its power half way: then nobody holds anything.
            return
        self.book = DeviceBook(notes.allocations)
        self.plugins.remember([each.resource for each in notes.registered])
