"""The files of a GPU node around its cards: modules, device nodes, runtimes, kubelet. All below one folder."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

METAX = ("0x9999", "0x120000", "METAX")
MTHREADS = ("0x1ed5", "0x030000", "mtgpu")


class Host:
    """A node's root folder. Every method adds something and returns nothing, so that a test lists what there is."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str = "") -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def folder(self, path: str) -> None:
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def socket(self, path: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        # A node without a listener: bound paths end at 108 characters, and nobody connects here.
        os.mknod(place, stat.S_IFSOCK | 0o666)

    def program(self, path: str) -> None:
        self.write(path, "#!/bin/sh\n")
        (self.root / path.lstrip("/")).chmod(0o755)

    def module(self, name: str, **parameters: str) -> None:
        self.folder(f"/sys/module/{name}")
        for parameter, value in parameters.items():
            self.write(f"/sys/module/{name}/parameters/{parameter}", f"{value}\n")

    def card(self, bdf: str, number: int, kind: tuple[str, str, str] = METAX, *, bound: bool = True) -> None:
        """One PCI device with its display nodes; a management controller's display owns card0."""
        vendor, pci_class, driver = kind
        home = f"/sys/bus/pci/devices/{bdf}"
        self.write(f"{home}/vendor", f"{vendor}\n")
        self.write(f"{home}/class", f"{pci_class}\n")
        for name in (f"card{number + 1}", f"renderD{number + 128}"):
            self.folder(f"{home}/drm/{name}")
            self.write(f"/dev/dri/{name}")
        link = self.root / home.lstrip("/") / "driver"
        if bound and not link.is_symlink():
            self.folder(f"/sys/bus/pci/drivers/{driver}")
            link.symlink_to(f"../../drivers/{driver}")

    def metax(self, bdfs: Sequence[str], switch: str | None = "sgpu") -> None:
        """A node ready to serve MetaX cards."""
        self.module("metax")
        self.write("/dev/mxcd")
        self.program("/opt/mxdriver/bin/mx-smi")
        for number, bdf in enumerate(bdfs):
            self.card(bdf, number)
            if switch is not None:
                self.write(f"/sys/bus/pci/devices/{bdf}/model", f"{switch}\n")

    def mthreads(self, bdfs: Sequence[str], sliced: str = "0,1,2,3,4,5,6,7", toolkit: str = "2.2.0") -> None:
        """A node ready to serve Moore Threads cards."""
        self.module("mtgpu", enable_mtlink="1")
        self.program("/usr/bin/mthreads-gmi")
        self.write("/proc/sgpu_km/version", "1.3.0\n")
        self.write("/proc/sgpu_km/cores", f"{sliced}\n")
        self.write(
            "/var/lib/dpkg/status",
            f"Package: bash\nVersion: 5.2\n\nPackage: mt-container-toolkit\nStatus: install ok\nVersion: {toolkit}\n\n",
        )
        for number, bdf in enumerate(bdfs):
            self.card(bdf, number, MTHREADS)
            self.write(f"/dev/mtgpu.{number}")

    def kubernetes(self, *pods: str) -> None:
        """Kubelet and containerd, with the log folders of these pods."""
        self.socket("/var/lib/kubelet/device-plugins/kubelet.sock")
        self.socket("/var/lib/kubelet/pod-resources/kubelet.sock")
        self.write(
            "/etc/containerd/config.toml",
            'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  enable_cdi = true\n'
            "  [runtimes.metax]\n  [runtimes.mthreads]\n",
        )
        self.folder("/etc/cdi")
        self.folder("/var/log/pods")
        for number, pod in enumerate(pods):
            self.folder(f"/var/log/pods/kube-system_{pod}_{number:08x}-0000-0000-0000-000000000000")
