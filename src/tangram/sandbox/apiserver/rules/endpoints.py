"""Endpoints and EndpointSlices: the addresses behind a Service."""

from __future__ import annotations

import ipaddress
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.container_faults import PROTOCOLS
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    duplicate,
    each_invalid,
    invalid,
    number,
    one_of,
    required,
    unchanged,
)
from tangram.sandbox.apiserver.rules.looking import placed, records, texts, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import address, label, port_number, subdomain


def endpoint_faults(given: str, path: str) -> list[Fault]:
    """An address under which somebody else can be reached."""
    try:
        read = ipaddress.ip_address(given)
    except ValueError:
        return [invalid(path, given, "must be a valid IP address")]
    for wrong, detail in (
        (read.is_unspecified, f"may not be unspecified ({given})"),
        (read.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (read.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (read.is_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ):
        if wrong:
            return [invalid(path, given, detail)]
    return []


def _fill_endpoints(thing: Object) -> None:
    for subset in records(thing, "subsets"):
        for port in records(subset, "ports"):
            port.setdefault("protocol", "TCP")


def _endpoints_faults(new: Object, _old: Object | None) -> list[Fault]:
    faults: list[Fault] = []
    for at, subset in placed(new, "subsets", ""):
        if not records(subset, "addresses") and not records(subset, "notReadyAddresses"):
            faults.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for side in ("addresses", "notReadyAddresses"):
            for where, entry in placed(subset, side, at):
                given = word(entry, "ip")
                faults += each_invalid(f"{where}.ip", given, address(given))
                faults += endpoint_faults(given, f"{where}.ip")
        several = len(records(subset, "ports")) > 1
        for where, port in placed(subset, "ports", at):
            name = word(port, "name")
            faults += each_invalid(f"{where}.name", name, label(name)) if name else []
            faults += [required(f"{where}.name")] if several and not name else []
            faults += each_invalid(
                f"{where}.port", port.get("port", 0), port_number(number(port.get("port")))
            )
            faults += one_of(f"{where}.protocol", word(port, "protocol"), PROTOCOLS)
    return faults


ENDPOINTS: Final = Ruling(fill=_fill_endpoints, faults=_endpoints_faults)


def _fill_slice(thing: Object) -> None:
    for port in records(thing, "ports"):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _slice_faults(new: Object, old: Object | None) -> list[Fault]:
    kind = word(new, "addressType")
    legal = ("FQDN", "IPv4", "IPv6")
    faults = one_of("addressType", kind, legal)
    names: set[str] = set()
    for at, port in placed(new, "ports", ""):
        name = word(port, "name")
        if name in names:
            faults.append(duplicate(f"{at}.name", name))
        names.add(name)
        faults += each_invalid(f"{at}.name", name, label(name)) if name else []
    for at, endpoint in placed(new, "endpoints", ""):
        given = texts(endpoint, "addresses")
        if not given:
            faults.append(required(child(at, "addresses"), "must contain at least 1 address"))
        for position, one in enumerate(given):
            where = f"{at}.addresses[{position}]"
            if kind == "FQDN":
                faults += each_invalid(where, one, subdomain(one))
            elif kind in legal:
                faults += each_invalid(where, one, address(one)) or endpoint_faults(one, where)
    return faults if old is None else [*faults, *unchanged("addressType", kind, old.get("addressType"))]


SLICE: Final = Ruling(
    fill=_fill_slice, faults=_slice_faults, counts=("endpoints", "ports", "addressType", "metadata.labels")
)
