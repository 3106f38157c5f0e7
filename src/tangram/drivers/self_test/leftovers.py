"""Putting cards back after a self-test that was killed: its slices, a slice it had not named yet, the card's policy.

Nothing else is touched. A slice is a self-test's by its whole name. One without a name is only if the journal says that
one of exactly these amounts was being made on this card, and if it is still nameless under the lock that every maker of
slices of ours takes; amounts are odd ones, which no pod asks for by chance (`slice_life`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.self_test.journal import CardEntry, SelfTestJournal
from tangram.drivers.self_test.names import is_of_a_self_test
from tangram.drivers.self_test.records import (
    CheckResult,
    CheckRow,
    Verdict,
    failed,
    not_available,
    passed,
    row,
    verdict_of,
)
from tangram.drivers.self_test.walking import Walk
from tangram.model.devices import Device, Slice
from tangram.units.na import known

CHECK = "clean"


def clean(
    driver: Driver, devices: Sequence[Device], journal: SelfTestJournal, walk: Walk
) -> Iterator[CheckRow]:
    """Remove what earlier self-tests left; the journal must be held. One row per card that had something."""
    entry, kept = journal.entry, False
    for at, device in enumerate(devices):
        walk.begin(CHECK)
        mine = entry if entry is not None and entry.card == device.uuid else None
        if device.sliced is not True and mine is None:
            continue
        verdict = walk.step(
            f"leftovers on card {device.index}",
            lambda device=device, mine=mine: _cleaned(driver, device, mine),
            at,
            len(devices),
        )
        if verdict is not None:
            kept = kept or (mine is not None and verdict.result is not CheckResult.OK)
            yield row(CHECK, verdict, device)
    if entry is not None and entry.card not in {device.uuid for device in devices}:
        kept = True
        why = f"card {entry.card}, which a self-test that was killed had changed, is not there"
        yield row(CHECK, not_available(why, "clean again when it is back"))
    if not kept:
        journal.write(None)


def put_back(driver: Driver, device: Device, entry: CardEntry | None) -> str:
    """Remove what is of a self-test from one card, and give it its policy again. What was done, or nothing.

    One slice that cannot be removed keeps no other; the first error is raised after all were tried.
    """
    slices = driver.slices(device.uuid)
    left = [
        each
        for each in slices
        if is_of_a_self_test(known(each.name, "")) or _was_being_made(driver, each, entry)
    ]
    errors: list[DriverError] = []
    for each in left:
        try:
            driver.remove_slice(device.uuid, each.id)
        except DriverError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    removed = f"removed {len(left)} slice{'s' if len(left) > 1 else ''} of a self-test" if left else ""
    policy = _with_policy(driver, device, entry, others=len(slices) > len(left))
    return "; ".join(filter(None, (removed, policy)))


def _cleaned(driver: Driver, device: Device, entry: CardEntry | None) -> Verdict | None:
    """None where nothing was left on the card."""
    try:
        if entry is None:
            driver.slices(device.uuid)
    except DriverError as error:
        # No self-test is known that was killed with this card.
        return not_available(
            f"whether something of a self-test is left cannot be read: {verdict_of(error).why}"
        )
    try:
        done = put_back(driver, device, entry)
    except DriverError as error:
        verdict = verdict_of(error)
        return failed(f"something of a self-test may be left: {verdict.why}", verdict.todo)
    return passed(done) if done else None


def _was_being_made(driver: Driver, each: Slice, entry: CardEntry | None) -> bool:
    making = None if entry is None else entry.making
    # The kernel makes a slice without compute, which the library adds in a second step.
    if (
        making is None
        or each.name != ""
        or each.memory != making.memory
        or each.cores not in (0, making.cores)
    ):
        return False
    if each.busy is True:
        return False
    try:
        # A change to nothing takes the lock of the card's makers of slices, and reads the slice under it.
        return driver.resize_slice(each.card, each.id).name == ""
    except DriverError as error:
        if error.kind is Kind.INVALID:
            return False
        raise


def _with_policy(driver: Driver, device: Device, entry: CardEntry | None, *, others: bool) -> str:
    """Give the card the policy it had, if it still has one that the self-test tried."""
    if entry is None or not entry.tried or entry.policy is None or others:
        return ""
    if driver.room(device.uuid).policy not in {*entry.tried} - {entry.policy}:
        return ""
    driver.set_policy(device.uuid, entry.policy)
    return f"policy {entry.policy} is set again"
