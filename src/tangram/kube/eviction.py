"""Asking that a pod goes: only ever through the eviction API, never by a deletion.

An eviction respects every disruption budget, gives a pod its time to end, and marks it as disrupted, so that a Job does
not count it as failed. The uid is sent along: a new pod under an old name is not the one that was meant.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, TOO_MANY_REQUESTS, ApiError
from tangram.model.pods import PodRef


class Going(StrEnum):
    """What became of a wish that a pod goes."""

    DONE = "done"
    """It goes, and has its grace period for it."""
    BUDGET = "budget"
    """A disruption budget, or an overloaded server, says not now."""
    GONE = "gone"
    """There is no such pod any more."""


class Asked(msgspec.Struct, frozen=True):
    outcome: Going
    why: str = ""
    """The API server's own words, where it says not now."""


async def ask_to_go(api: Api, pod: PodRef, *, dry_run: bool = False) -> Asked:
    """One eviction. Raises `ApiError` for other refusals, and `ApiUnreachable`."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}, **({"dryRun": ["All"]} if dry_run else {})},
    }
    query = {"dryRun": "All"} if dry_run else {}
    try:
        await api.create(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body, **query)
    except ApiError as error:
        if error.status == TOO_MANY_REQUESTS:
            return Asked(Going.BUDGET, " ".join((error.message, *error.causes)))
        if error.status == NOT_FOUND or _is_another(error):
            return Asked(Going.GONE)
        raise
    return Asked(Going.DONE)


def _is_another(error: ApiError) -> bool:
    """Whether the name belongs to another pod by now."""
    return error.status == CONFLICT and "uid" in error.message.lower()
