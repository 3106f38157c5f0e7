"""A story waits for what comes late, and not for what never comes."""

from __future__ import annotations

import pytest

from tangram.sandbox.scenarios import patience
from tangram.sandbox.scenarios.patience import ScenarioFailed, until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LOOK_EVERY_S", 0)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


async def test_what_comes_late_is_waited_for() -> None:
    answers = iter([None, None, "there"])

    async def look() -> str | None:
        return next(answers)

    assert await until("it comes", look, clock=Clock()) == "there"


async def test_what_never_comes_is_given_up_and_named() -> None:
    looks = 0

    async def look() -> str | None:
        nonlocal looks
        looks += 1

    with pytest.raises(ScenarioFailed, match=r"^waited 5 s in vain: it comes$"):
        await until("it comes", look, within=5, clock=Clock())
    assert looks == 6
