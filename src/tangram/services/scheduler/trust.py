"""Makes our authorities known to the API servers: the caBundle of our own webhooks.

Of a configuration only the caBundle of entries that point to us is changed, on condition that nobody changed the rest
meanwhile. An authority of ours that somebody else wrote down stays until it expires: another replica may still show
its certificate.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from cryptography import x509

from tangram.daemon.certificates import bundle, certificates_in
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError
from tangram.services.scheduler.generations import Pace, is_ours, is_over
from tangram.wire import loose

Object = dict[str, Any]
KINDS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
TRIES: Final = 5


class Objects(Protocol):
    """What is needed of an API server. Raises `ApiError` and `ApiUnreachable`."""

    async def get(self, path: str) -> Object: ...

    async def create(self, path: str, body: object) -> Object: ...

    async def merge(self, path: str, change: object) -> Object: ...


def configuration_path(kind: str, name: str = "") -> str:
    """Where webhooks are registered."""
    return f"/apis/admissionregistration.k8s.io/v1/{kind}" + (f"/{name}" if name else "")


class Trust(NamedTuple):
    """Which webhooks, and whom they are to trust."""

    names: Sequence[str]
    """What our certificates are for; a webhook that calls one of these is ours."""
    authorities: Sequence[x509.Certificate]
    now: dt.datetime
    pace: Pace


async def make_known(api: Objects, configuration: str, trust: Trust) -> None:
    """Return once our webhooks in the two configurations of that name trust all of these.

    A configuration that does not exist needs nothing. Raises `ApiError` and `ApiUnreachable`.
    """
    for kind in KINDS:
        path = configuration_path(kind, configuration)
        for tries_left in reversed(range(TRIES)):
            try:
                changed = with_authorities(await api.get(path), trust)
                if changed is not None:
                    await api.merge(path, changed)
                break
            except ApiError as error:
                if error.status == NOT_FOUND:
                    break
                if error.status != CONFLICT or not tries_left:
                    raise


def with_authorities(configuration: Object, trust: Trust) -> Object | None:
    """The change that makes our webhooks trust these authorities; nothing where they already do."""
    webhooks: list[Object] = []
    differs = False
    for written in loose.elements(configuration.get("webhooks")):
        webhook = dict(loose.members(written))
        client = loose.members(webhook.get("clientConfig"))
        if _is_ours(client, trust.names):
            present = _decoded(client.get("caBundle"))
            wanted = _joined(present, trust)
            if wanted != present:
                differs = True
                webhook["clientConfig"] = {**client, "caBundle": base64.b64encode(wanted).decode("ascii")}
        webhooks.append(webhook)
    if not differs:
        return None
    version = loose.text(loose.members(configuration.get("metadata")).get("resourceVersion"))
    return {"metadata": {"resourceVersion": version}, "webhooks": webhooks}


def _joined(present: bytes, trust: Trust) -> bytes:
    stay = [
        one for one in certificates_in(present) if is_ours(one) and not is_over(one, trust.now, trust.pace)
    ]
    known = {*stay, *trust.authorities}
    return bundle(sorted(known, key=lambda one: (one.not_valid_before_utc, one.serial_number)))


def _is_ours(client: Mapping[str, object], names: Sequence[str]) -> bool:
    """Whether a webhook's address is one that our certificate is for."""
    url = loose.text(client.get("url"))
    if url:
        try:
            return urllib.parse.urlsplit(url).hostname in names
        except ValueError:
            return False
    service = loose.members(client.get("service"))
    return f"{loose.text(service.get('name'))}.{loose.text(service.get('namespace'))}.svc" in names


def _decoded(written: object) -> bytes:
    try:
        return base64.b64decode(loose.text(written), validate=True)
    except (binascii.Error, ValueError):
        return b""
