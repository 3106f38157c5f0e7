"""Every story there is, in the order in which they are best told, and the telling of one.

A story has namespaces of its own. They are emptied before it begins, so that it can be told again in a sandbox that
keeps its state; when it has ended they stay as they are, because then people look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.sandbox.scenarios import (
    bad_manifests,
    burst_of_40,
    card_dies,
    fragmentation,
    koordinator_words,
    kubelet_restart,
    mthreads_tiers,
    qos_policies,
    shared_card,
    topology,
)
from tangram.sandbox.scenarios.clearing import clear
from tangram.sandbox.scenarios.patience import ScenarioFailed
from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.starting import Sandbox

SCENARIOS: Final[Sequence[Scenario]] = (
    shared_card.SCENARIO,
    qos_policies.SCENARIO,
    topology.SCENARIO,
    card_dies.SCENARIO,
    burst_of_40.SCENARIO,
    fragmentation.SCENARIO,
    kubelet_restart.SCENARIO,
    koordinator_words.SCENARIO,
    mthreads_tiers.SCENARIO,
    bad_manifests.SCENARIO,
)


async def play(
    scenario: Scenario, box: Sandbox, *, tell: Callable[[str], None], look: Callable[[str], None]
) -> None:
    """Tell a story in a running sandbox, and then what to look at. Raises `ScenarioFailed`."""
    commands: list[str] = []
    tell(scenario.title)
    tell(scenario.why)
    tell("")
    try:
        await clear(scenario.namespaces, box.api)
        for namespace in scenario.namespaces:
            await box.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await scenario.play(Stage(box, scenario.namespaces[0], tell=tell, look=commands.append))
    except (ApiError, ApiUnreachable, DriverError) as error:
        raise ScenarioFailed(str(error)) from error
    tell("")
    tell("Look at it in another shell:")
    for command in commands:
        look(command)
