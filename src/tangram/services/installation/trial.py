"""One tiny pod, placed, seen running and deleted again: the only thing of an installation that nothing else can show.

Whatever happens in between, the pod is deleted. Should even that fail, whoever waits is told how to, and the kubelet of
the node it was placed on ends it after ten minutes.
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
from tangram.services.installation.asking import FORBIDDEN, may
from tangram.services.installation.trial_pods import Limits, trial_pod
from tangram.services.installation.wording import ASK_WITH_MORE, cut
from tangram.units.memory import Bytes, rough_memory_text
from tangram.wire import loose
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

CHECK: Final = "pod"
_AGAIN_S: Final = 0.3
_GONE_WITHIN_S: Final = 30.0
_ELSEWHERE: Final = f"{ASK_WITH_MORE}, or in another -n"


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
    command: tuple[str, ...]
    patience: float


async def try_pod(
    api: Api, wish: Wish, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> tuple[Trial | None, Finding]:
    """Make the pod, wait until it runs, delete it. Never raises for what the cluster does.

    Whoever cancels it waits until the pod is gone, and is told so by `tell`.
    """
    here = wish.namespace
    if await may(api, {"verb": "delete", "resource": "pods", "namespace": here}) is False:
        return None, skip(CHECK, f"you may not delete pods in {here}, so none is made there", _ELSEWHERE)
    name = f"tangram-verify-{secrets.token_hex(3)}"
    path = f"/api/v1/namespaces/{here}/pods/{name}"
    by_hand = f"kubectl -n {here} delete pod {name}"
    try:
        seen, seconds = await _run(api, path, wish, clock)
        deleted = await _delete(api, path, clock)
    except ApiError as error:
        if error.status == FORBIDDEN and "forbidden: User" in error.message:
            return None, skip(CHECK, f"no pod may be made in {here} ({cut(error.message)})", _ELSEWHERE)
        return None, fail(CHECK, f"no pod can be made in {here}: {cut(error.message)}", "try another -n")
    except ApiUnreachable as error:
        await _delete(api, path, clock)
        return None, fail(
            CHECK,
            f"the API server did not answer ({error}), and may make the pod yet",
            f"{by_hand}; ask again",
        )
    except asyncio.CancelledError:
        tell(f"deleting pod {here}/{name}")
        if not await _delete(api, path, clock):
            tell(f"it is still there: {by_hand}")
        raise
    return _told(f"{here}/{name}", seen, seconds, left="" if deleted else f"; it is still there: {by_hand}")


async def _run(
    api: Api, path: str, wish: Wish, clock: Callable[[], float]
) -> tuple[Mapping[str, Any], float]:
    """The pod as it was last seen, and after how many seconds. Raises where it was not made."""
    spot, _, name = path.rpartition("/")
    began = clock()
    making = asyncio.ensure_future(api.create(spot, trial_pod(name, wish.limits, wish.image, wish.command)))
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        # What is on its way would be made after it was deleted.
        await asyncio.wait({making})
        if not making.cancelled():
            making.exception()
        raise
    seen: Mapping[str, Any] = {}
    while not _over(seen) and clock() - began < wish.patience:
        await asyncio.sleep(_AGAIN_S)
        seen = await _look(api, path, seen)
    return seen, round(clock() - began, 1)


def _told(name: str, seen: Mapping[str, Any], seconds: float, *, left: str) -> tuple[Trial, Finding]:
    status = loose.members(seen.get("status"))
    trial = Trial(
        name=name,
        node=loose.text(loose.members(seen.get("spec")).get("nodeName")),
        phase=loose.text(status.get("phase")),
        seconds=seconds,
        devices=_devices(seen),
        deleted=not left,
    )
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
            if not error.may_pass:
                return False
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
        state = loose.members(loose.members(each).get("state"))
        for stage in ("waiting", "terminated"):
            told = loose.members(state.get(stage))
            said.append(loose.text(told.get("message")) or loose.text(told.get("reason")))
    for each in loose.elements(status.get("conditions")):
        condition = loose.members(each)
        if condition.get("status") == "False":
            said.append(loose.text(condition.get("message")))
    return next(filter(None, said), "")
