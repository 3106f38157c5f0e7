"""Sockets at an address: all families that the machine has, one port, and nobody else's questions."""

import socket
from collections.abc import Iterator

import pytest

from tangram.daemon.endpoints import Address, read_address
from tangram.daemon.listening import Place, listeners_at, places_at
from tangram.daemon.pages import Page, serving_pages

EVERY_4 = Place(socket.AF_INET, "0.0.0.0")  # noqa: S104 - what is tested


def families() -> Iterator[Place]:
    """Loopback in each family that this machine has."""
    for place in (Place(socket.AF_INET, "127.0.0.1"), Place(socket.AF_INET6, "::1")):
        try:
            socket.create_server((place.host, 0), family=place.family).close()
        except OSError:
            continue
        yield place


HERE = list(families())


def reached(place: Place, port: int) -> bool:
    with socket.socket(place.family) as asking:
        asking.settimeout(1)
        return asking.connect_ex((place.host, port)) == 0


async def test_no_host_is_every_address_of_every_family_with_one_port() -> None:
    address = read_address(":0")
    assert isinstance(address, Address)
    listeners = listeners_at(await places_at(address.host, address.port), address.port, 8)
    ports = {each.getsockname()[1] for each in listeners}
    try:
        assert len(ports) == 1
        assert [place for place in HERE if not reached(place, min(ports))] == []
    finally:
        for each in listeners:
            each.close()


async def test_pages_are_served_in_every_family() -> None:
    async def hello() -> Page:
        return Page(b"hello")

    async with serving_pages("", 0, {"/hello": hello}) as (_, port):
        assert [place for place in HERE if not reached(place, port)] == []


def test_a_family_that_the_machine_lacks_is_left_out() -> None:
    (listener,) = listeners_at([EVERY_4, Place(socket.AF_INET6, "2001:db8::1")], 0, 8)
    with listener:
        assert listener.family == socket.AF_INET


def test_where_nothing_can_be_served_the_reason_is_told() -> None:
    with pytest.raises(OSError, match="Cannot assign requested address"):
        listeners_at([Place(socket.AF_INET, "192.0.2.1")], 0, 8)


def test_a_port_that_is_taken_at_one_place_is_refused_at_both() -> None:
    """Two addresses of one family, because not every machine has IPv6."""
    first, second = Place(socket.AF_INET, "127.0.0.1"), Place(socket.AF_INET, "127.0.0.2")
    with socket.create_server((second.host, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            listeners_at([first, second], port, 8)
        assert not reached(first, port)
