"""Kubelet's sockets, and who else has put a device plugin beside ours."""

from __future__ import annotations

import json
from typing import Final, cast

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.drivers.doctor.machine import Machine

KUBELET: Final = "/var/lib/kubelet"
PLUGINS: Final = f"{KUBELET}/device-plugins"
REGISTRATION: Final = f"{PLUGINS}/kubelet.sock"
POD_RESOURCES: Final = f"{KUBELET}/pod-resources/kubelet.sock"
CHECKPOINT: Final = f"{PLUGINS}/kubelet_internal_checkpoint"
VENDOR_WORDS: Final = {
    "MetaX": ("metax", "mxgpu"),
    "Moore Threads": ("mthreads", "mt-gpu", "mtgpu", "mt-universal", "musa"),
}
OURS: Final = "tangram"


def kubelet_sockets(machine: Machine) -> Findings:
    """Where device plugins register, and where pods' devices can be asked for."""
    if not machine.exists(KUBELET):
        yield skip("kubelet", f"{KUBELET} is not here, so this machine is no Kubernetes node")
        return
    if machine.is_socket(REGISTRATION):
        yield ok("kubelet-plugins", f"kubelet takes device plugins at {REGISTRATION}")
    else:
        yield fail(
            "kubelet-plugins",
            f"{REGISTRATION} is no socket, so no device plugin can register",
            "start kubelet; in a container, mount the folder of that socket from the host",
        )
    if machine.is_socket(POD_RESOURCES):
        yield ok("kubelet-pod-resources", "kubelet tells which pod holds which device")
    else:
        yield warn(
            "kubelet-pod-resources",
            f"{POD_RESOURCES} is no socket, so figures cannot be given the names of pods",
            "mount the folder of that socket from the host, and do not switch KubeletPodResources off",
        )


def device_plugins(machine: Machine) -> Findings:
    """Two plugins that announce the same cards: kubelet believes whoever spoke last."""
    if not machine.exists(PLUGINS):
        return
    names = [name for name in machine.names(PLUGINS) if machine.is_socket(f"{PLUGINS}/{name}")]
    clash = False
    for vendor, words in VENDOR_WORDS.items():
        about = [name for name in names if any(word in name.lower() for word in words)]
        theirs = [name for name in about if OURS not in name.lower()]
        ours = [name for name in about if OURS in name.lower()]
        if ours and theirs:
            clash = True
            yield fail(
                "device-plugins",
                f"two plugins announce {vendor} cards: {', '.join(ours)} and {', '.join(theirs)}",
                f"keep one of them on this node: remove the vendor's plugin, or do not run ours for {vendor}",
            )
        elif theirs:
            yield warn(
                "device-plugins",
                f"the vendor's plugin announces {vendor} cards ({', '.join(theirs)})",
                "leave it if it should go on; remove it before Tangram's own plugin runs on this node",
            )
            clash = True
    resources = _registered(machine)
    if not clash:
        said = (
            f"kubelet has on record {', '.join(resources)}"
            if resources
            else "no plugin for cards is registered"
        )
        yield ok("device-plugins", said)


def _registered(machine: Machine) -> list[str]:
    text = machine.text(CHECKPOINT)
    if not text:
        return []
    try:
        data = cast("object", json.loads(text))
        for key in ("Data", "RegisteredDevices"):
            data = cast("dict[str, object]", data).get(key) if isinstance(data, dict) else None
    except (ValueError, RecursionError):
        return []
    names = list(cast("dict[str, object]", data)) if isinstance(data, dict) else []
    return sorted(name for name in names if name.startswith(("metax-tech.com/", "mthreads.com/")))
