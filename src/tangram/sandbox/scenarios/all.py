"""Every story there is, in the order in which they are best told, and the telling of one.

A story has namespaces of its own. They are emptied before it begins, so that it can be told again in a sandbox that
keeps its state; when it has ended they stay as they are, because then people look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
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
from tangram.sandbox.scenarios.stage import LOOK_EVERY_S, Scenario, ScenarioFailed, Stage
from tangram.sandbox.scenarios.things import listed
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

_NAMESPACES: Final = "/api/v1/namespaces"
_EMPTYING_S: Final = 60.0


async def play(
    scenario: Scenario, box: Sandbox, *, tell: Callable[[str], None], look: Callable[[str], None]
) -> None:
    """Tell a story in a running sandbox. Raises `ScenarioFailed`."""
    tell(scenario.title)
    tell(scenario.why)
    tell("")
    try:
        await clear(scenario, box.api)
        for namespace in scenario.namespaces:
            await box.api.create(_NAMESPACES, {"metadata": {"name": namespace}})
        await scenario.play(Stage(box, scenario.namespaces[0], tell=tell, look=look))
    except (ApiError, ApiUnreachable, DriverError) as error:
        raise ScenarioFailed(str(error)) from error


async def clear(scenario: Scenario, api: Api) -> None:
    """Take away what a story left behind. Raises `ScenarioFailed` where it does not go."""
    there = [name for name in scenario.namespaces if await _delete(api, name)]
    try:
        async with asyncio.timeout(_EMPTYING_S):
            while await _any(api, there):
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise ScenarioFailed(
            f"namespaces {listed(there)} were deleted and are still there after {_EMPTYING_S:g} s"
        ) from None


async def _delete(api: Api, namespace: str) -> bool:
    try:
        await api.delete(f"{_NAMESPACES}/{namespace}")
    except ApiError as error:
        # A conflict is one that is going already.
        if error.status in (NOT_FOUND, CONFLICT):
            return error.status == CONFLICT
        raise
    return True


async def _any(api: Api, namespaces: Iterable[str]) -> bool:
    for namespace in namespaces:
        try:
            await api.get(f"{_NAMESPACES}/{namespace}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
        else:
            return True
    return False
