"""An example applied over the API and held to what is expected of it, then deleted, until every card is free again.

What a pod got is read at both ends: the allocation that the scheduler wrote on it, and what its containers found.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import yaml

from builders.sandboxes import sandbox
from tangram.daemon.running import Supervisor
from tangram.daemon.yaml_text import parse_document
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.model.allocations import Tenant
from tangram.sandbox.nodes.described import MachineDescription, default_machines, read_machines
from tangram.sandbox.scenarios.things import collection_of, phase_of, waits_because
from tangram.sandbox.starting import Options, Sandbox
from tangram.units.memory import memory_text
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant
from tour import console
from tour.records import Example, Leaves, Made, On, Refused, Runs, Step, Waits

Amounts = tuple[int, str, int]
"""A card, so much of its memory, so much of its compute."""
Got = tuple[str, tuple[Amounts, ...]]
"""A node, and what one pod has there."""

PATIENCE_S: Final = 40.0
LOOK_EVERY_S: Final = 0.03
USUAL: Final = "default"
DENIED: Final = 'admission webhook "pods.tangram.dev" denied the request: '

_TOLD: Final = re.compile(
    r"^\[sandbox\] card (?P<card>\d+): [^,]+, [^,]+, (?:whole, |function \d of \d, |slice \d+: )"
    r"(?P<memory>\d+ .iB)(?: of memory, (?P<cores>\d+) .*)?$",
    re.MULTILINE,
)
_Found = TypeVar("_Found")


@asynccontextmanager
async def playground(
    folder: Path, cluster: Path | None = None, *, real: bool = False
) -> AsyncGenerator[Sandbox]:
    """A sandbox with its usual machines, or with those of a cluster file."""
    machines = default_machines() if cluster is None else _machines(cluster)
    supervisor = Supervisor()
    options = Options(folder=folder, machines=machines, real=real)
    async with sandbox(options, supervisor, lambda _step: None) as box:
        yield box
        assert supervisor.unhealthy() == []
        supervisor.stop()
        await supervisor.until_stopped()


def _machines(cluster: Path) -> tuple[MachineDescription, ...]:
    return read_machines(parse_document(cluster.read_text("utf-8")))


async def play(example: Example, box: Sandbox) -> None:
    """Every step with its checks, and the way back. What the page quotes of logs is checked along the way."""
    try:
        for step in example.steps:
            await _step(step, example, box)
        for quoted in console.quoted_logs(_page(example)):
            log = await box.machines.log_of(quoted.namespace, quoted.pod, quoted.container)
            assert set(quoted.lines) <= set(console.comparable(log).splitlines()), quoted
    finally:
        for file in reversed(example.files):
            for thing in reversed(_manifests(example, file)):
                await _delete(box, f"{collection_of(thing, USUAL)}/{thing['metadata']['name']}")
        await until_free(box)


async def until_free(box: Sandbox) -> None:
    """No pod is left, and nothing is held on any card of any machine."""

    async def free() -> bool | None:
        return True if not await box.api.list_all("/api/v1/pods") and not _in_use(box) else None

    await _until("every card is free again", free)


async def _step(step: Step, example: Example, box: Sandbox) -> None:
    match step:
        case Made(file):
            await _submit(example, file, box)
        case Refused(file, says):
            assert await _refusal(example, file, box) == f"{DENIED}{says}"
        case Waits(file, pods, count):
            await _submit(example, file, box)
            for key, says in pods.items():
                for name in await _names(box, key, USUAL, count):
                    await _until(
                        f"pod {name} waits with {says!r}",
                        lambda name=name, says=says: _waits_with(box, name, says),
                    )
        case Runs(file):
            await _submit(example, file, box)
            await _all_run(step, box)
        case Leaves(pod, then):
            await _delete(box, f"/api/v1/namespaces/{USUAL}/pods/{pod}")
            await _all_run(Runs("", then), box)


async def _all_run(step: Runs, box: Sandbox) -> None:
    wanted_phase = "Succeeded" if step.ends else "Running"
    for key, expected in step.pods.items():
        found: list[Got] = []
        for name in await _names(box, key, step.namespace, len(expected)):
            pod = await _until(
                f"pod {name} is {wanted_phase}",
                lambda name=name: _in_phase(box, step.namespace, name, wanted_phase),
            )
            # The agent of the node writes down which whole cards were really given, in its own time.
            wishes = {_wanted(each): each for each in expected}
            got = await _until(
                f"pod {name} has what it should", lambda pod=pod, wishes=wishes: _as_wished(box, pod, wishes)
            )
            found.append(got)
            await _logs_agree(box, pod, wishes[got])
        assert Counter(found) == Counter(map(_wanted, expected))
    for name in step.gone:
        await _until(f"pod {name} is gone", lambda name=name: _gone(box, name))


# ---- both ends of an allocation


async def _as_wished(box: Sandbox, seen: Object, wishes: Collection[Got]) -> Got | None:
    pod = await _pod(box, seen["metadata"]["namespace"], seen["metadata"]["name"])
    got = await _allotted(box, pod)
    return got if got in wishes else None


async def _allotted(box: Sandbox, pod: Object) -> Got | None:
    """By the annotations, as they were while the pod ran: one that is over holds nothing any more."""
    node = read_node(await box.api.get(f"/api/v1/nodes/{pod['spec']['nodeName']}")).node
    tenant = read_tenant(read_pod({**pod, "status": {"phase": "Running"}}), node)
    if not isinstance(tenant, Tenant):
        return None
    shares = [share for container in tenant.allocation.containers for share in container.shares]
    return str(node.name), tuple(
        sorted((share.index, memory_text(share.memory), share.cores) for share in shares)
    )


def _wanted(expected: On) -> Got:
    parts = expected.containers.values()
    amounts = ((card, part.memory, part.compute) for part in parts for card in part.cards)
    return expected.node, tuple(sorted(amounts))


async def _logs_agree(box: Sandbox, pod: Object, expected: On) -> None:
    """Every container says of its cards what was expected."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    for container, part in expected.containers.items():
        log = await _log(box, namespace, name, container)
        # Of a card that is given whole, or as a function, no compute is told.
        limit = part.compute if part.limit is None else part.limit
        found = [
            (int(line["card"]), line["memory"], int(line["cores"] or limit)) for line in _TOLD.finditer(log)
        ]
        assert sorted(found) == sorted((card, part.sees or part.memory, limit) for card in part.cards), log
    for container in expected.none:
        assert "no card was given to it" in await _log(box, namespace, name, container)


async def _log(box: Sandbox, namespace: str, pod: str, container: str) -> str:
    """What it printed. A pod runs as soon as one of its containers does, so another may not have started yet."""

    async def printed() -> str | None:
        return await box.machines.log_of(namespace, pod, container) or None

    return await _until(f"container {container} of pod {pod} prints something", printed)


def _in_use(box: Sandbox) -> Mapping[str, list[int]]:
    """Cards with slices or processes, by node."""
    used: dict[str, list[int]] = {}
    for machine in box.machines:
        if (world := machine.world) is None:
            continue
        states = [world.state(spec.position) for spec in machine.description.cards.cards]
        if busy := [number for number, state in enumerate(states) if state.slices or state.holders]:
            used[str(machine.name)] = busy
    return used


# ---- objects


def _page(example: Example) -> str:
    return console.page_of(example).read_text("utf-8")


def _manifests(example: Example, file: str) -> list[Object]:
    return list(yaml.safe_load_all((example.folder / file).read_text("utf-8")))


async def _submit(example: Example, file: str, box: Sandbox) -> None:
    for thing in _manifests(example, file):
        await box.api.create(collection_of(thing, USUAL), thing)


async def _refusal(example: Example, file: str, box: Sandbox) -> str:
    try:
        await _submit(example, file, box)
    except ApiError as error:
        return error.message
    return ""


async def _delete(box: Sandbox, path: str) -> None:
    """Until it is away, its parts with it."""

    async def away() -> bool | None:
        try:
            await box.api.delete(path, {"propagationPolicy": "Background"})
        except ApiError as error:
            return True if error.status == NOT_FOUND else None
        return None

    await _until(f"{path} is deleted", away)


async def _names(box: Sandbox, key: str, namespace: str, count: int) -> list[str]:
    """The pod of that name, or as many as are expected with that label."""
    if "=" not in key:
        return [key]

    async def there() -> list[str] | None:
        pods = await box.api.list_all(f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": key})
        return sorted(pod["metadata"]["name"] for pod in pods) if len(pods) >= count else None

    return await _until(f"there are {count} pods with {key}", there)


async def _pod(box: Sandbox, namespace: str, name: str) -> Object:
    return await box.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")


async def _in_phase(box: Sandbox, namespace: str, name: str, phase: str) -> Object | None:
    pod = await _pod(box, namespace, name)
    return pod if phase_of(pod) == phase else None


async def _waits_with(box: Sandbox, name: str, says: str) -> bool | None:
    return True if says in waits_because(await _pod(box, USUAL, name)) else None


async def _gone(box: Sandbox, name: str) -> bool | None:
    try:
        await _pod(box, USUAL, name)
    except ApiError as error:
        return True if error.status == NOT_FOUND else None
    return None


async def _until(what: str, true: Callable[[], Awaitable[_Found | None]]) -> _Found:
    ends = time.monotonic() + PATIENCE_S
    while (found := await true()) is None:
        assert time.monotonic() < ends, f"waited {PATIENCE_S:g} s in vain: {what}"
        await asyncio.sleep(LOOK_EVERY_S)
    return found
