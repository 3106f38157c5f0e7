"""Services."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.container_faults import PROTOCOLS
from tangram.sandbox.apiserver.rules.endpoints import endpoint_faults
from tangram.sandbox.apiserver.rules.faulting import (
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    number,
    one_of,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, record, records, texts, word
from tangram.sandbox.apiserver.rules.metadata import label_faults
from tangram.sandbox.apiserver.rules.probe_faults import port_faults
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import address, label, port_number, qualified, subdomain

HEADLESS: Final = "None"
TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
REACHED_FROM_OUTSIDE: Final = ("LoadBalancer", "NodePort")
_STICKY: Final = 10800


def _fill_service(service: Object) -> None:
    spec = service["spec"]
    if spec.setdefault("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and not record(spec, "sessionAffinityConfig", "clientIP"):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _STICKY}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in records(spec, "ports"):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in REACHED_FROM_OUTSIDE or (kind == "ClusterIP" and texts(spec, "externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
        _fill_addresses(spec)
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for entry in records(record(service, "status", "loadBalancer"), "ingress"):
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")


def _fill_addresses(spec: Object) -> None:
    given = texts(spec, "clusterIPs")
    if word(spec, "clusterIP") and not given:
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif given and not word(spec, "clusterIP"):
        spec["clusterIP"] = given[0]
    if spec.get("clusterIP") == HEADLESS and not spec.get("selector"):
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _update_service(new: Object, old: Object) -> None:
    """What was given out stays, unless the new Service has no use for it."""
    spec, before = new["spec"], record(old, "spec")
    if word(spec, "type") == "ExternalName" or word(before, "type") == "ExternalName":
        return
    if not word(spec, "clusterIP") and not texts(spec, "clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    elif word(spec, "clusterIP") != word(before, "clusterIP") and spec.get("clusterIPs") == before.get(
        "clusterIPs"
    ):
        # The old field was changed and the new one left: the old one is what the client knows.
        spec["clusterIPs"] = [spec["clusterIP"]] if word(spec, "clusterIP") else []
    if word(spec, "type") in REACHED_FROM_OUTSIDE:
        known = {
            (each.get("port"), each.get("protocol")): each.get("nodePort")
            for each in records(before, "ports")
        }
        for port in records(spec, "ports"):
            was = known.get((port.get("port"), port.get("protocol")))
            if was and not port.get("nodePort"):
                port["nodePort"] = was


def _service_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    kind, headless = word(spec, "type"), spec.get("clusterIP") == HEADLESS
    faults: list[Fault] = []
    if not records(spec, "ports") and not headless and kind != "ExternalName":
        faults.append(required("spec.ports"))
    if kind in REACHED_FROM_OUTSIDE and headless:
        faults.append(
            invalid("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")
        )
    if kind == "ExternalName":
        faults += _external_faults(spec)
    faults += _ports_faults(spec, kind)
    faults += label_faults(spec.get("selector"), "spec.selector")
    faults += one_of("spec.sessionAffinity", word(spec, "sessionAffinity"), ("ClientIP", "None"))
    faults += _address_faults(spec)
    faults += one_of("spec.type", kind, TYPES)
    for name in ("externalTrafficPolicy", "internalTrafficPolicy"):
        value = word(spec, name)
        if value not in ("", "Cluster", "Local"):
            faults.append(unsupported(f"spec.{name}", value, ("Cluster", "Local")))
    if "allocateLoadBalancerNodePorts" in spec and kind != "LoadBalancer":
        detail = "may only be used when `type` is 'LoadBalancer'"
        faults.append(forbidden("spec.allocateLoadBalancerNodePorts", detail))
    return faults if old is None else [*faults, *_address_change_faults(spec, record(old, "spec"))]


def _external_faults(spec: Object) -> list[Fault]:
    detail = "may not be set for ExternalName services"
    faults = [
        forbidden(f"spec.{name}", detail)
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(name)
    ]
    name = word(spec, "externalName").removesuffix(".")
    if not name:
        return [*faults, required("spec.externalName")]
    return [*faults, *each_invalid("spec.externalName", name, subdomain(name))]


def _ports_faults(spec: Object, kind: str) -> list[Fault]:
    faults: list[Fault] = []
    names: set[str] = set()
    taken: set[tuple[object, object]] = set()
    several = len(records(spec, "ports")) > 1
    for at, port in placed(spec, "ports", "spec"):
        name = word(port, "name")
        if name:
            faults += each_invalid(f"{at}.name", name, label(name))
            if name in names:
                faults.append(duplicate(f"{at}.name", name))
            names.add(name)
        elif several:
            faults.append(required(f"{at}.name"))
        faults += each_invalid(f"{at}.port", port.get("port", 0), port_number(number(port.get("port"))))
        faults += one_of(f"{at}.protocol", word(port, "protocol"), PROTOCOLS)
        faults += port_faults(port.get("targetPort", 0), f"{at}.targetPort")
        application = word(port, "appProtocol")
        faults += (
            each_invalid(f"{at}.appProtocol", application, qualified(application)) if application else []
        )
        if kind == "ClusterIP" and port.get("nodePort"):
            faults.append(forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'"))
        place = (port.get("protocol"), port.get("port"))
        if place in taken:
            told = {
                "Name": "",
                "Protocol": place[0],
                "AppProtocol": None,
                "Port": place[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            faults.append(duplicate(at, told))
        taken.add(place)
    return faults


def _address_faults(spec: Object) -> list[Fault]:
    faults: list[Fault] = []
    for position, given in enumerate(texts(spec, "clusterIPs")):
        if given != HEADLESS:
            faults += each_invalid(f"spec.clusterIPs[{position}]", given, address(given))
    for position, given in enumerate(texts(spec, "externalIPs")):
        at = f"spec.externalIPs[{position}]"
        faults += each_invalid(at, given, address(given)) or endpoint_faults(given, at)
    return faults


def _address_change_faults(spec: Object, before: Object) -> list[Fault]:
    had, wants = texts(before, "clusterIPs"), texts(spec, "clusterIPs")
    if "ExternalName" in (word(spec, "type"), word(before, "type")):
        return []
    if had and wants and had[0] != wants[0]:
        return [invalid("spec.clusterIPs[0]", wants, "may not change once set")]
    return []


def _service_status_faults(new: Object, _old: Object) -> list[Fault]:
    at, faults = "status.loadBalancer.ingress", list[Fault]()
    entries = records(record(new, "status", "loadBalancer"), "ingress")
    if entries and word(record(new, "spec"), "type") != "LoadBalancer":
        return [forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    for position, entry in enumerate(entries):
        for name, wording in (("ip", address), ("hostname", subdomain)):
            value = word(entry, name)
            faults += each_invalid(f"{at}[{position}].{name}", value, wording(value)) if value else []
    return faults


SERVICE: Final = Ruling(
    fill=_fill_service, update=_update_service, faults=_service_faults, status_faults=_service_status_faults
)
