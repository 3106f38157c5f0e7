"""What stands between a request and the store: namespaces that must exist, defaults of the cluster, and webhooks.

Webhooks are called as the API server calls them: over TLS, trusting the `caBundle` of their configuration alone. They
are found by URL: a Service leads nowhere in a sandbox, which has no network of its own. `matchConditions` are written
in CEL, which is not spoken here: a webhook that has some is asked about everything its rules and selectors take.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import ssl
import uuid
from collections.abc import Iterator
from typing import Any, Final

import aiohttp
import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.patching import apply_json_patch
from tangram.sandbox.apiserver.refusals import Refused, not_found
from tangram.sandbox.apiserver.rules import Rules, admit_pod
from tangram.sandbox.apiserver.selecting import labels_test
from tangram.sandbox.apiserver.store import Spot, Store, fresh
from tangram.wire import loose

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = (GROUP, "mutatingwebhookconfigurations")
VALIDATING: Final = (GROUP, "validatingwebhookconfigurations")
NAMESPACES: Final = ("", "namespaces")
UNTOUCHED: Final = frozenset({GROUP, "authentication.k8s.io", "authorization.k8s.io"})

_log = logging.getLogger(__name__)


class Occasion(msgspec.Struct, kw_only=True):
    """One write, on its way in. Webhooks change `thing`."""

    ask: Ask
    operation: str
    thing: Object
    """Empty where something is deleted."""
    old: Object | None


class Admission:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None
        self._trust: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # ---- stages

    def still_open(self, namespace: str, kind: Kind) -> None:
        """That things may be made there. Raises `Refused`."""
        if not namespace or not kind.namespaced:
            return
        found = self._store.get(Spot(NAMESPACES, "", namespace))
        if found is None:
            raise not_found("", "namespaces", namespace)
        if found["metadata"].get("deletionTimestamp"):
            raise Refused(
                403,
                "Forbidden",
                f"unable to create new content in namespace {namespace} because it is being terminated",
                {"causes": [{"reason": "NamespaceTerminating",
                             "message": f"namespace {namespace} is being terminated", "field": "metadata.namespace"}]},
            )  # fmt: skip

    async def mutate(self, occasion: Occasion, rules: Rules) -> list[str]:
        """What the cluster and its mutating webhooks make of an object; their warnings. Raises `Refused`."""
        target = occasion.ask.target
        if occasion.operation == "CREATE":
            self.still_open(target.namespace, target.kind)
            if target.kind.kind == "Pod" and not target.subresource:
                admit_pod(occasion.thing, self._priority_class(occasion.thing))
        warnings: list[str] = []
        asked = [each for each in self._webhooks(MUTATING) if self._concerns(each, occasion)]
        again: list[Object] = []
        for hook in asked:
            before = occasion.thing
            warnings += await self._call_mutating(hook, occasion, rules)
            if occasion.thing is not before:
                again = [
                    each
                    for each in asked[: asked.index(hook)]
                    if each.get("reinvocationPolicy") == "IfNeeded"
                ]
        for hook in again:
            warnings += await self._call_mutating(hook, occasion, rules)
        return warnings

    async def validate(self, occasion: Occasion) -> list[str]:
        """The same for validating webhooks, which are asked all at once."""
        asked = [each for each in self._webhooks(VALIDATING) if self._concerns(each, occasion)]
        if not asked:
            return []
        answers = await asyncio.gather(*(self._call(hook, occasion) for hook in asked))
        return [warning for answer in answers for warning in answer.get("warnings") or ()]

    # ---- inside

    def _priority_class(self, pod: Object) -> Object | None:
        name = pod.get("spec", {}).get("priorityClassName")
        classes = ("scheduling.k8s.io", "priorityclasses")
        if name:
            found = self._store.get(Spot(classes, "", name))
            if found is None:
                own = pod["metadata"].get("name", "")
                raise Refused(
                    403, "Forbidden",
                    f'pods "{own}" is forbidden: no PriorityClass with name {name} was found',
                    {"name": own, "kind": "pods"},
                )  # fmt: skip
            return found
        usual = [each for each in self._store.all(classes) if each.get("globalDefault")]
        return max(usual, key=lambda each: -int(each.get("value", 0)), default=None)

    def _webhooks(self, resource: tuple[str, str]) -> Iterator[Object]:
        for configuration in self._store.all(resource):
            yield from configuration.get("webhooks") or ()

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

    async def _call_mutating(self, hook: Object, occasion: Occasion, rules: Rules) -> list[str]:
        answer = await self._call(hook, occasion)
        patch = answer.get("patch")
        if patch:
            try:
                operations: Any = msgspec.json.decode(base64.b64decode(patch))
                occasion.thing = apply_json_patch(fresh(occasion.thing), operations)
            except (msgspec.DecodeError, binascii.Error, ValueError) as error:
                raise _internal(hook, f"its patch cannot be read ({error!s:.120})") from None
            if not occasion.ask.target.subresource:
                rules.complete(occasion.thing)
        return list(answer.get("warnings") or ())

    async def _call(self, hook: Object, occasion: Occasion) -> Object:
        """The webhook's answer; nothing where it fails and may be ignored. Raises `Refused`."""
        try:
            answer = await self._send(hook, occasion)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError, msgspec.DecodeError) as error:
            if hook.get("failurePolicy") == "Ignore":
                _log.warning("webhook %s failed and is ignored: %s", hook.get("name"), error)
                return {}
            seconds = hook.get("timeoutSeconds", 10)
            what = "context deadline exceeded" if isinstance(error, TimeoutError) else f"{error!s:.300}"
            where = f'Post "{self._address(hook)}?timeout={seconds}s": ' if self._address(hook) else ""
            raise _internal(hook, f"failed to call webhook: {where}{what}") from None
        if answer.get("allowed"):
            return answer
        raise _denied(hook, loose.members(answer.get("status")))

    async def _send(self, hook: Object, occasion: Occasion) -> Object:
        address = self._address(hook)
        if not address:
            raise ValueError("its Service has no address in this sandbox: give its configuration a url")
        review = _review(occasion)
        seconds = float(hook.get("timeoutSeconds") or 10)
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
            if response.status != 200:
                raise ValueError(
                    f"the server answered {response.status}: {body[:120].decode(errors='replace')}"
                )
        answer = loose.members(loose.members(msgspec.json.decode(body)).get("response"))
        if answer.get("uid") != review["request"]["uid"]:
            raise ValueError("expected response.uid to be that of the request")
        return dict(answer)

    def _address(self, hook: Object) -> str:
        return loose.text(loose.members(hook.get("clientConfig")).get("url"))

    def _trusting(self, bundle: str) -> ssl.SSLContext:
        context = self._trust.get(bundle)
        if context is None:
            if len(self._trust) > 16:
                self._trust.clear()
            context = (
                ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
                if bundle
                else ssl.create_default_context()
            )
            self._trust[bundle] = context
        return context


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
    patched = occasion.ask.method == "PATCH" and occasion.operation == "UPDATE"
    options: Object = {
        "kind": "PatchOptions" if patched else names[occasion.operation],
        "apiVersion": "meta.k8s.io/v1",
    }
    if occasion.operation != "DELETE":
        options["fieldManager"] = occasion.ask.manager
    return options


def _internal(hook: Object, what: str) -> Refused:
    message = f'Internal error occurred: failed calling webhook "{hook.get("name")}": {what}'
    return Refused(
        500,
        "InternalError",
        message,
        {"causes": [{"message": message.removeprefix("Internal error occurred: ")}]},
    )


def _denied(hook: Object, status: Any) -> Refused:  # noqa: ANN401 - what a webhook sends
    code = loose.integer(status.get("code")) or 400
    message = loose.text(status.get("message"))
    head = f'admission webhook "{hook.get("name")}" denied the request'
    text = f"{head}: {message}" if message else f"{head} without explanation"
    details = loose.members(status.get("details"))
    return Refused(code, loose.text(status.get("reason")), text, dict(details) or None)
