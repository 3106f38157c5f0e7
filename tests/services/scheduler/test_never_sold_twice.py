"""Whatever the order of questions, answers, events, losses and restarts: what is bound never overlaps.

The check does not ask the scheduler. It adds up what the annotations of bound pods say, card by card, as a node's agent
would, and compares with the cards.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from builders.scheduling import World, metax_cards, node, pod, silence
from tangram.kube.errors import ApiError
from tangram.services.scheduler import binding
from tangram.services.scheduler.reservations import Times
from tangram.wire.metax_allocated import ALLOCATED

GIB_IN_MIB = 1024
CARD_MIB = 64 * GIB_IN_MIB
SHAPES = [
    {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 30, "metax-tech.com/vmemory": 40},
    {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 60, "metax-tech.com/vmemory": 8},
    {"metax-tech.com/sgpu": 1},
]
numbers = st.integers(0, 5)
fates = st.sampled_from(["well", "refused", "lost", "late"])


@pytest.fixture(autouse=True, scope="module")
def _no_pauses() -> Any:  # noqa: ANN401
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding, "READ_BACK_PAUSE_S", 0)
        yield


class Burst(RuleBasedStateMachine):
    """Two nodes of one card, a few pods, and everything that can go wrong."""

    world: World
    answers: dict[str, str]
    underway: list[tuple[str, Any]]
    """Orders to bind that were sent, never answered, and may still arrive."""

    @initialize()
    def begin(self) -> None:
        self.world = World(*(node(name, metax_cards(name, 1)) for name in "ab"))
        self.answers = {}
        self.underway = []

    def names(self) -> list[str]:
        return sorted(name for _, name in self.world.pods)

    @rule(number=numbers, shape=st.sampled_from(SHAPES), heard=st.booleans(), generation=st.integers(0, 2))
    def make(self, *, number: int, shape: dict[str, str | int], heard: bool, generation: int) -> None:
        name = f"p{number}"
        if ("default", name) not in self.world.pods:
            self.world.create(pod(name, shape, uid=f"{name}-{generation}"), heard=heard)

    @precondition(lambda self: self.world.pods)
    @rule(number=numbers)
    def ask(self, number: int) -> None:
        name = self.names()[number % len(self.world.pods)]
        if not self.world.node_of(name):
            answer = self.world.filter(name)
            assert answer["Error"] or answer["NodeNames"] or answer["FailedNodes"]
            for chosen in answer["NodeNames"] or ():
                self.answers[name] = chosen

    @precondition(lambda self: self.answers)
    @rule(number=numbers, fate=fates, elsewhere=st.booleans())
    def bind(self, *, number: int, fate: str, elsewhere: bool) -> None:
        name = sorted(self.answers)[number % len(self.answers)]
        chosen = self.answers.pop(name)
        if ("default", name) not in self.world.pods:
            return
        self._order(name, {"a": "b", "b": "a"}[chosen] if elsewhere else chosen, fate)

    def _order(self, name: str, chosen: str, fate: str) -> None:
        self.world.lost = fate == "lost"
        failures: dict[str, list[Exception]] = {
            "well": [],
            "refused": [ApiError(500, "InternalError", "no")],
            "lost": [silence()],
            "late": [silence()] * 4,
        }
        self.world.failures = failures[fate]
        before = self.world.node_of(name)
        result = asyncio.run(self.world.bind(name, chosen))
        self.world.lost, self.world.failures = False, []
        if fate == "late":
            orders = [(path, body) for method, path, body in self.world.calls if method == "POST"]
            self.underway += orders[-1:]
        self.world.calls.clear()
        if result.done:
            assert self.world.node_of(name) == chosen
        elif fate != "lost" or before:
            assert self.world.node_of(name) in (before, chosen)

    @rule(number=numbers, shape=st.sampled_from(SHAPES), fate=fates)
    def schedule(self, number: int, shape: dict[str, str | int], fate: str) -> None:
        """The usual way, in one step."""
        name = f"p{number}"
        self.make(number=number, shape=shape, heard=True, generation=0)
        if self.world.node_of(name):
            return
        chosen = self.world.filter(name)["NodeNames"]
        if chosen:
            self._order(name, chosen[0], fate)

    @precondition(lambda self: self.underway)
    @rule()
    def arrive(self) -> None:
        path, body = self.underway.pop(0)
        with suppress(ApiError):
            asyncio.run(self.world.api.create(path, body))

    @precondition(lambda self: self.world.pods)
    @rule(number=numbers)
    def hear(self, number: int) -> None:
        self.world.hear("default", self.names()[number % len(self.world.pods)])

    @precondition(lambda self: self.world.pods)
    @rule(number=numbers, heard=st.booleans(), by=st.sampled_from(["delete", "end"]))
    def leave(self, *, number: int, heard: bool, by: str) -> None:
        name = self.names()[number % len(self.world.pods)]
        if by == "delete":
            self.world.delete(name, heard=heard)
        else:
            self.world.end(name)

    @rule(seconds=st.sampled_from([1.0, Times().promise + 1, Times().long_promise + 1]))
    def wait(self, seconds: float) -> None:
        if seconds > 1:
            # No API server acts on a request whose sender gave up so long ago.
            self.underway.clear()
        self.world.now += seconds
        self.world.state.reservations.expire()

    @rule()
    def restart(self) -> None:
        """A new process hears of everything that is there, as a list brings it."""
        again = World(*self.world.nodes.values())
        for manifest in self.world.pods.values():
            again.create(manifest)
        again.now = self.world.now
        self.world = again
        # It takes a process longer to start than a request to arrive or be lost.
        self.underway.clear()

    @invariant()
    def no_card_is_oversold(self) -> None:
        if not hasattr(self, "world"):
            return
        memory: Counter[str] = Counter()
        cores: Counter[str] = Counter()
        for manifest in self.world.pods.values():
            if not manifest["spec"].get("nodeName") or manifest["status"]["phase"] == "Succeeded":
                continue
            for container in json.loads(manifest["metadata"]["annotations"][ALLOCATED]):
                for given in container:
                    memory[given["uuid"]] += given.get("vRam", 0)
                    cores[given["uuid"]] += given.get("compute", 0)
        assert all(amount <= CARD_MIB for amount in memory.values()), memory
        assert all(amount <= 100 for amount in cores.values()), cores

    def teardown(self) -> None:
        """Nothing is left of pods that have gone: a card is as free as the bound pods leave it."""
        if not hasattr(self, "world"):
            return
        self.world.hear_all()
        self.world.now += Times().long_promise + 1
        self.world.state.reservations.expire()
        holders = {holding.tenant.pod.name for holding in self.world.state.ledger.holdings()}
        running = {
            name
            for (_, name), each in self.world.pods.items()
            if each["spec"].get("nodeName") and each["status"]["phase"] != "Succeeded"
        }
        assert holders == running
        assert len(self.world.state.reservations) == 0


TestBurst = Burst.TestCase
