"""The command lines and files of one real node: containerd, its network plugins, and the kubelet."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.certificates import Authority
from testbed.containerd_settings import CONTAINERD_SOCKET, containerd_settings
from testbed.controlplane import Programs, gates, kubeconfig
from testbed.options import Options
from testbed.places import RoomFolder
from testbed.rooms import SERVICE_RANGE, node_address, pod_range

CONTAINERD_FILE = Path("/etc/containerd/config.toml")
"""As the node sees it."""
HURRY = {
    "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    "featureGates": {"KubeletCrashLoopBackOffMax": True},
}
"""Fields of the kubelet's configuration."""


@dataclass(frozen=True, slots=True)
class NodeNames:
    """What one node is called, everywhere."""

    number: int

    @property
    def name(self) -> str:
        return f"n{self.number}"

    @property
    def containerd(self) -> str:
        return f"containerd-{self.name}"

    @property
    def kubelet(self) -> str:
        return f"kubelet-{self.name}"

    @property
    def address(self) -> str:
        return node_address(self.number)


def containerd(
    programs: Programs, room: RoomFolder, names: NodeNames, options: Options, cni_folder: Path
) -> list[str | Path]:
    """Write containerd's and the network plugins' configuration; return the command line."""
    room.cdi.mkdir(parents=True, exist_ok=True)
    network = room.etc / "cni"
    network.mkdir(parents=True, exist_ok=True)
    (network / "box.conflist").write_text(json.dumps(_pod_network(room, names)), encoding="utf-8")
    text = containerd_settings(
        version=options.containerd_version,
        runc=programs.path("runc"),
        network=network,
        cni_folder=cni_folder,
        cdi=options.cdi,
    )
    (room.containerd / CONTAINERD_FILE.name).write_text(options.containerd_dress(text), encoding="utf-8")
    return [programs.path("containerd"), f"--config={CONTAINERD_FILE}", "--log-level=info"]


def containerd_environment(programs: Programs) -> dict[str, str]:
    """What containerd needs of it: it looks for its shim and for runc on PATH."""
    folders = {str(programs.path(name).parent) for name in ("containerd-shim-runc-v2", "runc")}
    return {"PATH": ":".join([*sorted(folders), "/usr/sbin:/usr/bin:/sbin:/bin"])}


def _pod_network(room: RoomFolder, names: NodeNames) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": pod_range(names.number)}]],
        "routes": [{"dst": dst} for dst in ("10.244.0.0/16", "192.0.2.0/24", SERVICE_RANGE)],
        "dataDir": str(room.lib / "cni"),
    }
    bridge = {
        "type": "bridge",
        "bridge": "pods0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    return {"cniVersion": "1.0.0", "name": "box", "plugins": [bridge, {"type": "loopback"}]}


def kubelet(
    programs: Programs, room: RoomFolder, names: NodeNames, authority: Authority, options: Options
) -> list[str | Path]:
    """Write the kubelet's certificates and configuration; return the command line."""
    room.static_pods.mkdir(parents=True, exist_ok=True)
    user = authority.issue(
        f"node-{names.name}",
        f"system:node:{names.name}",
        groups=["system:nodes"],
        addresses=[names.address, names.name],
    )
    own = room.etc / "kubelet.conf"
    own.write_text(kubeconfig(authority, user), encoding="utf-8")
    file = room.etc / "kubelet.json"
    settings = _kubelet_settings(room, names, authority.certificate)
    if options.hurry:
        settings |= HURRY
    settings |= {"tlsCertFile": str(user.certificate), "tlsPrivateKeyFile": str(user.key)}
    file.write_text(json.dumps(settings | dict(options.kubelet)), encoding="utf-8")
    return [
        programs.path("kubelet"),
        f"--config={file}",
        f"--kubeconfig={own}",
        f"--hostname-override={names.name}",
        f"--node-ip={names.address}",
        "--root-dir=/var/lib/kubelet",
        "--v=2",
        *gates(options),
    ]


def _kubelet_settings(room: RoomFolder, names: NodeNames, ca: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": names.address,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(ca)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "resolvConf": "",
        "clusterDomain": "cluster.local",
        "staticPodPath": str(room.static_pods),
        "fileCheckFrequency": "1s",
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": str(room.lib / "volume-plugins"),
        "maxPods": 250,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "serializeImagePulls": False,
        # The default of ten seconds would make every test of node capacities wait for it.
        "nodeStatusUpdateFrequency": "1s",
        # A full disk of the machine is none of a test's business.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": "1Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
        },
        "enforceNodeAllocatable": ["pods"],
        "shutdownGracePeriod": "0s",
    }
