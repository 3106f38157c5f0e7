"""`tangram sandbox --scenario`: what cannot be told is refused before anything starts."""

from __future__ import annotations

import pytest

from builders.commands import run
from tangram.sandbox.scenarios.all import SCENARIOS


def test_a_story_that_nobody_knows_is_refused_with_those_there_are() -> None:
    answer = run("sandbox", "--scenario", "shared-cards")
    assert (answer.status, answer.out) == (2, "")
    assert "--scenario is 'shared-cards'" in answer.err
    assert all(scenario.name in answer.err for scenario in SCENARIOS)


@pytest.mark.parametrize("name", ["topology", "fragmentation"])
def test_a_story_is_not_told_of_machines_that_it_does_not_know(name: str) -> None:
    answer = run("sandbox", "--scenario", name, "--cluster", "mine.yaml")
    assert (answer.status, answer.out) == (2, "")
    assert f"--cluster 'mine.yaml' and --scenario {name} do not go together" in answer.err
    assert answer.err.count("\n") == 1
