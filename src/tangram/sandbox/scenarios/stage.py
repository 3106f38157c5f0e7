"""What a story may do: submit manifests, make things happen to machines, wait, look, and say what it sees.

A story talks to the cluster as people do, over the API server, and ends with checks. The same checks are the tests of
the scenario, on the embedded control plane and on a real one, so a story cannot promise what does not happen. Whatever
it shows of a pod's cards is read at both ends: the allocation on the pod, and what its containers found.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import msgspec
import yaml
from msgspec import Struct

from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.model.allocations import Share, Tenant
from tangram.model.nodes import Node
from tangram.reports.shape import ExplainReport
from tangram.sandbox.card_sockets import LINKS
from tangram.sandbox.folder import shown
from tangram.sandbox.scenarios.clearing import gone
from tangram.sandbox.scenarios.granted import Given, agree, given_in
from tangram.sandbox.scenarios.patience import ScenarioFailed, until
from tangram.sandbox.scenarios.things import collection_of, is_over, phase_of, waits_because, without_gate
from tangram.sandbox.starting import Sandbox
from tangram.services.scheduler.desk import Caller
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

QUOTED_WIDTH: Final = 100

_Found = TypeVar("_Found")

__all__ = ["Held", "Scenario", "ScenarioFailed", "Stage"]


class Held(Struct, frozen=True):
    """Where a pod runs, the parts of cards it was allotted there, and what its containers found of them."""

    node: str
    shares: tuple[Share, ...]
    given: tuple[Given, ...]

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(sorted({share.index for share in self.shares}))

    @property
    def card(self) -> int:
        """Of a pod with one."""
        (card,) = self.cards
        return card


class Stage:
    """`tell` is called with every line of the story, `look` with every command worth trying."""

    def __init__(
        self,
        box: Sandbox,
        namespace: str,
        *,
        tell: Callable[[str], None],
        look: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._box = box
        self.api: Final = box.api
        self.machines: Final = box.machines
        self.namespace: Final = namespace
        self.tell: Final = tell
        self.look: Final = look
        self.clock: Final = clock

    # ---- doing

    async def submit(self, manifests: str, namespace: str = "") -> None:
        """Make the objects of a YAML text, as `kubectl create -n` would. Raises `ScenarioFailed` for a refusal."""
        for thing in yaml.safe_load_all(manifests):
            try:
                await self.make(thing, namespace)
            except ApiError as error:
                raise ScenarioFailed(
                    f"{thing['kind']} {thing['metadata']['name']} was refused: {error.message}"
                ) from None

    async def make(self, thing: Object, namespace: str = "") -> Object:
        """Raises `ApiError`."""
        return await self.api.create(collection_of(thing, namespace or self.namespace), thing)

    async def refusal_of(self, manifest: str) -> str:
        """What is said against an object that must not be taken."""
        thing = yaml.safe_load(manifest)
        try:
            await self.make(thing)
        except ApiError as error:
            return without_gate(error.message)
        name = thing["metadata"]["name"]
        raise ScenarioFailed(f"{thing['kind']} {name} was taken, and should be refused")

    async def delete(self, *names: str) -> None:
        """Have pods end, and wait until they are gone."""
        paths = {name: f"/api/v1/namespaces/{self.namespace}/pods/{name}" for name in names}
        for path in paths.values():
            await self.api.delete(path)
        for name, path in paths.items():
            await self.until(f"pod {name} is gone", lambda path=path: gone(self.api, path))

    # ---- looking

    async def pod(self, name: str, namespace: str = "") -> Object:
        return await self.api.get(f"/api/v1/namespaces/{namespace or self.namespace}/pods/{name}")

    async def pods(self, selector: str = "") -> list[Object]:
        query = {"labelSelector": selector} if selector else {}
        return await self.api.list_all(f"/api/v1/namespaces/{self.namespace}/pods", query)

    async def node(self, name: str) -> Node:
        """What its agent says of it."""
        return read_node(await self.api.get(f"/api/v1/nodes/{name}")).node

    async def held(self, name: str, namespace: str = "") -> Held:
        """What a running pod holds. Raises `ScenarioFailed` where its containers found something else."""
        return await self.held_by(await self.pod(name, namespace))

    async def held_by(self, pod: Object) -> Held:
        name, node_name = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
        if not node_name:
            raise ScenarioFailed(f"pod {name} has no node: {waits_because(pod)}")
        tenant = read_tenant(read_pod(pod), await self.node(node_name))
        if not isinstance(tenant, Tenant):
            raise ScenarioFailed(f"pod {name} on {node_name} says nothing believable of its cards")
        shares: list[Share] = []
        found: list[Given] = []
        for container in tenant.allocation.containers:
            log = await self.machines.log_of(pod["metadata"]["namespace"], name, container.name)
            given = given_in(log)
            if not agree(container.shares, given):
                raise ScenarioFailed(
                    f"container {container.name} of pod {name} was allotted {container.shares}, and found:\n{log}"
                )
            shares += container.shares
            found += given
        return Held(
            node_name,
            tuple(sorted(shares, key=lambda share: share.index)),
            tuple(sorted(found, key=lambda given: given.card)),
        )

    async def log(self, name: str) -> str:
        return await self.machines.log_of(self.namespace, name)

    async def advice(self, name: str) -> list[str]:
        """What would help a pod that waits, by the word of our scheduler."""
        caller = Caller("the story", may_see_all=True)
        reply = await self._box.scheduler.desk.explain_pod(self.namespace, name, caller)
        (report,) = msgspec.json.decode(reply.body, type=ExplainReport).pods
        return [each.sentence for each in report.suggestions]

    def cards_of(self, node: str) -> str:
        """Where the cards of a machine can be looked at and broken."""
        return shown(self._box.folder.path / LINKS / f"{node}.sock")

    # ---- waiting

    async def until(self, what: str, true: Callable[[], Awaitable[_Found | None]]) -> _Found:
        """Wait for something that is not None. Raises `ScenarioFailed` after a while."""
        return await until(what, true, clock=self.clock)

    async def until_running(self, *names: str, namespace: str = "") -> None:
        """All of these pods run."""
        for name in names:
            await self._until_running(name, namespace)

    async def until_all_running(self, selector: str, count: int) -> list[Object]:
        """So many pods of this label run at once."""
        seen: list[Object] = []

        async def there() -> list[Object] | None:
            seen[:] = await self.pods(selector)
            return list(seen) if [phase_of(pod) for pod in seen] == ["Running"] * count else None

        try:
            return await self.until(f"{count} pods of {selector} run", there)
        except ScenarioFailed as failed:
            late = [pod for pod in seen if phase_of(pod) != "Running"]
            raise ScenarioFailed(f"{failed}; {len(late)} do not, {_why(late)}") from None

    async def until_waiting(self, name: str) -> str:
        """A scheduler has said why this pod waits; its words."""

        async def said() -> str | None:
            return waits_because(await self.pod(name)) or None

        return await self.until(f"a scheduler says why pod {name} waits", said)

    # ---- ending

    def check(self, promise: str, *, holds: bool, saw: object = "") -> None:
        """A line of the story that must be true."""
        if not holds:
            raise ScenarioFailed(f"{promise}: not so{f', saw {saw}' if saw != '' else ''}")
        self.tell(f"✓ {promise}")

    async def becomes(self, promise: str, true: Callable[[], Awaitable[bool]]) -> None:
        """A line of the story that is true after a while."""

        async def there() -> bool | None:
            return await true() or None

        await self.until(promise, there)
        self.tell(f"✓ {promise}")

    def refused(self, what: str, sentence: str, instead: str) -> None:
        """A manifest and what is said against it, which must have words for what to write instead."""
        if instead not in sentence:
            raise ScenarioFailed(f"the refusal of {what} does not say {instead!r}: {sentence}")
        self.tell(f"✗ {what}")
        self.quote(sentence)

    def quote(self, words: str) -> None:
        """Somebody else's words, in lines that a terminal can show."""
        for line in textwrap.wrap(words, QUOTED_WIDTH, break_long_words=False, break_on_hyphens=False):
            self.tell(f"    {line}")

    async def _until_running(self, name: str, namespace: str) -> None:
        seen: list[Object] = []

        async def there() -> Object | None:
            pod = await self.pod(name, namespace)
            seen[:] = [pod]
            if is_over(pod):
                raise ScenarioFailed(f"pod {name} is {phase_of(pod)}: {pod['status'].get('message', '')}")
            return pod if phase_of(pod) == "Running" else None

        try:
            await self.until(f"pod {name} is Running", there)
        except ScenarioFailed as failed:
            raise ScenarioFailed(f"{failed} {_why(seen)}") from None


def _why(pods: Sequence[Object]) -> str:
    reasons = sorted({waits_because(pod) for pod in pods} - {""})
    return f"({'; '.join(reasons)})" if reasons else "(no scheduler says why)"


class Scenario(Struct, frozen=True, kw_only=True):
    """A story: what is shown in one sentence, why that matters in another, and how it goes."""

    name: str
    title: str
    why: str
    play: Callable[[Stage], Awaitable[None]]
    namespaces: tuple[str, ...]
    """Where its pods are, and nobody else's; the first is where manifests without one go."""
    cluster: str = ""
    """The machines it needs, as a cluster file; empty: the usual ones."""
