"""One tiny pod, placed, seen running and deleted again: the only thing of an installation that nothing else can show.

Whatever happens in between, the pod is deleted; should even that fail, the kubelet ends it after ten minutes.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from tangram.drivers.doctor.findings import Finding, fail, ok, skip
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.model.allocations import Tenant
from tangram.services.installation.trial_pods import Limits, trial_pod
from tangram.services.installation.wording import ASK_WITH_MORE, cut
from tangram.units.memory import Bytes, rough_memory_text
from tangram.wire import loose
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

CHECK: Final = "pod"
_AGAIN_S: Final = 0.3
_GONE_WITHIN_S: Final = 30.0
_FORBIDDEN: Final = 403


class Device(msgspec.Struct, frozen=True):
    """A card, or the part of one, that the pod was given."""

    card: str
    memory: Bytes
    cores: int
    kind: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pod. `docs/preflight.md` promises this shape to programs."""

    name: str
    """With its namespace."""
    node: str = ""
    phase: str = ""
    seconds: float = 0.0
    """From its creation until it ran, or until it was given up."""
    devices: list[Device] = []
    deleted: bool = False


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What to place, and for how long to wait."""

    namespace: str
    limits: Limits
    image: str
    patience: float


async def try_pod(
    api: Api, wish: Wish, clock: Callable[[], float] = time.monotonic
) -> tuple[Trial | None, Finding]:
    """Make the pod, wait until it runs, delete it. Never raises for what the cluster does."""
    name = f"tangram-verify-{secrets.token_hex(3)}"
    spot = f"/api/v1/namespaces/{wish.namespace}/pods"
    began = clock()
    try:
        await api.create(spot, trial_pod(name, wish.limits, wish.image))
    except ApiError as error:
        if error.status == _FORBIDDEN and "forbidden: User" in error.message:
            return None, skip(
                CHECK, f"no pod may be made in {wish.namespace} ({cut(error.message)})", ASK_WITH_MORE
            )
        return None, fail(
            CHECK, f"no pod can be made in {wish.namespace}: {cut(error.message)}", "try another -n"
        )
    except ApiUnreachable as error:
        # Whether it was made is not known.
        await _delete(api, f"{spot}/{name}", clock)
        return None, fail(CHECK, f"the API server did not answer ({error})", "ask again")
    seen: Mapping[str, Any] = {}
    try:
        while not _over(seen) and clock() - began < wish.patience:
            await asyncio.sleep(_AGAIN_S)
            seen = await _look(api, f"{spot}/{name}", seen)
        seconds = round(clock() - began, 1)
    finally:
        deleted = await asyncio.shield(asyncio.ensure_future(_delete(api, f"{spot}/{name}", clock)))
    return _told(f"{wish.namespace}/{name}", seen, seconds, deleted=deleted)


def _told(name: str, seen: Mapping[str, Any], seconds: float, *, deleted: bool) -> tuple[Trial, Finding]:
    status = loose.members(seen.get("status"))
    trial = Trial(
        name=name,
        node=loose.text(loose.members(seen.get("spec")).get("nodeName")),
        phase=loose.text(status.get("phase")),
        seconds=seconds,
        devices=_devices(seen),
        deleted=deleted,
    )
    left = "" if deleted else f"; it is still there: kubectl -n {name.replace('/', ' delete pod ')}"
    if trial.phase != "Running":
        why = _why_not(status) or "nobody says why"
        return trial, fail(
            CHECK,
            f"{name} did not run within {seconds:g} s ({trial.phase or 'unseen'}): {cut(why)}{left}",
            "see tangram status, and tangram explain for a pod of the same kind",
        )
    if not trial.devices:
        return trial, fail(
            CHECK,
            f"{name} ran on {trial.node} and nobody wrote down which card it was given{left}",
            "see which scheduler placed it, and the log of gpu-device on that node",
        )
    given = ", ".join(f"{each.card} ({rough_memory_text(each.memory)})" for each in trial.devices)
    return trial, ok(CHECK, f"{name} ran on {trial.node} after {seconds:g} s with {given}{left}")


async def _look(api: Api, path: str, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod now, or what was last seen of it."""
    try:
        return await api.get(path)
    except (ApiError, ApiUnreachable):
        return before


async def _delete(api: Api, path: str, clock: Callable[[], float]) -> bool:
    """Whether it is gone."""
    until = clock() + _GONE_WITHIN_S
    while clock() < until:
        try:
            await api.delete(path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return True
        except ApiUnreachable:
            pass
        await asyncio.sleep(_AGAIN_S)
    return False


def _over(seen: Mapping[str, Any]) -> bool:
    return loose.text(loose.members(seen.get("status")).get("phase")) in ("Running", "Succeeded", "Failed")


def _devices(seen: Mapping[str, Any]) -> list[Device]:
    if not seen:
        return []
    holder = read_tenant(read_pod(seen), None)
    if not isinstance(holder, Tenant):
        return []
    return [
        Device(share.card, share.memory, share.cores, share.kind.name.lower())
        for container in holder.allocation.containers
        for share in container.shares
    ]


def _why_not(status: Mapping[str, object]) -> str:
    """The pod's own words: of the scheduler, of the kubelet, or of its container."""
    said = [loose.text(status.get("message"))]
    for each in loose.elements(status.get("containerStatuses")):
        waiting = loose.members(loose.members(loose.members(each).get("state")).get("waiting"))
        said.append(loose.text(waiting.get("message")) or loose.text(waiting.get("reason")))
    for each in loose.elements(status.get("conditions")):
        condition = loose.members(each)
        if condition.get("status") == "False":
            said.append(loose.text(condition.get("message")))
    return next(filter(None, said), "")
