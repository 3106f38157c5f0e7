"""The life of slices on one idle card, from the first to the last, and the card as it was at the end.

Every step is read back through the same driver that the agent uses. A step that fails ends the life, not the cleaning:
the card is put back whatever happened, and whether that worked is a check of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.self_test.journal import CardEntry, SelfTestJournal, SliceIntent
from tangram.drivers.self_test.leftovers import put_back
from tangram.drivers.self_test.names import new_run, slice_name
from tangram.drivers.self_test.records import (
    CLEAN_COMMAND,
    Began,
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
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Slice, SliceRoom
from tangram.units.memory import MIB, Bytes, memory_text
from tangram.units.na import NotAvailable
from tangram.vendors.metax.products import MEMORY_STEP

FIRST_MEMORY: Final = Bytes(9 * MEMORY_STEP)
FIRST_CORES: Final = 7
"""Odd amounts: a slice without a name is known again by them (`leftovers`)."""
GROWN_MEMORY: Final = Bytes(11 * MEMORY_STEP)
GROWN_CORES: Final = 9
NEEDED_MEMORY: Final = Bytes(GROWN_MEMORY + MEMORY_STEP)
NEEDED_CORES: Final = GROWN_CORES + 1
"""For the first slice when it is grown, and one small one beside it."""
RESTORED: Final = "restored"

_Answer = TypeVar("_Answer")


class MismatchError(Exception):
    """What was made is not what is read back."""


class SliceLife:
    """On a card that `choosing` let through; the journal must be held."""

    def __init__(
        self, driver: Driver, device: Device, before: SliceRoom, journal: SelfTestJournal, walk: Walk
    ) -> None:
        self._driver = driver
        self._device = device
        self._before = before
        self._journal = journal
        self._walk = walk
        self._run = new_run()
        self._made: dict[str, Slice] = {}
        """By name, as each was last told."""
        self._removed = 0

    def live(self) -> None:
        """Tell a row per check. Whatever is raised, and `SelfTestStoppedError` is, the card was put back before."""
        self._journal.write(CardEntry(card=self._device.uuid, policy=_known_policy(self._before)))
        try:
            self._walk.tell(self._outcome("qos", self._policies))
            self._live()
        finally:
            self._walk.tell(Began(RESTORED))
            self._walk.tell(row(RESTORED, self._restored(), self._device))

    def _live(self) -> None:
        steps: Mapping[str, Callable[[], str]] = {
            "slice-create": self._create,
            "slice-refusals": self._refuse,
            "slice-resize": self._resize,
            "slice-two": self._two,
            "slice-many": self._many,
            "slice-remove": self._remove,
        }
        broken = ""
        for check, step in steps.items():
            if broken:
                self._walk.tell(row(check, not_available(f"not tried after {broken} failed"), self._device))
                continue
            found = self._outcome(check, step)
            broken = "" if found.result is CheckResult.OK else check
            self._walk.tell(found)

    def _outcome(self, check: str, step: Callable[[], str]) -> CheckRow:
        self._walk.begin(check)
        try:
            verdict = passed(step())
        except DriverError as error:
            verdict = verdict_of(error)
        except MismatchError as error:
            verdict = failed(str(error))
        return row(check, verdict, self._device)

    # ------------------------------------------------------------------------------------------------- checks

    def _policies(self) -> str:
        before = _known_policy(self._before)
        if before is None:
            raise DriverError(Kind.NOT_SUPPORTED, "the driver does not tell how slices share compute")
        others = tuple(each for each in QosPolicy if each is not before)
        self._note(tried=others)
        for policy in (*others, before):
            self._ask(
                f"policy {policy}", lambda policy=policy: self._driver.set_policy(self._device.uuid, policy)
            )
            found = self._room().policy
            if found != policy:
                raise MismatchError(f"policy {policy} was set and {found} is read back")
        return f"{', '.join(QosPolicy)} were set in turn and read back; {before} again"

    def _create(self) -> str:
        made = self._make(FIRST_MEMORY, FIRST_CORES)
        self._expect_listed()
        self._expect_room()
        return f"{memory_text(made.memory)}, {made.cores} % and its name read back, and the room shrank by as much"

    def _refuse(self) -> str:
        left = self._room()
        for memory, cores, kind in (
            (Bytes(MEMORY_STEP - 28 * MIB), 1, Kind.INVALID),
            (Bytes(left.memory // MEMORY_STEP * MEMORY_STEP + MEMORY_STEP), 1, Kind.FULL),
            (MEMORY_STEP, left.cores + 1, Kind.FULL),
        ):
            self._expect_refused(memory, cores, kind)
        self._expect_listed()
        return (
            "a size between steps, more memory and more compute than is left are refused, and nothing is made"
        )

    def _resize(self) -> str:
        ((name, before),) = self._made.items()
        changed = self._ask(
            "growing the slice",
            lambda: self._driver.resize_slice(
                self._device.uuid, before.id, memory=GROWN_MEMORY, cores=GROWN_CORES
            ),
        )
        self._made[name] = msgspec.structs.replace(before, memory=GROWN_MEMORY, cores=GROWN_CORES)
        self._expect_same(changed, self._made[name])
        self._expect_listed()
        self._expect_room()
        grown = f"{memory_text(GROWN_MEMORY)} and {GROWN_CORES} %"
        return f"{memory_text(before.memory)} and {before.cores} % became {grown}"

    def _two(self) -> str:
        self._make(MEMORY_STEP, 1)
        self._expect_listed()
        return "both are listed, each with its own number, size and name"

    def _many(self) -> str:
        left = self._room()
        more = min(left.slots, left.memory // MEMORY_STEP, left.cores)
        for at in range(more):
            self._make(MEMORY_STEP, 1, at, more)
        self._expect_listed()
        self._expect_room()
        self._expect_refused(MEMORY_STEP, 1, Kind.FULL)
        full = (
            "as many as the card takes"
            if self._room().slots == 0
            else "after which memory or compute is full"
        )
        return f"{len(self._made)} slices at once, {full}; all are listed by name, and one more is refused"

    def _remove(self) -> str:
        for at, (name, each) in enumerate(tuple(self._made.items())):
            self._ask(
                f"removing {name}",
                lambda each=each: self._driver.remove_slice(self._device.uuid, each.id),
                at,
                len(self._made),
            )
            del self._made[name]
            self._removed += 1
            if at == 0:
                self._expect_listed()
        self._expect_listed()
        self._expect_room()
        return f"{self._removed} slices are gone one after the other, and the room is what it was"

    # ------------------------------------------------------------------------------------------------ helpers

    def _make(self, memory: Bytes, cores: int, done: int = 0, total: int = 0) -> Slice:
        name = slice_name(self._run, len(self._made))
        self._note(making=SliceIntent(memory, cores))
        made = self._ask(
            f"making {name}",
            lambda: self._driver.create_slice(self._device.uuid, memory=memory, cores=cores, name=name),
            done,
            total,
        )
        self._note(making=None)
        self._made[name] = made
        self._expect_same(
            made, Slice(card=self._device.uuid, id=made.id, memory=memory, cores=cores, name=name)
        )
        return made

    def _expect_same(self, found: Slice, wanted: Slice) -> None:
        for what, one, other in (
            ("name", found.name, wanted.name),
            ("number", found.id, wanted.id),
            ("memory", memory_text(found.memory), memory_text(wanted.memory)),
            ("compute", found.cores, wanted.cores),
        ):
            if one != other:
                raise MismatchError(
                    f"the {what} of slice {wanted.id} should be {other} and is read back as {one}"
                )

    def _expect_listed(self) -> None:
        found = {each.name: each for each in self._listed()}
        if found.keys() != self._made.keys():
            missing = ", ".join(sorted(self._made.keys() - found.keys())) or "none"
            unknown = ", ".join(
                sorted(name or "one without a name" for name in found.keys() - self._made.keys())
            )
            raise MismatchError(
                f"of {len(self._made)} slices, missing are {missing}, and unknown {unknown or 'none'}"
            )
        for name, each in self._made.items():
            self._expect_same(found[name], each)

    def _expect_room(self) -> None:
        left, before = self._room(), self._before
        taken = sum(each.memory for each in self._made.values())
        cores = sum(each.cores for each in self._made.values())
        wanted = (before.slots - len(self._made), before.memory - taken, before.cores - cores)
        if (left.slots, left.memory, left.cores) != wanted:
            raise MismatchError(
                f"left should be {wanted[0]} slices, {memory_text(Bytes(wanted[1]))} and {wanted[2]} %, and are "
                f"{left.slots}, {memory_text(left.memory)} and {left.cores} %"
            )

    def _expect_refused(self, memory: Bytes, cores: int, kind: Kind) -> None:
        name = slice_name(self._run, len(self._made))
        asked = f"a slice of {memory_text(memory)} and {cores} %"
        try:
            self._ask(
                f"asking for {asked}",
                lambda: self._driver.create_slice(self._device.uuid, memory=memory, cores=cores, name=name),
            )
        except DriverError as error:
            if error.kind is not kind:
                raise
            return
        raise MismatchError(f"{asked} should be refused as {kind}, and was made")

    def _listed(self) -> tuple[Slice, ...]:
        return tuple(self._ask("listing the slices", lambda: self._driver.slices(self._device.uuid)))

    def _room(self) -> SliceRoom:
        return self._ask("what is left", lambda: self._driver.room(self._device.uuid))

    def _note(self, **changes: SliceIntent | tuple[QosPolicy, ...] | None) -> None:
        entry = self._journal.entry
        if entry is not None:
            self._journal.write(msgspec.structs.replace(entry, **changes))

    def _ask(self, what: str, ask: Callable[[], _Answer], done: int = 0, total: int = 0) -> _Answer:
        return self._walk.step(what, ask, done, total)

    # --------------------------------------------------------------------------------------------- afterwards

    def _restored(self) -> Verdict:
        """Without asking whether to stop: this is what a stop waits for."""
        driver, uuid = self._driver, self._device.uuid
        try:
            put_back(driver, self._device, self._journal.entry)
            left = [each.name or f"slice {each.id} without a name" for each in driver.slices(uuid)]
            after = driver.room(uuid)
            device = next((each for each in driver.devices() if each.uuid == uuid), None)
        except DriverError as error:
            return failed(f"the card could not be put back: {verdict_of(error).why}", CLEAN_COMMAND)
        if left:
            return failed(f"still there: {', '.join(left)}", CLEAN_COMMAND)
        if after != self._before or device != self._device:
            return failed(f"the card had {self._before} before and has {after} now", CLEAN_COMMAND)
        self._journal.write(None)
        return passed("slices, room, policy and mode are as they were")


def _known_policy(room: SliceRoom) -> QosPolicy | None:
    return None if isinstance(room.policy, NotAvailable) else room.policy
