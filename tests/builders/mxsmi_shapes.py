"""What `mx-smi` prints, in the shapes of the releases that were seen. All identifiers are invented."""

from __future__ import annotations

import json
from collections.abc import Mapping

BANNER = """mx-smi  version: {version}

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Wed Aug 12 08:29:31 2026

Attached GPUs                                     : {count}
"""
END = "End of Log\n"
UUIDS = tuple(f"GPU-0000000{number}-1111-2222-3333-444444444444" for number in range(8))
BDFS = tuple(f"0000:{bus:02x}:00.0" for bus in (0x0E, 0x0F, 0x10, 0x12, 0x35, 0x36, 0x37, 0x38))

LISTING = f"""mx-smi  version: 2.2.12
GPU#0    MXC500      {BDFS[0]}   Available (UUID: {UUIDS[0]})
  SGPU#3   25% 15.625gb   Available (UUID: GPU-00000000-1111-2222-3333-555555555555) sgpu-alias
  SGPU#11   5% 4gb   Available (UUID: GPU-00000000-1111-2222-3333-666666666666)
GPU#1    MXC500      {BDFS[1]}   Not Available(MetaX Sysfs File Unaccessible)
"""
WHOLE_LISTING = "mx-smi  version: 2.2.9\n" + "".join(
    f"GPU#{number}    MXC500      {bdf}   Available (UUID: {uuid})\n"
    for number, (bdf, uuid) in enumerate(zip(BDFS, UUIDS, strict=True))
)
ALL_LIMITED = "mx-smi  version: 2.2.12\n" + "".join(
    f"GPU#{number}    MXC500      {bdf}   Not Available(MetaX Sysfs File Unaccessible)\n"
    for number, bdf in enumerate(BDFS)
)
NO_CARDS = "mx-smi  version: 2.2.12\n"


def report(bdfs: tuple[str, ...] = BDFS[:1]) -> str:
    """`-j`: one line that is no JSON, then JSON."""
    cards: dict[str, object] = {
        bdf: {
            "device_id": number,
            "vbios_version": "1.33.5.0",
            "unavailable_reason": "",
            "hotspot": "38.500",
            "utilization": 7,
            "clocks": {"XCORE": 1600, "MC": 1600, "VPUE": 0, "VPUD": 0},
            "ras_status": {"PCIE register0": "0x0"},
            "ras_count": {"uncorrected_error": {}, "corrected_error": {}},
            "board_power": {
                "voltage": {"Way0": "12.1"},
                "current": {"Way0": "2.0"},
                "power": {"Way0": "24.2"},
            },
            "pci_event_info": {"aer_ue": [], "aer_ce": [], "synfld": [], "dbe": [], "mmio": []},
            "sgpu_count": 1 if number == 0 else 0,
            "sgpu_info": [
                {
                    "minor": 22,
                    "parent_deviceId": 0,
                    "sgpu_id": 3,
                    "compute_quota": 25,
                    "vram_quota": 16000,
                    "vram_used": "12",
                    "utilization": "4%",
                }
            ]
            if number == 0
            else [],
        }
        for number, bdf in enumerate(bdfs)
    }
    head: dict[str, object] = {
        "timestamp": "Wed Aug 12 08:29:31 2026",
        "smi_version": "2.2.12",
        "maca_version": "3.5.3.20",
        "driver_version": "3.8.30",
        "attached_gpus": len(bdfs),
    }
    return "mx-smi  version: 2.2.12\n" + json.dumps({**head, **cards}, indent=2) + "\n"


def sections(title_rows: Mapping[str, Mapping[str, str]], bdfs: tuple[str, ...] = BDFS[:1]) -> str:
    """A sectioned command: the same titles and rows for each card."""
    text = BANNER.format(version="2.2.12", count=len(bdfs))
    for number, bdf in enumerate(bdfs):
        text += f"\nGPU#{number}  MXC500  {bdf}\n"
        for title, rows in title_rows.items():
            text += f"    {title}\n"
            text += "".join(f"        {key:<42}: {value} \n" for key, value in rows.items())
    return text + END


def untitled(rows: Mapping[str, str], bdfs: tuple[str, ...] = BDFS[:1]) -> str:
    """A command of `sgpu`, as 2.3.1 prints it: rows without a title, the same for each card."""
    text = BANNER.format(version="2.3.1", count=len(bdfs))
    for number, bdf in enumerate(bdfs):
        text += f"\nGPU#{number}  MXC500  {bdf}\n"
        text += "".join(f"        {key:<42}: {value} \n" for key, value in rows.items())
    return text + END


REMAIN_ROWS = {
    "total vram quota": "64581 MB",
    "available vram quota": "581 MB",
    "available compute quota": "0 %",
}
MODE_ROWS = {"sgpu mode": "Enable"}
POLICY_ROWS = {"sched class": "best effort"}
USAGE_ROWS = {"sgpu3 usage": "3 %", "sgpu11 usage": "12.5 %"}
HARDWARE_ROWS = {
    "Hardware Info": {
        "Model Name": "MetaX C500",
        "Chip Name": "MXC500",
        "Manufacturer": "MetaX",
        "Board Serial Number": "B0123456789",
        "Board Part Number": "P1",
        "Chip Serial Number": "C1",
        "Memory Type": "HBM2e",
        "Memory Capacity": "64GB",
    }
}
MEMORY_ROWS = {
    "Memory": {
        "vis_vram total": "67108864 KB",
        "vis_vram used": "878592 KB",
        "vis_vram usage": "1.31 %",
        "vram total": "67108864 KB",
        "vram used": "878592 KB",
        "vram usage": "1.31 %",
        "xtt total": "33554432 KB",
        "xtt used": "0 KB",
        "xtt usage": "0.00 %",
    }
}
VERSION_ROWS = {"Version": {"MACA": "3.5.3.20", "BIOS": "1.33.5.0", "KMD": "3.8.30", "SMP0": "1.0"}}
ECC_ROWS = {
    "ECC Errors": {
        "SRAM Correctable": "1",
        "SRAM Uncorrectable": "0",
        "DRAM Correctable": "2",
        "DRAM Uncorrectable": "0",
    },
    "Retired Pages": {"Double Bit ECC": "0"},
}
SYSTEM_ROWS = {
    "Sys info": {"driver gpu id": "100", "node id": "2", "render id": "renderD128", "card id": "card1"}
}
POWER_ROWS = {
    "Board Voltage": {"Way 0": "12.10 V"},
    "Board Current": {"Way 0": "2.00 A"},
    "Board Power": {"Way 0": "24.20 W", "Total": "61.50 W", "Limit": "350.00 W"},
}
FAILED_SECTION = (
    BANNER.format(version="2.2.12", count=1)
    + "\nGPU#0 show-hwinfo Sysfs error: No such file or directory\n"
    + END
)
UNKNOWN_OPTION = """PARSE ERROR: Argument: -j
             Couldn't find match for argument

Brief USAGE:
   mx-smi  [-h]
"""

LEGEND = "\nLegend:\n  X    = Self\n  MX   = Connection traversing MetaXLink\n"


def matrix(cells: list[list[str]], *, affinity: bool = True, title: bool = True) -> str:
    """`topo -m`, with or without what some builds leave out."""
    text = BANNER.format(version="2.2.9", count=len(cells)) + ("Device link type matrix\n" if title else "")
    head = "".join(f"GPU{number}".ljust(8) for number in range(len(cells)))
    text += " " * 8 + head + ("Node Affinity  CPU Affinity" if affinity else "") + "\n"
    for number, row in enumerate(cells):
        rest = f"{number // 4:<15}0-31,64-95" if affinity else ""
        text += f"GPU{number}".ljust(8) + "".join(cell.ljust(8) for cell in row) + rest + "\n"
    return text + LEGEND


def two_groups(across: str = "NODE") -> list[list[str]]:
    return [["X" if a == b else "MX" if a // 4 == b // 4 else across for b in range(8)] for a in range(8)]


_RULE = "+---------------------------------------------------------------------------------+"
_OLD_RULE = "+------------------------------------+---------------------+----------------------+"
_NEW_RULE = "+------------------+-----------------+---------------------+----------------------+"
_PROCESSES = f"""
{_RULE}
| Process:                                                                        |
|  GPU                    PID         Process Name                 GPU Memory     |
|                                                                  Usage(MiB)     |
|=================================================================================|
|  no process found                                                               |
{_RULE}
"""

TABLE_2_1_6 = (
    BANNER.format(version="2.1.6", count=1)
    + f"""{_RULE}
| MX-SMI 2.1.6                        Kernel Mode Driver Version: 2.5.014         |
| MACA Version: 2.23.0.1018           BIOS Version: 1.13.5.0                      |
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Power                  | Memory-Usage        |                      |
|====================================+=====================+======================|
| 0           MXC500                 | 0000:05:00.0        | 3%                   |
| 51C         71W                    | 60982/65536 MiB     |                      |
{_OLD_RULE}
"""
    + _PROCESSES
)
TABLE_2_2_4 = (
    BANNER.format(version="2.2.4", count=2)
    + f"""{_RULE}
| MX-SMI 2.2.4                        Kernel Mode Driver Version: 2.15.9          |
| MACA Version: 2.32.0.6              BIOS Version: 1.25.1.0                      |
|------------------------------------+---------------------+----------------------+
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        | GPU-State            |
|====================================+=====================+======================|
| 0           MetaX C550             | 0000:0f:00.0        | 0%                   |
| 29C         53W / 450W             | 858/65536 MiB       | Available            |
{_OLD_RULE}
| 1           MetaX C550             | 0000:34:00.0        | 12%                  |
| 34C         97W / NA               | 858/65536 MiB       | Available            |
{_OLD_RULE}
"""
    + _PROCESSES
)
TABLE_2_2_6 = (
    BANNER.format(version="2.2.6", count=1)
    + f"""{_RULE}
| MX-SMI 2.2.6                        Kernel Mode Driver Version: 2.16.0          |
| MACA Version: 3.0.0.8               BIOS Version: 1.26.1.0                      |
|------------------------------------+---------------------+----------------------+
| GPU     NAME         Persistence-M | Bus-id              | GPU-Util      sGPU-M |
| Temp    Pwr:Usage/Cap         Perf | Memory-Usage        | GPU-State            |
|====================================+=====================+======================|
| 0       MetaX C500             Off | 0000:38:00.0        | 0%            Native |
| 44C     71W / 350W              P9 | 986/65536 MiB       | Available            |
{_OLD_RULE}
"""
    + _PROCESSES
)
TABLE_2_2_12 = (
    BANNER.format(version="2.2.12", count=1)
    + f"""{_RULE}
| MX-SMI 2.2.12                      Kernel Mode Driver Version: 3.8.30           |
| MACA Version: unknown              BIOS Version: 1.33.5.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
| 0     MetaX C500 | 0           Off | {BDFS[0]}        | 0%           Enabled |
| 61W / 350W       | 38C          P9 | 15155/65536 MiB     | Available            |
{_NEW_RULE}

{_RULE}
| Sliced GPU                                                                      |
| Minor    GPU    sGPU-Id    Compute | Vram Quota          | sGPU-Util            |
|====================================+=====================+======================|
| 022      0      3          25%     | 0/16000 MiB         | 0%                   |
{_OLD_RULE}
"""
    + _PROCESSES
)
