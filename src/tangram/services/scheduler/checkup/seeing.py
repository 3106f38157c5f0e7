"""The objects of a cluster that the checks look at, read once, side by side.

Lists that may be long are asked for only where they can matter: a ConfigMap with a scheduler's configuration is looked
for in the namespaces where schedulers are known to live, not in all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.probing import server_version
from tangram.services.scheduler.checkup.pods_seen import PodsSeen, look_at_pods
from tangram.wire import loose
from tangram.wire.device_config import CONFIG_MAPS
from tangram.wire.koordinator import definition
from tangram.wire.operator import names as operator

Object = dict[str, Any]

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
SYSTEM: Final = "kube-system"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEVICES: Final = f"/apis/{definition.GROUP}/{definition.VERSION}/{definition.PLURAL}"
OPERATORS: Final = f"/apis/{operator.API_VERSION}/{operator.PLURAL}"
GROUPS_OF_PODS: Final = frozenset({"workloads", "podgroups"})
_UNASKED: Final = "it was not asked for"


class Seen(msgspec.Struct, frozen=True):
    """The objects of one kind; or why they are not known."""

    items: tuple[Object, ...] = ()
    served: bool = True
    """False where the API server has no such kind."""
    unknown: str = ""


class Scene(msgspec.Struct, kw_only=True):
    """The cluster at one moment."""

    server: str
    now: float = 0.0
    """Unix seconds."""
    version: tuple[int, int] | None = None
    unreachable: str = ""
    """Why nothing could be read at all."""
    nodes: Seen = Seen(unknown=_UNASKED)
    mutating: Seen = Seen(unknown=_UNASKED)
    validating: Seen = Seen(unknown=_UNASKED)
    policies: Seen = Seen(unknown=_UNASKED)
    device_classes: Seen = Seen(unknown=_UNASKED)
    groups_of_pods: dict[str, Seen] = {}
    """By `GROUP/VERSION RESOURCE`: what of Kubernetes' own grouping of pods is served."""
    config_maps: Seen = Seen(unknown=_UNASKED)
    schedulers: Seen = Seen(unknown=_UNASKED)
    """Pods and Deployments that may run a kube-scheduler."""
    pods: PodsSeen = PodsSeen(unknown=_UNASKED)
    devices: Seen = Seen(unknown=_UNASKED)
    device_kind: Seen = Seen(unknown=_UNASKED)
    """The definition of Koordinator's `Device`."""
    device_configs: Seen = Seen(unknown=_UNASKED)
    operators: Seen = Seen(unknown=_UNASKED)
    """Objects of the GPU Operator's kind."""


async def look(api: Api, *, patience: float | None = None, now: Callable[[], float] = time.time) -> Scene:
    """Read everything. Never raises for what the API server does or does not say.

    Pods, of which there may be very many, are given up after `patience` seconds; nothing else is then missing.
    """
    scene = Scene(server=api.connection.server, now=now())
    try:
        scene.version = await server_version(api)
    except ApiError as error:
        scene.unreachable = str(error)
    except ApiUnreachable as error:
        scene.unreachable = str(error)
    if scene.unreachable:
        return scene
    scene.nodes, scene.mutating, scene.validating, scene.policies, scene.operators = await asyncio.gather(
        _all(api, "/api/v1/nodes"),
        _all(api, f"{ADMISSION}/mutatingwebhookconfigurations"),
        _all(api, f"{ADMISSION}/validatingwebhookconfigurations"),
        _all(api, f"{ADMISSION}/validatingadmissionpolicies"),
        _all(api, OPERATORS),
    )
    places = _places_of_schedulers(api, scene)
    (
        scene.pods,
        (scene.devices, scene.device_kind, scene.device_configs),
        scene.device_classes,
        scene.groups_of_pods,
        scene.config_maps,
        scene.schedulers,
    ) = await asyncio.gather(
        look_at_pods(api, patience),
        _about_devices(api),
        _device_classes(api),
        _groups_of_pods(api),
        _joined(_all(api, f"/api/v1/namespaces/{place}/configmaps") for place in places),
        _joined(
            [
                _all(api, f"/api/v1/namespaces/{SYSTEM}/pods", labelSelector="component=kube-scheduler"),
                *(_all(api, f"/apis/apps/v1/namespaces/{place}/deployments") for place in places),
            ]
        ),
    )
    return scene


async def _about_devices(api: Api) -> tuple[Seen, Seen, Seen]:
    """The Devices, the definition of their kind, and the ConfigMaps of card modes, in whatever namespace."""
    return await asyncio.gather(
        _all(api, DEVICES),
        _one(api, f"{DEFINITIONS}/{definition.NAME}"),
        _joined(
            _all(api, "/api/v1/configmaps", fieldSelector=f"metadata.name={name}") for name in CONFIG_MAPS
        ),
    )


async def _all(api: Api, path: str, **query: str) -> Seen:
    return await _asked(lambda: api.list_all(path, query))


async def _one(api: Api, path: str) -> Seen:
    async def ask() -> list[Object]:
        return [await api.get(path)]

    return await _asked(ask)


async def _asked(ask: Callable[[], Awaitable[list[Object]]]) -> Seen:
    try:
        return Seen(tuple(await ask()))
    except ApiError as error:
        if error.status == NOT_FOUND:
            return Seen(served=False)
        return Seen(unknown=error.message or str(error))
    except ApiUnreachable as error:
        return Seen(unknown=str(error))


async def _joined(asked: Iterable[Awaitable[Seen]]) -> Seen:
    """Several lists as one; what is not known of one of them is not known of the whole."""
    found = await asyncio.gather(*asked)
    return Seen(
        tuple(item for seen in found for item in seen.items),
        unknown=next((seen.unknown for seen in found if seen.unknown), ""),
    )


async def _versions(api: Api, group: str) -> list[str]:
    """The versions of a group that are served, the preferred one first."""
    answer = await api.get(f"/apis/{group}")
    preferred = loose.text(loose.members(answer.get("preferredVersion")).get("groupVersion"))
    every = [
        loose.text(loose.members(each).get("groupVersion")) for each in loose.elements(answer.get("versions"))
    ]
    return list(dict.fromkeys(filter(None, [preferred, *every])))


async def _device_classes(api: Api) -> Seen:
    async def ask() -> list[Object]:
        versions = await _versions(api, "resource.k8s.io")
        return await api.list_all(f"/apis/{versions[0]}/deviceclasses", {}) if versions else []

    return await _asked(ask)


async def _groups_of_pods(api: Api) -> dict[str, Seen]:
    found: dict[str, Seen] = {}

    async def ask() -> list[Object]:
        for version in await _versions(api, "scheduling.k8s.io"):
            answer = await api.get(f"/apis/{version}")
            served = {
                loose.text(loose.members(each).get("name"))
                for each in loose.elements(answer.get("resources"))
            }
            for resource in sorted(served & GROUPS_OF_PODS):
                found[f"{version} {resource}"] = await _all(api, f"/apis/{version}/{resource}")
        return []

    refused = await _asked(ask)
    return found | ({"scheduling.k8s.io": refused} if refused.unknown else {})


def _places_of_schedulers(api: Api, scene: Scene) -> list[str]:
    """The system's namespace, ours, and wherever a webhook about pods is served from."""
    places = {SYSTEM: None, api.connection.namespace: None}
    for configuration in (*scene.mutating.items, *scene.validating.items):
        for hook in loose.elements(configuration.get("webhooks")):
            service: Mapping[str, object] = loose.members(
                loose.members(loose.members(hook).get("clientConfig")).get("service")
            )
            namespace = loose.text(service.get("namespace"))
            if namespace:
                places[namespace] = None
    return list(places)
