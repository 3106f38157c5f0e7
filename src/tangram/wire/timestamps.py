"""Moments as Kubernetes writes them: in UTC, to the second; in Leases to the microsecond."""

from __future__ import annotations

import datetime as dt


def to_second(when: dt.datetime) -> str:
    """Of statuses, conditions and events."""
    return when.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_microsecond(when: dt.datetime) -> str:
    """Of Leases."""
    return when.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
