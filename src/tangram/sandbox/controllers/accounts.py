"""What every namespace has from its first moment: an account named `default` and the authority's certificate."""

from __future__ import annotations

from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.informer import unsigned
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import metadata_only
from tangram.sandbox.controllers.hands import Hands, namespace_ends
from tangram.sandbox.controllers.reading import is_going, key_of, part
from tangram.sandbox.controllers.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from tangram.sandbox.controllers.work import WorkQueue

ACCOUNT: Final = "default"
CERTIFICATE: Final = "kube-root-ca.crt"
FILE: Final = "ca.crt"


def content_of_certificates(thing: Object) -> Object:
    """Of ConfigMaps, the content of those we keep right, and the names of all."""
    return unsigned(thing) if thing["metadata"]["name"] == CERTIFICATE else metadata_only(thing)


class Accounts:
    def __init__(self, hands: Hands, authority_pem: str) -> None:
        self._hands = hands
        self._authority = authority_pem
        self._namespaces = hands.copies.of(NAMESPACES)
        self._accounts = hands.copies.of(SERVICE_ACCOUNTS)
        self._maps = hands.copies.of(CONFIG_MAPS, content_of_certificates)
        self.queue: Final = WorkQueue[str]("accounts of namespaces", self.look)
        self._namespaces.listeners.append(self._namespace_changed)
        self._accounts.listeners.append(lambda before, after: self._changed(ACCOUNT, before, after))
        self._maps.listeners.append(lambda before, after: self._changed(CERTIFICATE, before, after))

    def _namespace_changed(self, before: Object | None, after: Object | None) -> None:
        if after is not None and before is None:
            self.queue.add(key_of(after).name)
        elif after is None and before is not None:
            self.queue.forget(key_of(before).name)

    def _changed(self, name: str, before: Object | None, after: Object | None) -> None:
        seen = before if after is None else after
        if before is not None and seen is not None and seen["metadata"]["name"] == name:
            self.queue.add(key_of(seen).namespace)

    async def look(self, name: str) -> None:
        namespace = self._namespaces.get(Key("", name))
        if namespace is None or is_going(namespace):
            return
        for make in (self._account, self._certificate):
            try:
                await make(name)
            except ApiError as error:
                # Somebody was faster, or the namespace is going: both are fine, and no reason to leave out the rest.
                if error.status != CONFLICT and not namespace_ends(error):
                    raise

    async def _account(self, namespace: str) -> None:
        if self._accounts.get(Key(namespace, ACCOUNT)) is None:
            body: Object = {"metadata": {"name": ACCOUNT, "namespace": namespace}}
            await self._hands.create(self._accounts, body, namespace)

    async def _certificate(self, namespace: str) -> None:
        there = self._maps.get(Key(namespace, CERTIFICATE))
        data = {FILE: self._authority}
        if there is None:
            about = "The authority by which programs inside the cluster recognise its API server."
            metadata: Object = {
                "name": CERTIFICATE,
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": about},
            }
            await self._hands.create(self._maps, {"metadata": metadata, "data": data}, namespace)
        elif not is_going(there) and part(there, "data") != data:
            await self._hands.replace(self._maps, {**there, "data": data})
