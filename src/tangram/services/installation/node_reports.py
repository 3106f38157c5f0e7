"""A node in a few facts, as it tells them about itself. `docs/preflight.md` promises this shape to programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from tangram.services.installation.matrix import Minor
from tangram.wire import loose, metax_labels, mthreads_labels
from tangram.wire.cdi_support import cdi_passing

Cdi = Literal["on", "if switched on", "no"]

LINUX: Final = "linux"
_KUBERNETES = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})")
_SWITCHED_ON: Final = "enable_cdi = true"


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ready: bool
    kubelet: str
    runtime: str
    """As the node writes it: `containerd://2.1.4`."""
    cdi: Cdi
    """By the versions alone; the runtime's own file can only be read on the node."""
    system: str
    kernel: str
    architecture: str
    platform: str
    """`linux` or `windows`."""
    cards: bool | None
    """What labels say of cards; null where they say nothing."""

    @property
    def kubelet_minor(self) -> Minor | None:
        return minor_of(self.kubelet)


def node_report(node: Mapping[str, Any]) -> NodeReport:
    """The facts of a Node object. Never raises."""
    metadata, status = loose.members(node.get("metadata")), loose.members(node.get("status"))
    info = loose.text_map(status.get("nodeInfo"))
    kubelet, runtime = info.get("kubeletVersion", ""), info.get("containerRuntimeVersion", "")
    return NodeReport(
        name=loose.text(metadata.get("name")),
        ready=_is_ready(status),
        kubelet=kubelet,
        runtime=runtime,
        cdi=_cdi(kubelet, runtime),
        system=info.get("osImage", ""),
        kernel=info.get("kernelVersion", ""),
        architecture=info.get("architecture", ""),
        platform=info.get("operatingSystem", "") or LINUX,
        cards=has_cards(loose.text_map(metadata.get("labels"))),
    )


def minor_of(version: str) -> Minor | None:
    """The minor of a version of Kubernetes; None for what calls itself otherwise, as stand-ins for a kubelet do."""
    found = _KUBERNETES.match(version)
    return None if found is None else (int(found[1]), int(found[2]))


def has_cards(labels: Mapping[str, str]) -> bool | None:
    """What the labels of gpu-label say; None where there are none."""
    said = [labels.get(key) for key in (metax_labels.INSTALLED, mthreads_labels.INSTALLED)]
    if "true" in said:
        return True
    return False if "false" in said else None


def _is_ready(status: Mapping[str, object]) -> bool:
    conditions = [loose.members(each) for each in loose.elements(status.get("conditions"))]
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _cdi(kubelet: str, runtime: str) -> Cdi:
    if cdi_passing(kubelet, runtime, None) != "off":
        return "on"
    return "no" if cdi_passing(kubelet, runtime, _SWITCHED_ON) == "off" else "if switched on"
