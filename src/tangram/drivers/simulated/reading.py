"""A decoded `cards/v1` document as a `Description`, or one sentence about the first thing wrong with it.

Keys are a closed set: a misspelled fault that never strikes would make a test pass for the wrong reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.drivers.errors import Kind
from tangram.drivers.simulated.card_groups import MOST_CARDS, Group, read_group
from tangram.drivers.simulated.description import (
    USUAL_KERNEL,
    Call,
    CardSpec,
    Description,
    Event,
    Failure,
    Fault,
    ModuleAtStart,
)
from tangram.drivers.simulated.joints import joints_of
from tangram.units.durations import DurationError, parse_duration
from tangram.wire import loose
from tangram.wire.clusterfile.fields import Fields, refusal
from tangram.wire.errors import shown

VERSION_KEY: Final = "tangram"
CARDS_VERSION: Final = "cards/v1"

_KEYS = (
    VERSION_KEY,
    "name",
    "cards",
    "pairs",
    "faults",
    "errors",
    "latency",
    "stuck_after",
    "kernel",
    "module",
    "host_driver",
)
_FAULT_KEYS = ("at", "card", "fault")
_ERROR_KEYS = ("call", "kind", "card", "at", "until", "text", "code")
_LONGEST_WAIT: Final = 60
"""Seconds that a simulated call may take: a longer one is a hang, and there is a fault for that."""
_MOST_EVENTS: Final = 10_000


def read_description(document: object, name: str = "") -> Description:
    """The node that a document describes; `name` wins over the one written there. Raises `WireError`."""
    version = loose.members(document).get(VERSION_KEY)
    if version != CARDS_VERSION:
        legal = f"this file must be of version {CARDS_VERSION}"
        raise refusal(VERSION_KEY, f"it is {shown(version)}", legal, f"write {VERSION_KEY}: {CARDS_VERSION}")
    fields = Fields(document, "", _KEYS)
    groups = _groups(fields)
    cards = tuple(card for group in groups for card in group.cards)
    return Description(
        name=name or fields.text("name") or "",
        cards=cards,
        joints=joints_of(groups, fields),
        events=_events(fields, cards),
        failures=tuple(
            _failure(Fields(entry, f"errors[{at}]", _ERROR_KEYS), cards)
            for at, entry in enumerate(_bounded(fields, "errors"))
        ),
        latency=_wait(fields, "latency"),
        stuck_after=_wait(fields, "stuck_after"),
        kernel=fields.text("kernel") or USUAL_KERNEL,
        module=fields.word("module", ModuleAtStart) or ModuleAtStart.LOADED,
        host_driver=fields.text("host_driver") or "",
    )


def _groups(fields: Fields) -> list[Group]:
    if "cards" not in fields:
        instead = "write cards: [{product: C500, count: 8}], or cards: [] for a node without any"
        raise fields.lacking("cards", instead)
    groups: list[Group] = []
    for at, entry in enumerate(fields.entries("cards")):
        groups.append(read_group(entry, f"cards[{at}]", groups))
        total = sum(len(group.cards) for group in groups)
        if total > MOST_CARDS:
            raise refusal(
                f"cards[{at}]", f"with it there are {total} cards", f"at most {MOST_CARDS}", "remove some"
            )
    return groups


def _events(fields: Fields, cards: Sequence[CardSpec]) -> tuple[Event, ...]:
    events: list[Event] = []
    for at, entry in enumerate(_bounded(fields, "faults")):
        form = Fields(entry, f"faults[{at}]", _FAULT_KEYS)
        fault = form.word("fault", Fault)
        card = _card(form, cards)
        if fault is None:
            raise form.lacking("fault", f"write one of {', '.join(Fault)}")
        if card is None:
            raise form.lacking("card", "write for example card: 0")
        events.append(Event(_moment(form, "at") or 0, card, fault))
    return tuple(sorted(events, key=lambda event: event.at))


def _failure(form: Fields, cards: Sequence[CardSpec]) -> Failure:
    call = form.word("call", Call)
    if call is None:
        raise form.lacking("call", f"write one of {', '.join(Call)}")
    begin, end = _moment(form, "at") or 0, _moment(form, "until")
    if end is not None and end <= begin:
        raise form.no("until", "it is later than at", "write a later moment, or remove it")
    return Failure(
        call=call,
        kind=form.word("kind", Kind) or Kind.FAILED,
        card=_card(form, cards),
        at=begin,
        until=end,
        text=form.text("text") or "",
        code=form.whole("code"),
    )


def _bounded(fields: Fields, key: str) -> list[object]:
    entries = fields.entries(key)
    if len(entries) > _MOST_EVENTS:
        raise refusal(key, f"it has {len(entries)} entries", f"at most {_MOST_EVENTS}", "remove some")
    return entries


def _card(form: Fields, cards: Sequence[CardSpec]) -> int | None:
    if "card" in form and not cards:
        raise form.no("card", "there are no cards", "remove it, or describe cards")
    return form.whole("card", most=len(cards) - 1)


def _moment(form: Fields, key: str) -> float | None:
    if key not in form:
        return None
    try:
        return parse_duration(loose.scalar_text(form.members[key]) or "")
    except DurationError as error:
        raise form.no(key, error.legal, f"write {error.instead}") from error


def _wait(fields: Fields, key: str) -> float:
    seconds = _moment(fields, key) or 0
    if seconds > _LONGEST_WAIT:
        raise fields.no(key, f"it is at most {_LONGEST_WAIT}s", "write less")
    return seconds
