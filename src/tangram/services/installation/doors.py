"""The scheduler asked from outside: by the API server's proxy where it stands behind a Service, else by its address.

The proxy takes the caller's token off, so explain and metrics answer that they would like to know who asks; that is an
answer, and all that is wanted here.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.services.installation.asking import got, side_by_side
from tangram.services.installation.standing import Door, Page
from tangram.services.installation.workloads import PROGRAM
from tangram.wire import loose

READY, EXPLAIN, METRICS = "/readyz", "/explain", "/metrics"
_ASKED: Final = {READY: READY, EXPLAIN: f"{EXPLAIN}?namespace=default&pod=tangram-verify", METRICS: METRICS}
"""Who asks is looked at after what is asked, so there is a question."""
LIMIT_S: Final = 5.0
_HTTPS: Final = 443
_BY_NAME: Final = "ExternalName"


def own_hooks(configurations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, object]]:
    """The entries of Tangram's webhook configurations."""
    found: list[Mapping[str, object]] = []
    for configuration in configurations:
        name = loose.text(loose.members(configuration.get("metadata")).get("name"))
        for each in loose.elements(configuration.get("webhooks")):
            hook = loose.members(each)
            if PROGRAM in name or PROGRAM in loose.text(hook.get("name")):
                found.append(hook)
    return found


async def ask_doors(api: Api, hooks: Iterable[Mapping[str, object]]) -> tuple[Door, ...]:
    """Every place where the API server would ask, each once."""
    found: dict[str, Door] = {}
    for hook in hooks:
        client = loose.members(hook.get("clientConfig"))
        service = loose.members(client.get("service"))
        url = loose.text(client.get("url"))
        if service:
            namespace, name = loose.text(service.get("namespace")), loose.text(service.get("name"))
            port = loose.integer(service.get("port")) or _HTTPS
            where = f"Service {namespace}/{name}"
            if where not in found:
                found[where] = await _by_service(api, where, namespace, f"{name}:{port}")
        elif url:
            where = _address(url)
            if not where:
                found[url] = Door(f"{url!r:.60}", closed="it is no https address")
            elif where not in found:
                found[where] = await _by_address(where, loose.text(client.get("caBundle")))
    return tuple(found.values())


def _address(url: str) -> str:
    """Scheme, host and port, without a password that somebody wrote into it; nothing where it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme != "https" or not host:
        return ""
    return f"https://{f'[{host}]' if ':' in host else host}:{port or _HTTPS}"


def home_of(hooks: Iterable[Mapping[str, object]]) -> str | None:
    """The namespace of the first Service that a webhook names."""
    for hook in hooks:
        namespace = loose.text(
            loose.members(loose.members(hook.get("clientConfig")).get("service")).get("namespace")
        )
        if namespace:
            return namespace
    return None


async def _by_service(api: Api, where: str, namespace: str, name_and_port: str) -> Door:
    spot = f"/api/v1/namespaces/{namespace}/services"
    seen = await got(api, f"{spot}/{name_and_port.partition(':')[0]}")
    if seen.first is not None and loose.members(seen.first.get("spec")).get("type") == _BY_NAME:
        return Door(where, closed="it leads elsewhere by a name, where the API server proxies nobody")
    proxy = f"{spot}/https:{name_and_port}/proxy"
    return Door(where, await _pages(api, proxy))


async def _by_address(where: str, bundle: str) -> Door:
    try:
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode("ascii") or None)
    except (ssl.SSLError, binascii.Error, ValueError):
        return Door(where, {READY: Page(0, "certificate verify failed: its caBundle holds no certificate")})
    async with Api(Connection(where, context), limit=LIMIT_S) as api:
        return Door(where, await _pages(api, ""))


async def _pages(api: Api, before: str) -> dict[str, Page]:
    return await side_by_side({path: page(api, f"{before}{asked}") for path, asked in _ASKED.items()})


async def page(api: Api, path: str) -> Page:
    """What a path answers, refusals included."""
    try:
        return Page(200, await api.text(path, limit=LIMIT_S))
    except ApiError as error:
        return Page(error.status, " ".join(error.message.split()))
    except ApiUnreachable as error:
        return Page(0, str(error))
