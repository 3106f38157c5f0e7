"""The node lock that closed device plugins rely on: `hami.io/mutex.lock` on the node.

The value names its holder by namespace and name, never by UID, so a recreated pod is indistinguishable from its
predecessor there. Whose a lock of ours is stands beside it, with the lock it belongs to: closed plugins and peers take
locks away and set their own without knowing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from tangram.units.ids import Namespace, PodName, PodUid
from tangram.wire.errors import WireError, shown

NODE_LOCK: Final = "hami.io/mutex.lock"
OWNER: Final = "tangram.dev/lock-owner"
"""On the node: the UID of the pod that a lock was taken for, and that lock."""

_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class LockHolder(msgspec.Struct, frozen=True):
    """The pod a lock names. Koordinator leaves the namespace empty for its reservations."""

    namespace: Namespace
    name: PodName


class NodeLock(msgspec.Struct, frozen=True):
    taken_at: int
    """Unix seconds."""
    holder: LockHolder | None = None
    """None in the legacy form, which is a time alone: anyone may release such a lock."""


def owner_text(uid: PodUid, lock: str) -> str:
    """What stands beside a lock of ours."""
    return f"{uid},{lock}"


def owner_of(annotations: Mapping[str, str]) -> PodUid | None:
    """The UID of the pod that the node's present lock is for; None where the lock is not ours, or there is none."""
    uid, comma, lock = annotations.get(OWNER, "").partition(",")
    return PodUid(uid) if comma and uid and lock == annotations.get(NODE_LOCK) else None


def format_lock(lock: NodeLock) -> str:
    """The annotation's value, in UTC. Raises `WireError` for names and times it cannot carry."""
    time = rfc3339(lock.taken_at)
    if lock.holder is None:
        return time
    for part in (lock.holder.namespace, lock.holder.name):
        if "," in part or part != part.strip():
            raise WireError(
                "lock-unwritable", f"a node lock cannot name {shown(part)}: its parts are split at commas"
            )
    return f"{time},{lock.holder.namespace},{lock.holder.name}"


def parse_lock(value: str) -> NodeLock:
    """Who took the lock and when. Raises `WireError` for anything but one or three parts with a time first."""
    time, *holder = value.split(",")
    taken_at = parse_rfc3339(time.strip())
    if not holder:
        return NodeLock(taken_at)
    if len(holder) != 2:
        raise WireError(
            "lock-malformed",
            f"the node lock is {shown(value)}: it is a time, or a time, a namespace and a pod name",
        )
    return NodeLock(taken_at, LockHolder(Namespace(holder[0].strip()), PodName(holder[1].strip())))


def rfc3339(unix_seconds: int) -> str:
    """A time to the second, in UTC. Raises `WireError` for years that have no four digits."""
    try:
        return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError, OSError) as error:
        raise WireError("time-unwritable", f"no calendar has second {shown(unix_seconds)}") from error


def parse_rfc3339(text: str) -> int:
    """The Unix second of a time with a zone; a fraction is dropped. Raises `WireError` for anything else."""
    try:
        if _TIME.fullmatch(text):
            return int(datetime.fromisoformat(text.upper()).timestamp() // 1)
    except ValueError:
        # The shape was right and the calendar was not: a 13th month, a 25th hour.
        pass
    raise WireError("time-malformed", f"the time is {shown(text)}: it is written like 2026-06-14T15:05:03Z")
