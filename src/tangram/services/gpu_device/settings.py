"""Where the agent finds things on its node, and how it is to behave."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tangram.model.cards import SERVED, QosPolicy, Vendor
from tangram.services.gpu_device.delivery import Delivery
from tangram.services.gpu_device.grants import Injection
from tangram.units.ids import NodeName


class Pauses(msgspec.Struct, frozen=True, kw_only=True):
    """How long the agent rests between two things, in seconds."""

    look_at_least: float = 30.0
    """Between two looks at the node when nothing happens."""
    look_soon: float = 1.0
    """The same while something is under way: a card changes its mode, or something of a gone pod is still in use."""
    look_at_most: float = 1.0
    """Between two looks while much happens: starts are answered without them."""
    tidy: float = 1.0
    publish: float = 1.0
    """Between two writes to the node's object."""
    listen: float = 5.0
    """How long the kubelet's pod resources are waited for before it counts as silent."""
    told: float = 2.0
    """How long a scheduler is given to hear that a card is closed."""
    kinds: float = 60.0
    """Between two questions whether the API server knows Koordinator's `Device`."""
    koordlet_gone: float = 60.0
    """How long koordlet may be missing, as while it is replaced, before its work counts as ours."""


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    device_plugins: Path = Path("/var/lib/kubelet/device-plugins")
    pod_resources: Path = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
    cdi_folder: Path = Path("/var/run/cdi")
    state_folder: Path = Path("/run/tangram")
    device_root: str = "/dev"
    """Where the container runtime finds the device nodes."""
    config_folder: Path | None = None
    config_namespace: str = ""
    """Where the device ConfigMap is followed through the API server; empty: it is not."""
    device_infos: Path = Path("/var/run/koordlet/xpu-device-infos")
    """The directory that koordlet reads."""
    container_folders: tuple[str, ...] = ()
    """Of the host, seen by containers with MetaX cards; at the same path for us."""
    folder_root: Path = Path("/")
    """Where these are below, for us."""
    runtime_file: Path = Path("/etc/containerd/config.toml")
    delivery: Delivery | None = None
    """None: found out from the kubelet, the runtime and its file."""
    injection: Injection = Injection.ENV
    vendors: tuple[Vendor, ...] = SERVED
    """Whose cards are served; those of the others are left to the others."""
    compute_policy: QosPolicy | None = None
    """How Moore Threads' sliced cards are to share their compute; None leaves them as they are."""
    healthy_interval: float = 5.0
    """Seconds between two health checks; 0 means none."""
    patience: float = 25.0
    """Seconds that a starting container waits for what is only late."""
    pauses: Pauses = Pauses()
