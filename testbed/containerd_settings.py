"""containerd's configuration on a node of the box, in the two versions of its format that hosts are found with.

Both say the same. The file lies where installers put it, so that what edits a host's configuration can be tried on it;
a test that wants a file as people keep them (comments, odd layout) gives a function that dresses this one.
"""

from pathlib import Path

from testbed.errors import BedError

PAUSE = "docker.io/local/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
VERSIONS = (2, 3)


def containerd_settings(*, version: int, runc: Path, network: Path, cni_folder: Path, cdi: bool) -> str:
    """The whole file."""
    # restrict_oom_score_adj: a machine without CAP_SYS_RESOURCE cannot lower the score, and every pod would fail.
    # config_path, as installers set it: the default is two folders in one text, which containerd 2.3 takes for one.
    parts = {2: _version_2, 3: _version_3}
    if version not in parts:
        raise BedError(f"containerd's configuration is written as version 2 or 3 here, not {version!r}")
    return f"""version = {version}
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.grpc.v1.tasks-opt"]

[grpc]
address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "/var/lib/containerd-opt"

{parts[version](runc, network, cni_folder, str(cdi).lower())}"""


def _version_3(runc: Path, network: Path, cni_folder: Path, cdi: str) -> str:
    return f"""[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE}"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true
enable_cdi = {cdi}
cdi_spec_dirs = ["/run/cdi"]
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{cni_folder}"]
conf_dir = "{network}"
"""


def _version_2(runc: Path, network: Path, cni_folder: Path, cdi: str) -> str:
    return f"""[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
restrict_oom_score_adj = true
disable_apparmor = true
enable_cdi = {cdi}
cdi_spec_dirs = ["/run/cdi"]
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cni_folder}"
conf_dir = "{network}"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
"""
