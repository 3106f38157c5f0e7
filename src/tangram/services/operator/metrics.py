"""What the operator counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from tangram.wire.operator.status import PartState, State, Status


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._writes = Counter(
            "tangram_operator_writes",
            "Objects that were created, updated, put back after an edit (healed) or removed, and writes that failed.",
            ["what"],
            registry=self.registry,
        )
        self.looks = Counter(
            "tangram_operator_looks", "Times that everything was gone through.", registry=self.registry
        )
        self.leading = Gauge(
            "tangram_operator_leading",
            "1 for the replica that writes, 0 for one that waits.",
            registry=self.registry,
        )
        self._nodes = Gauge(
            "tangram_operator_nodes",
            "Nodes with MetaX cards: managed, ready, and problems on them.",
            ["which"],
            registry=self.registry,
        )
        self._parts = Gauge(
            "tangram_operator_part_ready",
            "1 for a part that is ready, 0 for one that is not; parts that are not wanted are left out.",
            ["part"],
            registry=self.registry,
        )
        self._state = Gauge(
            "tangram_operator_state", "1 for the state of the whole.", ["state"], registry=self.registry
        )
        self._upgrade = Gauge(
            "tangram_operator_upgrade_nodes",
            "Nodes by how far their driver's upgrade is.",
            ["which"],
            registry=self.registry,
        )

    def wrote(self, what: str) -> None:
        """One write, by what came of it."""
        self._writes.labels(what).inc()

    def tell(self, status: Status) -> None:
        """What the status says, as numbers."""
        for state in State:
            self._state.labels(state.value).set(state is status.state)
        self._nodes.labels("managed").set(status.nodes.managed)
        self._nodes.labels("ready").set(status.nodes.ready)
        self._nodes.labels("problems").set(len(status.nodes.problems) + status.nodes.more)
        self._parts.clear()
        for part in status.parts:
            if part.state is not PartState.IGNORED:
                self._parts.labels(part.name).set(part.state is PartState.READY)
        upgrade = status.upgrade_status
        for which in ("done", "updating", "waiting", "failed"):
            self._upgrade.labels(which).set(getattr(upgrade, which) if upgrade is not None else 0)
