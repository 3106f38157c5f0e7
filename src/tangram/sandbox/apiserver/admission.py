"""What stands between a request and the store: namespaces that must exist, what the cluster adds, and webhooks."""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
from typing import Any, Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.patching import apply_json_patch
from tangram.sandbox.apiserver.refusals import Refused, named, not_found, qualified
from tangram.sandbox.apiserver.rules import Rules, admit_node, admit_pod, give_addresses
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.sandbox.apiserver.webhook_calls import (
    MUTATING,
    NAMESPACES,
    VALIDATING,
    Occasion,
    WebhookCalls,
    failed,
)

__all__ = ["Admission", "Occasion", "new_ending"]

ACCOUNTS: Final = ("", "serviceaccounts")
CLASSES: Final = ("scheduling.k8s.io", "priorityclasses")
SERVICES: Final = ("", "services")
FIRST_NODE_PORT: Final = 30000
_NAME_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def new_ending() -> str:
    """Five letters that make a name new, none of which spell anything."""
    return "".join(secrets.choice(_NAME_LETTERS) for _ in range(5))


class Admission:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._webhooks = WebhookCalls(store)

    async def close(self) -> None:
        await self._webhooks.close()

    # ---- stages

    def still_open(self, namespace: str, kind: Kind, name: str = "") -> None:
        """That things may be made there. Raises `Refused`."""
        if not namespace or not kind.namespaced:
            return
        found = self._store.get(Spot(NAMESPACES, "", namespace))
        if found is None:
            raise not_found("", "namespaces", namespace)
        if found["metadata"].get("deletionTimestamp"):
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise _forbidden(
                kind,
                name,
                f"unable to create new content in namespace {namespace} because it is being terminated",
                {"causes": [cause]},
            )

    async def mutate(self, occasion: Occasion, rules: Rules | None) -> list[str]:
        """What the cluster and its mutating webhooks make of an object; their warnings. Raises `Refused`."""
        if occasion.operation == "CREATE":
            self._made(occasion)
        warnings: list[str] = []
        asked = list(self._webhooks.asked_about(occasion, MUTATING))
        again: list[Object] = []
        for number, hook in enumerate(asked):
            before = occasion.thing
            warnings += await self._change(hook, occasion, rules)
            if occasion.thing is not before:
                again = [each for each in asked[:number] if each.get("reinvocationPolicy") == "IfNeeded"]
        for hook in again:
            warnings += await self._change(hook, occasion, rules)
        return warnings

    async def validate(self, occasion: Occasion) -> list[str]:
        """The same for validating webhooks, which are asked all at once."""
        asked = self._webhooks.asked_about(occasion, VALIDATING)
        answers = await asyncio.gather(*(self._webhooks.call(hook, occasion) for hook in asked))
        return [warning for answer in answers for warning in answer.get("warnings") or ()]

    # ---- inside

    async def _change(self, hook: Object, occasion: Occasion, rules: Rules | None) -> list[str]:
        answer = await self._webhooks.call(hook, occasion)
        patch = answer.get("patch")
        if patch:
            try:
                operations: Any = msgspec.json.decode(base64.b64decode(patch))
                occasion.thing = apply_json_patch(occasion.thing, operations)
            except (msgspec.DecodeError, binascii.Error, ValueError) as error:
                raise failed(hook, f"its patch cannot be read ({error!s:.120})") from None
            except Refused as refused:
                raise Refused(500, "InternalError", f"Internal error occurred: {refused}") from None
            if rules is not None and not occasion.ask.target.subresource:
                rules.complete(occasion.thing)
        return list(answer.get("warnings") or ())

    def _made(self, occasion: Occasion) -> None:
        """What the cluster itself gives to new objects."""
        target, thing = occasion.ask.target, occasion.thing
        name = str(thing.get("metadata", {}).get("name") or target.name)
        self.still_open(target.namespace, target.kind, name)
        if target.subresource or target.kind.group:
            return
        match target.kind.kind:
            case "Pod":
                account = self._account(thing, target.kind, target.namespace)
                admit_pod(
                    thing, self._priority_class(thing, target.kind), account=account, suffix=new_ending()
                )
            case "Node":
                admit_node(thing)
            case "Service":
                give_addresses(thing, self._new_address, self._new_port)
            case _:
                pass

    def _account(self, pod: Object, kind: Kind, namespace: str) -> Object:
        name = pod.get("spec", {}).get("serviceAccountName") or "default"
        found = self._store.get(Spot(ACCOUNTS, namespace, name))
        if found is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise _forbidden(kind, pod["metadata"].get("name", ""), why)
        return found

    def _priority_class(self, pod: Object, kind: Kind) -> Object | None:
        name = pod.get("spec", {}).get("priorityClassName")
        if name:
            found = self._store.get(Spot(CLASSES, "", name))
            if found is None:
                why = f"no PriorityClass with name {name} was found"
                raise _forbidden(kind, pod["metadata"].get("name", ""), why)
            return found
        usual = [each for each in self._store.all(CLASSES) if each.get("globalDefault")]
        return min(usual, key=lambda each: int(each.get("value", 0)), default=None)

    def _new_address(self) -> str:
        taken = {each.get("spec", {}).get("clusterIP") for each in self._store.all(SERVICES)}
        numbers = (f"10.96.{high}.{low}" for high in range(256) for low in range(1, 255))
        return next(address for address in numbers if address not in taken)

    def _new_port(self) -> int:
        taken = {
            port.get("nodePort")
            for each in self._store.all(SERVICES)
            for port in each.get("spec", {}).get("ports") or ()
        }
        port = FIRST_NODE_PORT + secrets.randbelow(2000)
        while port in taken:
            port += 1
        return port


def _forbidden(kind: Kind, name: str, why: str, more: Object | None = None) -> Refused:
    message = f'{qualified(kind.group, kind.plural)} "{name}" is forbidden: {why}'
    return Refused(403, "Forbidden", message, named(kind.group, kind.plural, name) | (more or {}))
