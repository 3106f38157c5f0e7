"""The half of the self-test that changes nothing: every question that the agent asks, and what to make of the answers.

A check that fails keeps no other from being made. A card that the vendor's library cannot use is asked nothing that
the library does not survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tangram.drivers.doctor.bus import DEVICES, cards_on_bus
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.errors import DriverError
from tangram.drivers.protocol import Driver
from tangram.drivers.self_test import judging
from tangram.drivers.self_test.footprints import reopened
from tangram.drivers.self_test.names import is_of_a_self_test
from tangram.drivers.self_test.records import (
    CLEAN_COMMAND,
    CheckRow,
    Verdict,
    failed,
    not_available,
    passed,
    row,
    verdict_of,
)
from tangram.drivers.self_test.walking import Walk
from tangram.drivers.unusable import LIMITED
from tangram.model.devices import Device, Health
from tangram.units.ids import CardUuid
from tangram.units.na import known


class Subject(NamedTuple):
    """The machine under test."""

    driver: Driver
    devices: Sequence[Device]
    health: Mapping[CardUuid, Health]
    """At the beginning; empty where it could not be asked."""
    machine: Machine | None
    """None for simulated cards, which no machine has."""
    reopen: Callable[[], Driver]
    reopens: int
    limit: float
    self_test_runs: bool
    """Whether another self-test makes slices now."""

    def limited(self, device: Device) -> str:
        """Why the vendor's library cannot use the card; empty where it can."""
        health = self.health.get(device.uuid)
        return health.message or LIMITED if health is not None and health.code == LIMITED else ""


Check = Callable[[Subject, Walk], Iterable[CheckRow]]


def read_cards(subject: Subject, walk: Walk, wanted: Sequence[str] | None = None) -> Iterator[CheckRow]:
    """The rows of the wanted checks, or of all. Raises `SelfTestStoppedError`."""
    for name, check in CHECKS.items():
        if wanted is not None and name not in wanted:
            continue
        walk.begin(name)
        try:
            yield from check(subject, walk)
        except DriverError as error:
            yield row(name, verdict_of(error))


def _enumerate(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    again = walk.step("listing the cards again", subject.driver.devices)
    yield row("enumerate", judging.judge_devices(subject.devices, again), *subject.devices)


def _bus(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    machine = subject.machine
    if machine is None:
        yield row("bus", not_available("simulated cards are on no PCI bus"))
        return
    found = walk.step("the PCI bus", lambda: cards_on_bus(machine))
    addresses = [*found.metax, *found.mthreads]
    if not addresses:
        yield row("bus", not_available(f"{DEVICES} shows no card from here", "name the host's / with --root"))
        return
    parts = [address for address in addresses if machine.exists(f"{DEVICES}/{address}/physfn")]
    yield row("bus", judging.judge_bus(subject.devices, addresses, parts))


def _limited(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    del walk
    reasons = {device.uuid: subject.limited(device) for device in subject.devices}
    for device in subject.devices:
        if reasons[device.uuid]:
            yield row(
                "limited",
                failed(
                    f"the vendor's library sees the card and cannot use it: {reasons[device.uuid]}",
                    "no pod gets it; look into the kernel log, then reset the card or reload its driver",
                ),
                device,
            )
    if not any(reasons.values()):
        yield row("limited", passed("the driver can use every card that it lists"), *subject.devices)


def _links(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    report = walk.step("links", lambda: subject.driver.links(subject.devices))
    yield row("links", judging.judge_links(subject.devices, report))


def _ports(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    report = walk.step("ports", lambda: subject.driver.links(subject.devices))
    yield row("ports", judging.judge_ports(subject.devices, report.ports))


def _figures(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    def look(device: Device) -> Iterable[Verdict]:
        return judging.judge_figures(device, subject.driver.figures(device.uuid))

    yield from _each("figures", subject, walk, look)


def _processes(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    def look(device: Device) -> Iterable[Verdict]:
        # Before the processes, so that a slice that goes meanwhile is not missed.
        slices = subject.driver.slices(device.uuid)
        return (judging.judge_processes(subject.driver.figures(device.uuid), slices),)

    yield from _each("processes", subject, walk, look)


def _slices(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    def look(device: Device) -> Iterable[Verdict]:
        return (judging.judge_slices(device, subject.driver.slices(device.uuid)),)

    yield from _each("slices", subject, walk, look)


def _room(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    def look(device: Device) -> Iterable[Verdict]:
        if device.sliced is not True:
            return (not_available("the card is not in slices"),)
        slices = subject.driver.slices(device.uuid)
        return (judging.judge_room(device, slices, subject.driver.room(device.uuid)),)

    yield from _each("room", subject, walk, look)


def _leftovers(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    if subject.self_test_runs:
        yield row(
            "leftovers", not_available("another self-test makes slices now; what is its cannot be left over")
        )
        return

    def look(device: Device) -> Iterable[Verdict]:
        left = [
            each for each in subject.driver.slices(device.uuid) if is_of_a_self_test(known(each.name, ""))
        ]
        if left:
            return (failed(f"{len(left)} slices of a self-test that was killed are there", CLEAN_COMMAND),)
        return (passed("no slice of an earlier self-test"),)

    yield from _each("leftovers", subject, walk, look)


def _health(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    found = walk.step("health", subject.driver.health)
    listed = {device.uuid for device in subject.devices}
    verdicts = [(device, judging.judge_health(found.get(device.uuid))) for device in subject.devices]
    for verdict, devices in judging.cards_sharing(verdicts).items():
        yield row("health", verdict, *devices)
    for uuid, health in found.items():
        if uuid not in listed and not health.healthy:
            yield row("health", failed(f"card {uuid} is not listed: {health.message or health.code}"))


def _reopen(subject: Subject, walk: Walk) -> Iterator[CheckRow]:
    yield row("reopen", reopened(subject.reopen, subject.devices, walk, subject.reopens, subject.limit))


CHECKS: Final[Mapping[str, Check]] = {
    "enumerate": _enumerate,
    "bus": _bus,
    "limited": _limited,
    "links": _links,
    "ports": _ports,
    "figures": _figures,
    "processes": _processes,
    "slices": _slices,
    "room": _room,
    "leftovers": _leftovers,
    "health": _health,
    "reopen": _reopen,
}
"""In the order in which they are made."""


def _each(
    check: str, subject: Subject, walk: Walk, look: Callable[[Device], Iterable[Verdict]]
) -> Iterator[CheckRow]:
    verdicts: list[tuple[Device, Verdict]] = []
    for at, device in enumerate(subject.devices):
        if subject.limited(device):
            verdicts.append((device, not_available("the vendor's library cannot use the card")))
            continue
        try:
            found = walk.step(
                f"{check} of card {device.index}",
                lambda device=device: look(device),
                at,
                len(subject.devices),
            )
        except DriverError as error:
            found = (verdict_of(error),)
        verdicts.extend((device, verdict) for verdict in found)
    for verdict, devices in judging.cards_sharing(verdicts).items():
        yield row(check, verdict, *devices)
