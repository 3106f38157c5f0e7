"""What the tests of identity, CDI, devices and errors share: CDI specs in the fewest words, device nodes that are safe
to open, and containers that tell what they got.

It asserts nothing: a fact is stated by the test that needs it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import grpc

from e2e.restarts_kit import NODE, PATIENCE, container_status, room_of
from tangram.wire.cdi import CdiDevice, CdiDeviceNode, CdiMount, CdiSpec
from tangram.wire.kubelet.holdings import HeldDevices, holding_exactly
from testbed.api import Object, path_of
from testbed.cdi import write_spec
from testbed.cluster import Cluster
from testbed.manifests import container, is_over, is_running, pod, waiting_reason
from testbed.plugin_behaviours import Granting
from testbed.plugin_records import Call, Grant
from testbed.podresources import PodResourcesClient, PodResourcesError

DEVICES = {
    "/dev/mxcd": (1, 200),
    "/dev/dri/card0": (1, 201),
    "/dev/dri/renderD128": (1, 202),
    "/dev/dri/renderD129": (1, 203),
    "/dev/mtgpu.0": (1, 204),
    "/dev/mtgpu.1": (1, 205),
}
"""The memory driver's numbers that it gives to nobody: opening one fails with 'No such device or address' when the
container may, and with 'Operation not permitted' when its devices cgroup forbids it. No real device is ever touched."""
ALLOWED = "No such device or address"
FORBIDDEN = "Operation not permitted"
# What every container has anyway.
_EVERYONES = "null zero full random urandom tty ptmx"


# ---- CDI


def spec_of(
    name: str,
    env: Mapping[str, str] | None = None,
    *,
    nodes: Sequence[str] = (),
    mounts: Sequence[CdiMount] = (),
) -> CdiSpec:
    """A spec that gives one name its meaning."""
    kind, _, device = name.partition("=")
    edits = CdiDevice(
        name=device,
        env=env or {},
        device_nodes=tuple(CdiDeviceNode(path=path) for path in nodes),
        mounts=tuple(mounts),
    )
    return CdiSpec(kind=kind, devices=(edits,))


def cdi_folder(cluster: Cluster) -> Path:
    return room_of(cluster).cdi


def write(cluster: Cluster, spec: CdiSpec, *, owner: str = "", replace: bool = False) -> Path:
    """Put a spec in place as a careful writer does: by a rename within the folder."""
    return write_spec(cdi_folder(cluster), spec, owner or spec.devices[0].name, replace=replace)


def clear_specs(cluster: Cluster) -> None:
    """Take every spec away: the tests of one cluster share the folder."""
    for file in cdi_folder(cluster).iterdir():
        file.unlink()


def granting_names(*names: str) -> Granting:
    """Answer every Allocate with these CDI names."""

    async def grant(_call: Call) -> tuple[Grant, ...]:
        return (Grant(cdi_names=names),)

    return grant


# ---- pods


async def start_pod(
    cluster: Cluster, name: str, resource: str, *, script: str = "", restart: str = "Never"
) -> Object:
    """A pod with one device of the resource, bound to the node without a scheduler."""
    wanted = {resource: 1}
    made = container(script=script, limits=wanted) if script else container(limits=wanted)
    return await cluster.api.create(pod(name, made, node=NODE, restartPolicy=restart))


async def outcome_of(cluster: Cluster, name: str) -> Object:
    """The pod once it runs or is over, whichever comes first."""
    return await cluster.until_pod(
        name, lambda seen: is_running(seen) or is_over(seen), within=PATIENCE, what=f"pod {name} decided"
    )


async def words_of(cluster: Cluster, name: str, container_name: str = "") -> str:
    """What a pod printed until its end."""
    await cluster.until_pod(name, is_over, within=PATIENCE, what=f"pod {name} over")
    return (await cluster.pod_log(name, container_name)).strip()


async def first_line(cluster: Cluster, name: str, container_name: str = "main") -> str:
    """What a container printed first, once it has."""
    await cluster.until_pod(name, is_running, within=PATIENCE, what=f"pod {name} running")
    async with asyncio.timeout(PATIENCE):
        while not (printed := await cluster.pod_log(name, container_name)).endswith("\n"):
            await asyncio.sleep(0.05)
    return printed.splitlines()[0]


async def until_refused(
    cluster: Cluster, name: str, reason: str, sentence: str = "", *, container_name: str = "main"
) -> str:
    """The message of a container that does not start, once it waits for this reason and says this."""

    def refused(seen: Object) -> bool:
        return waiting_reason(seen, container_name) == reason and sentence in message_of(seen, container_name)

    seen = await cluster.until_pod(
        name, refused, within=PATIENCE, what=f"container {container_name} of pod {name} waiting with {reason}"
    )
    return message_of(seen, container_name)


def message_of(seen: Object, container_name: str = "main") -> str:
    """What the kubelet says about a container that waits."""
    return container_status(seen, container_name).get("state", {}).get("waiting", {}).get("message", "")


async def delete_now(cluster: Cluster, name: str) -> None:
    """Take the object away without waiting for the node, as `kubectl delete --force` does."""
    await cluster.api.delete(path_of("Pod", name), grace=0)


async def touch(cluster: Cluster, name: str) -> None:
    """Change a pod a little: the kubelet then looks at it at once, also when it was waiting to try again."""
    moment = str(time.monotonic_ns())
    await cluster.api.patch(path_of("Pod", name), {"metadata": {"annotations": {"touched": moment}}})


async def poll(true: Callable[[], bool], what: str) -> None:
    """Wait for something that nobody announces, such as a file."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"within {PATIENCE:g} s it did not happen that {what}") from None


# ---- devices


async def make_devices(cluster: Cluster) -> None:
    """The device files of two vendors' drivers, in the node's own /dev."""
    nodes = [(path, major, minor) for path, (major, minor) in DEVICES.items()]
    await cluster.box.make_devices(NODE, nodes)


def looking_at_devices() -> str:
    """A script that prints the device files a container has beyond everyone's, and what opening each number gives."""
    known = "|".join(_EVERYONES.split())
    numbers = " ".join(f"{path}:{major}:{minor}" for path, (major, minor) in DEVICES.items())
    return (
        "exec 2>&1; for file in $(find /dev -type c | sort); do "
        f'case "${{file#/dev/}}" in {known}|pts/*) ;; *) echo "has $(stat -c "%n 0x%t 0x%T" "$file")";; esac; done; '
        f"for one in {numbers}; do path=${{one%%:*}}; number=${{one#*:}}; "
        'mknod "/tmp/$number" c "${number%:*}" "${number#*:}"; '
        'echo "$path $(cat "/tmp/$number" 2>&1 | sed "s/.*: //")"; done'
    )


def devices_in(words: str) -> dict[str, tuple[int, int]]:
    """Path and numbers of the device files a container has of its own."""
    lines = [line.split()[1:] for line in words.splitlines() if line.startswith("has ")]
    return {path: (int(major, 16), int(minor, 16)) for path, major, minor in lines}


def openings_in(printed: str) -> dict[str, str]:
    """What the kernel answered when the container opened each device's number."""
    lines = [line.split(" ", 1) for line in printed.splitlines() if line.startswith("/dev/")]
    return {words[0]: words[1] for words in lines}


# ---- who holds what


async def holder_of(client: PodResourcesClient, resource: str, ids: Sequence[str]) -> HeldDevices:
    """The one container that PodResources names for these ids, asked again as long as the kubelet is overrun."""
    while True:
        try:
            (holder,) = holding_exactly(await client.list(), resource, ids)
        except PodResourcesError as refused:
            if refused.code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            await asyncio.sleep(0.05)
        else:
            return holder
