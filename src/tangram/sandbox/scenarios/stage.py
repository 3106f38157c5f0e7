"""What a story may do: submit manifests, make things happen to machines, wait, look, and say what it sees.

A story talks to the cluster as people do, over the API server, and ends with checks. The same checks are the tests of
the scenario, on the embedded control plane and on a real one, so a story cannot promise what does not happen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

import yaml
from msgspec import Struct

from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.model.allocations import Share, Tenant
from tangram.sandbox.nodes.machines import Machines
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

PATIENCE_S: Final = 60.0
LOOK_EVERY_S: Final = 0.1
MANAGER: Final = "tangram-scenario"

_Found = TypeVar("_Found")


class ScenarioFailed(Exception):  # noqa: N818 - says what is the case
    """The story did not end as it should. Its text says which check failed, and what was seen instead."""


class Held(Struct, frozen=True):
    """Where a pod runs, and the parts of cards it holds there."""

    node: str
    shares: tuple[Share, ...]

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(sorted({share.index for share in self.shares}))


class Stage:
    """`tell` is called with every line of the story, `look` with every command worth trying."""

    def __init__(
        self,
        api: Api,
        machines: Machines,
        *,
        tell: Callable[[str], None],
        look: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.api: Final = api
        self.machines: Final = machines
        self.tell: Final = tell
        self.look: Final = look
        self._clock = clock

    # ---- doing

    async def submit(self, manifests: str) -> None:
        """Make the objects of a YAML text, as `kubectl apply` would. Raises `ApiError` for one that is refused."""
        for thing in yaml.safe_load_all(manifests):
            await self.make(thing)

    async def make(self, thing: Object) -> Object:
        return await self.api.create(collection_of(thing), thing)

    async def refusal_of(self, thing: Object) -> str:
        """What the API server says against an object that it must not take."""
        try:
            await self.make(thing)
        except ApiError as error:
            return error.message
        raise ScenarioFailed(
            f"{thing['kind']} {thing['metadata'].get('name')} was taken, and should be refused"
        )

    async def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        await self.api.delete(f"{collection_of({'kind': kind, 'metadata': {'namespace': namespace}})}/{name}")

    # ---- looking

    async def pod(self, name: str, namespace: str = "default") -> Object:
        return await self.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")

    async def pods(self, selector: str = "", namespace: str = "default") -> list[Object]:
        query = {"labelSelector": selector} if selector else {}
        return await self.api.list_all(f"/api/v1/namespaces/{namespace}/pods", query)

    async def held(self, name: str, namespace: str = "default") -> Held:
        """What a bound pod holds, by the allocation it carries."""
        pod = await self.pod(name, namespace)
        node_name = pod["spec"].get("nodeName", "")
        if not node_name:
            raise ScenarioFailed(f"pod {name} has no node: {waits_because(pod)}")
        node = read_node(await self.api.get(f"/api/v1/nodes/{node_name}")).node
        tenant = read_tenant(read_pod(pod), node)
        if not isinstance(tenant, Tenant):
            raise ScenarioFailed(f"pod {name} on {node_name} says nothing believable of its cards")
        shares = (share for container in tenant.allocation.containers for share in container.shares)
        return Held(node_name, tuple(shares))

    async def until(
        self, what: str, true: Callable[[], Awaitable[_Found | None]], *, within: float = PATIENCE_S
    ) -> _Found:
        """Wait for something that is not None. Raises `ScenarioFailed` after a while."""
        ends = self._clock() + within
        while (found := await true()) is None:
            if self._clock() > ends:
                raise ScenarioFailed(f"waited {within:g} s in vain: {what}")
            await asyncio.sleep(LOOK_EVERY_S)
        return found

    async def until_running(self, names: Iterable[str], namespace: str = "default") -> list[Object]:
        """All of these pods run."""
        return [await self._until_phase(name, ("Running",), namespace) for name in names]

    async def until_ended(self, names: Iterable[str], namespace: str = "default") -> list[Object]:
        return [await self._until_phase(name, ("Succeeded", "Failed"), namespace) for name in names]

    async def until_waiting(self, name: str, namespace: str = "default") -> str:
        """A scheduler has said why this pod waits; its words."""

        async def said() -> str | None:
            return waits_because(await self.pod(name, namespace)) or None

        return await self.until(f"a scheduler says why pod {name} waits", said)

    async def log(self, name: str, namespace: str = "default") -> str:
        return await self.machines.log_of(namespace, name)

    # ---- ending

    def check(self, promise: str, *, holds: bool, saw: object = "") -> None:
        """A line of the story that must be true."""
        if not holds:
            raise ScenarioFailed(f"{promise}: not so{f', saw {saw}' if saw != '' else ''}")
        self.tell(f"✓ {promise}")

    async def _until_phase(self, name: str, phases: Sequence[str], namespace: str) -> Object:
        seen: list[Object] = []

        async def there() -> Object | None:
            pod = await self.pod(name, namespace)
            seen[:] = [pod]
            phase = pod.get("status", {}).get("phase")
            if phase in ("Succeeded", "Failed") and phase not in phases:
                raise ScenarioFailed(f"pod {name} is {phase}: {pod['status'].get('message', '')}")
            return pod if phase in phases else None

        try:
            return await self.until(f"pod {name} is {' or '.join(phases)}", there)
        except ScenarioFailed as failed:
            why = waits_because(seen[0]) if seen else ""
            raise ScenarioFailed(f"{failed}{f' ({why})' if why else ''}") from None


class Scenario(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    """One sentence: what is shown."""
    play: Callable[[Stage], Awaitable[None]]
    cluster: str = ""
    """The machines it needs, as a cluster file; empty: the usual ones."""


def collection_of(thing: Object) -> str:
    """Where objects of this kind are made."""
    kind, version = thing["kind"], thing.get("apiVersion") or _VERSIONS.get(thing["kind"], "v1")
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"
    if kind in _CLUSTER_WIDE:
        return f"{base}/{plural}"
    return f"{base}/namespaces/{thing['metadata'].get('namespace') or 'default'}/{plural}"


def waits_because(pod: Object) -> str:
    """What the scheduler wrote on a pod that it could not place; empty for any other."""
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


_CLUSTER_WIDE: Final = frozenset({"Namespace", "Node", "PriorityClass", "CustomResourceDefinition"})
_VERSIONS: Final = {"Job": "batch/v1", "Deployment": "apps/v1", "DaemonSet": "apps/v1"}
