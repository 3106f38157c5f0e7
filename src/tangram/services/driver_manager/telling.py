"""Events for people: what became of the driver, said when it changes and not again after a restart."""

from __future__ import annotations

from collections.abc import Callable

from tangram.kube.recorder import About, Event
from tangram.services.driver_manager.decisions import Decision
from tangram.services.driver_manager.own_node import OwnNode
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, state_of


class Telling:
    """Compares what is told with what was told before, by this process or the last."""

    def __init__(self, own: OwnNode, say: Callable[[Event], None]) -> None:
        self._own = own
        self._say = say
        self._last: tuple[str, str, str] | None = None
        self._maca: tuple[str, str] | None = None
        self._pending = ""

    def before(self) -> None:
        """Take over what the node said before anything is written to it."""
        state = state_of(DriverState, dict(self._own.annotations), names.DRIVER_STATE)
        if state is not None and self._last is None:
            self._last = (state.phase, state.code, state.running)
        maca = state_of(MacaState, dict(self._own.annotations), names.MACA_STATE)
        if maca is not None and self._maca is None:
            self._maca = (maca.phase, maca.code)

    def told(self, decision: Decision) -> None:
        state = decision.state
        if decision.pending and decision.pending != self._pending:
            self.warn("DriverChangePending", decision.pending)
        self._pending = decision.pending
        now = (str(state.phase), state.code, state.running)
        if now == self._last:
            return
        last, self._last = self._last, now
        if state.phase is Phase.FAILED or (state.phase is Phase.READY and state.code):
            self.warn("DriverFailed" if state.phase is Phase.FAILED else "DriverRemark", state.why)
        elif state.phase is Phase.READY and (
            last is None or last[0] != Phase.READY or last[2] != state.running
        ):
            self._tell("DriverReady", f"driver {state.running} ({state.source}) runs and shows its cards")
        elif state.phase is Phase.REMOVED:
            self._tell("DriverRemoved", state.why or "everything that driver-manager brought is taken away")

    def maca(self, state: MacaState) -> None:
        now = (str(state.phase), state.code)
        if now == self._maca:
            return
        self._maca = now
        if state.code and state.phase is not Phase.WORKING:
            self.warn("MacaFailed" if state.phase is Phase.FAILED else "MacaRemark", state.why)
        elif state.phase is Phase.READY and state.versions:
            self._tell("MacaReady", f"MXMACA {', '.join(state.versions)} is there")

    def warn(self, reason: str, message: str) -> None:
        self._say(Event(About("Node", self._own.name), reason, message))

    def _tell(self, reason: str, message: str) -> None:
        self._say(Event(About("Node", self._own.name), reason, message, warning=False))
