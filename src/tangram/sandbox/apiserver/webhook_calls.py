"""Admission webhooks as the API server calls them: which are asked, what they are told, and what their answer means.

Over TLS, trusting the `caBundle` of their configuration alone. They are found by URL: a Service leads nowhere in a
sandbox, which has no network of its own. `matchConditions` are written in CEL, which is not spoken here: a webhook that
has some is asked about everything its rules and selectors take.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
import uuid
from collections.abc import Iterator, Mapping
from typing import Final

import aiohttp
import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.selecting import labels_test
from tangram.sandbox.apiserver.store import Resource, Spot, Store
from tangram.wire import loose

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = (GROUP, "mutatingwebhookconfigurations")
VALIDATING: Final = (GROUP, "validatingwebhookconfigurations")
NAMESPACES: Final = ("", "namespaces")
UNTOUCHED: Final = frozenset({GROUP, "authentication.k8s.io", "authorization.k8s.io"})
USUAL_LIMIT_S: Final = 10
_OK: Final = 200
_KEPT_BUNDLES: Final = 16

_log = logging.getLogger(__name__)


class Occasion(msgspec.Struct, kw_only=True):
    """One write, on its way in. Mutating webhooks change `thing`."""

    ask: Ask
    operation: str
    thing: Object
    """Empty where something is deleted."""
    old: Object | None
    options: Object = {}
    """What else the request said of itself."""


class WebhookCalls:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None
        self._trust: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def asked_about(self, occasion: Occasion, resource: Resource) -> Iterator[Object]:
        """The webhooks of all configurations of a kind that a write concerns, in their order."""
        for configuration in self._store.all(resource):
            for hook in configuration.get("webhooks") or ():
                if self._concerns(hook, occasion):
                    yield hook

    async def call(self, hook: Object, occasion: Occasion) -> Object:
        """Its answer; nothing where it fails and may be ignored. Raises `Refused`."""
        try:
            answer = await self._send(hook, occasion)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError, msgspec.DecodeError) as error:
            if hook.get("failurePolicy") == "Ignore":
                _log.warning("webhook %s failed and is ignored: %s", hook.get("name"), error)
                return {}
            seconds = hook.get("timeoutSeconds", USUAL_LIMIT_S)
            what = "context deadline exceeded" if isinstance(error, TimeoutError) else f"{error!s:.300}"
            address = _address(hook)
            where = f'Post "{address}?timeout={seconds}s": ' if address else ""
            raise failed(hook, f"failed to call webhook: {where}{what}") from None
        if answer.get("allowed"):
            return answer
        raise _denied(hook, loose.members(answer.get("status")))

    # ---- inside

    def _concerns(self, hook: Object, occasion: Occasion) -> bool:
        target = occasion.ask.target
        if target.kind.group in UNTOUCHED:
            return False
        if not any(_rule_takes(rule, occasion) for rule in hook.get("rules") or ()):
            return False
        if not self._namespace_takes(
            hook.get("namespaceSelector"), target.kind, target.namespace, target.name
        ):
            return False
        takes = labels_test(hook.get("objectSelector"))
        return any(takes(each) for each in (occasion.thing, occasion.old) if each and "metadata" in each)

    def _namespace_takes(self, selector: object, kind: Kind, namespace: str, name: str) -> bool:
        if not selector:
            return True
        if kind.kind == "Namespace" and not kind.group:
            namespace = name
        elif not kind.namespaced:
            return True
        found = self._store.get(Spot(NAMESPACES, "", namespace))
        return labels_test(selector)(found or {"metadata": {}})

    async def _send(self, hook: Object, occasion: Occasion) -> Object:
        address = _address(hook)
        if not address:
            raise ValueError("its Service has no address in this sandbox: give its configuration a url")
        review = _review(occasion)
        seconds = float(hook.get("timeoutSeconds") or USUAL_LIMIT_S)
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        async with (
            asyncio.timeout(seconds),
            self._session.post(
                address,
                params={"timeout": f"{seconds:g}s"},
                data=msgspec.json.encode(review),
                headers={"Content-Type": "application/json"},
                ssl=self._trusting(hook.get("clientConfig", {}).get("caBundle") or ""),
                allow_redirects=False,
            ) as response,
        ):
            body = await response.read()
            if response.status != _OK:
                raise ValueError(
                    f"the server answered {response.status}: {body[:120].decode(errors='replace')}"
                )
        answer = loose.members(loose.members(msgspec.json.decode(body)).get("response"))
        if answer.get("uid") != review["request"]["uid"]:
            raise ValueError("expected response.uid to be that of the request")
        return dict(answer)

    def _trusting(self, bundle: str) -> ssl.SSLContext:
        context = self._trust.get(bundle)
        if context is None:
            if len(self._trust) > _KEPT_BUNDLES:
                self._trust.clear()
            trusted = base64.b64decode(bundle).decode() if bundle else None
            context = self._trust[bundle] = ssl.create_default_context(cadata=trusted)
        return context


def failed(hook: Object, what: str) -> Refused:
    """A webhook that must not be passed over did not answer, or not as it should."""
    text = f'failed calling webhook "{hook.get("name")}": {what}'
    return Refused(500, "InternalError", f"Internal error occurred: {text}", {"causes": [{"message": text}]})


def _address(hook: Object) -> str:
    return loose.text(loose.members(hook.get("clientConfig")).get("url"))


def _rule_takes(rule: Object, occasion: Occasion) -> bool:
    target = occasion.ask.target
    kind, part = target.kind, target.subresource
    name = f"{kind.plural}/{part}" if part else kind.plural
    resources = rule.get("resources") or ()
    named = {name, "*/*", f"{kind.plural}/*", f"*/{part}" if part else "*"}
    return (
        bool(named & set(resources))
        and bool({kind.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool({kind.version, "*"} & set(rule.get("apiVersions") or ()))
        and bool({occasion.operation, "*"} & set(rule.get("operations") or ()))
        and rule.get("scope") in (None, "*", "Namespaced" if kind.namespaced else "Cluster")
    )


def _review(occasion: Occasion) -> Object:
    ask = occasion.ask
    target = ask.target
    kind = target.kind
    part = kind.subresource(target.subresource) if target.subresource else None
    shown_kind = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    if part is not None and part.kind:
        shown_kind = {"group": part.group, "version": part.version, "kind": part.kind}
    resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    name = target.name or occasion.thing.get("metadata", {}).get("name", "")
    request: Object = {
        "uid": str(uuid.uuid4()),
        "kind": shown_kind,
        "resource": resource,
        "requestKind": shown_kind,
        "requestResource": resource,
        **({"subResource": target.subresource, "requestSubResource": target.subresource} if part else {}),
        **({"name": name} if name else {}),
        **({"namespace": target.namespace} if target.namespace else {}),
        "operation": occasion.operation,
        "userInfo": ask.person.written(),
        "object": occasion.thing or None,
        "oldObject": occasion.old,
        "dryRun": ask.dry_run,
        "options": _options(occasion),
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _options(occasion: Occasion) -> Object:
    names = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
    options: Object = {
        "kind": names[occasion.operation],
        "apiVersion": "meta.k8s.io/v1",
        **occasion.options,
    }
    for name in ("fieldManager", "fieldValidation") if occasion.operation != "DELETE" else ():
        if occasion.ask.query.get(name):
            options[name] = occasion.ask.query[name]
    return options


def _denied(hook: Object, status: Mapping[str, object]) -> Refused:
    code = loose.integer(status.get("code")) or 400
    message = loose.text(status.get("message"))
    head = f'admission webhook "{hook.get("name")}" denied the request'
    text = f"{head}: {message}" if message else f"{head} without explanation"
    details = loose.members(status.get("details"))
    return Refused(code, loose.text(status.get("reason")), text, dict(details) or None)
