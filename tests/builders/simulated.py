"""Simulated nodes for tests: a description in one line, a clock that only moves when told, and nothing on disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tangram.drivers.simulated.client import SimulatedClient, answer_in
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.reading import read_description
from tangram.drivers.simulated.server import Server
from tangram.drivers.simulated.serving import answer
from tangram.drivers.simulated.world import World


class ManualClock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def make_world(*cards: Mapping[str, object], clock: ManualClock | None = None, **keys: object) -> World:
    """A node with those groups of cards."""
    document = {"tangram": "cards/v1", "cards": list(cards), **keys}
    return World(read_description(document), clock or ManualClock())


def make_driver(
    *cards: Mapping[str, object], clock: ManualClock | None = None, **keys: object
) -> SimulatedDriver:
    """A driver over such a node, whose waiting takes no time."""
    return SimulatedDriver(make_world(*cards, clock=clock, **keys), sleep=lambda _: None)


class BackgroundServer(Server):
    """Serves in a thread of its own from `start` to `close`."""

    def start(self) -> None:
        self._thread = threading.Thread(target=self.serve, name="simulated-cards", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown()
        self._thread.join()
        super().close()


class DirectLine:
    """A line to a simulation without a socket between."""

    def __init__(self, driver: SimulatedDriver) -> None:
        self._driver = driver

    def ask(self, line: bytes, call: str) -> object:
        assert call
        return answer_in(answer(self._driver, line))

    def close(self) -> None:
        pass


def client_of(driver: SimulatedDriver) -> SimulatedClient:
    return SimulatedClient(DirectLine(driver))
