"""Nodes, and the classes that name a runtime on them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.ages import UNKNOWN
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    NAME,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    wide,
)
from tangram.sandbox.apiserver.printing.reading import NONE, at, each, name_of, text, truth
from tangram.wire import loose

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


def _node(node: Object, now: datetime) -> Cells:
    kernel = text(node, "status", "nodeInfo", "kernelVersion", otherwise=UNKNOWN)
    machine = text(node, "status", "nodeInfo", "architecture")
    return [
        name_of(node),
        _state(node),
        _roles(node),
        age_of(node, now),
        text(node, "status", "nodeInfo", "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        text(node, "status", "nodeInfo", "osImage", otherwise=UNKNOWN),
        f"{kernel} ({machine})" if machine else kernel,
        text(node, "status", "nodeInfo", "containerRuntimeVersion", otherwise=UNKNOWN),
    ]


def _state(node: Object) -> str:
    # Of two conditions of one type the later one is believed.
    said = [one.get("status") for one in each(node, "status", "conditions") if one.get("type") == "Ready"]
    state = "Unknown" if not said else "Ready" if said[-1] == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if truth(node, "spec", "unschedulable") else state


def _roles(node: Object) -> str:
    found: set[str] = set()
    for key, value in loose.members(at(node, "metadata", "labels")).items():
        if key.startswith(_ROLE_PREFIX):
            found.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            found.add(loose.text(value))
    return ",".join(sorted(found - {""})) or NONE


def _address(node: Object, kind: str) -> str:
    addresses = (one for one in each(node, "status", "addresses") if one.get("type") == kind)
    return next((text(one, "address") for one in addresses), NONE)


PRINTERS: Final[Printers] = {
    ("", "Node"): Printer(
        (
            NAME,
            Heading("Status"),
            Heading("Roles"),
            AGE,
            Heading("Version"),
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ),
        _node,
    ),
    ("node.k8s.io", "RuntimeClass"): Printer(
        (NAME, Heading("Handler"), AGE),
        lambda thing, now: [name_of(thing), text(thing, "handler"), age_of(thing, now)],
    ),
}
