"""Pods that are of use only together: all of them find room, or none holds any.

Two groups that race for the same cards would each get a part and wait for the other for ever. So the first member that
is asked about is placed together with all others that wait, each on its own, and the promises stand only if enough of
them found a place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import EVERY_NODE, Candidates
from tangram.services.scheduler.quota_rule import OverQuota, no_quota
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import PodUid
from tangram.wire.queueing import Gang


class GangOutcome(NamedTuple):
    placed: bool
    sentence: str = ""
    """Why not, in words that stay the same while nothing changes."""
    soon: bool = False
    """It is only a matter of time: members that have yet to be made, or promises that will end."""


def place_gang(
    state: State, asked: Waiting, gang: Gang, candidates: Candidates, over_quota: OverQuota = no_quota
) -> GangOutcome:
    """Promise room to every waiting member, the asked one among the candidates, or to none of them."""
    members = state.gangs.members(gang)
    running = sum(members.values())
    waiting = _waiting_members(state, asked, members)
    wanted = max(gang.at_least - running, 0) if gang.at_least else len(waiting)
    if len(waiting) < wanted:
        missing = f"{len(waiting) + running} of {gang.at_least} pods of gang {gang.name} are there"
        _let_go(state, waiting)
        return GangOutcome(placed=False, sentence=missing, soon=True)
    placed = 0
    for member in waiting:
        where = candidates if member.pod.ref.uid == asked.pod.ref.uid else EVERY_NODE
        placed += _promise(state, member, where, over_quota)
    if placed >= wanted and state.reservations.of(asked.pod.ref.uid) is not None:
        return GangOutcome(placed=True)
    others = len(state.reservations) > placed
    _let_go(state, waiting)
    short = (
        f"there is room, or quota, for fewer than the {wanted} pods that gang {gang.name} still needs at once"
    )
    return GangOutcome(placed=False, sentence=short, soon=others)


def _waiting_members(state: State, asked: Waiting, members: Mapping[PodUid, bool]) -> list[Waiting]:
    """The asked one first: the nodes offered are those that will do for it."""
    seen = (state.waiting.get(uid) for uid, has_node in members.items() if not has_node)
    waiting = (each.waiting for each in seen if each is not None)
    others = (
        each
        for each in waiting
        if each is not None and not each.queueing.gated and each.pod.ref.uid != asked.pod.ref.uid
    )
    return [asked, *others]


def _promise(state: State, member: Waiting, where: Candidates, over_quota: OverQuota) -> bool:
    uid, request = member.pod.ref.uid, member.request
    promise = state.reservations.of(uid)
    if request is None:
        return False
    if promise is not None and (where.names is None or promise.node in where.names):
        return True
    state.reservations.release(uid)
    found = state.decide(request, where._replace(demoted=state.reservations.demoted(uid)))
    if found.allocation is None or over_quota(request, found.allocation) is not None:
        return False
    state.reservations.make(tenant_for(request, found.allocation), ahead=True, long=True)
    return True


def _let_go(state: State, members: list[Waiting]) -> None:
    for member in members:
        uid: PodUid = member.pod.ref.uid
        promise = state.reservations.of(uid)
        if promise is not None and not promise.binding and not promise.unknown:
            state.reservations.release(uid)
