"""Every story there is, in the order in which they are best told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tangram.sandbox.scenarios import shared_card
from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.starting import Sandbox

SCENARIOS: Final[Sequence[Scenario]] = (shared_card.SCENARIO,)


async def play(
    scenario: Scenario, box: Sandbox, *, tell: Callable[[str], None], look: Callable[[str], None]
) -> None:
    """Tell a story in a running sandbox. Raises `ScenarioFailed`."""
    tell(f"{scenario.title}")
    tell("")
    await scenario.play(Stage(box.api, box.machines, tell=tell, look=look))
