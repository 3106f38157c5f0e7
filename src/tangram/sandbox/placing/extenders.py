"""Extenders as kube-scheduler calls them: one POST, one JSON answer, and its way of reading both.

Field names of an answer are read in any case and text after the first value is not read. An answer that names no nodes
refuses all of them; a node nobody offered, another status than 200, or no JSON is a failure, which is tried again. The
sentences of failures are those of the original, since they end up in the pod's condition.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.placing.configuration import BadConfiguration, Extender
from tangram.sandbox.placing.hosts import Host
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.victims import Victims
from tangram.wire import loose

_READER: Final = json.JSONDecoder()


class ExtenderFailed(Exception):  # noqa: N818 - says what happened
    """The extender did not answer, or not with what can be used."""


class Filtered(NamedTuple):
    names: tuple[str, ...]
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str]


class Extenders:
    """Use as an async context manager around the calls."""

    def __init__(self, extenders: Sequence[Extender], tls: ssl.SSLContext | None) -> None:
        self.all: Final = tuple(extenders)
        self._contexts = {each.url: _context(each, tls) for each in extenders if each.https}
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._session.close()

    def minding(self, pod: Pod) -> list[Extender]:
        """Those whose business the pod is."""
        return [each for each in self.all if each.minds(pod.resources)]

    async def filter(self, extender: Extender, pod: Pod, hosts: Sequence[Host]) -> Filtered:
        answer = _fields(await self._ask(extender, extender.filter, _offer(extender, pod, hosts)))
        error = _typed(answer, "error", str, "")
        if error:
            raise ExtenderFailed(error)
        names, nodes = _typed(answer, "nodenames", list), _typed(answer, "nodes", dict)
        chosen: tuple[str, ...] = ()
        if extender.cached and names is not None:
            offered = {host.name for host in hosts}
            chosen = tuple(map(str, names))
            for name in chosen:
                if name not in offered:
                    raise ExtenderFailed(
                        f'extender "{extender.url}" claims a filtered node "{name}" which is not found in the '
                        "input node list"
                    )
        elif nodes is not None:
            items = loose.elements(_fields(nodes).get("items"))
            chosen = tuple(
                loose.text(loose.members(loose.members(one).get("metadata")).get("name")) for one in items
            )
        return Filtered(
            chosen,
            loose.text_map(answer.get("failednodes")),
            loose.text_map(answer.get("failedandunresolvablenodes")),
        )

    async def prioritize(self, extender: Extender, pod: Pod, hosts: Sequence[Host]) -> dict[str, int]:
        """A score for hosts, from 0 to 10 if it keeps to the protocol."""
        answer = await self._ask(extender, extender.prioritize, _offer(extender, pod, hosts))
        if answer is not None and not loose.is_list(answer):
            raise ExtenderFailed("json: cannot unmarshal object into Go value of type v1.HostPriorityList")
        scores: dict[str, int] = {}
        for each in map(_fields, loose.elements(answer)):
            host = loose.text(each.get("host"))
            scores[host] = scores.get(host, 0) + (loose.integer(each.get("score")) or 0)
        return scores

    async def preempt(
        self, extender: Extender, pod: Pod, victims: Mapping[str, Victims], hosts: Mapping[str, Host]
    ) -> dict[str, Victims]:
        """The victims it agrees to, its own among them if it names any."""
        told: Object = {
            node: {
                "Pods": [{"UID": each.uid} if extender.cached else each.manifest for each in proposed.pods],
                "NumPDBViolations": proposed.violations,
            }
            for node, proposed in victims.items()
        }
        body: Object = {"Pod": pod.manifest, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        body["NodeNameToMetaVictims" if extender.cached else "NodeNameToVictims"] = told
        answer = _fields(await self._ask(extender, extender.preempt, body))
        agreed: dict[str, Victims] = {}
        for node, written in loose.members(answer.get("nodenametometavictims")).items():
            host = hosts.get(node)
            if host is None:
                raise ExtenderFailed(f'nodeinfo not found for node name "{node}"')
            entry = _fields(written)
            uids = [loose.text(_fields(each).get("uid")) for each in loose.elements(entry.get("pods"))]
            for uid in uids:
                if uid not in host.pods:
                    raise ExtenderFailed(
                        f"extender: {extender.url} claims to preempt pod (UID: &MetaPod{{UID:{uid},}}) on node: "
                        f"{node}, but the pod is not found on that node"
                    )
            violations = loose.integer(entry.get("numpdbviolations")) or 0
            agreed[node] = Victims(tuple(host.pods[uid] for uid in uids), violations)
        return agreed

    async def bind(self, extender: Extender, pod: Pod, node: str) -> None:
        order = {"PodName": pod.key.name, "PodNamespace": pod.key.namespace, "PodUID": pod.uid, "Node": node}
        error = _typed(_fields(await self._ask(extender, extender.bind, order)), "error", str, "")
        if error:
            raise ExtenderFailed(error)

    async def _ask(self, extender: Extender, verb: str, body: object) -> object:
        url = f"{extender.url.rstrip('/')}/{verb}"
        tls, server = self._contexts.get(extender.url, True), extender.tls.server_name if extender.tls else ""
        try:
            async with self._session.post(
                url,
                data=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
                ssl=tls,
                server_hostname=server or None,
                timeout=aiohttp.ClientTimeout(total=extender.limit),
                allow_redirects=False,
            ) as response:
                text = await response.text()
        except TimeoutError:
            raise ExtenderFailed(
                f'Post "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise ExtenderFailed(f'Post "{url}": {_unreached(url, error)}') from None
        except (aiohttp.ClientError, UnicodeDecodeError, OSError) as error:
            raise ExtenderFailed(f'Post "{url}": {error or type(error).__name__}') from None
        if response.status != 200:
            raise ExtenderFailed(f"failed {verb} with extender at URL {url}, code {response.status}")
        return _first_value(text)


def _offer(extender: Extender, pod: Pod, hosts: Sequence[Host]) -> Object:
    names = [host.name for host in hosts] if extender.cached else None
    nodes: Object | None = None if extender.cached else {"metadata": {}}
    if nodes is not None:
        nodes["items"] = [host.encoded() for host in hosts]
    return {"Pod": pod.manifest, "Nodes": nodes, "NodeNames": names}


def _first_value(text: str) -> object:
    start = text.lstrip()
    if not start:
        raise ExtenderFailed("EOF")
    try:
        return _READER.raw_decode(start)[0]
    except (json.JSONDecodeError, RecursionError):
        raise ExtenderFailed(f"invalid character '{start[0]}' looking for beginning of value") from None


def _fields(value: object) -> Mapping[str, object]:
    if value is not None and not loose.is_object(value):
        raise ExtenderFailed(
            f"json: cannot unmarshal {_go_type(value)} into Go value of an extender's answer"
        )
    return {key.casefold(): member for key, member in loose.members(value).items()}


def _typed(answer: Mapping[str, object], name: str, kind: type, otherwise: Any = None) -> Any:  # noqa: ANN401 - JSON
    value = answer.get(name)
    if value is not None and not isinstance(value, kind):
        raise ExtenderFailed(f"json: cannot unmarshal {_go_type(value)} into Go struct field {name}")
    return otherwise if value is None else value


def _go_type(value: object) -> str:
    if isinstance(value, bool | str):
        return "bool" if isinstance(value, bool) else "string"
    return "array" if loose.is_list(value) else "object" if loose.is_object(value) else "number"


def _unreached(url: str, error: aiohttp.ClientConnectorError) -> str:
    where = urlsplit(url).netloc
    if isinstance(error.os_error, ConnectionRefusedError):
        return f"dial tcp {where}: connect: connection refused"
    return f"dial tcp {where}: {error.os_error}"


def _context(extender: Extender, tls: ssl.SSLContext | None) -> ssl.SSLContext:
    if tls is not None:
        return tls
    files = extender.tls
    try:
        context = ssl.create_default_context(cafile=files.ca_file if files and files.ca_file else None)
        # kube-scheduler believes whoever answers when it was given no authority.
        if files is None or files.insecure or not files.ca_file:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if files is not None and files.cert_file:
            context.load_cert_chain(files.cert_file, files.key_file or None)
    except OSError as error:
        raise BadConfiguration(
            f"tlsConfig of the extender {extender.url} names a file that cannot be used ({error}): write caFile, "
            "certFile and keyFile with PEM files that exist"
        ) from None
    return context
