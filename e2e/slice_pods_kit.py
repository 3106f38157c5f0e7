"""Pods with slices, for the tests of the agent's bad days: what they ask for, what they were promised, and containers
that look at what they were given, wait for a word, or end when they are told to.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from e2e.agent_kit import AgentNode, slices
from e2e.restarts_kit import PATIENCE, container_status
from testbed.api import ApiRefused, Object, path_of
from testbed.manifests import SLEEP, container, is_gone, is_running, pod

GPU = "metax-tech.com/gpu"
SLICE = "metax-tech.com/sgpu"
VCORE = "metax-tech.com/vcore"
VMEMORY = "metax-tech.com/vmemory"
LOOK = (
    'echo "slices $METAX_SGPUS"; for file in $(find /dev -type c | sort); do case "${file#/dev/}" in '
    'null|zero|full|random|urandom|tty|ptmx|pts/*) ;; *) echo "node $file";; esac; done; echo said; '
)
"""Prints what the container was given."""
LOOK_AND_STAY = LOOK + SLEEP
TOLD_VOLUME: Object = {"name": "told", "emptyDir": {}}


class Part(NamedTuple):
    """A slice as the test wants it: the card, MiB and percent."""

    card: str
    memory: int
    cores: int


def limits_of(part: Part, count: int = 1) -> dict[str, str | int]:
    return {SLICE: count, VCORE: part.cores, VMEMORY: f"{part.memory}Mi"}


def asking(part: Part, name: str = "main", *, script: str = LOOK_AND_STAY) -> Object:
    """A container that asks for such a slice, whatever the card."""
    return container(name, script=script, limits=limits_of(part))


def promise(*containers: Part | Sequence[Part] | None) -> dict[str, str]:
    """The allocation of a pod, init containers first; None for a container without cards."""
    rows = [[] if one is None else [one] if isinstance(one, Part) else list(one) for one in containers]
    return slices(*([(part.card, part.memory, part.cores) for part in row] for row in rows))


def slice_pod(name: str, part: Part, *, restart: str = "Always", script: str = LOOK_AND_STAY) -> Object:
    return pod(name, asking(part, script=script), restartPolicy=restart)


async def place_slice(node: AgentNode, name: str, part: Part) -> Object:
    """A pod with one slice, placed as a scheduler would."""
    return await node.place(slice_pod(name, part), promise(part))


async def until_running(node: AgentNode, name: str) -> Object:
    return await node.cluster.until_pod(name, is_running, within=PATIENCE, what=f"pod {name} running")


async def annotate(node: AgentNode, name: str, annotations: Mapping[str, str | None]) -> None:
    """Change a pod's annotations, which also makes the kubelet try a refused start again."""
    await node.cluster.api.patch(path_of("Pod", name), {"metadata": {"annotations": dict(annotations)}})


async def remove_all_pods(node: AgentNode) -> None:
    """Delete every pod and wait until the last is gone."""
    api = node.cluster.api
    pods = await api.list(path_of("Pod"))
    for one in pods:
        with suppress(ApiRefused):
            await api.delete(path_of("Pod", one["metadata"]["name"]), grace=0 if is_running(one) else None)
    for one in pods:
        await node.cluster.until_pod(one["metadata"]["name"], is_gone, within=PATIENCE)


# ---- containers that wait for a word


def waiting_for_a_word(name: str = "wait", limits: Mapping[str, str | int] | None = None) -> Object:
    """An init container that holds its pod's other containers back until `let_go`."""
    return container(name, script=LOOK + "until test -e /tmp/go; do sleep 0.1; done", limits=limits)


async def let_go(node: AgentNode, name: str, container_name: str = "wait") -> None:
    """Say the word, once the container is there to hear it."""

    def runs(seen: Object) -> bool:
        return "running" in container_status(seen, container_name).get("state", {})

    await node.cluster.until_pod(name, runs, within=PATIENCE, what=f"{container_name} of {name} running")
    told = await node.cluster.kubectl("exec", name, "-c", container_name, "--", "touch", "/tmp/go")  # noqa: S108 - there
    assert told.status == 0, told.errors


# ---- containers that end when they are told to, without anybody's help


def ending_on_request(part: Part) -> Object:
    """A container that looks, stays, and ends whenever `request_end` is called."""
    made = asking(part, script=LOOK + "until test -e /told/end; do sleep 0.1; done; rm /told/end")
    return {**made, "volumeMounts": [{"name": "told", "mountPath": "/told"}]}


def request_end(node: AgentNode, seen: Object) -> None:
    volumes = node.cluster.room(node.names).lib / "kubelet" / "pods" / seen["metadata"]["uid"] / "volumes"
    (volumes / "kubernetes.io~empty-dir" / "told" / "end").touch()
