"""The command lines and files of one real node: containerd, its network plugins, and the kubelet."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.certificates import Authority
from testbed.controlplane import Programs, gates, kubeconfig
from testbed.options import Options
from testbed.places import RoomFolder
from testbed.rooms import SERVICE_RANGE, node_address, pod_range

PAUSE = "docker.io/local/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"


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
    file = room.etc / "containerd.toml"
    file.write_text(_containerd_settings(programs, network, options, cni_folder), encoding="utf-8")
    return [programs.path("containerd"), f"--config={file}", "--log-level=info"]


def containerd_environment(programs: Programs) -> dict[str, str]:
    """What containerd needs of it: it looks for its shim and for runc on PATH."""
    folders = {str(programs.path(name).parent) for name in ("containerd-shim-runc-v2", "runc")}
    return {"PATH": ":".join([*sorted(folders), "/usr/sbin:/usr/bin:/sbin:/bin"])}


def _containerd_settings(programs: Programs, network: Path, options: Options, cni_folder: Path) -> str:
    # restrict_oom_score_adj: a machine without CAP_SYS_RESOURCE cannot lower the score, and every pod would fail.
    # config_path, as installers set it: the default is two folders in one text, which containerd 2.3 takes for one.
    return f"""version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.grpc.v1.tasks-opt"]

[grpc]
address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "/var/lib/containerd-opt"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true
enable_cdi = {str(options.cdi).lower()}
cdi_spec_dirs = ["/run/cdi"]
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{programs.path("runc")}"
SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{cni_folder}"]
conf_dir = "{network}"
"""


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
