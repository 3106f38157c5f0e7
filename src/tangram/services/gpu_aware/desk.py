"""The two answers of gpu-aware: which nodes can serve a pod's cards, and how good each of them is.

A pod that asks for no whole MetaX card passes as it came: every pod of the cluster is sent here. Nothing is remembered
between two calls, so two processes behind one service give the same answers.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

import msgspec

from tangram.services.gpu_aware.asking import cards_asked
from tangram.services.gpu_aware.metrics import Metrics
from tangram.services.gpu_aware.occupancy import NodeUse
from tangram.services.gpu_aware.ranking import UNKNOWN, scores
from tangram.services.gpu_aware.standing import Standing, standing_of
from tangram.services.gpu_aware.weighing import Scale
from tangram.vendors.metax import names
from tangram.wire.errors import WireError
from tangram.wire.extender import FilterCall, error_answer, scores_answer
from tangram.wire.whole_nodes import WholeCall, answer_without, manifest_of, names_of, nodes_of, read_call

Object = Mapping[str, object]

_NONE: Final[Mapping[str, str]] = {}

FILTER: Final = "filter"
PRIORITIZE: Final = "prioritize"

_NO_NODES: Final = (
    "the call names nodes without saying what they are, and this gpu-aware follows no cluster: set nodeCacheCapable: "
    "false in kube-scheduler's configuration, or start gpu-aware with --follow-cluster"
)


class Cluster(Protocol):
    """Nodes and bound pods as the API server has them, where somebody follows them."""

    def unready(self) -> Sequence[str]: ...

    def node(self, name: str) -> Object | None: ...

    def use(self, name: str) -> NodeUse | None: ...


class Refused(Exception):  # noqa: N818 - says what is the case
    """A call that cannot be answered, in a sentence for whoever sent it."""


class Desk:
    def __init__(self, scale: Scale, metrics: Metrics, cluster: Cluster | None = None) -> None:
        self._scale = scale
        self._metrics = metrics
        self._cluster = cluster

    def filter(self, body: bytes) -> bytes:
        """The nodes that can serve the pod, and of each other one why not. A bad call is answered with a sentence."""
        with self._timed(FILTER):
            try:
                answer = self._filtered(body)
            except Refused as refused:
                self._count(FILTER, "refused")
                answer = error_answer(str(refused))
            return msgspec.json.encode(answer)

    def prioritize(self, body: bytes) -> bytes:
        """A score for every node. Raises `Refused`: the protocol has no word for it here."""
        with self._timed(PRIORITIZE):
            try:
                answer = self._scored(body)
            except Refused:
                self._count(PRIORITIZE, "refused")
                raise
            return msgspec.json.encode(scores_answer(answer))

    def _filtered(self, body: bytes) -> dict[str, Any]:
        call, count = _read(body)
        if not count:
            self._count(FILTER, "passed")
            return answer_without(call, _NONE, _NONE)
        never, not_now = f"fewer than {count} {names.GPU} on it", f"fewer than {count} {names.GPU} free on it"
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        for name, standing in self._standings(call, count):
            if standing is not None and standing.total < count:
                unresolvable[name] = never
            elif standing is not None and standing.free < count:
                failed[name] = not_now
        self._count(FILTER, "judged")
        return answer_without(call, failed, unresolvable)

    def _scored(self, body: bytes) -> dict[str, int]:
        call, count = _read(body)
        if not count:
            self._count(PRIORITIZE, "passed")
            return dict.fromkeys(names_of(call), UNKNOWN)
        standings = dict(self._standings(call, count))
        for standing in standings.values():
            if standing is not None:
                self._metrics.nodes.labels(standing.source.value).inc()
        self._count(PRIORITIZE, "judged")
        worths = {name: None if each is None else each.worth for name, each in standings.items()}
        return scores(worths, self._scale.weights)

    def _standings(self, call: WholeCall | FilterCall, count: int) -> Iterable[tuple[str, Standing | None]]:
        """Every node with what it offers; None for one that nobody knows."""
        names, nodes = names_of(call), nodes_of(call)
        if nodes is None:
            nodes = self._known(names)
        for name, node in zip(names, nodes, strict=True):
            yield name, None if node is None else standing_of(node, count, self._use(name))

    def _known(self, names: Sequence[str]) -> Sequence[Object | None]:
        if self._cluster is None:
            raise Refused(_NO_NODES)
        for reason in self._cluster.unready():
            raise Refused(f"gpu-aware cannot say yet: {reason}")
        return [self._cluster.node(name) for name in names]

    def _use(self, name: str) -> NodeUse | None:
        return None if self._cluster is None else self._cluster.use(name)

    def _count(self, verb: str, outcome: str) -> None:
        self._metrics.calls.labels(verb, outcome).inc()

    @contextmanager
    def _timed(self, verb: str) -> Generator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._metrics.seconds[verb].observe(time.perf_counter() - begun)


def _read(body: bytes) -> tuple[WholeCall | FilterCall, int]:
    try:
        call = read_call(body)
        return call, cards_asked(manifest_of(call))
    except WireError as error:
        raise Refused(error.sentence) from error
    except RecursionError:
        raise Refused(
            "the call nests deeper than any object of Kubernetes; send one of kube-scheduler's"
        ) from None
