"""A small client of the API server for tests: objects are plain dictionaries, waiting is watching.

It is not the client Tangram ships: a test that asked the code under test what is true would prove little. Its
sockets are made inside the box's network, so the test process itself stays outside.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast

import aiohttp

from testbed.box import Box
from testbed.certificates import Authority, Pair
from testbed.controlplane import SERVER

Object = dict[str, Any]
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"

# Kinds the tests write; anything else is reached by its path.
_PLACES: dict[str, tuple[str, bool]] = {
    "Pod": ("pods", True),
    "Node": ("nodes", False),
    "Namespace": ("namespaces", False),
    "ServiceAccount": ("serviceaccounts", True),
    "ConfigMap": ("configmaps", True),
    "Secret": ("secrets", True),
    "Service": ("services", True),
    "Event": ("events", True),
    "Deployment": ("deployments", True),
    "DaemonSet": ("daemonsets", True),
    "Job": ("jobs", True),
    "PriorityClass": ("priorityclasses", False),
    "PodDisruptionBudget": ("poddisruptionbudgets", True),
    "ClusterRole": ("clusterroles", False),
    "ClusterRoleBinding": ("clusterrolebindings", False),
    "CustomResourceDefinition": ("customresourcedefinitions", False),
    "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
    "MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": ("validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": ("validatingadmissionpolicybindings", False),
}


class ApiRefused(Exception):  # noqa: N818 - reads as what happened: `except ApiRefused`
    """The API server said no. `status` is the HTTP code, `reason` Kubernetes' one-word reason."""

    def __init__(self, status: int, answer: Object) -> None:
        super().__init__(f"{status} {answer.get('reason', '')}: {answer.get('message', '')}")
        self.status = status
        self.reason = str(answer.get("reason", ""))
        self.message = str(answer.get("message", ""))
        self.answer = answer


class NotInTime(AssertionError):  # noqa: N818 - the same
    """What was waited for did not come; the last state seen is in the message."""


def path_of(kind: str, name: str = "", *, namespace: str = "default", version: str = "v1") -> str:
    """The address of an object or, without a name, of all of its kind."""
    plural, namespaced = _PLACES[kind]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    middle = f"/namespaces/{namespace}" if namespaced and namespace else ""
    return f"{root}{middle}/{plural}" + (f"/{name}" if name else "")


class Api:
    """One user's connection to the API server."""

    def __init__(
        self, box: Box, authority: Authority, user: Pair | None, *, token: str | None = None
    ) -> None:
        context = ssl.create_default_context(cafile=str(authority.certificate))
        if user is not None:
            context.load_cert_chain(user.certificate, user.key)
        connector = aiohttp.TCPConnector(ssl=context, limit=0, socket_factory=_sockets_in(box))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session = aiohttp.ClientSession(SERVER, connector=connector, headers=headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = "application/json",
        accept: str = "*/*",
        **query: str,
    ) -> Object:
        """One request; bytes go as they are, anything else as JSON. An answer of 400 or above is an ApiRefused."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": content})
        async with self._session.request(method, path, data=data, headers=headers, params=query) as response:
            text = await response.text()
            answer = _parsed(text)
            if response.status >= 400:
                raise ApiRefused(response.status, answer)
            return answer

    async def fetch(self, path: str, accept: str) -> bytes:
        """An answer as it came, in a form other than JSON. One of 400 or above is an ApiRefused."""
        async with self._session.get(path, headers={"Accept": accept}) as response:
            content = await response.read()
            if response.status >= 400:
                raise ApiRefused(response.status, _parsed(content.decode(errors="replace")))
            return content

    async def get(self, path: str, **query: str) -> Object:
        return await self.call("GET", path, **query)

    async def list(self, path: str, **query: str) -> list[Object]:
        return (await self.call("GET", path, **query))["items"]

    async def create(self, thing: Object, **query: str) -> Object:
        namespace = thing["metadata"].get("namespace", "default")
        return await self.call(
            "POST", path_of(thing["kind"], namespace=namespace, version=thing["apiVersion"]), thing, **query
        )

    async def patch(self, path: str, change: object, *, content: str = MERGE_PATCH, **query: str) -> Object:
        return await self.call("PATCH", path, change, content=content, **query)

    async def delete(self, path: str, *, grace: int | None = None) -> Object:
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return await self.call("DELETE", path, options)

    async def exists(self, path: str) -> bool:
        try:
            await self.get(path)
        except ApiRefused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    async def watch(
        self, path: str, *, accept: str = "*/*", **query: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """Events (type, object) of a list, from the given resourceVersion on, until the server ends the watch."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=None)
        async with self._session.get(
            path, params={"watch": "true", **query}, timeout=timeout, headers={"Accept": accept}
        ) as response:
            if response.status >= 400:
                raise ApiRefused(response.status, _parsed(await response.text()))
            unread = b""
            async for chunk in response.content.iter_any():
                *lines, unread = (unread + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield event["type"], event["object"]

    async def until(
        self, path: str, true: Callable[[Object], bool], *, within: float = 60.0, what: str = ""
    ) -> Object:
        """The object at `path` as soon as it is as wanted; {} stands for one that does not exist."""
        last: Object = {}
        folder, _, name = path.rpartition("/")
        try:
            async with asyncio.timeout(within):
                while True:
                    last = await self._now(path)
                    if true(last):
                        return last
                    since = (
                        last.get("metadata", {}).get("resourceVersion")
                        or (await self.get(folder, limit="1"))["metadata"]["resourceVersion"]
                    )
                    async for kind, seen in self.watch(
                        folder, fieldSelector=f"metadata.name={name}", resourceVersion=since
                    ):
                        last = {} if kind == "DELETED" else seen
                        if true(last):
                            return last
        except TimeoutError:
            raise NotInTime(
                f"{what or path} did not happen within {within:g} s; last seen: {_short(last)}"
            ) from None

    async def _now(self, path: str) -> Object:
        try:
            return await self.get(path)
        except ApiRefused as refused:
            if refused.status == 404:
                return {}
            raise


def _sockets_in(box: Box) -> Callable[[object], socket.socket]:
    def make(_address: object) -> socket.socket:
        made = box.make_socket()
        made.settimeout(0)
        return made

    return make


def _parsed(text: str) -> Object:
    try:
        answer = json.loads(text)
    except ValueError:
        return {"message": text}
    return cast("Object", answer) if isinstance(answer, dict) else {"message": text}


def _short(seen: Mapping[str, Any]) -> str:
    return json.dumps(
        {
            "spec.nodeName": seen.get("spec", {}).get("nodeName"),
            "metadata": {
                key: value for key, value in seen.get("metadata", {}).items() if key != "managedFields"
            },
            "status": seen.get("status"),
        }
    )[:4000]
