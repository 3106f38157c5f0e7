"""The filter verb: which one node a pod goes to, decided and promised in one step.

Nothing here waits, so no other decision comes between reading the ledger and promising from it. A pod that could go if
promises to unbound pods came to nothing is answered with an error, which is tried again in seconds; one that cannot go
is answered with reasons that stay the same from call to call, which park it until something changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, cast

from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Decision
from tangram.engine.filter import Candidates, filter_nodes, only_reservations_in_the_way
from tangram.engine.ledger import Ledger
from tangram.model.requests import Request
from tangram.services.scheduler.gangs import place_gang
from tangram.services.scheduler.outcomes import Answered, Failure, Verdict
from tangram.services.scheduler.quota_rule import OverQuota, no_quota
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid
from tangram.wire.errors import WireError
from tangram.wire.extender import FilterCall, Object, chosen_answer, error_answer, failed_answer
from tangram.wire.queueing import Gang

PROMISES_IN_THE_WAY: Final = "every fitting card is promised to pods that are about to be bound; trying again"

LONGEST_REFUSAL: Final = 1000
NO_UID: Final = (
    "metadata.uid of Pod is missing or no UID: cards are promised to a pod by its UID; send the pod as the API server "
    "has it"
)

Failing = Callable[[State, Request, Candidates], Failure]


class Answer(NamedTuple):
    body: Object
    verdict: Verdict | None = None
    """None for a pod that asks for no cards."""


class Filtering:
    def __init__(self, state: State, failing: Failing, over_quota: OverQuota = no_quota) -> None:
        self._state = state
        self._failing = failing
        self._over_quota = over_quota

    def answer(self, call: FilterCall) -> Answer:
        """The answer to a question about one pod. Raises `WireError` for a pod that is none."""
        waiting = self.waiting(call)
        request, refusals = waiting.request, waiting.admission.refusals
        if request is None and not refusals:
            return Answer(chosen_answer(call.names, call.nodes))
        imagined = self._is_imagined(call)
        if not imagined and not call.uid():
            raise WireError("extender-no-uid", NO_UID)
        if request is None:
            sentence = _shortened(" ".join(refusal.sentence for refusal in refusals))
            verdict = Verdict(
                pod=waiting.pod.ref, answered=Answered.REFUSED, sentence=sentence, refusals=refusals
            )
            answer = failed_answer({}, dict.fromkeys(call.names, sentence), call.nodes)
            return Answer(answer, None if imagined else verdict)
        if imagined:
            return _simulated(self._state, call, request)
        return self._standing(request, call) or self._decided(waiting, request, call)

    def _is_imagined(self, call: FilterCall) -> bool:
        """Whether none of the nodes exists. One that does is decided about for good, however it was sent."""
        ledger = self._state.ledger
        return bool(call.nodes) and all(ledger.node(NodeName(name)) is None for name in call.names)

    def waiting(self, call: FilterCall) -> Waiting:
        """The pod as the informer brought it, or as the question describes it where that was faster."""
        known = self._state.waiting.get(PodUid(call.uid()))
        if known is not None and known.waiting is not None:
            return known.waiting
        return self._state.read_waiting(call.manifest())

    def _standing(self, request: Request, call: FilterCall) -> Answer | None:
        """The answer that follows from what the pod has or was promised; None when it is to be decided about."""
        reservations, uid = self._state.reservations, request.pod.uid
        holding, promise = self._state.ledger.holding(uid), reservations.of(uid)
        if holding is not None and holding.bound:
            sentence = f"the pod has a node already: {holding.tenant.allocation.node}"
            return self._not_yet(request, call, sentence, Answered.ERROR)
        if promise is None:
            return None
        if promise.binding:
            return self._not_yet(
                request, call, f"a bind of the pod to {promise.node} is under way", Answered.ERROR
            )
        if promise.unknown:
            sentence = (
                f"the API server did not say whether the pod is bound to {promise.node}; waiting to know"
            )
            return self._not_yet(request, call, sentence, Answered.ERROR)
        left = reservations.still_there(promise)
        if left:
            sentence = f"room is being made on {promise.node}: {_pods(left)} to end there first"
            return self._not_yet(request, call, sentence, Answered.ROOM)
        if promise.ahead and promise.node in call.names:
            return self._kept(request, call)
        if not promise.ahead:
            # It was sent there before and is back: something failed on the way that nobody tells us about.
            reservations.demote(uid, promise.node)
        reservations.release(uid)
        return None

    def _decided(self, waiting: Waiting, request: Request, call: FilterCall) -> Answer:
        state = self._state
        candidates = Candidates(
            names=cast("tuple[NodeName, ...]", call.names),
            demoted=state.reservations.demoted(request.pod.uid),
            host_checked=True,
        )
        gang = waiting.queueing.gang
        if gang is not None:
            return self._with_gang(waiting, gang, request, candidates, call)
        found = state.decide(request, candidates)
        if found.allocation is None and (weaker := state.reservations.of_weaker(request.priority)):
            found = self._in_place_of(weaker, request, candidates)
        if found.allocation is None:
            return self._no_place(request, candidates, call)
        over = self._over_quota(request, found.allocation)
        if over is not None:
            return self._not_yet(request, call, over, Answered.QUOTA, soon=False)
        state.reservations.make(tenant_for(request, found.allocation), long=waiting.queueing.others_decide)
        state.learn(request)
        return _chosen(request, found, call, Answered.CHOSEN)

    def _kept(self, request: Request, call: FilterCall) -> Answer:
        """The pod was decided about before it was asked about."""
        reservations, uid = self._state.reservations, request.pod.uid
        promise, tenant = reservations.of(uid), reservations.tenant(uid)
        if promise is None or tenant is None:
            return self._not_yet(request, call, PROMISES_IN_THE_WAY, Answered.PROMISED)
        promise.ahead = False
        reservations.renew(uid)
        return _chosen(request, Decision(promise.node, tenant.allocation, 1), call, Answered.AHEAD)

    def _with_gang(
        self, waiting: Waiting, gang: Gang, request: Request, candidates: Candidates, call: FilterCall
    ) -> Answer:
        outcome = place_gang(self._state, waiting, gang, candidates, self._over_quota)
        if outcome.placed:
            return self._kept(request, call)
        return self._not_yet(request, call, outcome.sentence, Answered.GANG, soon=outcome.soon)

    def _in_place_of(self, weaker: list[PodUid], request: Request, candidates: Candidates) -> Decision:
        """Room that is only promised to less important pods gives way, as much of it as is needed."""
        state = self._state
        outcome = filter_nodes(state.ledger, request, state.defaults, candidates, without=weaker)
        if outcome.node is None:
            return Decision(None, None, outcome.fitting)
        here = candidates._replace(names=(outcome.node,))
        for uid in weaker:
            promise = state.reservations.of(uid)
            if promise is not None and promise.node == outcome.node:
                state.reservations.release(uid)
                found = state.decide(request, here)
                if found.allocation is not None:
                    return found
        return Decision(None, None, 0)

    def _no_place(self, request: Request, candidates: Candidates, call: FilterCall) -> Answer:
        state = self._state
        if len(state.reservations) and only_reservations_in_the_way(
            state.ledger, request, state.defaults, candidates
        ):
            return self._not_yet(request, call, PROMISES_IN_THE_WAY, Answered.PROMISED)
        failure = self._failing(state, request, candidates)
        verdict = Verdict(
            pod=request.pod,
            answered=Answered.UNFIT,
            request=request,
            offered=len(call.names),
            sentence=failure.sentence,
            words=failure.words,
            texts=failure.texts,
        )
        return Answer(failed_answer(failure.reasons, failure.unresolvable, call.nodes), verdict)

    def _not_yet(
        self, request: Request, call: FilterCall, sentence: str, answered: Answered, *, soon: bool = True
    ) -> Answer:
        verdict = Verdict(
            pod=request.pod, answered=answered, request=request, offered=len(call.names), sentence=sentence
        )
        if soon:
            return Answer(error_answer(sentence), verdict)
        return Answer(failed_answer(dict.fromkeys(call.names, sentence), {}, call.nodes), verdict)


def _shortened(sentence: str) -> str:
    """It is said once for every node."""
    return sentence if len(sentence) <= LONGEST_REFUSAL else f"{sentence[:LONGEST_REFUSAL]}..."


def _pods(count: int) -> str:
    return "1 pod has" if count == 1 else f"{count} pods have"


def _chosen(request: Request, found: Decision, call: FilterCall, answered: Answered) -> Answer:
    verdict = Verdict(
        pod=request.pod,
        answered=answered,
        request=request,
        node=found.node,
        allocation=found.allocation,
        fitting=found.fitting,
        best=found.best,
        offered=len(call.names),
    )
    return Answer(chosen_answer([str(found.node)], call.nodes), verdict)


def _simulated(state: State, call: FilterCall, request: Request) -> Answer:
    """Nodes that do not exist (yet), as an autoscaler asks about: decided on what it sent, and nothing is promised."""
    ledger = Ledger()
    for node in call.nodes or ():
        ledger.put_node(state.read_simulated(node))
    outcome = filter_nodes(ledger, request, state.defaults, Candidates(host_checked=True))
    verdict = Verdict(pod=request.pod, answered=Answered.SIMULATED, request=request, node=outcome.node)
    if outcome.node is None:
        return Answer(failed_answer(dict.fromkeys(call.names, "NodeUnfitPod"), {}, call.nodes), verdict)
    return Answer(chosen_answer([outcome.node], call.nodes), verdict)
