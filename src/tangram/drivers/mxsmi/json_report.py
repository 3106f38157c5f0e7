"""`mx-smi -j`: live figures and slices by bus address. It is JSON after a line that is not.

Its power figures have no unit and are left alone: a guess would be wrong a thousandfold or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.drivers.mxsmi.text import LONGEST, ParseError, address, decimal, whole
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.wire import loose

COMMAND: Final = "-j"


class ReportedSlice(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    cores: int
    memory: Bytes
    minor: Maybe[int] = NA
    memory_used: Maybe[Bytes] = NA
    utilisation_percent: Maybe[float] = NA


class ReportedCard(msgspec.Struct, frozen=True, kw_only=True):
    index: Maybe[int] = NA
    vbios_version: Maybe[str] = NA
    unavailable_reason: str = ""
    temperature_celsius: Maybe[float] = NA
    utilisation_percent: Maybe[float] = NA
    clocks_mhz: dict[str, int] = {}
    slices: tuple[ReportedSlice, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    smi_version: Maybe[str] = NA
    driver_version: Maybe[str] = NA
    attached: Maybe[int] = NA
    cards: dict[str, ReportedCard] = {}
    """By bus address."""


def parse_report(text: str) -> Report:
    """The report. A value of the wrong kind is `NA`; only a text that holds no JSON object at all is refused."""
    begin = text.find("{")
    if begin < 0 or len(text) > LONGEST:
        raise ParseError(COMMAND, "it printed no JSON object, or far too much")
    try:
        document: object = msgspec.json.decode(text[begin:])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ParseError(COMMAND, f"what it printed is no JSON ({error!s:.100})") from None
    fields = loose.members(document)
    cards: dict[str, ReportedCard] = {}
    for key, value in fields.items():
        bdf = address(key)
        if bdf is not None and loose.is_object(value):
            cards[bdf] = _card(loose.members(value))
    return Report(
        smi_version=_text(fields.get("smi_version")),
        driver_version=_text(fields.get("driver_version")),
        attached=_whole(fields.get("attached_gpus")),
        cards=cards,
    )


def _card(fields: Mapping[str, object]) -> ReportedCard:
    clocks = {name: _whole(value) for name, value in loose.members(fields.get("clocks")).items()}
    slices = (_slice(loose.members(each)) for each in loose.elements(fields.get("sgpu_info")))
    return ReportedCard(
        index=_whole(fields.get("device_id")),
        vbios_version=_text(fields.get("vbios_version")),
        unavailable_reason=loose.text(fields.get("unavailable_reason")).strip(),
        temperature_celsius=_decimal(fields.get("hotspot")),
        utilisation_percent=_percent(fields.get("utilization")),
        clocks_mhz={name: value for name, value in clocks.items() if isinstance(value, int)},
        slices=tuple(each for each in slices if each is not None),
    )


def _slice(fields: Mapping[str, object]) -> ReportedSlice | None:
    """A slice; one without an id or quotas is none, because half of it would mislead."""
    number, cores = _whole(fields.get("sgpu_id")), _whole(fields.get("compute_quota"))
    memory = _whole(fields.get("vram_quota"))
    if (
        isinstance(number, NotAvailable)
        or isinstance(cores, NotAvailable)
        or isinstance(memory, NotAvailable)
        or min(number, cores, memory) < 0
    ):
        return None
    used = _whole(fields.get("vram_used"))
    return ReportedSlice(
        id=number,
        cores=cores,
        memory=Bytes(memory * MIB),
        minor=_whole(fields.get("minor")),
        memory_used=Bytes(used * MIB) if isinstance(used, int) and used >= 0 else NA,
        utilisation_percent=_percent(fields.get("utilization")),
    )


def _text(value: object) -> Maybe[str]:
    return loose.text(value).strip() or NA


def _whole(value: object) -> Maybe[int]:
    if isinstance(value, str):
        return whole(value)
    number = loose.integer(value)
    return NA if number is None or abs(number) > 2**53 else number


def _decimal(value: object) -> Maybe[float]:
    if isinstance(value, str):
        return decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NA
    return float(value) if abs(value) <= 2**53 and math.isfinite(value) else NA


def _percent(value: object) -> Maybe[float]:
    return _decimal(value.strip().removesuffix("%") if isinstance(value, str) else value)
