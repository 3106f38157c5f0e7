"""The next step of a change under way, forwards or back. Pure.

Withdraw the node's offer, wait until gpu-device has gone and nobody holds a card, unload, switch the link, load, split,
look. Where a change stands is read from what is loaded and linked, never remembered, so it does not matter who was
killed when. A change that fails is turned round and runs the same steps towards what ran before; one that cannot even
be taken back is tried again for as long as it takes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.services.driver_manager.decisions import (
    AskBusy,
    Decision,
    Drop,
    Finish,
    Link,
    Load,
    Split,
    Step,
    Undo,
    Unload,
)
from tangram.services.driver_manager.facts import Facts, running_in
from tangram.services.driver_manager.journal import NOTHING, Change, Failed, Target
from tangram.services.driver_manager.judging import problem_after_load
from tangram.services.driver_manager.problems import AGAIN
from tangram.services.driver_manager.splitting import splitting, wished_count
from tangram.services.driver_manager.stating import Standing
from tangram.services.driver_manager.unpacking import Owner
from tangram.wire.operator.node_states import DriverState, Phase, Source

LEAVE_S: Final = 300.0
"""How long gpu-device may take to leave after the node has said that its driver is not ready."""
UNLOAD_S: Final = 120.0
"""How long the kernel may refuse to unload a driver that no pod uses."""
SETTLE_S: Final = 30.0
"""How long cards may take to appear after a driver was loaded."""
AGAIN_S: Final = 30.0
"""Between two tries of a step back."""


def decide_change(facts: Facts, change: Change) -> Decision:
    """The next step of the change that the journal has."""
    running = running_in(facts)
    target = change.now
    if facts.trouble is not None and not change.undoing:
        return _doing(facts, change, Undo(facts.trouble.code, facts.trouble.why))
    if facts.trouble is not None and facts.tried_ago < AGAIN_S:
        return _stuck(facts, change, facts.trouble.why)
    if running is not None and not any(_is(running, known) for known in (change.to, change.back)):
        # Somebody else loaded a driver meanwhile. It is not ours to pull: all is decided anew.
        found = f"driver {running.version} was loaded by somebody else meanwhile"
        return _doing(facts, change, _finish(facts, change) if change.undoing else Drop(found))
    if running is not None and not _is(running, target):
        return _unloading(facts, change, running)
    if running is None and target.source is not Source.NONE:
        return _doing(facts, change, _linking(facts, target) or Load(target))
    if running is None:
        return _doing(facts, change, _linking(facts, target) or _finish(facts, change))
    link = _linking(facts, target)
    if link is not None:
        return _doing(facts, change, link)
    return _looking(facts, change)


def _looking(facts: Facts, change: Change) -> Decision:
    """The right driver is loaded: does it work?"""
    problem = problem_after_load(facts.sight, facts.cards, change.now, change.sick)
    if problem is None:
        wanted = splitting(facts)
        if wanted.count is not None and wanted.problem is None and not change.undoing:
            # A driver that was just loaded must not wait for what else is wished.
            otherwise = None if change.only_splits else _finish(facts, change)
            return _guarded(facts, change, Split(wanted.count), otherwise)
        if change.undoing and change.only_splits and _split_now(facts):
            return _guarded(facts, change, Split(facts.journal.functions or 0))
        return _doing(facts, change, _finish(facts, change))
    if facts.loaded_for < SETTLE_S:
        return _doing(
            facts, change, None, f"driver {change.now.version} is loaded and looked at: {problem.why}"
        )
    if not change.undoing:
        return _doing(facts, change, Undo(problem.code, problem.why))
    if change.only_splits and _split_now(facts):
        return _guarded(facts, change, Split(facts.journal.functions or 0))
    if change.only_splits:
        # The driver itself was not touched, and is judged as one that runs.
        return _doing(facts, change, _finish(facts, change))
    # What ran before does not come back by itself; loading it once more may help.
    if facts.loaded_for < SETTLE_S + AGAIN_S:
        return _stuck(facts, change, problem.why)
    return _guarded(facts, change, Unload())


def _unloading(facts: Facts, change: Change, running: Target) -> Decision:
    untouched = not change.undoing and _is(running, change.back)
    if facts.refused_for > UNLOAD_S and untouched:
        why = (
            f"no pod holds a card, and the kernel has refused for {UNLOAD_S:g} s to unload driver {running.version}: "
            f"{_said(facts)}; end what uses the cards outside of Kubernetes"
        )
        return _doing(facts, change, Undo("module-busy", why))
    return _guarded(facts, change, Unload())


def _split_now(facts: Facts) -> bool:
    """Whether any card is split otherwise than before the change."""
    return any(card.now != (facts.journal.functions or 0) for card in facts.functions)


def _guarded(facts: Facts, change: Change, step: Step, otherwise: Step | None = None) -> Decision:
    """A step that pulls cards from under whoever uses them: only when nobody can."""
    running = running_in(facts)
    untouched = not change.undoing and running is not None and _is(running, change.back)
    if not facts.withdrawn:
        return _doing(facts, change, None, "the node withdraws its cards before the driver is changed")
    if facts.offered:
        if facts.changing_for > LEAVE_S and untouched:
            why = (
                f"gpu-device still offers cards of this node {LEAVE_S:g} s after metax-tech.com/driver.ready was set "
                "to false: its DaemonSet must ask for that label; see that one from this operator runs"
            )
            return _doing(facts, change, Undo("gpu-device-stays", why))
        return _doing(facts, change, None, "gpu-device is leaving the node")
    if facts.busy is None:
        return _doing(facts, change, AskBusy())
    if facts.busy.is_idle and isinstance(step, Split) and facts.refused_for > UNLOAD_S:
        why = f"no pod holds a card, and the driver has refused for {UNLOAD_S:g} s to split its cards: they are in use"
        return _doing(facts, change, _finish(facts, change) if change.undoing else Undo("module-busy", why))
    if facts.busy.is_idle:
        return _doing(facts, change, step)
    who = facts.busy.trouble or f"held by {', '.join(facts.busy.pods[:3])}"
    if otherwise is not None:
        return _doing(facts, change, otherwise)
    if untouched:
        return _doing(facts, change, Drop(f"cards of this node were taken meanwhile: {who}"))
    return _doing(facts, change, None, f"cards of this node are in use, {who}", pending=True)


def _linking(facts: Facts, target: Target) -> Step | None:
    """Where the link of the driver's programs must lead, if it does not."""
    if target.source is Source.CLOUD:
        right = facts.link.owner is Owner.OURS and facts.link.version == target.version
        return None if right else Link(target.version)
    moved = facts.link.owner is Owner.OURS or (facts.journal.aside and facts.link.owner is Owner.NOBODY)
    return Link() if moved else None


def _finish(facts: Facts, change: Change) -> Finish:
    if not change.undoing:
        return Finish()
    return Finish(
        Failed(
            key=str(wished_count(facts)) if change.only_splits else change.to.key,
            policy=facts.policy,
            boot=facts.boot,
            code=change.code,
            why=change.why.removesuffix(AGAIN),
            turn=facts.turn,
        )
    )


def _doing(
    facts: Facts, change: Change, step: Step | None, why: str = "", *, pending: bool = False
) -> Decision:
    way = (
        f"back to {change.back.version or 'no driver'} ({change.why})"
        if change.undoing
        else change.to.version
    )
    why = why or f"the driver is changed: {change.back.version or 'none'} to {way}"
    return Decision(state=_state(facts, change, change.code, why), step=step, pending=why if pending else "")


def _stuck(facts: Facts, change: Change, why: str) -> Decision:
    sentence = f"{change.why}; and driver {change.back.version} does not come back: {why}; it is tried again"
    state = _state(facts, change, "rollback-failed", sentence)
    return Decision(state=msgspec.structs.replace(state, phase=Phase.FAILED, running="", source=Source.NONE))


def _state(facts: Facts, change: Change, code: str, why: str) -> DriverState:
    wanted = change.to.version if change.to.source is Source.CLOUD or change.back != NOTHING else ""
    return Standing(facts).state(Phase.WORKING, code, why, wanted)


def _said(facts: Facts) -> str:
    return "it is in use" if facts.loaded is None else f"it has {facts.loaded.users} users"


def _is(running: Target, target: Target) -> bool:
    if running.source is not target.source:
        return False
    return running.source is Source.HOST or running.key == target.key
