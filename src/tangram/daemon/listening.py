"""Sockets at an address that people wrote.

No host at all, as in `:9443`, is every address of the machine in both families: a pod has those of its cluster, and a
kubelet that asks at the one we forgot finds nobody. A family that the machine lacks is left out. One in which the port
is taken is not: who asks there would reach somebody else.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import Final, NamedTuple

_ABSENT: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""What a machine without IPv6, or with it switched off, says of it."""


class Place(NamedTuple):
    family: int
    host: str


_EVERYWHERE: Final = (Place(socket.AF_INET, "0.0.0.0"), Place(socket.AF_INET6, "::"))  # noqa: S104 - the promise above


async def places_at(host: str, port: int) -> list[Place]:
    """Where that host is, in every family that it has. Raises `OSError` and `UnicodeError`."""
    if not host:
        # Nothing to ask a resolver, whose thread would stay for the life of the process.
        return list(_EVERYWHERE)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(
        dict.fromkeys(Place(family, str(where[0])) for family, _type, _protocol, _name, where in found)
    )


def listeners_at(places: Sequence[Place], port: int, backlog: int) -> list[socket.socket]:
    """A socket at each place, all with the same port. Raises `OSError`."""
    listeners: list[socket.socket] = []
    absent: OSError | None = None
    try:
        for place in places:
            same = listeners[0].getsockname()[1] if listeners else port
            try:
                listeners.append(_listener(place, same, backlog, alone=len(places) == 1))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
        if not listeners:
            raise absent or OSError("it has no address")
    except OSError:
        for one in listeners:
            one.close()
        raise
    return listeners


def _listener(place: Place, port: int, backlog: int, *, alone: bool) -> socket.socket:
    every = place.family == socket.AF_INET6 and ipaddress.ip_address(place.host).is_unspecified
    listener = socket.create_server(
        (place.host, port),
        family=place.family,
        backlog=backlog,
        dualstack_ipv6=alone and every and socket.has_dualstack_ipv6(),
    )
    listener.settimeout(0)
    return listener
