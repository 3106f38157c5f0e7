"""A made-up `/sys` and `/dev` with MetaX cards, file by file as the kernel driver shows them.

The sysfs driver, the twin of the vendor's library and the vendor's library itself all read such a tree: a format that
only one of them takes is a mistake of ours. Formats are those that the library 2.2.8 accepts. Links are relative, for
the tree may be mounted over `/sys`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

CLASS_ROOT = "class/mxcd/mxcd"
DEVICE_IDS = {"MXC500": 0x4001, "MXC550": 0x4000, "MXN260": 0x4083, "MXN100": 0x0A01, "MXC500 VF": 0x4019}
METAXLINK, ETHERNET, TO_NUMA = 4, 5, 3
PCIE_LINKS = {1: 101, 2: 102, 3: 103, 4: 104, 6: 105}
"""The type of a link by the level that the library makes of it."""
FIRST_NODE = 64
"""Layout nodes of cards; before them are those of processors, numbered as NUMA nodes are."""
FIRST_GID = 4000
FIRST_SLICE_NODE = 900
FIRST_SLICE_GID = 20000
PORTS = 7
NOT_USED = 5
QUOTA_MB = 64581
"""What a C500 of 65,536 MiB can slice, as a real one says."""


@dataclass(frozen=True)
class TreeSlice:
    id: int
    memory: int = 4096
    """MiB."""
    compute: int = 5
    minor: int = 2
    online: int = 0
    alias: str = ""
    uuid: str = ""
    """Without the prefix; empty for a slice whose layout node is not there."""
    usage: int = 0
    """Ten-thousandths."""
    used: int = 0
    """Bytes."""


@dataclass(frozen=True)
class TreeCard:
    """One card. `active` and `reason` are of its layout node, `smi` is whether its files can be read."""

    number: int
    bdf: str
    uuid: str = ""
    """Without the prefix; empty for a card without a layout node."""
    product: str = "MXC500"
    device_id: int | None = None
    """Of PCI; by the product where it is not said."""
    shown_name: str = ""
    host_bridge: str = "pci0000:00"
    bridges: tuple[str, ...] = ()
    numa: int = 0
    driver: str = "METAX"
    smi: bool = True
    active: int = 1
    reason: tuple[int, str] | None = None
    memory_kb: int = 67108864
    used_kb: int = 845824
    usage: int = 0
    temperature: int = 3850
    """Hundredths of a degree."""
    ways: tuple[int, ...] = (20000, 21000, 20500)
    cap: int = 350000
    clocks: Mapping[str, str] = field(
        default_factory=lambda: {"xcore": "1500", "mc0": "1800 642", "vpue": "500", "vpud": "600"}
    )
    throttle: int = 1
    ecc: tuple[int, ...] = (0, 0, 0, 0, 0)
    serial: str = ""
    versions: tuple[str, str] = ("3.8.30", "1.33.5.0")
    link: tuple[int, str] = (0, "enabled")
    topology: tuple[int, int] | None = None
    """Of MetaXLink: the number of the arrangement and the socket in it; None for a card without links."""
    port_states: Mapping[int, int] = field(default_factory=dict[int, int])
    """By port, from 1; others are not used."""
    model: str = "native"
    quota_mb: int = QUOTA_MB
    policy: int = 0
    virtual_functions: int | None = None
    """The most it can be split into; None for a card that cannot be split."""
    part_of: str = ""
    """The address of the card that it is a virtual function of."""
    slices: tuple[TreeSlice, ...] = ()
    second_die: Mapping[str, str] | None = None
    """Files of `smi1/` with other contents than those of `smi/`; None for a card of one die."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further files of the card, or other contents for those above."""
    absent: frozenset[str] = frozenset()
    """Files of the card that its driver does not make."""

    @property
    def folder(self) -> str:
        return "/".join(("devices", self.host_bridge, *self.bridges, self.bdf))

    @property
    def node(self) -> int:
        return FIRST_NODE + self.number

    @property
    def gid(self) -> int:
        return FIRST_GID + self.number


@dataclass(frozen=True)
class TreeProcess:
    pid: int
    card: int
    """By number."""
    memory: int = 0
    name: str = "python"
    slice: int | None = None
    nspid: int | None = None
    """As the kernel sees it from where it is read; the pid where it is not said."""


@dataclass(frozen=True)
class MetaxTree:
    """All there is to see on a node."""

    cards: tuple[TreeCard, ...] = ()
    processes: tuple[TreeProcess, ...] = ()
    links: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """The type of the layout link between two cards, by their numbers."""

    def grow(self, sysfs: Path, dev: Path, *, renew_slices: bool = False) -> None:
        """Make the tree what is described, one file after the other, while a library may be reading it.

        Slices of a card that is there already stay as they are, unless they are renewed: they are the kernel's,
        whatever is described.
        """
        nodes = sysfs / CLASS_ROOT / "layout/nodes"
        (sysfs / "bus/pci/devices").mkdir(parents=True, exist_ok=True)
        _take_away(sysfs, {card.bdf for card in self.cards}, {card.node for card in self.cards if card.uuid})
        for numa in {card.numa for card in self.cards if card.numa >= 0}:
            _write(nodes / str(numa), {"type": "cpu", "gid": "0", "properties": "cpu_cores_count 32"})
        _write(dev, {"mxcd": ""})
        for card in self.cards:
            fresh = not (sysfs / card.folder).exists()
            if not card.smi:
                for die in ("smi", "smi1"):
                    shutil.rmtree(sysfs / card.folder / die, ignore_errors=True)
            _write(sysfs / card.folder, _files_of(card))
            if card.uuid:
                _write(nodes / str(card.node), _node_of(card, self._links_of(card)))
            if fresh or renew_slices:
                _take_slices_away(sysfs, card)
                _grow_slices(sysfs, card)
            _grow_places(sysfs, dev, card)
        shutil.rmtree(sysfs / CLASS_ROOT / "proc", ignore_errors=True)
        (sysfs / CLASS_ROOT / "proc").mkdir(parents=True)
        for process in self.processes:
            gid = self._gid(sysfs, process)
            _write(sysfs / CLASS_ROOT / "proc" / str(process.pid), _process_of(process, gid))

    def _links_of(self, card: TreeCard) -> dict[int, int]:
        there = {each.number: each.node for each in self.cards if each.uuid}
        return {
            there[other]: kind
            for pair, kind in self.links.items()
            if card.number in pair and (other := sum(pair) - card.number) in there
        }

    def _gid(self, sysfs: Path, process: TreeProcess) -> int:
        card = next(each for each in self.cards if each.number == process.card)
        if process.slice is None:
            return card.gid
        file = sysfs / card.folder / f"sgpu/sgpu{process.slice}/gpu_id"
        return int(file.read_text()) if file.exists() else FIRST_SLICE_GID + process.slice


def _files_of(card: TreeCard) -> dict[str, str]:
    device = DEVICE_IDS.get(card.product, 0x4001) if card.device_id is None else card.device_id
    files = {
        "vendor": "0x9999",
        "device": f"0x{device:04x}",
        "class": "0x038000",
        "numa_node": str(card.numa),
        "local_cpulist": "0-31",
        "model": card.model,
        "sgpu/total_vram_quota": str(card.quota_mb),
        "sgpu/sched_class": str(card.policy),
        "sgpu/sched_timeslice": "20",
    }
    if card.virtual_functions is not None:
        files |= {"sriov_totalvfs": str(card.virtual_functions), "sriov_numvfs": "0"}
    if card.smi:
        files |= {f"smi/{name}": text for name, text in _smi_of(card).items()}
        if card.second_die is not None:
            files |= {f"smi1/{name}": text for name, text in (_smi_of(card) | dict(card.second_die)).items()}
    return {name: text for name, text in {**files, **card.files}.items() if name not in card.absent}


def _smi_of(card: TreeCard) -> dict[str, str]:
    files = {
        "pcipowerstate": "D0",
        "showvendorid": "0x9999",
        "showdriverversion": card.versions[0],
        "showvbios": card.versions[1],
        "showxcuse": f"{card.usage:x}",
        "showmeminfo": f"vis_vram: {card.memory_kb}\nvram: {card.memory_kb}\nxtt: 1024",
        "showmemuse": f"vis_vram: {card.used_kb}\nvram: {card.used_kb}\nxtt: 0",
        "showtemp": f"hotspot: {card.temperature}\nhotlimit: 10500\nsoc: 3700",
        "showboardpowerinfo": "\n".join(f"12000 {power // 12} {power}" for power in card.ways),
        "capability": str(card.cap),
        "showclocks": "\n".join(f"{name}: {value}" for name, value in card.clocks.items()),
        "pmdecsrc": str(card.throttle),
        "ras_show_mem_ecc_info": "\n".join(map(str, card.ecc)),
        "metalink_ctrl": f"{card.link[0]}\n{card.link[1]}",
    }
    if card.serial:
        files["showe2prominfo"] = f"pcba serial number: {card.serial}"
    if card.shown_name:
        files["showcardname"] = card.shown_name
    if card.topology is not None:
        ports = range(1, PORTS + 1)
        files |= {
            "showtopology": f"topology_id: {card.topology[0]}\nsocket_id: {card.topology[1]}\ndie_id: 0",
            "showmetalkspeed": "\n".join(f"port{port}: 32" for port in ports),
            "showmetalkwidth": "\n".join(f"port{port}: 16" for port in ports),
            "showmetalkstatus": "\n".join(
                f"port{port}: {card.port_states.get(port, NOT_USED)}" for port in ports
            ),
        }
    return files


def _node_of(card: TreeCard, links: Mapping[int, int]) -> dict[str, str]:
    split = bool(card.part_of)
    files = {
        "gid": str(card.gid),
        "type": "gpuvf" if split else "sgpu-parent-dev" if card.model == "sgpu" else "gpu",
        "location": card.bdf,
        "unique_id": card.uuid,
        "active": str(card.active),
        "properties": f"drm_render_minor {128 + card.number}\nis_vf {int(split)}\ntopology_id 0\ndie_id 0",
    }
    if card.reason is not None:
        files["inactive_reason"] = f"{card.reason[0]}\n{card.reason[1]}"
    near = {card.numa: TO_NUMA} if card.numa >= 0 else {}
    for at, (other, kind) in enumerate({**near, **links}.items()):
        files[f"direct_links/{at}/properties"] = f"from {card.node}\nto {other}\ndistance 15\ntype {kind}"
    return files


def begin_process_in_slice(
    sysfs: Path, card: TreeCard, slice_id: int, pid: int, *, memory: int | None
) -> None:
    """Start work in a slice that was made on the grown tree. Without memory there, the library does not list it."""
    gid = int((sysfs / card.folder / f"sgpu/sgpu{slice_id}/gpu_id").read_text())
    files = _process_of(TreeProcess(pid, card.number, memory=memory or 0), gid)
    if memory is None:
        del files[f"vram_{gid}"]
    _write(sysfs / CLASS_ROOT / "proc" / str(pid), files)


def _process_of(process: TreeProcess, gid: int) -> dict[str, str]:
    seen = process.pid if process.nspid is None else process.nspid
    return {
        "nspid": str(seen),
        "name": process.name,
        "ringbuf/0/type": "0",
        "ringbuf/0/gpuid": str(gid),
        f"vram_{gid}": str(process.memory),
    }


def _grow_slices(sysfs: Path, card: TreeCard) -> None:
    folder, nodes = sysfs / card.folder, sysfs / CLASS_ROOT / "layout/nodes"
    for name in ("create", "remove"):
        _write(folder / "sgpu", {name: ""})
    for each in card.slices:
        node = FIRST_SLICE_NODE + card.number * 16 + each.id
        _write(folder / f"sgpu/sgpu{each.id}", _slice_of(each, node))
        free = each.memory * 2**20 - each.used
        memory = f"{each.memory * 2**20}\n{each.used}\n{free}"
        _write(folder / f"smi/sgpu{each.id}", {"utilization": str(each.usage), "meminfo": memory})
        if each.uuid:
            files = {
                "gid": str(FIRST_SLICE_GID + node),
                "type": "sgpu-sub-dev",
                "location": card.bdf,
                "active": "1",
            }
            more = {"unique_id": each.uuid, "local_id": str(each.id), "properties": "is_vf 0"}
            _write(nodes / str(node), files | more)
    left = {
        "available_devcnt": 16 - len(card.slices),
        "available_vram_quota": card.quota_mb - sum(each.memory for each in card.slices),
        "available_sched_quota": max(0, 100 - sum(each.compute for each in card.slices)),
    }
    _write(folder / "sgpu", {name: str(number) for name, number in left.items()})


def _take_slices_away(sysfs: Path, card: TreeCard) -> None:
    for kind in ("sgpu", "smi"):
        for number in range(16):
            folder = sysfs / card.folder / kind / f"sgpu{number}"
            if folder.exists():
                shutil.rmtree(folder)
    nodes = sysfs / CLASS_ROOT / "layout/nodes"
    for node in list(nodes.iterdir()) if nodes.exists() else ():
        if int(node.name) >= FIRST_SLICE_NODE and (node / "location").read_text().strip() == card.bdf:
            shutil.rmtree(node)


def _slice_of(each: TreeSlice, node: int) -> dict[str, str]:
    return {
        "node_id": str(node),
        "vram_quota": str(each.memory),
        "sched_quota": str(each.compute),
        "sched_priority": "1",
        "minor": str(each.minor),
        "online": str(each.online),
        "alias": each.alias,
        "annotations": "",
        "gpu_id": str(FIRST_SLICE_GID + node),
    }


def _grow_places(sysfs: Path, dev: Path, card: TreeCard) -> None:
    """The links between the bus, the driver and the card, and its device nodes."""
    home, devices = sysfs / card.folder, sysfs / "bus/pci/devices"
    driver = sysfs / "bus/pci/drivers" / card.driver
    driver.mkdir(parents=True, exist_ok=True)
    for name in (f"card{card.number + 1}", f"renderD{card.number + 128}"):
        (home / "drm" / name).mkdir(parents=True, exist_ok=True)
        _write(dev / "dri", {name: ""})
    for link, target in ((devices / card.bdf, home), (driver / card.bdf, home), (home / "driver", driver)):
        _link(link, target)
    if card.part_of:
        _link(home / "physfn", devices / card.part_of)


def _take_away(sysfs: Path, bdfs: set[str], numbers: set[int]) -> None:
    """Everything about cards that are not there any more."""
    devices, nodes = sysfs / "bus/pci/devices", sysfs / CLASS_ROOT / "layout/nodes"
    # As the kernel does: from its driver first.
    for link in [*sysfs.glob("bus/pci/drivers/*/*"), *devices.iterdir()]:
        if link.name not in bdfs:
            link.unlink()
    for folder in list(sysfs.glob("devices/**/drm")):
        if folder.parent.name not in bdfs:
            shutil.rmtree(folder.parent)
    for node in nodes.iterdir() if nodes.exists() else ():
        number = int(node.name)
        of_slice = number >= FIRST_SLICE_NODE and (node / "location").read_text().strip() in bdfs
        if number >= FIRST_NODE and number not in numbers and not of_slice:
            shutil.rmtree(node)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Each at once: a reader finds the old text or the new one."""
    for name, text in files.items():
        file = folder / name
        whole = f"{text}\n" if text else ""
        if file.exists() and file.read_text() == whole:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}")
        beside.write_text(whole)
        beside.replace(file)


def _link(link: Path, target: Path) -> None:
    to = os.path.relpath(target, link.parent)
    if link.is_symlink():
        if str(link.readlink()) == to:
            return
        link.unlink()
    link.symlink_to(to)
