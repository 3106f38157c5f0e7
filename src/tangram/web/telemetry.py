"""What the dashboard counts about itself, for Prometheus: who looks, what is asked, how old the picture is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, generate_latest

from tangram.web.events import Hub
from tangram.web.picture import Picture

_KINDS: Final = {2: "ok", 3: "ok", 4: "refused", 5: "failed"}


class Telemetry:
    """`served` is told of every answer."""

    def __init__(self, picture: Picture, hub: Hub, now: Callable[[], float]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tangram_dashboard_requests",
            "Questions answered, by outcome: ok, refused (4xx) or failed (5xx).",
            ["outcome"],
            registry=self._registry,
        )
        for outcome in dict.fromkeys(_KINDS.values()):
            self._requests.labels(outcome)
        self._gauge("viewers", "Pages open in browsers that are told of changes.", lambda: len(hub))
        self._gauge(
            "picture_age_seconds",
            "How long ago what pages show was true; +Inf before the first answer of a scheduler.",
            lambda: picture.age(now()) if picture.version else float("inf"),
        )
        self._gauge("scheduler_heard", "1 while the scheduler answers.", lambda: float(not picture.trouble))

    def served(self, response: web.StreamResponse) -> None:
        self._requests.labels(_KINDS.get(response.status // 100, "ok")).inc()

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answers `/metrics`."""
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    def _gauge(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        Gauge(f"tangram_dashboard_{name}", help_text, registry=self._registry).set_function(value)
