"""What the doctor knows of the cluster, which cards and nodes are out of service, and what happened to them lately."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from tangram.drivers.doctor.findings import Finding, Outcome
from tangram.web.ailments import ailments_of
from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Shown

PATH: Final = "/health"
MOST_ROWS: Final = 200
MOST_MOMENTS: Final = 40
_ORDER: Final = {Outcome.FAIL: 0, Outcome.WARN: 1, Outcome.SKIP: 2, Outcome.OK: 3}
_MINUTE: Final = 60


async def page(asked: Asked, known: Known) -> Shown:
    """Everything that is wrong, worst first. The doctor's findings name pods of everybody, so they take both rights."""
    sight = asked.viewer.sight
    if not sight.nodes:
        return Shown(template="health.html", values={"may_see": False}, status=403)
    found = ailments_of(known.picture.nodes.values(), known.history, sight)
    values: dict[str, Any] = {
        "may_see": True,
        "may_see_findings": sight.everything,
        "found": found,
        "nodes_since": {
            node.node: known.history.since(node.node) for node in (*found.not_ready, *found.held_back)
        },
        "most": MOST_ROWS,
        "sums": known.picture.sums,
        "told": known.picture.version > 0,
        "unread": known.picture.unread,
        "moments": known.history.health_moments(MOST_MOMENTS),
        "begun": known.history.begun,
        "server": "",
        "findings": [],
        "found_at": 0.0,
        "unknown": "",
    }
    if sight.everything:
        try:
            at, diagnosis = await known.diagnosis()
        except NotKnown as trouble:
            values["unknown"] = trouble.sentence
        else:
            findings = sorted(diagnosis.findings, key=_rank)
            values |= {"server": diagnosis.server, "findings": findings, "found_at": at}
    values["counts"] = {
        str(outcome): sum(each.outcome is outcome for each in values["findings"]) for outcome in Outcome
    }
    return Shown(template="health.html", values=values)


def moment(asked: Asked, known: Known) -> Hashable:
    """Something happened to a card or a node, or the doctor's findings have become old."""
    if not asked.viewer.sight.nodes:
        return 0
    sums = known.picture.sums
    happened = known.history.health_happened
    unread = len(known.picture.unread)
    return (
        happened,
        unread,
        sums.nodes,
        sums.cards_unhealthy,
        sums.cards_cordoned,
        int(known.picture.at // _MINUTE),
    )


def _rank(finding: Finding) -> int:
    return _ORDER[finding.outcome]
