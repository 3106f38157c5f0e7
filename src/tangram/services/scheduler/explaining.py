"""Why a pod waits, where it went, or where it would go: the scheduler's own state, told to one person.

The answer is what the filter would say now, with the last verdict beside it. It is bounded however large the cluster
is, because it is worked out in the process that places everybody's pods. It names no pod of a namespace that the person
may not read, and nobody learns through it whether such a pod exists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol

import msgspec

from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.pods import Pod, PodRef
from tangram.reports import shape
from tangram.reports.answering import Manner, Question, answer, describe
from tangram.reports.asking import asked_of
from tangram.reports.running import ended_report, running_report
from tangram.reports.seeing import Sees
from tangram.services.scheduler.admissions import Admissions
from tangram.services.scheduler.desk import Caller, Reply
from tangram.services.scheduler.explain_turns import Crowded, Turns
from tangram.services.scheduler.seen import Seen
from tangram.services.scheduler.verdicts import Verdicts, without_others
from tangram.units.ids import NodeName, PodUid
from tangram.vendors.settings import AdmissionSettings
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.workloads import read_workload

MOST_NODES: Final = 64
"""Reported card by card; the others are counted."""
MOST_TRIED: Final = 256
"""Nodes on which a change is tried before it is suggested."""
MOST_PODS: Final = 20
"""In one manifest."""
MOST_TOLD: Final = 20
"""Pods that wait as well, and problems of nodes."""


class Known(Protocol):
    """What an explanation reads of the scheduler's state."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def defaults(self) -> Defaults: ...
    @property
    def frag(self) -> FragScores: ...
    @property
    def admissions(self) -> Admissions: ...
    @property
    def settings_of_new_pods(self) -> AdmissionSettings: ...
    @property
    def served(self) -> Collection[str]:
        """The scheduler names whose pods are placed here."""
        ...

    @property
    def waiting(self) -> Mapping[PodUid, Seen]:
        """Pods without a node, in the order in which they came."""
        ...

    @property
    def problems(self) -> Mapping[NodeName, Sequence[str]]:
        """What could not be read of each node."""
        ...

    def known(self, namespace: str, name: str) -> Seen | None: ...


class Explaining:
    def __init__(self, state: Known, verdicts: Verdicts, turns: Turns | None = None) -> None:
        self._state = state
        self._verdicts = verdicts
        self._turns = turns or Turns()

    async def pod(self, namespace: str, name: str, caller: Caller, nodes: Collection[str] = ()) -> Reply:
        """Why that pod waits, or where it went; `nodes` are to be among those reported in full."""
        sees = _seen_by(caller)
        if not sees(namespace):
            return _refusal(403, f"{caller.user!r:.200} may not read pods in namespace {namespace!r:.80}")
        seen = self._state.known(namespace, name)
        if seen is None:
            return _refusal(
                404,
                f"no pod {namespace}/{name} is here or on its way; 'kubectl get pods -n {namespace}' lists those there "
                "are, and one that has ended is forgotten",
            )
        try:
            with self._turns.place_of(caller.user):
                report = await self._turns.made(
                    # Looked up again: things may have happened to it meanwhile.
                    lambda: self._of_pod(self._state.known(namespace, name) or seen, sees, nodes)
                )
        except Crowded as crowded:
            return _refusal(crowded.status, crowded.sentence)
        return self._reply([report], sees)

    async def manifest(self, body: bytes, caller: Caller, nodes: Collection[str] = ()) -> Reply:
        """Where the pods of a manifest in JSON would go, were they made now."""
        sees = _seen_by(caller)
        try:
            pods = _pods_in(body)
        except WireError as error:
            return _refusal(400, error.sentence)
        if len(pods) > MOST_PODS:
            return _refusal(
                400,
                f"the manifest makes {len(pods)} pods: at most {MOST_PODS} are looked at; ask about fewer",
            )
        hidden = next((pod for pod in pods if not sees(pod.ref.namespace)), None)
        if hidden is not None:
            return _refusal(
                403,
                f"pod {hidden.ref} is for a namespace that was not asked for, or that {caller.user!r:.200} may not "
                "read: name its namespace in the question, as ?namespace=NAMESPACE",
            )
        try:
            with self._turns.place_of(caller.user):
                reports = [
                    await self._turns.made(partial(self._of_manifest, pod, sees, nodes)) for pod in pods
                ]
        except Crowded as crowded:
            return _refusal(crowded.status, crowded.sentence)
        return self._reply(reports, sees)

    def _of_manifest(self, pod: Pod, sees: Sees, nodes: Collection[str]) -> shape.PodReport:
        known = self._state.known(pod.ref.namespace, pod.ref.name)
        if known is None or known.ref.uid != pod.ref.uid:
            # What its uid holds counts as free for it, and a uid can be copied from anybody's pod.
            own = PodUid(f"{pod.ref.namespace}/{pod.ref.name}")
            pod = msgspec.structs.replace(pod, ref=msgspec.structs.replace(pod.ref, uid=own))
        ref, admission, resources = asked_of(pod, self._state.settings_of_new_pods)
        return answer(self._state.ledger, Question(str(ref), admission, resources), self._manner(sees, nodes))

    def _of_pod(self, seen: Seen, sees: Sees, nodes: Collection[str]) -> shape.PodReport:
        name = str(seen.ref)
        if seen.ended:
            report = ended_report(seen.ref)
        elif (node := self._node_of(seen)) is not None:
            state = self._state
            report = running_report(state.ledger, seen.ref, node, state.defaults, state.frag)
        elif seen.waiting is None:
            sentence = (
                f"{name} waits, and is not for this scheduler to place: it asks for no card of MetaX or Moore Threads, "
                f"or its schedulerName is none of {', '.join(sorted(self._state.served))}."
            )
            report = shape.PodReport(pod=name, verdict=shape.NO_CARDS, sentence=sentence)
        else:
            waiting = seen.waiting
            _, admission, resources = asked_of(
                waiting.pod, self._state.admissions.settings, waiting.admission
            )
            report = answer(
                self._state.ledger, Question(name, admission, resources), self._manner(sees, nodes)
            )
        return msgspec.structs.replace(report, last=self._last(seen.ref, sees), turn=self._turn(seen))

    def _node_of(self, seen: Seen) -> NodeName | None:
        """Where the pod is, by its own event or by our bind, whichever came first."""
        holding = self._state.ledger.holding(seen.ref.uid)
        return holding.tenant.allocation.node if holding is not None and holding.bound else seen.node

    def _manner(self, sees: Sees, nodes: Collection[str]) -> Manner:
        return Manner(
            defaults=self._state.defaults,
            frag=self._state.frag,
            sees=sees,
            most_nodes=MOST_NODES,
            most_tried=MOST_TRIED,
            wanted=tuple(NodeName(node) for node in sorted(nodes)[:MOST_NODES]),
        )

    def _last(self, pod: PodRef, sees: Sees) -> shape.LastVerdict | None:
        verdict = self._verdicts.of(pod.uid)
        if verdict is None:
            return None
        return shape.LastVerdict(
            at=datetime.fromtimestamp(verdict.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            stage=verdict.stage,
            sentence=without_others(verdict, sees),
            words=dict(verdict.words),
            node=verdict.node,
            cards=list(verdict.cards),
            fitting=verdict.fitting,
        )

    def _turn(self, seen: Seen) -> shape.Turn | None:
        """kube-scheduler takes the pod of highest priority first, and of equals the one that came first."""
        uid, waiting = seen.ref.uid, self._state.waiting
        if uid not in waiting or seen.waiting is None:
            return None
        mine, place, came_before = seen.waiting.pod.priority, 1, True
        for other, each in waiting.items():
            if other == uid:
                came_before = False
            elif each.waiting is not None:
                theirs = each.waiting.pod.priority
                place += theirs > mine or (theirs == mine and came_before)
        return shape.Turn(place=place, of=len(waiting))

    def _reply(self, pods: list[shape.PodReport], sees: Sees) -> Reply:
        waiting = [str(each.ref) for each in self._state.waiting.values() if sees(each.ref.namespace)]
        problems = [
            shape.Remark("node-unreadable", f"node {node}: {sentence}")
            for node, sentences in self._state.problems.items()
            for sentence in sentences
        ]
        cluster = describe(self._state.ledger, waiting[:MOST_TOLD], problems[:MOST_TOLD], sees)
        report = shape.ExplainReport(source=shape.FROM_SCHEDULER, cluster=cluster, pods=pods)
        return Reply(msgspec.json.encode(report))


def _seen_by(caller: Caller) -> Sees:
    return lambda namespace: caller.may_see_all or namespace in caller.namespaces


def _pods_in(body: bytes) -> tuple[Pod, ...]:
    """Raises `WireError`."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(
            "manifest-unreadable",
            f"the manifest is no JSON ({error!s:.120}): send one object, or a List of them",
        ) from error
    return read_workload(loose.members(document))


def _refusal(status: int, sentence: str) -> Reply:
    return Reply(msgspec.json.encode({"Error": sentence}), status)
