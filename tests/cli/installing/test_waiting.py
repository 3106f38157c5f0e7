"""How an installation is waited for: until nothing fails, or until the time is up, and with few words."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from builders.virtual_time import virtually
from tangram.cli.installing.waiting import BETWEEN_S, until_well
from tangram.drivers.doctor.findings import fail, ok
from tangram.services.installation.verify import Verification


def looks(*rounds: Sequence[str]) -> tuple[Callable[[float], Awaitable[Verification]], list[float]]:
    """What each look finds failing, the last one for ever; and when each was taken."""
    taken: list[float] = []

    async def look(_limit: float) -> Verification:
        taken.append(asyncio.get_running_loop().time())
        failing = rounds[min(len(taken), len(rounds)) - 1]
        return Verification(
            server="it", findings=[ok("other", "well"), *(fail(each, "no", "do") for each in failing)]
        )

    return look, taken


async def waited(*rounds: Sequence[str], patience: float = 60.0) -> tuple[list[str], list[str], int, float]:
    """What still fails, what was said, how many looks there were and how long it took."""
    look, taken = looks(*rounds)
    said: list[str] = []
    clock = asyncio.get_running_loop().time
    began = clock()
    found, _left = await until_well(look, patience, said.append, clock)
    return found.failing, said, len(taken), clock() - began


@virtually
async def test_what_is_well_is_looked_at_once_and_nothing_is_said() -> None:
    assert await waited(()) == ([], [], 1, 0.0)


@virtually
async def test_what_it_waits_for_is_said_when_it_changes_and_only_then() -> None:
    failing, said, count, seconds = await waited(("a", "b"), ("a", "b"), ("b",), ("b",), ())
    assert (failing, count, seconds) == ([], 5, 4 * BETWEEN_S)
    assert said == ["waiting for a, b (1m left)", "waiting for b (56s left)"]


@virtually
async def test_when_the_time_is_up_the_last_look_is_the_answer() -> None:
    failing, _, _, seconds = await waited(("a",), patience=11.0)
    assert failing == ["a"]
    assert seconds <= 11.0


@virtually
async def test_an_api_server_that_does_not_answer_the_first_time_is_not_waited_for() -> None:
    assert (await waited(("api-server",)))[:3] == (["api-server"], [], 1)


@virtually
async def test_one_that_went_away_in_between_is_waited_for() -> None:
    assert (await waited(("a",), ("api-server",), ()))[0] == []
