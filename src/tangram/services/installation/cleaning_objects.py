"""Objects that the services made themselves, so that no chart knows of them: Devices, a Secret, ConfigMap and Lease.

A Device, Secret or ConfigMap goes only if ours are the only hands in it, and only the very object that was looked at.
The Lease is written by the kube-scheduler beside ours under its usual name, so it goes by its own.

The kind of the operator's object is made by helm and left by helm. It goes if it is the one of ours and no object of it
is left: with a kind go all its objects, and somebody else's operator may have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.services.installation.asking import got, listed
from tangram.services.installation.cleaning_keys import WRITERS
from tangram.services.installation.cleaning_reading import named
from tangram.services.installation.created import NAME
from tangram.services.installation.wording import cut
from tangram.services.installation.workloads import DEVICE, OPERATOR, SCHEDULER
from tangram.wire import loose
from tangram.wire.koordinator.definition import GROUP, PLURAL, VERSION
from tangram.wire.managed_fields import managers_of
from tangram.wire.operator import definition, names

Object = dict[str, Any]

DEVICES: Final = f"/apis/{GROUP}/{VERSION}/{PLURAL}"
SECRET: Final = f"{NAME}-tls"
LEASE: Final = NAME
OPERATORS: Final = f"/apis/{names.API_VERSION}/{names.PLURAL}"
OPERATOR_LEASE: Final = "metax-operator"
_KINDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Removed(msgspec.Struct, kw_only=True):
    """What became of the objects of one kind."""

    names: list[str] = []
    kept: dict[str, str] = {}
    """Objects that look like ours, and who else wrote them."""
    problems: list[str] = []
    served: bool = False
    """Whether the cluster knows the kind."""


class _Found(msgspec.Struct, frozen=True):
    """An object that may have to go."""

    path: str
    spoken: str
    thing: Object = {}
    field: str = ""
    """Whoever wrote this of it is an owner."""


async def remove_devices(
    api: Api, nodes: Collection[str] | None, ours: Callable[[str], bool], *, dry: bool
) -> Removed:
    """The Devices we describe nodes by; `ours` says whether nobody of ours keeps that of a node any more."""
    done = Removed()
    for query in named(nodes):
        told = await listed(api, DEVICES, query)
        if told.absent:
            return done
        if not told.known:
            done.problems.append(f"Devices: {cut(told.message)}")
            return done
        done.served = True
        for device in told.items:
            name = loose.text(loose.members(device.get("metadata")).get("name"))
            if ours(name):
                found = _Found(f"{DEVICES}/{name}", f"Device {name}", device, "spec")
                await _remove(api, found, DEVICE, done, dry=dry)
    return done


async def remove_certificates(api: Api, namespace: str, *, dry: bool) -> Removed:
    """The Secret in which the scheduler keeps its own certificates."""
    done, path = Removed(), f"/api/v1/namespaces/{namespace}/secrets/{SECRET}"
    spoken = f"Secret {namespace}/{SECRET}"
    told = await got(api, path)
    if not told.known:
        done.problems.append(f"{spoken}: {cut(told.message)}")
    elif told.first is not None:
        await _remove(api, _Found(path, spoken, told.first, "data"), SCHEDULER, done, dry=dry)
    return done


async def remove_lease(api: Api, namespace: str, name: str = LEASE, *, dry: bool) -> Removed:
    """The Lease of the kube-scheduler beside ours, or of the operator."""
    done, path = Removed(), f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    await _delete(api, _Found(path, f"Lease {namespace}/{name}"), {}, done, dry=dry)
    return done


async def remove_of_operator(api: Api, namespace: str, *, dry: bool) -> Removed:
    """What the operator makes once and leaves to people, or could not take away itself."""
    done = Removed()
    config = f"/api/v1/namespaces/{namespace}/configmaps/{names.DRIVER_CONFIG}"
    runtime = f"/apis/node.k8s.io/v1/runtimeclasses/{names.RUNTIME_CLASS}"
    for path, spoken, field in (
        (config, f"ConfigMap {namespace}/{names.DRIVER_CONFIG}", "data"),
        (runtime, f"RuntimeClass {names.RUNTIME_CLASS}", "handler"),
    ):
        told = await got(api, path)
        if not told.known:
            done.problems.append(f"{spoken}: {cut(told.message)}")
        elif told.first is not None:
            found = _Found(path, spoken, told.first, field)
            await _remove(api, found, OPERATOR, done, dry=dry)
            others = managers_of(told.first, field) - {WRITERS[OPERATOR]}
            if others and WRITERS[OPERATOR] in managers_of(told.first, "metadata"):
                # Made by us, and edited since: what people wrote is theirs.
                done.kept[spoken] = " and ".join(sorted(others))
    return done


async def remove_kind(api: Api, *, dry: bool) -> Removed:
    """The kind of the operator's object, once nothing is of it."""
    done, path, spoken = Removed(), f"{_KINDS}/{definition.NAME}", f"the kind {definition.NAME}"
    told = await got(api, path)
    if not told.known:
        done.problems.append(f"{spoken}: {cut(told.message)}")
    if told.first is None:
        return done
    metadata = loose.members(told.first.get("metadata"))
    wanted = loose.text_map(definition.operator_definition()["metadata"]["labels"])
    labels = loose.text_map(metadata.get("labels"))
    left = await listed(api, OPERATORS)
    if not left.known and not left.absent:
        done.problems.append(f"{spoken}: {cut(left.message)}")
    elif any(labels.get(key) != value for key, value in wanted.items()):
        done.kept[spoken] = "somebody else"
    elif left.items:
        held = sorted(loose.text(loose.members(each.get("metadata")).get("name")) for each in left.items)
        done.problems.append(
            f"{spoken}: {', '.join(held)} of it is still there; kubectl delete {names.PLURAL} {held[0]}, and ask again"
        )
    else:
        seen = {key: loose.text(metadata.get(key)) for key in ("uid", "resourceVersion")}
        await _delete(api, _Found(path, spoken), seen, done, dry=dry)
    return done


async def _remove(api: Api, found: _Found, role: str, done: Removed, *, dry: bool) -> None:
    managers, ours = managers_of(found.thing, found.field), WRITERS[role]
    if ours not in managers:
        return
    if len(managers) > 1:
        done.kept[found.spoken] = " and ".join(sorted(managers - {ours}))
        return
    metadata = loose.members(found.thing.get("metadata"))
    seen = {key: loose.text(metadata.get(key)) for key in ("uid", "resourceVersion")}
    await _delete(api, found, seen, done, dry=dry)


async def _delete(api: Api, found: _Found, seen: Object, done: Removed, *, dry: bool) -> None:
    options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
    options |= {"preconditions": seen} if seen else {}
    options |= {"dryRun": ["All"]} if dry else {}
    try:
        await api.delete(found.path, options)
    except ApiError as error:
        if error.status == NOT_FOUND:
            return
        changed = error.status == CONFLICT
        done.problems.append(
            f"{found.spoken}: somebody changed it meanwhile; ask again"
            if changed
            else f"{found.spoken}: {cut(str(error))}"
        )
    except ApiUnreachable as error:
        done.problems.append(f"{found.spoken}: {cut(str(error))}")
    else:
        done.names.append(found.spoken)
