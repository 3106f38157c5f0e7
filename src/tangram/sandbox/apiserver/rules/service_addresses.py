"""The addresses and ports that a Service is given when it is made, out of what others have left."""

from __future__ import annotations

from collections.abc import Callable

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.rules.looking import record, records, word
from tangram.sandbox.apiserver.rules.services import HEADLESS, REACHED_FROM_OUTSIDE


def give_addresses(service: Object, new_address: Callable[[], str], new_port: Callable[[], int]) -> None:
    """Fill in what a Service lacks, in place: an address in the cluster and ports on its nodes."""
    spec = record(service, "spec")
    kind = word(spec, "type")
    if kind == "ExternalName":
        return
    if not word(spec, "clusterIP"):
        spec["clusterIP"] = new_address()
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    wants_ports = kind == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is True
    if kind in REACHED_FROM_OUTSIDE and wants_ports and spec["clusterIP"] != HEADLESS:
        for port in records(spec, "ports"):
            port["nodePort"] = port.get("nodePort") or new_port()
        local = word(spec, "externalTrafficPolicy") == "Local" and kind == "LoadBalancer"
        if local and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = new_port()
