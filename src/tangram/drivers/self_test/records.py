"""What a self-test is asked for, what it reports, and the lines between the two processes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.model.devices import Device
from tangram.units.ids import CardUuid

VERSION: Final = "self-test/v1"
REOPENS: Final = 100
USUAL_LIMIT: Final = 10.0
CLEAN_COMMAND: Final = "tangram doctor --self-test --clean"
_KERNEL_LOG: Final = "look into the kernel log; a card that does not answer usually needs a reset or a reboot"


class CheckResult(StrEnum):
    OK = "ok"
    FAILED = "failed"
    NOT_AVAILABLE = "not-available"
    """Neither passed nor failed: this card, driver or user cannot do it. The reason is told."""


class Verdict(msgspec.Struct, frozen=True):
    """Of one check about one card, or about all of them."""

    result: CheckResult
    why: str
    todo: str = ""


class CheckRow(msgspec.Struct, frozen=True, kw_only=True, tag="row"):
    """A verdict with the cards that share it."""

    check: str
    """Stable name, for programs and for searching."""
    result: CheckResult
    cards: tuple[CardUuid, ...] = ()
    why: str
    todo: str = ""


class TestedCard(msgspec.Struct, frozen=True, kw_only=True):
    uuid: CardUuid
    index: int
    bdf: str
    product: str


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """The driver answers and lists these cards."""

    driver: str
    cards: tuple[TestedCard, ...]


class Began(msgspec.Struct, frozen=True, tag="began"):
    check: str


class Step(msgspec.Struct, frozen=True, tag="step"):
    """A sign of life: what is asked next, and how far the check is."""

    what: str
    done: int = 0
    total: int = 0


class NothingToTest(msgspec.Struct, frozen=True, tag="nothing"):
    kind: Kind
    sentence: str


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """Everything that was asked for was done. A stream that ends without it was cut off."""

    stopped: bool = False


SelfTestEvent = CheckRow | Opened | Began | Step | NothingToTest | Finished


class SelfTestRequest(msgspec.Struct, frozen=True, kw_only=True):
    driver: str = "auto"
    root: str = "/"
    limit: float = USUAL_LIMIT
    """Seconds that one question to the cards may take."""
    checks: tuple[str, ...] | None = None
    """Those of the reading half to make; None for all of them."""
    slices: bool = False
    card: str = ""
    """By number, uuid or bus address; empty for the first idle one."""
    clean: bool = False
    """Nothing but the removal of what earlier self-tests left."""
    reopens: int = REOPENS


class SelfTestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `docs/hardware.md` promises this shape to programs."""

    tangram: str = VERSION
    driver: str
    nothing: str = ""
    """Why there is nothing to test; empty where there is."""
    cards: tuple[TestedCard, ...] = ()
    checks: tuple[CheckRow, ...] = ()

    @property
    def failed(self) -> bool:
        return any(row.result is CheckResult.FAILED for row in self.checks)


def passed(why: str) -> Verdict:
    """With what was seen."""
    return Verdict(CheckResult.OK, why)


def failed(why: str, todo: str = "") -> Verdict:
    """With what was seen instead."""
    return Verdict(CheckResult.FAILED, why, todo)


def not_available(why: str, todo: str = "") -> Verdict:
    """With what is in the way."""
    return Verdict(CheckResult.NOT_AVAILABLE, why, todo)


def verdict_of(error: DriverError) -> Verdict:
    """What an error says about the check it ended: what is merely not offered is no failure."""
    sentence = error.sentence.rstrip(".")
    if error.call and error.call not in sentence:
        sentence = f"{error.call}: {sentence}"
    if error.kind is Kind.NOT_SUPPORTED:
        return not_available(sentence)
    if error.kind is Kind.NOT_PERMITTED:
        return not_available(sentence, "run it as root")
    return failed(f"{error.kind}: {sentence}", _KERNEL_LOG if error.kind is Kind.STUCK else "")


def row(check: str, verdict: Verdict, *devices: Device) -> CheckRow:
    """The verdict about these cards."""
    return CheckRow(
        check=check,
        result=verdict.result,
        cards=tuple(device.uuid for device in devices),
        why=verdict.why,
        todo=verdict.todo,
    )
