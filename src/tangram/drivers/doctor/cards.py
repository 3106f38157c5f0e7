"""What the driver itself says: do the cards answer, are they well, is the driver new enough?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, warn
from tangram.drivers.doctor.versions import (
    METAX_SLICES,
    MTHREADS_SLICES,
    Version,
    read_version,
    version_text,
)
from tangram.drivers.errors import Kind
from tangram.drivers.snapshot import CardReading, Snapshot, Trouble
from tangram.drivers.unusable import LIMITED
from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.units.memory import from_gib
from tangram.units.na import NotAvailable

_OLDEST: Final[dict[Vendor, tuple[str, Version]]] = {
    Vendor.METAX: ("MetaX", METAX_SLICES),
    Vendor.MTHREADS: ("Moore Threads", MTHREADS_SLICES),
}


def judge_cards(snapshot: Snapshot) -> Findings:
    """Findings about everything the driver answered, and about what it did not."""
    devices = [reading.device for reading in snapshot.cards]
    yield from _answering(snapshot)
    yield from _troubles(snapshot.troubles)
    yield from _health(snapshot.cards)
    for vendor, (name, oldest) in _OLDEST.items():
        yield from _version(name, oldest, [device for device in devices if device.vendor is vendor])
    yield from _memory(devices)


def _answering(snapshot: Snapshot) -> Findings:
    """Cards that the vendor's software cannot use are there, and do not answer."""
    limited = [card for card in snapshot.cards if card.health is not None and card.health.code == LIMITED]
    usable = [card.device for card in snapshot.cards if card not in limited]
    if usable:
        yield ok("cards", f"{_products(usable)} answer through {snapshot.driver}")
    if limited:
        unusable = _products([card.device for card in limited])
        verb = "is" if len(limited) == 1 else "are"
        yield fail(
            "cards",
            f"{unusable} {verb} on the bus, and {snapshot.driver} cannot use {'it' if verb == 'is' else 'them'}",
            "no pod gets one; the reasons follow, card by card",
        )


def _products(devices: Sequence[Device]) -> str:
    counts = Counter(device.product for device in devices)
    return ", ".join(f"{count} x {product}" for product, count in counts.items())


def _troubles(troubles: Iterable[Trouble]) -> Findings:
    named: set[tuple[Kind, str]] = set()
    for trouble in troubles:
        if (trouble.kind, trouble.call) in named:
            continue
        named.add((trouble.kind, trouble.call))
        if trouble.kind is Kind.STUCK:
            yield fail(
                "cards-answer",
                f"stuck: {_with_call(trouble)}",
                "look into the kernel log; drain the node, then reset the card or reboot",
            )
        else:
            yield warn("cards-answer", f"{trouble.kind}: {_with_call(trouble)}", _remedy(trouble.kind))


def _with_call(trouble: Trouble) -> str:
    named = trouble.call in trouble.sentence
    return trouble.sentence.rstrip(".") if named else f"{trouble.call}: {trouble.sentence.rstrip('.')}"


def _remedy(kind: Kind) -> str:
    return "run it as root" if kind is Kind.NOT_PERMITTED else "look into the kernel log"


def _health(cards: Sequence[CardReading]) -> Findings:
    asked = [card for card in cards if card.health is not None]
    bad = [card for card in asked if card.health is not None and not card.health.healthy]
    for card in bad:
        health = card.health
        if health is not None:
            yield fail(
                "cards-health",
                f"card {card.device.index} ({card.device.bdf or card.device.uuid}) is unhealthy: "
                f"{health.message or health.code or 'no reason given'}",
                "no new pod gets it; move its pods away and reset or replace it",
            )
    if asked and not bad:
        yield ok("cards-health", f"all {len(asked)} cards are healthy")


def _version(name: str, oldest: Version, devices: Sequence[Device]) -> Findings:
    if not devices:
        return
    check = f"{devices[0].vendor}-driver-version"
    written = {
        str(device.driver_version)
        for device in devices
        if not isinstance(device.driver_version, NotAvailable)
    }
    if not written:
        yield warn(
            check,
            f"nobody can tell the version of the {name} driver",
            f"make sure that it is {version_text(oldest)} or newer; older ones make no slices",
        )
    for text in sorted(written):
        version = read_version(text)
        if version is None or version < oldest:
            yield fail(
                check,
                f"the {name} driver is {text}, and slices need {version_text(oldest)} or newer",
                "upgrade the driver (drain the node first), or give its cards whole only",
            )
        else:
            yield ok(check, f"the {name} driver is {text}; slices need {version_text(oldest)}")


def _memory(devices: Sequence[Device]) -> Findings:
    """A model that shows two thirds of its memory has not become another model."""
    short = [device for device in devices if device.product == "MTT S4000" and device.memory == from_gib(32)]
    if short:
        numbers = ", ".join(str(device.index) for device in short)
        yield fail(
            "mthreads-iommu",
            f"S4000 {numbers} shows 32768 MiB instead of 49152: the host's IOMMU is in the way",
            "set iommu=pt (intel_iommu=on iommu=pt or amd_iommu=on iommu=pt) on the kernel's command line and reboot",
        )
