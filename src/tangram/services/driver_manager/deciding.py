"""What to do next about the driver of a node, from everything that is known. Pure.

Three promises are held here, whatever the facts:
- no step that unloads or splits anything while a pod holds a card, or while nobody knows who does;
- no change of a driver that works without the operator's turn, except of its parameters and virtual functions;
- no attempt that failed is made again until something it depended on has changed.
"""

from __future__ import annotations

from tangram.services.driver_manager.changing import decide_change
from tangram.services.driver_manager.choosing import Choice, choose, failure_of
from tangram.services.driver_manager.decisions import (
    AskBusy,
    Begin,
    Decision,
    Discard,
    Step,
    Unpack,
)
from tangram.services.driver_manager.facts import Facts, running_in
from tangram.services.driver_manager.journal import NOTHING, Change, Target
from tangram.services.driver_manager.judging import is_broken, unwell
from tangram.services.driver_manager.problems import Problem
from tangram.services.driver_manager.removing import decide_removal
from tangram.services.driver_manager.splitting import Splitting, splitting
from tangram.services.driver_manager.staged import Staged
from tangram.services.driver_manager.stating import Standing
from tangram.wire.operator.node_states import Source


def decide(facts: Facts) -> Decision:
    """The next step, and what the node says."""
    if facts.remove:
        return decide_removal(facts)
    if facts.journal.change is not None:
        return decide_change(facts, facts.journal.change)
    standing = Standing(facts)
    if not facts.cards:
        return standing.waits("no-cards", "no MetaX card is on the PCI bus of this node")
    if facts.trouble is not None and standing.is_pausing:
        return standing.fails(facts.trouble)
    running = running_in(facts)
    if not facts.runtime_ready and running is None:
        return standing.waits(
            "runtime-not-ready",
            "the container runtime of this node is not ready yet (metax-tech.com/runtime.ready)",
        )
    choice = choose(facts)
    target = choice.target
    if target == NOTHING:
        return _without_choice(facts, standing, choice.problem)
    if running is None:
        return _first_driver(facts, standing, choice)
    if running.version != target.version:
        return _another_driver(facts, standing, running, choice)
    return _same_driver(facts, standing, running, choice)


def _without_choice(facts: Facts, standing: Standing, problem: Problem | None) -> Decision:
    problem = problem or Problem("no-driver", "there is no driver for this node")
    if running_in(facts) is not None and not is_broken(facts):
        # What runs goes on; that its successor cannot be had is worth saying.
        return _settled(facts, standing, problem)
    return (
        standing.fails(problem)
        if problem.code != "payload-absent"
        else standing.waits(problem.code, problem.why)
    )


def _first_driver(facts: Facts, standing: Standing, choice: Choice) -> Decision:
    target = choice.target
    failed = failure_of(facts, target)
    if failed is not None:
        return standing.fails(Problem(failed.code, failed.why), wanted=target.version)
    step = _unpacking(facts, target)
    wanted = target.version if target.source is Source.CLOUD else ""
    why = f"driver {target.version} is brought onto this node, which has none running"
    return standing.works(step or Begin(Change(to=target)), "installing", why, wanted)


def _another_driver(facts: Facts, standing: Standing, running: Target, choice: Choice) -> Decision:
    target = choice.target
    broken = is_broken(facts)
    if running.source is Source.HOST and facts.of_host is None:
        problem = Problem(
            "host-driver-unreloadable",
            f"driver {running.version} was loaded on the host from a file that its package does not know, so it could "
            f"not be brought back: unload it, or install it properly, and {target.version} can take its place",
        )
        return standing.fails(problem, wanted=target.version)
    failed = failure_of(facts, target)
    if failed is not None:
        return standing.fails(Problem(failed.code, failed.why), wanted=target.version, needs_turn=not broken)
    step = _unpacking(facts, target)
    if step is not None:
        return standing.does(step, wanted=target.version, needs_turn=not broken)
    if not broken and facts.turn != target.version:
        return standing.waits(
            "turn",
            f"driver {running.version} runs and {target.version} is wanted: the operator gives this node its turn",
            wanted=target.version,
            needs_turn=True,
        )
    change = Change(to=target, back=running, sick=unwell(facts))
    return _when_idle(facts, standing, change, f"driver {target.version}", needs_turn=not broken)


def _same_driver(facts: Facts, standing: Standing, running: Target, choice: Choice) -> Decision:
    target = choice.target
    if is_broken(facts):
        seen = facts.sight.trouble or "none is listed"
        problem = Problem(
            "driver-broken",
            f"driver {running.version} is loaded and shows no card: {seen}; look into the kernel's log, restart the "
            "machine, or give another version",
        )
        return standing.fails(problem, wanted=target.version)
    problem = choice.problem
    if running.source is Source.CLOUD and target.source is Source.CLOUD:
        if target.digest != running.digest:
            problem = Problem(
                "payload-changed",
                f"the payload has version {target.version} as the driver that runs, and other content: it stays as it "
                "is; give a changed driver another version",
            )
        elif target.parameters != running.parameters:
            failed = failure_of(facts, target)
            if failed is None:
                change = Change(to=target, back=running, sick=unwell(facts))
                return _when_idle(facts, standing, change, "a change of the module's parameters")
            problem = Problem(failed.code, failed.why)
    elif running.source is Source.HOST and facts.wish.parameters:
        problem = problem or Problem(
            "parameters-of-host",
            "driver-config has parameters for the module, and the host's own driver runs: they are not applied; write "
            "them to /etc/modprobe.d on the host",
        )
    return _settled(facts, standing, problem)


def _settled(facts: Facts, standing: Standing, problem: Problem | None) -> Decision:
    """The driver is the right one; what is left are virtual functions and leftovers."""
    match splitting(facts):
        case Splitting(problem=None, count=int() as count):
            running = running_in(facts) or NOTHING
            change = Change(to=running, back=running, sick=unwell(facts))
            return _when_idle(facts, standing, change, f"a split into {count} virtual functions")
        case Splitting(problem=Problem() as found):
            problem = problem or found
        case _:
            pass
    return standing.rests(problem, _leftovers(facts))


def _when_idle(
    facts: Facts, standing: Standing, change: Change, what: str, *, needs_turn: bool = False
) -> Decision:
    if facts.busy is None:
        return standing.does(AskBusy())
    wanted = change.to.version if change.to.source is Source.CLOUD or needs_turn else ""
    if facts.busy.is_idle:
        return standing.works(Begin(change), "changing", f"{what} is under way", wanted)
    if facts.busy.trouble:
        why = f"{what} waits until it is known who holds cards of this node: {facts.busy.trouble}"
        return standing.waits("cards-unknown", why, wanted=wanted, needs_turn=needs_turn, pending=why)
    who = _some(facts.busy.pods)
    why = f"{what} waits for pods that hold cards of this node: {who}; it follows when they have ended"
    return standing.waits("cards-busy", why, wanted=wanted, needs_turn=needs_turn, pending=why)


def _unpacking(facts: Facts, target: Target) -> Step | None:
    if target.source is not Source.CLOUD or not isinstance(facts.payload, Staged):
        return None
    there = facts.installed.get(target.version)
    is_there = there is not None and there.digest == target.digest
    return None if is_there else Unpack(facts.payload)


def _leftovers(facts: Facts) -> Step | None:
    """Versions beside the one that runs and the one that is wanted."""
    running = running_in(facts)
    kept = {facts.journal.loaded.version, "" if running is None else running.version}
    if isinstance(facts.payload, Staged):
        kept.add(facts.payload.version)
    old = tuple(version for version in facts.installed if version not in kept)
    # Without a payload nobody knows what is wanted next.
    return Discard(old) if old and not isinstance(facts.payload, Problem) else None


def _some(pods: tuple[str, ...]) -> str:
    more = len(pods) - 3
    return ", ".join(pods[:3]) + (f" and {more} more" if more > 0 else "")
