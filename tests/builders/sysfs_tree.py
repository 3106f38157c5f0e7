"""A made-up `/sys` and `/dev` with cards in it, file by file as the kernel drivers would show them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

METAX = {"vendor": "0x9999", "device": "0x4001", "class": "0x038000"}
S4000 = {"vendor": "0x1ed5", "device": "0x0323", "class": "0x030000"}


class Tree:
    def __init__(self, root: Path) -> None:
        self.sys = root / "sys"
        self.dev = root / "dev"
        self.sys.mkdir()
        (self.dev / "dri").mkdir(parents=True)

    def write(self, path: str, text: str) -> Path:
        file = self.sys / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        return file

    def card(
        self,
        path: str,
        ids: Mapping[str, str] = METAX,
        *,
        driver: str | None = "METAX",
        numa: int = 0,
        minor: int | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """A PCI device at a path below `devices/`, linked from the bus as the kernel does."""
        folder = self.sys / "devices" / path
        bdf = folder.name
        for name, text in {**ids, "numa_node": str(numa), **(files or {})}.items():
            self.write(f"devices/{path}/{name}", text)
        self._link(self.sys / "bus/pci/devices" / bdf, folder)
        if driver is not None:
            (self.sys / "bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            self._link(folder / "driver", self.sys / "bus/pci/drivers" / driver)
        if minor is not None:
            for name in (f"card{minor + 1}", f"renderD{128 + minor}"):
                (folder / "drm" / name).mkdir(parents=True)
                (self.dev / "dri" / name).write_text("")
        return folder

    def node(
        self,
        number: int,
        bdf: str,
        *,
        root: str = "class/metax/mxcd",
        links: Mapping[int, int] | None = None,
        **files: str,
    ) -> None:
        """A node of MetaX's own map. `links` are numbers of other nodes with the type of each link."""
        base = f"{root}/layout/nodes/{number}"
        defaults = {
            "type": "gpu",
            "location": bdf,
            "unique_id": f"0000000{number}-1111-2222-3333-444444444444",
            "active": "1",
            "properties": f"drm_render_minor {128 + number}\nis_vf 0",
        }
        for name, text in {**defaults, **files}.items():
            self.write(f"{base}/{name}", text)
        for at, (other, kind) in enumerate((links or {}).items()):
            text = f"from {number}\nto {other}\ndistance 1\ntype {kind}"
            self.write(f"{base}/direct_links/{at}/properties", text)

    @staticmethod
    def _link(link: Path, target: Path) -> None:
        link.parent.mkdir(parents=True, exist_ok=True)
        # As the kernel's are, so that the tree may be moved.
        link.symlink_to(os.path.relpath(target, link.parent))
