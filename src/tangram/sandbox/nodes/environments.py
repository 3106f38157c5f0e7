"""A container's variables: written out, taken from the pod and its resources, or from ConfigMaps and Secrets.

Something that is named and not there keeps the container from starting, in the kubelet's words, unless it is optional.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.sandbox.nodes.plans import filled
from tangram.sandbox.nodes.pod_specs import Container, amount, containers_of, namespace_of
from tangram.wire import loose

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_LISTED: Final = {"configMapRef": "configmaps", "secretRef": "secrets"}
_KEY_OF: Final = {"configMapKeyRef": "configmaps", "secretKeyRef": "secrets"}


class NotThere(Exception):  # noqa: N818 - says what is the case
    """Something a variable is taken from is missing, or cannot be read now; the kubelet's sentence."""


async def environment_of(api: Api, pod: Object, container: Container, pod_ip: str) -> dict[str, str]:
    """All variables of a container. Raises `NotThere`."""
    reader = _Reader(api, namespace_of(pod))
    found: dict[str, str] = {}
    for source in map(loose.members, loose.elements(container.spec.get("envFrom"))):
        prefix = loose.text(source.get("prefix"))
        for key, plural in _LISTED.items():
            if key in source:
                values = await reader.read(plural, loose.members(source.get(key)))
                found |= {f"{prefix}{name}": value for name, value in values.items()}
    for entry in map(loose.members, loose.elements(container.spec.get("env"))):
        name = loose.text(entry.get("name"))
        source = loose.members(entry.get("valueFrom"))
        value = (
            await _taken(reader, pod, container, source, pod_ip)
            if source
            else filled(loose.text(entry.get("value")), found)
        )
        if value is not None:
            found[name] = value
    return found


class _Reader:
    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._read: dict[tuple[str, str], dict[str, str] | None] = {}

    async def read(self, plural: str, source: Mapping[str, object]) -> dict[str, str]:
        """The values of a ConfigMap or Secret; none of an optional one that is missing."""
        name = loose.text(source.get("name"))
        if (plural, name) not in self._read:
            self._read[plural, name] = await self._ask(plural, name)
        values = self._read[plural, name]
        if values is None and loose.flag(source.get("optional")) is not True:
            raise NotThere(f'{plural[:-1]} "{name}" not found')
        return values or {}

    async def _ask(self, plural: str, name: str) -> dict[str, str] | None:
        try:
            thing = await self._api.get(f"/api/v1/namespaces/{self._namespace}/{plural}/{name}")
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise NotThere(error.message) from error
        except ApiUnreachable as error:
            raise NotThere(str(error)) from error
        data = loose.text_map(thing.get("data"))
        return data if plural == "configmaps" else {key: _decoded(value) for key, value in data.items()}


async def _taken(
    reader: _Reader, pod: Object, container: Container, source: Mapping[str, object], pod_ip: str
) -> str | None:
    for key, plural in _KEY_OF.items():
        if key in source:
            wanted = loose.members(source.get(key))
            values = await reader.read(plural, wanted)
            name = loose.text(wanted.get("key"))
            if name not in values:
                if loose.flag(wanted.get("optional")) is True:
                    return None
                raise NotThere(
                    f"couldn't find key {name} in {'ConfigMap' if plural == 'configmaps' else 'Secret'} "
                    f"{namespace_of(pod)}/{loose.text(wanted.get('name'))}"
                )
            return values[name]
    if "fieldRef" in source:
        return _field(pod, loose.text(loose.members(source.get("fieldRef")).get("fieldPath")), pod_ip)
    return _resource(pod, container, loose.members(source.get("resourceFieldRef")))


def _field(pod: Object, path: str, pod_ip: str) -> str:
    keyed = _KEYED.fullmatch(path)
    metadata = loose.members(pod.get("metadata"))
    if keyed is not None:
        return loose.text_map(metadata.get(keyed[1])).get(keyed[2], "")
    if path in ("status.podIP", "status.podIPs"):
        return pod_ip
    if path in ("status.hostIP", "status.hostIPs"):
        return "127.0.0.1"
    here: object = pod
    for part in path.split("."):
        here = loose.members(here).get(part)
    return loose.scalar_text(here) or ""


def _resource(pod: Object, container: Container, source: Mapping[str, object]) -> str:
    kind, _, resource = loose.text(source.get("resource")).partition(".")
    named = loose.text(source.get("containerName")) or container.name
    whose = next((each for each in containers_of(pod) if each.name == named), container)
    values = loose.members(loose.members(whose.spec.get("resources")).get(kind))
    divisor = amount(source.get("divisor") or "1", resource) or 1
    if resource == "cpu":
        divisor = amount(source.get("divisor") or "1", "cpu") or 1000
    return str(-(-amount(values.get(resource), resource) // divisor))


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
