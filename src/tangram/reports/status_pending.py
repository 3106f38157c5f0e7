"""Why each pod waits, in one sentence: `explain` without the evidence, for a page that has room for a line per pod."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from tangram.engine.demand import Demand
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.reports import shape
from tangram.reports.answering import Manner, Question, answer
from tangram.reports.asking import OTHER_SCHEDULER, Asked
from tangram.reports.status_shape import PendingPod
from tangram.reports.words import nothing_fits, plural
from tangram.units.ids import Namespace, PodName, PodUid, natural_key
from tangram.vendors.admission import Admission

_NOBODY: Final = PodRef(Namespace(""), PodName(""), PodUid(""))


def pending_pods(ledger: Ledger, asked: Iterable[Asked], demand: Demand) -> list[PendingPod]:
    """Each pod with its reason. Requests alike have the same answer, so a burst of a thousand is worked out once."""
    manner = Manner(frag=FragScores(demand), suggestions=False, most_nodes=0)
    known: dict[Request, shape.PodReport] = {}
    pending: list[PendingPod] = []
    for ref, admission, resources in asked:
        request = None if admission.request is None else replace(admission.request, pod=_NOBODY)
        report = None if request is None else known.get(request)
        if report is None:
            report = answer(ledger, Question(str(ref), admission, resources), manner)
        if request is not None:
            known[request] = report
        pending.append(PendingPod(pod=str(ref), verdict=report.verdict, sentence=_why(report, admission)))
    return sorted(pending, key=lambda each: natural_key(each.pod))


def _why(report: shape.PodReport, admission: Admission) -> str:
    if admission.refusals:
        more = len(admission.refusals) - 1
        rest = f" (and {plural(more, 'fault')} more)" if more else ""
        return f"{admission.refusals[0].sentence.rstrip('.')}{rest}"
    if report.verdict != shape.FITS:
        return nothing_fits([(reason.sentence, reason.nodes) for reason in report.reasons])
    stranger = next((each for each in admission.cautions if each.code == OTHER_SCHEDULER), None)
    if stranger is not None:
        return stranger.sentence.rstrip(".")
    return f"it fits on node {report.node}, and the scheduler has not placed it yet"
