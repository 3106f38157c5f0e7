"""The kernel's part: is the vendor's module loaded, does it drive the cards, can it slice them?

A vendor of whom there is no card gets one line, from the probe of its module; the other probes have nothing to say.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from tangram.drivers.doctor.bus import DEVICES, cards_on_bus
from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, skip, warn
from tangram.drivers.doctor.machine import Machine

METAX_NATIVE: Final = "metax"
METAX_CLOUD: Final = "mxgvm"
MTHREADS: Final = "mtgpu"
SGPU_KM: Final = "/proc/sgpu_km"


def metax_module(machine: Machine) -> Findings:
    """The module, its mode, and whether every card is bound to it."""
    cards = cards_on_bus(machine).metax
    loaded = [name for name in (METAX_NATIVE, METAX_CLOUD) if machine.exists(f"/sys/module/{name}")]
    if not cards and not loaded:
        yield skip("metax-module", "no MetaX card is on the PCI bus and no MetaX module is loaded")
        return
    if not loaded:
        yield fail(
            "metax-module",
            f"{len(cards)} MetaX cards are on the PCI bus, but neither metax nor mxgvm is loaded",
            "install the metax-driver package, then modprobe metax",
        )
        return
    yield ok("metax-module", f"{' and '.join(loaded)} is loaded")
    yield from _bound(machine, cards, {"METAX", "MXGVM"}, "metax-binding")
    mode = "cloud: cards hand out virtual functions" if METAX_CLOUD in loaded else "native"
    yield ok("metax-mode", f"the driver runs in mode {mode}")


def metax_slicing(machine: Machine) -> Findings:
    """The switch of every card between whole and sliced."""
    cards = cards_on_bus(machine).metax
    if not cards:
        return
    switches = {card: machine.text(f"{DEVICES}/{card}/model") for card in cards}
    silent = [card for card, switch in switches.items() if switch is None]
    if silent:
        yield warn(
            "metax-sgpu",
            f"{len(silent)} of {len(cards)} cards have no sGPU switch ({_some(silent)})",
            "these cards can only be given whole; slices need driver 2.32.0 and a card of the C500 class",
        )
    counts = Counter(switch for switch in switches.values() if switch is not None)
    if counts:
        said = ", ".join(f"{count} {switch}" for switch, count in sorted(counts.items()))
        yield ok("metax-sgpu", f"the sGPU switch of the cards: {said}")


def mthreads_module(machine: Machine) -> Findings:
    """The module, and whether every card is bound to it."""
    cards = cards_on_bus(machine).mthreads
    loaded = machine.exists(f"/sys/module/{MTHREADS}")
    if not cards and not loaded:
        yield skip("mthreads-module", "no Moore Threads card is on the PCI bus and mtgpu is not loaded")
        return
    if not loaded:
        yield fail(
            "mthreads-module",
            f"{len(cards)} Moore Threads cards are on the PCI bus, but mtgpu is not loaded",
            "install the vendor's driver package, then modprobe mtgpu",
        )
        return
    yield ok("mthreads-module", f"{MTHREADS} is loaded")
    # Names of bound drivers differ between releases of the module; a card bound to nothing is the fault to find.
    yield from _bound(machine, cards, set(), "mthreads-binding")
    if machine.text("/sys/module/mtgpu/parameters/enable_mtlink") == "0" and len(cards) > 1:
        yield warn(
            "mthreads-mtlink",
            "mtgpu was loaded with enable_mtlink=0",
            "set options mtgpu enable_mtlink=1 in /etc/modprobe.d/mtgpu.conf if the server has MTLink bridges",
        )


def mthreads_slicing(machine: Machine) -> Findings:
    """The module that makes slices, and which cards it holds."""
    if not machine.exists(SGPU_KM):
        if not cards_on_bus(machine).mthreads:
            return
        yield warn(
            "mthreads-sgpu",
            "sgpu_km is not loaded, so Moore Threads cards can only be given whole",
            "install sgpu-dkms and modprobe sgpu_km if slices are wanted",
        )
        return
    version = machine.text(f"{SGPU_KM}/version") or "of unknown version"
    cards = machine.text(f"{SGPU_KM}/cores")
    if cards:
        yield ok("mthreads-sgpu", f"sgpu_km {version} slices cards {cards}")
    else:
        yield warn(
            "mthreads-sgpu",
            f"sgpu_km {version} is loaded and slices no card",
            f"write the cards to slice, such as 0,1, into {SGPU_KM}/cores, or give gpu_ids to the module",
        )


def _bound(machine: Machine, cards: tuple[str, ...], names: set[str], check: str) -> Findings:
    drivers = {card: machine.link_name(f"{DEVICES}/{card}/driver") for card in cards}
    loose = [card for card, driver in drivers.items() if (driver not in names if names else not driver)]
    if loose:
        yield _loose(check, loose, drivers)
    elif cards:
        yield ok(check, f"all {len(cards)} cards are bound to it")


def _loose(check: str, loose: list[str], drivers: dict[str, str]) -> Finding:
    holders = sorted({drivers[card] for card in loose if drivers[card]})
    held = f" (held by {', '.join(holders)})" if holders else ""
    return warn(
        check,
        f"{len(loose)} of {len(drivers)} cards are not bound to the vendor's driver{held}: {_some(loose)}",
        "look into the kernel log for the reason; a card held by vfio-pci is passed through to a virtual machine",
    )


def _some(cards: list[str]) -> str:
    return ", ".join(cards[:4]) + (" and more" if len(cards) > 4 else "")
