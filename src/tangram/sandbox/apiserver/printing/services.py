"""Where a service is reached, and the addresses behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    NAME,
    SELECTOR,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
)
from tangram.sandbox.apiserver.printing.reading import (
    NONE,
    UNSET,
    Members,
    at,
    each,
    name_of,
    number,
    text,
    texts,
)
from tangram.sandbox.apiserver.printing.selectors import labels_text

_SHOWN: Final = 3
"""So many addresses or ports are named, the rest are counted."""


def _service(service: Object, now: datetime) -> Cells:
    ports = ",".join(_port(port) for port in each(service, "spec", "ports"))
    return [
        name_of(service),
        text(service, "spec", "type"),
        (texts(service, "spec", "clusterIPs") or [NONE])[0],
        _outside(service),
        ports or NONE,
        age_of(service, now),
        labels_text(at(service, "spec", "selector")),
    ]


def _port(port: Members) -> str:
    on_nodes = number(port, "nodePort")
    opened = f"{number(port, 'port')}:{on_nodes}" if on_nodes else str(number(port, "port"))
    return f"{opened}/{text(port, 'protocol')}"


def _outside(service: Object) -> str:
    kind, given = text(service, "spec", "type"), texts(service, "spec", "externalIPs")
    if kind in {"ClusterIP", "NodePort"}:
        return ",".join(given) or NONE
    if kind == "LoadBalancer":
        doors = each(service, "status", "loadBalancer", "ingress")
        balanced = sorted({text(one, "ip") or text(one, "hostname") for one in doors} - {""})
        return ",".join([*balanced, *given]) or "<pending>"
    return text(service, "spec", "externalName") if kind == "ExternalName" else "<unknown>"


def _endpoints(thing: Object, now: datetime) -> Cells:
    subsets = each(thing, "subsets")
    found = [written for subset in subsets for written in _subset(subset)]
    return [name_of(thing), _shortened(found) if subsets else NONE, age_of(thing, now)]


def _subset(subset: Members) -> Iterable[str]:
    addresses = [text(one, "ip") for one in each(subset, "addresses")]
    ports = each(subset, "ports")
    if not ports:
        return addresses
    return [_joined(address, number(port, "port")) for port in ports for address in addresses]


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice(thing: Object, now: datetime) -> Cells:
    ports = [_slice_port(port) for port in each(thing, "ports")]
    addresses = [address for one in each(thing, "endpoints") for address in texts(one, "addresses")]
    return [
        name_of(thing),
        text(thing, "addressType"),
        _shortened(ports) or UNSET,
        _shortened(addresses) or UNSET,
        age_of(thing, now),
    ]


def _slice_port(port: Members) -> str:
    if port.get("port") is not None:
        return str(number(port, "port"))
    name = port.get("name")
    return "*" if name is None else text(port, "name")


def _shortened(found: Sequence[str]) -> str:
    named = ",".join(found[:_SHOWN])
    return f"{named} + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else named


PRINTERS: Final[Printers] = {
    ("", "Service"): Printer(
        (
            NAME,
            Heading("Type"),
            Heading("Cluster-IP"),
            Heading("External-IP"),
            Heading("Port(s)"),
            AGE,
            SELECTOR,
        ),
        _service,
    ),
    ("", "Endpoints"): Printer((NAME, Heading("Endpoints"), AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        (NAME, Heading("AddressType"), Heading("Ports"), Heading("Endpoints"), AGE), _endpoint_slice
    ),
}
