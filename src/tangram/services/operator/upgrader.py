"""Takes the steps of upgrades: looks, decides, looks again where it matters, writes.

Copies of the cluster are good enough to see that there is nothing to do, which is nearly always so. Before anything is
done the nodes are read from the API server itself, and so are the pods of nodes that would get their turn: a copy that
lags could miss our own last cordon, or the pod that came a moment ago. What changes after that look is caught by the
version that every patch names, and driver-manager looks at its own node once more.

Nothing is remembered that a new leader would need.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError
from tangram.kube.recorder import Event
from tangram.services.operator.draining import Drain
from tangram.services.operator.node_views import GpuPod, NodeView, gpu_pod, node_view
from tangram.services.operator.upgrading import Plan, plan
from tangram.services.operator.upgrading_events import event_of, waiting_event
from tangram.services.operator.upgrading_notes import Note, status_of
from tangram.services.operator.upgrading_steps import Change, Evict, GiveTurn, Step, patch_of
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.operator.names import MANAGED
from tangram.wire.operator.spec import UpgradePolicy
from tangram.wire.operator.status import UpgradeStatus

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
MANAGER: Final = "tangram-operator"

_log = logging.getLogger("tangram.operator")

Now = Callable[[], dt.datetime]


class Upgrader:
    """`step` is called whenever something may have changed, and every few seconds in any case."""

    def __init__(
        self,
        api: Api,
        record: Callable[[Event], None],
        *,
        leading: Callable[[], bool] = lambda: True,
        now: Now = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._record = record
        self._leading = leading
        self._now = now
        self._drain = Drain(api)
        self._said: dict[str, str] = {}

    async def step(
        self, nodes: Sequence[NodeView], policy: UpgradePolicy, *, deployed: bool = True
    ) -> UpgradeStatus | None:
        """One look and what follows from it. Raises `ApiError` and `ApiUnreachable`: then look again later."""
        now = self._now()
        drawn = plan(nodes, policy, now, deployed=deployed)
        if self._leading() and any(self._is_due(step, now) for step in drawn.steps):
            nodes, drawn = await self._closer(nodes, policy, now, deployed=deployed)
        refusals: dict[str, str] = {}
        if self._leading():
            await self._take_all(drawn.steps)
            refusals = await self._drain.ask((each for each in drawn.steps if isinstance(each, Evict)), now)
        notes = tuple(_with_refusal(note, refusals.get(note.node, "")) for note in drawn.notes)
        self._tell(notes)
        return status_of(notes, nodes, paused=policy.paused)

    async def give_back(self, nodes: Iterable[NodeView]) -> None:
        """Nothing says what is wanted: bring to an end what was begun, and begin nothing. Raises as `step` does."""
        now, paused = self._now(), UpgradePolicy(paused=True)
        for view in nodes:
            if view.held and not view.removing and plan((view,), paused, now).steps:
                thing = await self._node(view.name)
                fresh = (node_view(thing, view.pods),) if thing is not None else ()
                await self._take_all(plan(fresh, paused, now).steps)

    def _is_due(self, step: Step, now: dt.datetime) -> bool:
        return not isinstance(step, Evict) or self._drain.is_due(step.pod, now)

    async def _closer(
        self, nodes: Sequence[NodeView], policy: UpgradePolicy, now: dt.datetime, *, deployed: bool
    ) -> tuple[tuple[NodeView, ...], Plan]:
        """The same nodes from the server itself, their pods too where they decide, and what follows from that."""
        listed = await self._as_they_are(nodes)
        pods: dict[str, Sequence[GpuPod]] = {view.name: view.pods for view in nodes}
        read: set[str] = set()
        while True:
            views = tuple(
                replace(listed[name], pods=_in_order(pods.get(name, ()))) for name in sorted(listed)
            )
            drawn = plan(views, policy, now, deployed=deployed)
            asking = {step.view.name for step in drawn.steps if isinstance(step, GiveTurn | Evict)}
            if asking <= read:
                return views, drawn
            for name in sorted(asking - read):
                pods[name] = await self._pods_on(name)
                read.add(name)

    async def _as_they_are(self, nodes: Iterable[NodeView]) -> dict[str, NodeView]:
        listed: dict[str, NodeView] = {}
        async for page in self._api.pages(NODES, {"labelSelector": f"{MANAGED}=true"}):
            # Page by page: all nodes of a large cluster would not fit into the memory of a small pod.
            found = map(node_view, map(loose.members, loose.elements(page.get("items"))))
            listed |= {view.name: view for view in found}
        for view in nodes:
            if view.name not in listed:
                # Not managed any more, but perhaps still held.
                alone = await self._node(view.name)
                if alone is not None:
                    listed[view.name] = node_view(alone)
        return listed

    async def _node(self, name: str) -> Object | None:
        try:
            return await self._api.get(f"{NODES}/{name}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    async def _pods_on(self, name: str) -> tuple[GpuPod, ...]:
        listed = await self._api.list_all(PODS, {"fieldSelector": f"spec.nodeName={name}"})
        return tuple(pod for pod in map(gpu_pod, listed) if pod is not None)

    async def _take_all(self, steps: Iterable[Step]) -> None:
        """All of them: a node that cannot be written must not keep others cordoned."""
        refused: ApiError | None = None
        for step in steps:
            if isinstance(step, Evict) or not self._leading():
                continue
            try:
                await self._take(step)
            except ApiError as error:
                refused = refused or error
        if refused is not None:
            raise refused

    async def _take(self, step: Change) -> None:
        name = step.view.name
        try:
            await self._api.merge(f"{NODES}/{name}", patch_of(step, self._now()), fieldManager=MANAGER)
        except ApiError as error:
            if error.status not in (CONFLICT, NOT_FOUND):
                raise
            # Somebody was faster, or the node is gone: what follows from that is seen at the next look.
            _log.info("node %s has changed meanwhile and is looked at again", name)
            return
        except WireError as error:
            _log.warning("node %s cannot be written: %s", name, error)
            return
        _log.info("node %s: %s", name, type(step).__name__, extra={"to": getattr(step, "to", "")})
        event = event_of(step)
        if event is not None:
            self._record(event)

    def _tell(self, notes: Iterable[Note]) -> None:
        """What a node waits for, once for each reason."""
        told: dict[str, str] = {}
        for note in notes:
            event = waiting_event(note)
            if event is None:
                continue
            told[note.node] = event.message
            if self._said.get(note.node) != event.message:
                self._record(event)
        self._said = told


def _in_order(pods: Iterable[GpuPod]) -> tuple[GpuPod, ...]:
    return tuple(sorted(pods, key=lambda pod: pod.full_name))


def _with_refusal(note: Note, why: str) -> Note:
    return replace(note, sentence=f"{note.sentence}; {why}") if why else note
