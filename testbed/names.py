"""Names of Services in a box: as much of a cluster's DNS as programs need that find each other by it.

It answers from the API server, one question in one packet, for `NAME.NAMESPACE.svc.cluster.local`; everything else does
not exist. Kubelets have to be told where it is: `Options(kubelet=NAMED)`.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from testbed.api import Api, ApiRefused, path_of
from testbed.cluster import Cluster
from testbed.rooms import CONTROL_ADDRESS

NAMED = {"clusterDNS": [CONTROL_ADDRESS]}
PORT = 53
_HEADER = struct.Struct("!6H")
_AT_ONCE = 0x8580
"""An answer, authoritative, as far as the asker wanted recursion."""
_NO_SUCH_NAME = 3
_ADDRESS, _INTERNET = 1, 1
_LIFE_S = 5
_POINTER = 0xC00C
"""To the name in the question."""


@asynccontextmanager
async def names(cluster: Cluster) -> AsyncGenerator[None]:
    """Names are answered as long as the block lasts."""
    listening = cluster.box.make_socket(kind=socket.SOCK_DGRAM)
    listening.settimeout(0)
    listening.bind((CONTROL_ADDRESS, PORT))
    answering = asyncio.create_task(_answer_all(listening, cluster.api), name="names of Services")
    try:
        yield
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        listening.close()


async def _answer_all(listening: socket.socket, api: Api) -> None:
    loop = asyncio.get_running_loop()
    while True:
        packet, asker = await loop.sock_recvfrom(listening, 512)
        await loop.sock_sendto(listening, await _answer(packet, api), asker)


async def _answer(packet: bytes, api: Api) -> bytes:
    number, *_rest = _HEADER.unpack_from(packet)
    name, end = _name(packet)
    kind, _class = struct.unpack_from("!2H", packet, end)
    address = await _address(name, api)
    question = packet[_HEADER.size : end + 4]
    flags = _AT_ONCE | (0 if address else _NO_SUCH_NAME)
    if not address or kind != _ADDRESS:
        return _HEADER.pack(number, flags, 1, 0, 0, 0) + question
    record = struct.pack("!3HIH4s", _POINTER, _ADDRESS, _INTERNET, _LIFE_S, 4, socket.inet_aton(address))
    return _HEADER.pack(number, flags, 1, 1, 0, 0) + question + record


def _name(packet: bytes) -> tuple[str, int]:
    """The name that is asked for, and where it ends."""
    at, labels = _HEADER.size, list[str]()
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    return ".".join(labels).lower(), at + 1


async def _address(name: str, api: Api) -> str:
    match name.split("."):
        case [service, namespace, "svc", "cluster", "local"]:
            pass
        case _:
            return ""
    try:
        found = await api.get(path_of("Service", service, namespace=namespace))
    except ApiRefused:
        return ""
    return str(found["spec"].get("clusterIP", ""))
