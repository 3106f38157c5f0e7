"""What the tests of restarts, registrations, init containers and device health share: a plugin on the node, pods with
its devices, a kubelet that starts again, and looks at what the kubelet made of it all.

It states no fact: that is left to the test that needs it.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tangram.kubelet.sockets import SocketFile, socket_file_at
from tangram.wire.cdi import CdiDevice, CdiSpec
from tangram.wire.kubelet import deviceplugin
from tangram.wire.kubelet.checkpoint import CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices
from testbed.api import ApiRefused, NotInTime, Object, path_of
from testbed.cdi import write_spec
from testbed.checkpoint import read_checkpoint
from testbed.cluster import Cluster
from testbed.containerd_settings import CONTAINERD_SOCKET
from testbed.errors import BedError
from testbed.manifests import SLEEP, container, is_running, pod
from testbed.places import RoomFolder
from testbed.plugin import PluginOptions, ScriptedPlugin
from testbed.plugin_behaviours import Script, granting
from testbed.plugin_records import Call, MethodName, PluginDevice
from testbed.podresources import PodResourcesClient

NODE = "n1"
API_SERVER = "kube-apiserver"
PATIENCE = 90.0
"""For whatever a busy machine may delay. Nothing is asserted about speed."""


def room_of(cluster: Cluster) -> RoomFolder:
    return cluster.room(cluster.nodes[0])


def quiet() -> Script:
    """Answers that need no CDI spec."""
    return Script(allocate=granting(cdi=False))


def plugin_of(
    cluster: Cluster,
    resource: str,
    ids: Iterable[str],
    *,
    options: PluginOptions | None = None,
    script: Script | None = None,
    endpoint: str | None = None,
) -> ScriptedPlugin:
    """A plugin for the first node, not started."""
    return ScriptedPlugin(
        room_of(cluster).device_plugins,
        resource,
        [PluginDevice(one) for one in ids],
        options=options,
        endpoint=endpoint,
        script=script or quiet(),
    )


# ---- the node's status


def counts(seen: Object, resource: str) -> tuple[str | None, str | None]:
    """Capacity and allocatable of a resource; None where the node does not name it."""
    status = seen.get("status", {})
    return status.get("capacity", {}).get(resource), status.get("allocatable", {}).get(resource)


async def until_counts(cluster: Cluster, resource: str, capacity: str, allocatable: str) -> None:
    await cluster.until_node(
        NODE,
        lambda seen: counts(seen, resource) == (capacity, allocatable),
        within=PATIENCE,
        what=f"capacity {capacity} and allocatable {allocatable} of {resource}",
    )


async def until_offered(cluster: Cluster, *plugins: ScriptedPlugin) -> None:
    """Every healthy device of these plugins counts on the node."""
    for plugin in plugins:
        healthy = sum(device.healthy for device in plugin.devices.now)
        await until_counts(cluster, plugin.resource, str(len(plugin.devices.now)), str(healthy))


# ---- pods and containers


def container_status(seen: Object, name: str = "main") -> Object:
    status = seen.get("status", {})
    everyone = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    nothing: Object = {}
    return next((one for one in everyone if one["name"] == name), nothing)


def restarted(times: int, name: str = "main") -> Callable[[Object], bool]:
    """Whether a container runs again after so many restarts."""

    def holds(seen: Object) -> bool:
        status = container_status(seen, name)
        return status.get("restartCount") == times and "running" in status.get("state", {})

    return holds


def card_pod(resource: str, name: str, *, inits: Sequence[Object] = (), ends_with: int = 0) -> Object:
    """A pod with one device that says which card it got, once it is ready to be told to end."""
    script = SLEEP.replace("'exit 0' TERM;", f"'exit {ends_with}' TERM; echo card=$CARD;")
    main = container(script=script, limits={resource: 1})
    made = pod(name, main, inits=inits, node=NODE, restartPolicy="Always")
    # It ends at once; a slow machine shall not make the kubelet kill it.
    made["spec"]["terminationGracePeriodSeconds"] = 60
    return made


def name_of(seen: Object) -> str:
    return seen["metadata"]["name"]


def same_container(seen: Object, before: Object) -> bool:
    return is_running(seen) and (
        container_status(seen)["containerID"] == container_status(before)["containerID"]
    )


async def run_pods(cluster: Cluster, *pods: Object) -> list[Object]:
    """Create them at once and return them as they run."""
    await asyncio.gather(*(cluster.api.create(one) for one in pods))
    return await asyncio.gather(
        *(cluster.until_pod(one["metadata"]["name"], is_running, within=PATIENCE) for one in pods)
    )


async def end_container(cluster: Cluster, seen: Object, name: str = "main") -> None:
    """End a container's process behind the kubelet's back: this works while there is no kubelet, too."""
    _, _, found = container_status(seen, name)["containerID"].partition("://")
    program = f"end-{found[:12]}"
    ctr = [cluster.programs.path("ctr"), "-a", CONTAINERD_SOCKET, "-n", "k8s.io"]
    await cluster.box.start(program, [*ctr, "tasks", "kill", "-s", "SIGKILL", found], room=NODE)
    if await cluster.box.wait(program):
        raise BedError(f"container {name} could not be ended: {cluster.box.log(program)}")


async def until_stopped(cluster: Cluster, seen: Object, name: str = "main") -> None:
    """Return once the container runtime knows that a container's process is over."""
    _, _, found = container_status(seen, name)["containerID"].partition("://")
    ctr = [cluster.programs.path("ctr"), "-a", CONTAINERD_SOCKET, "-n", "k8s.io"]
    async with asyncio.timeout(PATIENCE):
        for attempt in range(1_000_000):
            program = f"look-{attempt}-{found[:12]}"
            await cluster.box.start(program, [*ctr, "tasks", "ls"], room=NODE)
            await cluster.box.wait(program)
            lines = [line for line in cluster.box.log(program).splitlines() if line.startswith(found)]
            if all(line.split()[-1] == "STOPPED" for line in lines):
                return


async def until_log(cluster: Cluster, name: str, words: str) -> None:
    """Return once a container has said exactly this: a container that runs may not have come to speak yet."""
    said = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while said != words:
                await asyncio.sleep(0.05)
                # A kubelet that has just started runs containers before it hands out their logs.
                with suppress(ApiRefused):
                    said = await cluster.pod_log(name)
    except TimeoutError:
        raise NotInTime(f"pod {name} said {said!r} and not {words!r} within {PATIENCE:g} s") from None


async def get_pod(cluster: Cluster, name: str) -> Object:
    return await cluster.api.get(path_of("Pod", name))


def calls_of(plugin: ScriptedPlugin, method: MethodName) -> list[Call]:
    return [call for call in plugin.calls if call.method == method]


def ids_of(calls: Iterable[Call]) -> list[tuple[str, ...]]:
    """The ids of each call, sorted: the kubelet sends sets."""
    return [tuple(sorted(one for ids in call.ids for one in ids)) for call in calls]


# ---- the kubelet


def kubelet_socket(cluster: Cluster) -> SocketFile | None:
    return socket_file_at(room_of(cluster).device_plugins / deviceplugin.KUBELET_SOCKET)


async def until_kubelet_listens(cluster: Cluster, *, other_than: SocketFile | None) -> None:
    """Return once the kubelet has made its socket anew, which is after it removed everybody's."""
    try:
        async with asyncio.timeout(PATIENCE):
            # Seen through the file system, which announces nothing to this process.
            while kubelet_socket(cluster) in {None, other_than}:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise NotInTime(f"the kubelet made no new socket within {PATIENCE:g} s") from None


@asynccontextmanager
async def kubelet_away(cluster: Cluster) -> AsyncGenerator[None]:
    """In this block the node has no kubelet; after it, a new one takes registrations."""
    before = kubelet_socket(cluster)
    await cluster.stop_kubelet(cluster.nodes[0])
    try:
        yield
    finally:
        await cluster.start_kubelet(cluster.nodes[0])
    await until_kubelet_listens(cluster, other_than=before)


async def restart_kubelet(cluster: Cluster) -> None:
    """Restart it and return once it takes registrations."""
    async with kubelet_away(cluster):
        pass


@asynccontextmanager
async def api_server_held(cluster: Cluster) -> AsyncGenerator[None]:
    """Nobody gets an answer from the API server in this block, so a starting kubelet learns of no pods."""
    await cluster.box.send(API_SERVER, signal.SIGSTOP)
    try:
        yield
    finally:
        await cluster.box.send(API_SERVER, signal.SIGCONT)


# ---- what the kubelet says about devices


async def pod_resources(cluster: Cluster, resource: str) -> list[HeldDevices]:
    """What the PodResources API says now."""
    held = await PodResourcesClient(room_of(cluster).pod_resources, within=PATIENCE).list()
    return [one for one in held if one.resource == resource]


def checkpointed(cluster: Cluster, resource: str) -> list[CheckpointedAllocation]:
    """What the kubelet's own notebook says now."""
    noted = read_checkpoint(room_of(cluster).device_plugins).allocations
    return [one for one in noted if one.resource == resource]


async def until_noted(cluster: Cluster, plugin: ScriptedPlugin) -> None:
    """Return once the kubelet has written down that it knows every healthy device of a plugin."""
    wanted = {device.id for device in plugin.devices.now if device.healthy}
    async with asyncio.timeout(PATIENCE):
        while True:
            known = read_checkpoint(room_of(cluster).device_plugins).registered
            if any(one.resource == plugin.resource and set(one.ids) == wanted for one in known):
                return
            await asyncio.sleep(0.02)


# ---- CDI


def write_card(cluster: Cluster, name: str) -> Path:
    """Make a CDI name mean a variable CARD with the name itself."""
    kind, _, device = name.partition("=")
    spec = CdiSpec(kind=kind, devices=(CdiDevice(name=device, env={"CARD": name}),))
    return write_spec(room_of(cluster).cdi, spec, device)
