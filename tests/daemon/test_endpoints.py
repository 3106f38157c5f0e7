"""What the kubelet and Prometheus hear."""

import socket

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from tangram.daemon.endpoints import Address, read_address, serving
from tangram.daemon.errors import SettingError

ANY = Address("127.0.0.1", 0)


async def fetch(address: Address | None, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as answer:
        return answer.status, await answer.text(), answer.headers["Content-Type"]


async def test_probes_say_ok_or_the_reasons_one_per_line() -> None:
    dead: list[str] = []
    unready = ["the cards have not been read yet", "the node is not known yet"]
    async with serving(ANY, CollectorRegistry(), unhealthy=lambda: dead, unready=lambda: unready) as address:
        assert (await fetch(address, "/healthz"))[:2] == (200, "ok\n")
        assert (await fetch(address, "/readyz"))[:2] == (
            503,
            "the cards have not been read yet\nthe node is not known yet\n",
        )
        unready.clear()
        dead.append("looking failed: ValueError: no")
        assert (await fetch(address, "/readyz"))[:2] == (200, "ok\n")
        assert (await fetch(address, "/healthz"))[:2] == (503, "looking failed: ValueError: no\n")
        assert (await fetch(address, "/elsewhere"))[0] == 404


async def test_metrics_are_those_of_the_service_alone() -> None:
    registry = CollectorRegistry()
    Counter("slices_made", "Slices made.", registry=registry).inc(3)
    async with serving(ANY, registry, unhealthy=list, unready=list) as address:
        status, text, kind = await fetch(address, "/metrics")
    assert status == 200
    assert kind.startswith("text/plain; version=")
    assert "slices_made_total 3.0\n" in text
    assert "python_info" not in text


async def test_an_address_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(SettingError) as refused:
            async with serving(address, CollectorRegistry(), unhealthy=list, unready=list):
                pass
    assert str(refused.value) == (
        f"--metrics-address is '{address}', where nothing can be served (Address already in use): "
        "name a free address of this machine."
    )


async def test_a_host_that_is_not_this_machine_is_one_sentence() -> None:
    with pytest.raises(SettingError, match="where nothing can be served"):
        async with serving(Address("192.0.2.1", 0), CollectorRegistry(), unhealthy=list, unready=list):
            pass


async def test_no_address_means_nothing_is_served() -> None:
    async with serving(None, CollectorRegistry(), unhealthy=list, unready=list) as address:
        assert address is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9394", Address("", 9394)),
        ("192.0.2.1:9394", Address("192.0.2.1", 9394)),
        ("[::1]:80", Address("::1", 80)),
        ("localhost:0", Address("localhost", 0)),
        ("", None),
    ],
)
def test_addresses_are_read(text: str, address: Address | None) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "9394",
        ":",
        "[]:9394",
        "host",
        "host:",
        "host:x",
        "host:65536",
        "host:-1",
        "::1:80",
        "[host]:80",
        "h:٣",
    ],
)
def test_what_is_no_address_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(SettingError, match="it is HOST:PORT"):
        read_address(text)
