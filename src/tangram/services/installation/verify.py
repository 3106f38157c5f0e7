"""Every check after an installation, in the order in which one rests upon the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from tangram.drivers.doctor.findings import Finding, Findings, Outcome
from tangram.services.installation import operator_checks, serving_checks, standing_checks
from tangram.services.installation.preflight import unreached
from tangram.services.installation.standing import NodeStanding, Standing
from tangram.services.installation.trial import Trial

VERSION: Final = "verify/v1"

_CHECKS: Final[tuple[Callable[[Standing], Findings], ...]] = (
    standing_checks.workloads,
    operator_checks.operator,
    operator_checks.operated_nodes,
    standing_checks.nodes,
    standing_checks.resources,
    standing_checks.labels,
    standing_checks.agents,
    serving_checks.scheduler,
    serving_checks.lease,
    serving_checks.completing,
    serving_checks.refusing,
    serving_checks.agent_metrics,
)


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `docs/preflight.md` promises this shape to programs."""

    tangram: str = VERSION
    server: str
    nodes: list[NodeStanding] = []
    pod: Trial | None = None
    """The pod that was placed; null where none was asked for."""
    findings: list[Finding]

    @property
    def failing(self) -> list[str]:
        """The checks that fail, each once."""
        return list(dict.fromkeys(each.check for each in self.findings if each.outcome is Outcome.FAIL))


def judge_standing(standing: Standing, more: Iterable[Finding] = ()) -> Verification:
    """All findings about an installation; `more` are those of others who looked at it."""
    if standing.unreachable:
        return Verification(
            server=standing.server, findings=[unreached(standing.server, standing.unreachable)]
        )
    return Verification(
        server=standing.server,
        nodes=standing.expected(),
        findings=[*(finding for check in _CHECKS for finding in check(standing)), *more],
    )
