"""The proxy of the environment, read as other programs read HTTPS_PROXY and NO_PROXY.

One that is not understood is an error: to go on without it would end in a connection that is refused or, worse, made.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from yarl import URL

from tangram.services.images.errors import ImagesError
from tangram.services.images.places import read_address


def proxy_for(url: URL, environment: Mapping[str, str]) -> str | None:
    """Through whom this address is reached, if through anybody."""

    def named(name: str) -> str:
        return environment.get(name.lower()) or environment.get(name) or ""

    host = _network(url.host or "")
    if url.host == "localhost" or (host is not None and host.is_loopback):
        return None
    if any(_spares(word.strip(), url) for word in named("NO_PROXY").split(",")):
        return None
    setting = f"{url.scheme.upper()}_PROXY"
    told = named(setting)
    if not told:
        return None
    proxy = told if "://" in told else f"http://{told}"
    if read_address(proxy) is None:
        raise ImagesError(
            f"{setting} is {shown(told)!r:.120}, which is no proxy that HTTP reaches: write http://HOST:PORT, or name "
            f"{url.host} in NO_PROXY."
        )
    return proxy


def shown(proxy: str | None) -> str:
    """Without the password that it may have."""
    return (proxy or "").rpartition("@")[2].rpartition("http://")[2]


def _spares(word: str, url: URL) -> bool:
    """Whether a word of NO_PROXY means this address: a name with all below it, an address, or a network."""
    host = (url.host or "").lower()
    if word in {"", "*"}:
        return word == "*"
    network = _network(word)
    if network is not None:
        address = _network(host)
        return address is not None and address.version == network.version and address.subnet_of(network)  # type: ignore[arg-type]
    name, colon, port = word.lower().partition(":")
    if colon and port != str(url.port):
        return False
    name = name.removeprefix("*").lstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _network(word: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        return None
