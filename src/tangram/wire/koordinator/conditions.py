"""Conditions of a card in a `Device`, kept within what the API server accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.wire import loose

HEALTHY: Final = "Healthy"

_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32768
_FOREIGN = re.compile(r"[^A-Za-z0-9_,:]+")


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = HEALTHY
    status: str = "True"
    reason: str = "DeviceHealthy"
    message: str = "device is healthy"
    since: str
    """RFC 3339; unchanged for as long as the status is."""


def health_condition(*, healthy: bool, since: str, code: str = "", message: str = "") -> Condition:
    """The one condition in use, in koordlet's words unless the driver has better ones."""
    if healthy:
        return Condition(since=since)
    return Condition(
        status="False",
        reason=safe_reason(code),
        message=(message or "device is unhealthy")[:_LONGEST_MESSAGE],
        since=since,
    )


def safe_reason(text: str) -> str:
    """A reason the API server accepts: `ECC error` becomes `ECCError`, `-8001` becomes `Code8001`."""
    words = [word for word in _FOREIGN.split(text) if word]
    # Only what the illegal characters separated is capitalised; legal reasons come out as they went in.
    joined = words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:]) if words else ""
    joined = joined.strip(",:")
    if joined and not joined[0].isalpha():
        joined = f"Code{joined}"
    return joined[:_LONGEST_REASON].rstrip(",:") or "Unknown"


def condition_object(condition: Condition) -> dict[str, object]:
    """The condition as the API server takes it."""
    return {
        "type": condition.kind,
        "status": condition.status,
        "reason": safe_reason(condition.reason),
        "message": condition.message[:_LONGEST_MESSAGE],
        "lastTransitionTime": condition.since,
    }


def read_condition(written: Mapping[str, object]) -> Condition:
    """A condition as someone wrote it; a missing status is unknown."""
    return Condition(
        kind=loose.text(written.get("type")),
        status=loose.text(written.get("status")) or "Unknown",
        reason=loose.text(written.get("reason")),
        message=loose.text(written.get("message")),
        since=loose.text(written.get("lastTransitionTime")),
    )
