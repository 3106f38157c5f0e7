"""What is to be done next when everything is to go: one look in, one list of steps out.

The order is that of coming, backwards. First whoever offers cards, so that nobody gets a card any more; then the agents
take back what they brought to their nodes, while they still run; then the agents themselves; then what is written on
nodes; and at last the finalizer. Where that stands is read from the cluster every time, so any leader goes on with it.

It always comes to an end. A node that is away, or whose agents do not answer, is waited for so long and then passed
over with a word: an installation that cannot be removed because a machine has burnt down helps nobody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.services.operator.node_views import NodeView, moment
from tangram.services.operator.objects import Name, is_ours, name_of
from tangram.services.operator.parts import driver_manager, gpu_device, payloads
from tangram.services.operator.parts.container_runtime import NAME as CONTAINER_RUNTIME
from tangram.services.operator.parts.pods import COMPONENT
from tangram.services.operator.removing_notes import Answer, Stand, passed_over, sentence_of
from tangram.units.durations import DurationError, parse_duration
from tangram.wire import loose
from tangram.wire.operator.names import DRIVER_CONFIG
from tangram.wire.operator.node_states import Phase

Object = dict[str, Any]

LIMIT: Final = "tangram.dev/operator.remove-limit"
"""On the ClusterOperator: how long to wait for nodes that say nothing, such as `10m`."""
SILENT_S: Final = 120.0
WORKING_S: Final = 900.0
"""For nodes whose agents say that they are at it."""
LEAVE_S: Final = 45.0
"""For pods of a deleted DaemonSet. On a node that is away they never end, and helm waits five minutes in all."""
AHEAD_S: Final = 60.0
"""By so much the clocks of two leaders may differ."""
FIRST: Final = frozenset({gpu_device.NAME, payloads.NAME})
"""Who goes before agents clean up: whoever hands out cards, and whoever would bring files anew."""
ANSWERING: Final = frozenset({driver_manager.NAME, CONTAINER_RUNTIME})
"""Who has something to take back."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    silent: float = SILENT_S
    working: float = WORKING_S
    leave: float = LEAVE_S


class Delete(msgspec.Struct, frozen=True):
    thing: Object


class Ask(msgspec.Struct, frozen=True):
    """Tell the agents of a node to take away what they brought."""

    view: NodeView


class Clear(msgspec.Struct, frozen=True):
    """Take off a node what is written on it, and its cordon if that is ours."""

    view: NodeView


class Drop(msgspec.Struct, frozen=True):
    """Let the object go."""


Step = Delete | Ask | Clear | Drop


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    steps: tuple[Step, ...] = ()
    answers: tuple[Answer, ...] = ()
    sentence: str


_USUAL: Final = Limits()


def limits_of(operator: Object) -> tuple[Limits, str]:
    """The limits that an object asks for, and what is wrong with them."""
    annotations = loose.text_map(loose.members(operator.get("metadata")).get("annotations"))
    text = annotations.get(LIMIT)
    if text is None:
        return _USUAL, ""
    try:
        seconds = float(parse_duration(text))
    except DurationError as error:
        return _USUAL, f"annotation {LIMIT}: {error}; {SILENT_S:g} s are waited meanwhile"
    return Limits(silent=seconds, working=max(seconds, WORKING_S)), ""


def plan_removal(
    nodes: Sequence[NodeView],
    objects: Mapping[Name, Object],
    now: dt.datetime,
    limits: Limits = _USUAL,
) -> Plan:
    """What to do now. Looking again without doing it gives the same."""
    ours = [thing for _, thing in sorted(objects.items()) if is_ours(thing) and not _is_theirs(thing)]
    first = [thing for thing in ours if _part(thing) in FIRST]
    here = [thing for thing in first if not _is_late(thing, now, limits.leave)]
    if here:
        return Plan(steps=_deletions(here), sentence=f"{_names(here)} must leave first")
    answering = [thing for thing in ours if _part(thing) in ANSWERING]
    agents = frozenset(map(_part, answering))
    asked = [view for view in nodes if view.managed and agents]
    answers = tuple(_answer(view, agents, now, limits) for view in asked)
    unasked = tuple(Ask(view) for view in asked if not view.removing or not _is_past(view.removal_asked, now))
    # Once they were told to go, nobody is left who could answer.
    waiting = bool(unasked) or any(answer.stand is Stand.WAITING for answer in answers)
    if waiting and not any(map(_is_going, answering)):
        return Plan(steps=unasked, answers=answers, sentence=sentence_of(answers))
    rest = [thing for thing in ours if _part(thing) not in FIRST]
    here = [thing for thing in rest if not _is_late(thing, now, limits.leave)]
    if here:
        told = "; ".join((f"{_names(here)} must leave", *passed_over(answers)))
        return Plan(steps=_deletions(here), answers=answers, sentence=told)
    if nodes:
        steps = tuple(Clear(view) for view in nodes)
        told = "; ".join((f"labels and annotations go from {len(nodes)} nodes", *passed_over(answers)))
        return Plan(steps=steps, answers=answers, sentence=told)
    return Plan(steps=(Drop(),), sentence="everything is removed")


def _answer(view: NodeView, agents: frozenset[str], now: dt.datetime, limits: Limits) -> Answer:
    """What the agents of a node have said to the wish that they clean up."""
    waits = tuple(unfinished(view, agents))
    if not waits:
        left = "; ".join(filter(None, (_left(state) for state in (view.driver, view.maca, view.runtime))))
        return Answer(view.name, Stand.DONE, left)
    told = ", ".join(f"{who} {why}" for who, why, _ in waits)
    working = view.ready and any(at_it for _, _, at_it in waits)
    limit = limits.working if working else limits.silent
    waited = (now - view.removal_asked).total_seconds() if view.removal_asked else 0.0
    if not view.ready:
        told = f"the node is not ready, {told}"
    stand = Stand.SKIPPED if view.removing and waited > limit else Stand.WAITING
    return Answer(view.name, stand, told)


def unfinished(view: NodeView, agents: frozenset[str] = ANSWERING) -> Iterable[tuple[str, str, bool]]:
    """Who has not answered yet, what they say, and whether they are at it."""
    if driver_manager.NAME in agents:
        for part, state in ((driver_manager.NAME, view.driver), ("MXMACA", view.maca)):
            if state is None or state.phase is not Phase.REMOVED:
                yield part, _says(state), state is not None and state.phase is Phase.WORKING
    if CONTAINER_RUNTIME in agents and (view.runtime is None or view.runtime.phase is not Phase.REMOVED):
        state = view.runtime
        yield CONTAINER_RUNTIME, _says(state), state is not None and state.phase is Phase.WORKING


def _says(state: Any) -> str:  # noqa: ANN401 - one of three records with the same fields
    if state is None:
        return "says nothing"
    return f"says {state.phase}" + (f" ({state.why})" if state.why else "")


def _left(state: Any) -> str:  # noqa: ANN401 - the same
    return state.why if state is not None and state.phase is Phase.REMOVED else ""


def _deletions(things: Iterable[Object]) -> tuple[Step, ...]:
    return tuple(Delete(thing) for thing in things if not _is_going(thing))


def _part(thing: Object) -> str:
    return loose.text_map(loose.members(thing.get("metadata")).get("labels")).get(COMPONENT, "")


def _is_theirs(thing: Object) -> bool:
    """What was made for people to edit: whether somebody has, `tangram cleanup` finds out and says."""
    name = name_of(thing)
    return name.kind == "ConfigMap" and name.name == DRIVER_CONFIG


def _is_going(thing: Object) -> bool:
    return bool(loose.members(thing.get("metadata")).get("deletionTimestamp"))


def _is_past(asked: dt.datetime | None, now: dt.datetime) -> bool:
    """Whether a node was asked at a time that makes sense; one far ahead is of a clock that was wrong."""
    return asked is not None and (asked - now).total_seconds() < AHEAD_S


def _is_late(thing: Object, now: dt.datetime, limit: float) -> bool:
    """Whether it was told to go so long ago that nobody waits for its last pods any more."""
    told = moment(loose.text(loose.members(thing.get("metadata")).get("deletionTimestamp")))
    return told is not None and (now - told).total_seconds() > limit


def _names(things: Iterable[Object]) -> str:
    return ", ".join(str(name_of(thing)) for thing in things)
