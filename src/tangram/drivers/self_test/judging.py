"""Judgements about what a driver answered. Pure: records in, a verdict out, for any driver of any vendor.

A figure that is missing is not held against a card; one that contradicts another is. Sentences name no card, so that
cards of the same verdict share a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tangram.drivers.self_test.records import Verdict, failed, not_available, passed
from tangram.model.devices import Device, Figures, Health, LinkPort, LinkReport, Slice, SliceRoom
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import MIB, Bytes, memory_text
from tangram.units.na import NA, Maybe, NotAvailable, known
from tangram.vendors.metax.products import MEMORY_STEP

COLDEST: Final = -40
HOTTEST: Final = 150
MOST_WATTS: Final = 2000
LATE: Final = 2
"""Threads of the last drivers that may not be gone yet."""
MOST_GROWTH: Final = 8 * MIB
"""A leak of one record per opening shows within a hundred; what an allocator keeps for itself stays below this."""


class Footprint(msgspec.Struct, frozen=True):
    """What a process holds."""

    memory: int
    descriptors: int
    threads: int


def judge_devices(first: Sequence[Device], second: Sequence[Device]) -> Verdict:
    """Whether two readings name the same cards, each one distinct."""
    for what, values in (
        ("uuid", [device.uuid for device in first]),
        ("bus address", [device.bdf for device in first if device.bdf]),
    ):
        twice = [value for value, times in Counter(values).items() if times > 1]
        if twice:
            return failed(f"several cards have the same {what}, {twice[0]}")
    nameless = [device.index for device in first if not device.product or not device.uuid]
    if nameless:
        return failed(f"card {nameless[0]} has no product name or no uuid")
    if not same_cards(first, second):
        return failed("two readings after each other list different cards, or list them in another order")
    counts = Counter(device.product for device in first)
    said = ", ".join(f"{count} x {product}" for product, count in counts.items())
    return passed(f"{said}; each has a uuid and a bus address of its own, and a second reading agrees")


def judge_bus(devices: Sequence[Device], on_bus: Collection[str], parts: Collection[str]) -> Verdict:
    """Whether the driver lists what the PCI bus has. `parts` are virtual functions, which not every library lists."""
    listed = {device.bdf.lower() for device in devices if device.bdf}
    unlisted = sorted(set(on_bus) - listed - set(parts))
    if unlisted:
        return failed(
            f"{', '.join(unlisted)} on the PCI bus is not listed by the driver",
            "tangram doctor says whether its kernel driver holds it",
        )
    unknown = sorted(listed - set(on_bus))
    if unknown:
        return failed(f"the driver lists {', '.join(unknown)}, which the PCI bus does not have")
    return passed("the PCI bus has the same cards")


def judge_links(devices: Sequence[Device], report: LinkReport) -> Verdict:
    """Whether each pair is told once, between cards that are there."""
    if not report.known:
        return not_available("the driver does not tell how the cards are joined")
    pairs = Counter((min(link.a, link.b), max(link.a, link.b)) for link in report.links)
    for (a, b), times in pairs.items():
        if not (0 <= a < b < len(devices)):
            return failed(f"a link joins cards {a} and {b} of {len(devices)}")
        if times > 1:
            return failed(f"cards {devices[a].index} and {devices[b].index} are told twice")
    if any(link.kind is not LinkKind.NONE and link.lanes < 1 for link in report.links):
        return failed("a direct link has no lanes")
    if len(devices) < 2:
        return passed("one card, joined to nothing")
    kinds = Counter(link.kind for link in report.links if link.kind is not LinkKind.NONE)
    nothing = sum(link.kind is LinkKind.NONE and link.pcie is PcieLevel.UNKNOWN for link in report.links)
    direct = ", ".join(f"{count} by {kind}" for kind, count in kinds.items()) or "none directly"
    unknown = f", {nothing} of unknown distance" if nothing else ""
    count = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return passed(f"{count}, {direct}{unknown}")


def judge_ports(devices: Sequence[Device], ports: Sequence[LinkPort]) -> Verdict:
    """Whether ports lead to cards that have a port back."""
    if not ports:
        return not_available("no card tells of link ports")
    index = {device.uuid: device.index for device in devices}
    strange = [port for port in ports if port.card not in index]
    if strange:
        return failed(f"a port belongs to {strange[0].card}, which is not listed")
    down = [f"{index[port.card]}:{port.port}" for port in ports if port.up is False]
    if down:
        return failed(
            f"ports that should be up are down (card:port): {', '.join(down)}",
            "look at the bridge or the cable; jobs on these cards use PCIe instead",
        )
    ends = Counter((port.card, port.remote) for port in ports if port.remote is not None)
    for (here, there), count in ends.items():
        if there == here:
            return failed(f"a port of card {index[here]} leads to itself")
        if ends.get((there, here), 0) != count:
            return failed(
                f"card {index[here]} has {count} ports to card {index.get(there, -1)}, which has "
                f"{ends.get((there, here), 0)} back"
            )
    return passed(
        f"{len(ports)} ports, {sum(ends.values())} of them between listed cards, equal in both directions"
    )


def judge_figures(device: Device, figures: Figures) -> tuple[Verdict, ...]:
    """What is answered and plausible, and what is not offered."""
    wrong = "; ".join(_contradictions(device, figures))
    if wrong:
        return (failed(wrong),)
    answered = _answered(figures)
    there = [name for name, value in answered.items() if value]
    missing = [name for name, value in answered.items() if not value]
    if not there:
        return (failed("no figure at all is answered"),)
    verdicts = [passed(", ".join(there))]
    if missing:
        verdicts.append(not_available(f"not offered: {', '.join(missing)}"))
    return tuple(verdicts)


def _answered(figures: Figures) -> Mapping[str, bool]:
    return {
        "utilisation": figures.utilisation_percent is not NA,
        "memory": figures.memory_used is not NA and figures.memory_total is not NA,
        "temperature": figures.temperature_celsius is not NA,
        "power": figures.power_watts is not NA,
        "power limit": figures.power_cap_watts is not NA,
        "clocks": bool(figures.clocks_mhz),
        "ECC": figures.ecc_uncorrected is not NA,
        "retired pages": figures.retired_pages is not NA,
    }


def _contradictions(device: Device, figures: Figures) -> Iterable[str]:
    yield from _outside("utilisation", figures.utilisation_percent, 0, 100, " %")
    yield from _outside("temperature", figures.temperature_celsius, COLDEST, HOTTEST, " C")
    yield from _outside("power", figures.power_watts, 0, MOST_WATTS, " W")
    yield from _outside("power limit", figures.power_cap_watts, 0, MOST_WATTS, " W")
    used, total = figures.memory_used, figures.memory_total
    if not isinstance(total, NotAvailable):
        if not isinstance(used, NotAvailable) and not 0 <= used <= total:
            yield f"memory in use is {memory_text(used)} of {memory_text(total)}"
        if not isinstance(device.memory, NotAvailable) and device.memory != total:
            yield f"memory is {memory_text(device.memory)} in the list of cards and {memory_text(total)} in the figures"
    for clock, megahertz in figures.clocks_mhz.items():
        if megahertz < 0:
            yield f"clock {clock} is {megahertz} MHz"


def _outside(name: str, value: Maybe[float], least: float, most: float, unit: str) -> Iterable[str]:
    if not isinstance(value, NotAvailable) and not least <= value <= most:
        yield f"{name} is {value:g}{unit}, outside {least:g} to {most:g}{unit}"


def judge_processes(figures: Figures, slices: Sequence[Slice]) -> Verdict:
    """Whether whoever uses the card is known, and is in a slice that exists."""
    if isinstance(figures.processes, NotAvailable):
        return not_available(
            "the driver does not tell who uses the card, or some of them are not visible from here",
            "run it as root on the host itself, or in a container with the host's process ids (hostPID)",
        )
    here = {each.id for each in slices}
    for process in figures.processes:
        if process.pid <= 0:
            return failed(f"a process has number {process.pid}")
        if process.slice_id is not None and process.slice_id not in here:
            return failed(f"process {process.pid} is in slice {process.slice_id}, which does not exist")
    count = len(figures.processes)
    return passed("no process" if not count else f"{count} process{'es' if count > 1 else ''}")


def judge_health(health: Health | None) -> Verdict:
    """What the driver says of a card that it lists."""
    if health is None:
        return failed("the card is listed, and health says nothing about it")
    if not health.healthy:
        return failed(
            f"{health.code or 'unhealthy'}: {health.message or 'no reason given'}",
            "no new pod gets it; move its pods away and reset or replace it",
        )
    return passed("healthy" + (f", with a remark: {health.message}" if health.message else ""))


def judge_slices(device: Device, slices: Sequence[Slice]) -> Verdict:
    """Whether the slices that exist are told apart and fit onto their card."""
    numbers = [each.id for each in slices]
    if len(set(numbers)) != len(numbers):
        return failed(f"slices have the numbers {', '.join(map(str, numbers))}")
    strange = [each.id for each in slices if each.memory <= 0 or each.card != device.uuid]
    if strange:
        return failed(f"slice {strange[0]} has no memory, or belongs to another card")
    taken = Bytes(sum(each.memory for each in slices))
    whole = known(device.sliceable, known(device.memory, None))
    if whole is not None and taken > whole:
        return failed(f"slices have {memory_text(taken)} of the {memory_text(whole)} that can be sliced")
    if not slices:
        return passed("no slice")
    return passed(f"{len(slices)} slice{'s' if len(slices) > 1 else ''}, with {memory_text(taken)} of memory")


def judge_room(device: Device, slices: Sequence[Slice], room: SliceRoom) -> Verdict:
    """Whether what is taken and what is left add up to the card."""
    if room.slots < 0 or room.memory < 0 or room.cores < 0:
        return failed(f"left are {room.slots} slices, {room.memory} bytes and {room.cores} of compute")
    total = Bytes(room.memory + sum(each.memory for each in slices))
    sliceable, memory = device.sliceable, device.memory
    # What can be sliced is told in whole steps, and what is left to the last MiB.
    if not isinstance(sliceable, NotAvailable) and abs(total - sliceable) >= MEMORY_STEP:
        return failed(
            f"taken and left are {memory_text(total)} of memory, and the card can slice {memory_text(sliceable)}"
        )
    if not isinstance(memory, NotAvailable) and total > memory:
        return failed(f"taken and left are {memory_text(total)} of a memory of {memory_text(memory)}")
    policy = f", policy {room.policy}" if not isinstance(room.policy, NotAvailable) else ""
    return passed(
        f"{room.slots} slices, {memory_text(room.memory)} and {room.cores} of compute are left{policy}"
    )


def judge_growth(before: Footprint, after: Footprint, times: int) -> Verdict:
    """Whether opening a driver so often left anything behind."""
    said = f"opened, read and closed {times} times"
    grown = after.memory - before.memory
    # A thread that has ended is still counted for a moment; what leaks does so every time, or nearly.
    few = max(LATE, times // 10)
    if after.descriptors - before.descriptors > few:
        return failed(f"{said}: open files grew from {before.descriptors} to {after.descriptors}")
    if after.threads - before.threads > few:
        return failed(f"{said}: threads grew from {before.threads} to {after.threads}")
    if grown > MOST_GROWTH:
        return failed(f"{said}: memory grew by {grown // MIB} MiB")
    return passed(f"{said}; files, threads and memory did not grow, and the cards stayed the same")


def cards_sharing(verdicts: Iterable[tuple[Device, Verdict]]) -> Mapping[Verdict, list[Device]]:
    """Cards by what is said about them, in the order in which it was first said."""
    shared: dict[Verdict, list[Device]] = {}
    for device, verdict in verdicts:
        shared.setdefault(verdict, []).append(device)
    return shared


def same_cards(one: Sequence[Device], other: Sequence[Device]) -> bool:
    """Whether two readings list the same cards in the same order."""
    return [device.uuid for device in one] == [device.uuid for device in other]
