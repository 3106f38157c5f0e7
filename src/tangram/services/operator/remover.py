"""Takes the steps of a removal.

Copies of the cluster are good enough here: they can only show something that has gone already, and asking for that once
more harms nobody. Only before the object itself goes the nodes are read from the API server, because afterwards nobody
is left who could clean one that was missed.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError
from tangram.kube.recorder import About, Event
from tangram.services.operator.node_views import OUR_ANNOTATIONS, OUR_LABELS, NodeView
from tangram.services.operator.objects import Name, name_of, path_of
from tangram.services.operator.parts.pods import MANAGER
from tangram.services.operator.removing import Ask, Clear, Delete, Drop, Step, limits_of, plan_removal
from tangram.services.operator.removing_notes import Answer, event_of
from tangram.wire import loose
from tangram.wire.operator.names import (
    API_VERSION,
    FINALIZER,
    GROUP,
    KIND,
    MANAGED,
    OBJECT,
    PLURAL,
    REMOVE,
    REMOVE_ASKED,
    TURN,
    VERSION,
)
from tangram.wire.timestamps import to_second

NODES: Final = "/api/v1/nodes"
OBJECT_PATH: Final = f"/apis/{GROUP}/{VERSION}/{PLURAL}/{OBJECT}"
FORBIDDEN: Final = 403
REFUSED: Final = "RemovalRefused"

_log = logging.getLogger("tangram.operator")


class Remover:
    """`step` is called again and again while the object is being deleted. Nothing is remembered but what was said."""

    def __init__(
        self,
        api: Api,
        record: Callable[[Event], None],
        objects: Callable[[], Mapping[Name, Object]],
        *,
        leading: Callable[[], bool] = lambda: True,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._record = record
        self._objects = objects
        self._leading = leading
        self._now = now
        self._said: set[Event] = set()
        self._stay: dict[Name, str] = {}
        """Objects that we may not delete: whoever may is told, and nothing waits for them."""

    async def step(self, operator: Object, nodes: Sequence[NodeView]) -> str:
        """One look and what follows from it; the sentence says how far it is. The last step drops the finalizer.

        Raises `ApiUnreachable`: then look again later.
        """
        limits, wrong = limits_of(operator)
        if wrong:
            self._say(Event(_ABOUT, REFUSED, wrong))
        objects = {name: thing for name, thing in self._objects().items() if name not in self._stay}
        drawn = plan_removal(nodes, objects, self._now(), limits)
        self._tell(drawn.answers)
        refusals: list[str] = []
        for step in drawn.steps:
            if not self._leading():
                break
            try:
                await self._take(step, operator)
            except ApiError as error:
                # Of one node or object: the others are not kept waiting, and whoever asks is told.
                refusals.append(str(error))
        told = refusals[:1] + ([f"and {len(refusals) - 1} more are refused"] if len(refusals) > 1 else [])
        return "; ".join((drawn.sentence, *self._stay.values(), *told))

    async def _take(self, step: Step, operator: Object) -> None:
        match step:
            case Delete(thing):
                await self._delete(thing)
            case Ask(view):
                await self._patch(f"{NODES}/{view.name}", _asking(view, self._now()))
            case Clear(view):
                await self._patch(f"{NODES}/{view.name}", _clearing(view))
            case Drop():
                await self._drop(operator)

    async def _delete(self, thing: Object) -> None:
        name = name_of(thing)
        # Its pods first: what an agent would write again must not be cleared while it runs.
        body: dict[str, Any] = {"propagationPolicy": "Foreground"}
        uid = loose.text(thing["metadata"].get("uid"))
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            await self._api.delete(path_of(name), body)
        except ApiError as error:
            if error.status == FORBIDDEN:
                self._stay[name] = f"{name} stays, because the operator may not delete it"
                self._say(
                    Event(_ABOUT, REFUSED, f"{name} could not be deleted, do it by hand: {error.message}")
                )
            elif error.status not in (NOT_FOUND, CONFLICT):
                raise
        else:
            _log.info("%s was deleted", name)

    async def _patch(self, path: str, change: Object) -> None:
        try:
            await self._api.merge(path, change, fieldManager=MANAGER)
        except ApiError as error:
            # Somebody was faster, or it is gone: what follows from that is seen at the next look.
            if error.status not in (NOT_FOUND, CONFLICT):
                raise

    async def _drop(self, operator: Object) -> None:
        marked = await self._api.list_all(NODES, {"labelSelector": f"{MANAGED}=true"})
        if marked:
            _log.info("%d nodes are marked that the copy does not show yet", len(marked))
            return
        metadata = loose.members(operator.get("metadata"))
        kept = [each for each in loose.elements(metadata.get("finalizers")) if each != FINALIZER]
        version = metadata.get("resourceVersion")
        await self._patch(OBJECT_PATH, {"metadata": {"resourceVersion": version, "finalizers": kept}})
        _log.info("everything is removed, and ClusterOperator %s is let go", OBJECT)

    def _tell(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            event = event_of(answer)
            if event is not None:
                self._say(event)

    def _say(self, event: Event) -> None:
        if event not in self._said:
            self._said.add(event)
            _log.warning("%s: %s", event.about.name, event.message)
            self._record(event)


_ABOUT: Final = About(KIND, OBJECT, api_version=API_VERSION)


def _asking(view: NodeView, now: dt.datetime) -> Object:
    # A turn that was given is taken back: who removes a driver must not begin to change it.
    annotations = {REMOVE: "true", REMOVE_ASKED: to_second(now), TURN: None}
    return {"metadata": {"resourceVersion": view.version, "annotations": annotations}}


def _clearing(view: NodeView) -> Object:
    marks = set(view.marks)
    metadata: Object = {"resourceVersion": view.version}
    for field, keys in (("labels", OUR_LABELS), ("annotations", OUR_ANNOTATIONS)):
        if marks & keys:
            metadata[field] = dict.fromkeys(sorted(marks & keys))
    change: Object = {"metadata": metadata}
    # Without a note of ours that can be read the cordon may be anybody's, and stays.
    return {**change, "spec": {"unschedulable": None}} if view.held else change
