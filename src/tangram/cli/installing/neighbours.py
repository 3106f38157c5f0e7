"""What the scheduler's checkup knows of a cluster, in the words of an installation.

The two are services and do not know each other; here, where commands are put together, one's answer becomes the
other's question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tangram.drivers.doctor.findings import Finding, Findings
from tangram.services.installation.ground import Manner, Neighbour, Neighbours
from tangram.services.scheduler.checkup import (
    configuration_checks,
    koordinator_checks,
    placers,
    server_checks,
    webhook_checks,
)
from tangram.services.scheduler.checkup.parts import PLUGINS, Part
from tangram.services.scheduler.checkup.seeing import Scene

_SCHEDULERS: Final = frozenset({Part.HAMI_SCHEDULER, Part.METAX_SCHEDULER, Part.MTHREADS_SCHEDULER})
_BEFORE: Final[tuple[Callable[[Scene], Findings], ...]] = (
    webhook_checks.other_webhooks,
    koordinator_checks.switches,
    server_checks.groups_of_pods,
    server_checks.device_classes,
)
_AFTER: Final[tuple[Callable[[Scene], Findings], ...]] = (
    webhook_checks.own_webhook,
    configuration_checks.configurations,
    server_checks.admission_policies,
    placers.contested_names,
)


def neighbours_in(scene: Scene) -> Neighbours:
    """Who else works in the cluster."""
    if scene.pods.unknown:
        return Neighbours(unknown=scene.pods.unknown)
    return Neighbours(
        tuple(
            Neighbour(str(part), _manner(part), tuple(sorted(scene.pods.nodes_with(part))))
            for part in Part
            if scene.pods.running(part)
        )
    )


def before(scene: Scene) -> list[Finding]:
    """What the checkup finds that matters before anything of ours is there."""
    return [finding for check in _BEFORE for finding in check(scene)]


def after(scene: Scene) -> list[Finding]:
    """What the checkup finds about the parts that an installation has made."""
    return [finding for check in _AFTER for finding in check(scene)]


def _manner(part: Part) -> Manner:
    if part in PLUGINS:
        return "plugin"
    if part in _SCHEDULERS:
        return "scheduler"
    return "extender" if part is Part.METAX_AWARE else "beside"


def served_names(scene: Scene) -> frozenset[str] | None:
    """Scheduler names in the profiles of whoever asks our scheduler; None where no configuration can be seen."""
    found = list(configuration_checks.placing_cards(scene))
    return frozenset(name for each in found for name in each.configuration.percentages) if found else None
