"""Device nodes: what a container must be given, and whether this user may open it."""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.bus import DEVICES, cards_on_bus
from tangram.drivers.doctor.findings import Findings, fail, ok, warn
from tangram.drivers.doctor.machine import Machine

METAX_CONTROL: Final = "/dev/mxcd"
METAX_CLOUD_CONTROL: Final = "/dev/mxgvm"


def metax_nodes(machine: Machine) -> Findings:
    """The shared control node and every card's display nodes."""
    cards = cards_on_bus(machine).metax
    if not cards:
        return
    control = METAX_CLOUD_CONTROL if machine.exists("/sys/module/mxgvm") else METAX_CONTROL
    if not machine.exists(control):
        yield fail(
            "metax-nodes",
            f"{control} does not exist, so no container can reach a card",
            "load the driver (modprobe metax); it makes the node",
        )
        return
    yield from _verdict(machine, "metax-nodes", cards, [control, *_display(machine, cards)])


def mthreads_nodes(machine: Machine) -> Findings:
    """Every card's own control node and display nodes."""
    cards = cards_on_bus(machine).mthreads
    if not cards:
        return
    controls = [f"/dev/{name}" for name in machine.names("/dev") if _is_mtgpu(name)]
    if len(controls) < len(cards):
        yield fail(
            "mthreads-nodes",
            f"{len(cards)} cards have {len(controls)} control nodes (/dev/mtgpu.N)",
            "load the driver (modprobe mtgpu); look into the kernel log for cards it refused",
        )
        return
    yield from _verdict(machine, "mthreads-nodes", cards, [*controls, *_display(machine, cards)])


def _verdict(machine: Machine, check: str, cards: tuple[str, ...], nodes: list[str]) -> Findings:
    bare = [card for card in cards if not any(name.startswith("renderD") for name in _drm(machine, card))]
    if bare:
        yield warn(
            check,
            f"{len(bare)} of {len(cards)} cards have no render node ({', '.join(bare[:4])})",
            "load the driver's display part (drm), or look into the kernel log",
        )
    missing = [node for node in nodes if not machine.exists(node)]
    closed = [node for node in nodes if node not in missing and not machine.usable(node)]
    if missing:
        yield fail(
            check,
            f"the kernel names {', '.join(missing[:4])}, which do not exist under /dev",
            "start udev, or make them with mknod from the numbers under /sys/class/drm",
        )
    if closed:
        yield warn(
            check,
            f"this user may not open {', '.join(closed[:4])}",
            "join the group that owns them (usually video or render), or run as root",
        )
    if not missing and not closed:
        yield ok(check, f"{len(nodes)} nodes for {len(cards)} cards are there and may be opened")


def _drm(machine: Machine, card: str) -> tuple[str, ...]:
    return machine.names(f"{DEVICES}/{card}/drm")


def _display(machine: Machine, cards: tuple[str, ...]) -> list[str]:
    return [
        f"/dev/dri/{name}"
        for card in cards
        for name in _drm(machine, card)
        if name.startswith(("card", "renderD"))
    ]


def _is_mtgpu(name: str) -> bool:
    return name.startswith("mtgpu.") and name.removeprefix("mtgpu.").isdecimal()
