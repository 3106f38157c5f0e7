"""How cases for two schedulers begin and end: nodes and pods are made, and what is to be seen of them is returned."""

from collections.abc import Awaitable, Callable, Mapping

from e2e.placing_kit import CARDS, Turn, node
from testbed.extender import Answer, Verb

Case = Callable[[Turn], Awaitable[object]]
ZONE = "zone"


def alone(limits: Mapping[str, str | int] | None = None, **spec: object) -> Case:
    """One pod and three nodes, of which the second is small and the third is full of others."""

    async def case(turn: Turn) -> object:
        await three_nodes(turn)
        await turn.create(turn.pod("asks", limits, **spec))
        return await end(turn)

    return case


def asking(limits: Mapping[str, str | int], *answers: Answer, verb: Verb = "filter", **spec: object) -> Case:
    """The same with an extender that answers so."""

    async def case(turn: Turn) -> object:
        turn.script("asks", verb, *answers)
        return await alone(limits, **spec)(turn)

    return case


async def three_nodes(turn: Turn) -> None:
    await turn.has(
        node("large", labels={ZONE: "east"}),
        node("small", labels={ZONE: "west"}, cpu="2", memory="1Gi"),
        node("full"),
    )
    for number in range(4):
        await turn.running(f"holder-{number}", "full", {"cpu": "2", CARDS: 1})


async def end(turn: Turn) -> object:
    await turn.settled()
    return await turn.seen()
