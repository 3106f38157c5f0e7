"""The next step on the way out: when the operator asks for everything of ours to be taken away. Pure.

The driver is unloaded if nobody uses it. Else it stays loaded, with a word about who does: pulling it would take pods
with it, and a module in memory is gone with the next start of the machine. The host's own driver comes back if it ran
before ours did.
"""

from __future__ import annotations

from tangram.services.driver_manager.changing import LEAVE_S, UNLOAD_S
from tangram.services.driver_manager.decisions import (
    AskBusy,
    Clean,
    Decision,
    Link,
    Load,
    Split,
    Step,
    Unload,
)
from tangram.services.driver_manager.facts import OF_HOST, Facts, running_in
from tangram.services.driver_manager.journal import Target
from tangram.services.driver_manager.stating import Standing
from tangram.services.driver_manager.unpacking import Owner
from tangram.wire.operator.node_states import Phase, Source


def decide_removal(facts: Facts) -> Decision:
    """The next step, or that all is done."""
    if facts.cleaned:
        code = "left" if facts.left else ""
        return Decision(state=Standing(facts).state(Phase.REMOVED, code, facts.left))
    running = running_in(facts)
    if running is not None and running.source is Source.CLOUD:
        return _unloading(facts)
    if running is not None and _split_by_us(facts) and facts.trouble is None:
        if facts.busy is None:
            return _doing(facts, AskBusy())
        if facts.busy.is_idle:
            return _doing(facts, Split(0))
    if facts.link.owner is Owner.OURS or (facts.journal.aside and facts.link.owner is Owner.NOBODY):
        if facts.trouble is None:
            return _doing(facts, Link())
    elif running is None and facts.journal.host_ran and facts.of_host is not None and facts.trouble is None:
        version = facts.of_host if isinstance(facts.of_host, str) else OF_HOST
        return _doing(facts, Load(Target(source=Source.HOST, version=version)))
    return _doing(facts, Clean("" if facts.trouble is None else facts.trouble.why))


def _unloading(facts: Facts) -> Decision:
    if facts.trouble is not None:
        return _doing(facts, Clean(f"the driver stays loaded: {facts.trouble.why}"))
    if facts.refused_for > UNLOAD_S:
        return _doing(facts, Clean("the driver stays loaded: the kernel says that it is in use"))
    if facts.busy is None:
        return _doing(facts, AskBusy())
    if not facts.busy.is_idle:
        who = facts.busy.trouble or f"used by {', '.join(facts.busy.pods[:3])}"
        return _doing(facts, Clean(f"the driver stays loaded until the machine is restarted: {who}"))
    if not facts.withdrawn:
        return _doing(facts, None)
    if facts.offered:
        if facts.changing_for > LEAVE_S:
            return _doing(facts, Clean("the driver stays loaded: gpu-device still offers cards of this node"))
        return _doing(facts, None)
    return _doing(facts, Split(0) if _split_by_us(facts) else Unload())


def _split_by_us(facts: Facts) -> bool:
    return bool(facts.journal.functions) and any(card.now for card in facts.functions)


def _doing(facts: Facts, step: Step | None) -> Decision:
    why = "everything that driver-manager brought is taken away"
    if facts.trouble is not None:
        why = f"{why}; something is in the way: {facts.trouble.why}"
    return Decision(state=Standing(facts).state(Phase.WORKING, "removing", why), step=step)
