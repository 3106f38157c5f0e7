"""How far the upgrade of drivers is, in words: one note for every node, and one sentence for all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.operator.budgets import is_out_of_service
from tangram.services.operator.node_views import GpuPod, NodeView
from tangram.units.ids import NodeName
from tangram.wire.operator.names import UPGRADE
from tangram.wire.operator.node_states import Phase, Upgrade
from tangram.wire.operator.status import UpgradeStatus

MOST_TOLD: Final = 6
MOST_PODS: Final = 3
MOST_VERSIONS: Final = 3
STUCK_S: Final = 900.0
"""After so long in its turn a node is reported as stuck."""


class Stand(StrEnum):
    """Where a node stands. What is worth telling first comes first."""

    STUCK = "stuck"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    HELD = "waiting"
    """We hold it, and something keeps it from its turn."""
    UPDATING = "updating"
    LET_GO = "given back"
    LEFT_ALONE = "left alone"
    """Others have cordoned it."""
    NOT_READY = "not ready"
    QUEUED = "queued"
    PAUSED = "paused"
    DONE = "done"
    BARE = "bare"
    """It is to have its first driver, which needs no turn."""
    NONE = ""
    """Nothing to do with upgrades."""


_IN_ORDER: Final = {stand: place for place, stand in enumerate(Stand)}
_UNTOLD: Final = frozenset({Stand.DONE, Stand.BARE, Stand.NONE, Stand.QUEUED, Stand.PAUSED})
"""Of these only the number is told."""


class Note(msgspec.Struct, frozen=True):
    node: NodeName
    stand: Stand
    sentence: str
    event: str = ""
    """What an event says of it, where that is less: events of nodes are read by whoever reads namespace default, and a
    list of pods that grows shorter is no news."""


def status_of(
    notes: Sequence[Note], nodes: Iterable[NodeView], *, paused: bool = False
) -> UpgradeStatus | None:
    """For the status of the operator; None where no node is to have a driver from a payload."""
    if not notes:
        return None
    told = {note.node for note in notes}
    wanted = {view.driver.wanted for view in nodes if view.driver is not None and view.name in told}
    count = Counter(note.stand for note in notes)
    return UpgradeStatus(
        to=_some_versions(sorted(wanted - {""})),
        done=count[Stand.DONE],
        updating=sum(count[each] for each in (Stand.HELD, Stand.UPDATING, Stand.STUCK, Stand.LET_GO)),
        waiting=sum(
            count[each]
            for each in (Stand.QUEUED, Stand.PAUSED, Stand.NOT_READY, Stand.LEFT_ALONE, Stand.UNREADABLE)
        ),
        failed=count[Stand.FAILED],
        paused=paused,
        message=_all_in_one(notes, count),
    )


def _some_versions(versions: Sequence[str]) -> str:
    more = len(versions) - MOST_VERSIONS
    return ", ".join(versions[:MOST_VERSIONS]) + (f" and {more} more" if more > 0 else "")


def _all_in_one(notes: Sequence[Note], count: Mapping[Stand, int]) -> str:
    """`3 of 5 nodes done; n2 waits for pod a/b; n3 failed: ...`."""
    told = sorted((note for note in notes if note.stand not in _UNTOLD), key=_urgency)
    parts = [f"{count[Stand.DONE]} of {len(notes)} nodes done"]
    parts += [note.sentence for note in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        parts.append(f"{len(told) - MOST_TOLD} more are told of in events of their nodes")
    if count[Stand.BARE]:
        parts.append(f"{count[Stand.BARE]} without any driver yet")
    if count[Stand.PAUSED]:
        parts.append(f"{count[Stand.PAUSED]} waiting, because upgrades are paused")
    if count[Stand.QUEUED]:
        parts.append(f"{count[Stand.QUEUED]} queued")
        if not any(count[each] for each in (Stand.HELD, Stand.UPDATING, Stand.LET_GO)):
            # Nobody moves, so the reason is of interest.
            parts.append(next(note.sentence for note in notes if note.stand is Stand.QUEUED))
    return "; ".join(parts)


def about_others(view: NodeView, stand: Stand) -> Note:
    """A node that is not touched because somebody else has to do with it."""
    if stand is Stand.UNREADABLE:
        return Note(
            view.name,
            stand,
            f"{view.name} is left alone: its annotation {UPGRADE} cannot be read; remove it, and uncordon the node "
            "unless somebody else cordoned it",
        )
    return Note(
        view.name, stand, f"{view.name} is cordoned by somebody else and left alone until it is uncordoned"
    )


def about_pods(view: NodeView) -> Note:
    """A node that waits for its pods."""
    stay = tuple(pod for pod in view.pods if pod.stays)
    sentence = f"{view.name} waits for {some_pods(view.pods)}"
    if stay:
        sentence += (
            f", of which nobody but you can end {some_pods(stay)}: "
            f"{_keeper(stay[0])} would start it again, so take it off this node there"
        )
    told = f"{view.name} waits for the pods that hold its cards: tangram status operator names them"
    return Note(view.name, Stand.HELD, sentence, told)


def about_turn(view: NodeView, upgrade: Upgrade, seconds: float) -> Note:
    """A node on which something is being done, or should be."""
    state, name, to = view.driver, view.name, upgrade.to
    working = state is not None and state.phase is Phase.WORKING
    if seconds <= STUCK_S:
        doing = f"is being updated to {to}" if working else f"has its turn for {to}"
        told = f": {state.why}" if state is not None and state.why else ""
        return Note(name, Stand.UPDATING, f"{name} {doing}{told}")
    # A moment and no age: what is the same must read the same, or it would be written and told again every minute.
    since = f"since {upgrade.began}" if math.isfinite(seconds) else "for longer than anybody knows"
    what = f"says {since} that it works" if working else f"has its turn for {to} {since} and does nothing"
    return Note(
        name,
        Stand.STUCK,
        f"{name} is stuck: its driver-manager {what}; look at its pod there, the node stays cordoned",
    )


def about_queue(views: Iterable[NodeView], nodes: Iterable[NodeView], most: int) -> Iterator[Note]:
    """Nodes that wait for a place."""
    others = [each.name for each in nodes if (each.managed or each.held) and is_out_of_service(each)]
    out = ", ".join(others[:MOST_PODS]) + (" and others" if len(others) > MOST_PODS else "")
    # Of none out of service: the first ones go now.
    why = f"{out} out of service, and maxUnavailable allows {most}" if others else f"maxUnavailable is {most}"
    return (Note(view.name, Stand.QUEUED, f"{view.name} waits: {why}") for view in views)


def some_pods(pods: Sequence[GpuPod]) -> str:
    """`pod a/b`, or the first few of them and how many more."""
    told = ", ".join(pod.full_name for pod in pods[:MOST_PODS])
    more = f" and {len(pods) - MOST_PODS} more" if len(pods) > MOST_PODS else ""
    return f"{'pod' if len(pods) == 1 else 'pods'} {told}{more}"


def _keeper(pod: GpuPod) -> str:
    return "the node itself, from a file," if pod.mirror else pod.owner


def _urgency(note: Note) -> tuple[int, str]:
    return _IN_ORDER[note.stand], note.node
