"""What Moore Threads' container runtime does with a container's environment, on simulated cards.

Nobody else makes slices of these cards. The runtime takes three variables; memory is rounded *up* to the next tier
without a word, which is why what a container holds may be more than what it asked for. Weights are only ever compared
with each other: the kernel has no sum of them to exceed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.sgpu_km import KERNEL_TIERS
from tangram.drivers.simulated.description import CardSpec
from tangram.drivers.simulated.refusing import refused
from tangram.drivers.simulated.state import WHOLE, CardState, Holder, SliceState
from tangram.model.cards import QosPolicy
from tangram.model.devices import SliceRoom
from tangram.units.memory import Bytes, memory_text
from tangram.units.refusal import quoted
from tangram.vendors.mthreads.products import CORES_PER_CARD, MOST_SLICES

VISIBLE: Final = "MTHREADS_VISIBLE_DEVICES"
MEMORY_LIMIT: Final = "MTHREADS_QOS_MEMORY_LIMIT"
WEIGHT: Final = "MTHREADS_QOS_COMPUTING_POWER_WEIGHT"
CONTAINER_ID_LENGTH: Final = 12
"""Letters of a container's id that the kernel module keeps."""
MOST_WEIGHT: Final = 99_999

_DIGITS = re.compile(r"[0-9]{1,18}")
_CONTAINER_ID = re.compile(r"[A-Za-z0-9_.-]{12,64}")


class Order(msgspec.Struct, frozen=True):
    """What an environment asks of each visible card; no memory means the card as it is."""

    cards: tuple[int, ...]
    """By the vendor's own count."""
    memory: Bytes | None
    weight: int


def read_environment(environment: Mapping[str, str], cards: int) -> Order | None:
    """The order in a container's environment on a node with that many cards; None where it asks for none."""
    visible = environment.get(VISIBLE, "").strip()
    if visible in ("", "none", "void"):
        return None
    memory = _number(environment, MEMORY_LIMIT, 2**50)
    weight = _number(environment, WEIGHT, MOST_WEIGHT)
    return Order(
        cards=tuple(range(cards)) if visible == "all" else _visible(visible, cards),
        memory=None if memory is None else Bytes(memory),
        weight=1 if weight is None else weight,
    )


def short_id(container: str) -> str:
    """The container's id as the kernel module knows it."""
    if _CONTAINER_ID.fullmatch(container) is None:
        sentence = f"container id {quoted(container)} is not one; give 12 to 64 letters and digits"
        raise DriverError(Kind.INVALID, sentence, call="start_container")
    return container[:CONTAINER_ID_LENGTH]


def start(spec: CardSpec, state: CardState, container: str, order: Order, pid: int) -> CardState:
    """The card with what a started container holds of it."""
    if order.memory is None:
        if WHOLE in state.holders or state.slices:
            raise refused(Kind.BUSY, spec, "it has tenants", "wait until it is free, or ask for a slice")
        whole = Holder(pid, container, Bytes(0))
        return msgspec.structs.replace(state, holders={**state.holders, WHOLE: whole})
    if not state.sliced:
        raise refused(Kind.INVALID, spec, "the sgpu module does not hold it", "bind it to the module first")
    if WHOLE in state.holders:
        raise refused(Kind.BUSY, spec, "a container holds all of it", "wait until it is free")
    if any(each.name == container for each in state.slices):
        raise refused(Kind.INVALID, spec, f"container {container} has a slice already", "stop it first")
    if len(state.slices) >= MOST_SLICES:
        raise refused(
            Kind.FULL, spec, f"it has {MOST_SLICES} slices, as many as there can be", "stop a container"
        )
    memory = rounded_up(spec, order.memory)
    left = room(spec, state).memory
    if memory > left:
        why = f"{memory_text(memory)} is needed (rounded up to a tier) and {memory_text(left)} is left"
        raise refused(Kind.FULL, spec, why, "ask for less, or stop a container")
    taken = {each.id for each in state.slices}
    made = SliceState(
        id=next(number for number in range(MOST_SLICES) if number not in taken),
        memory=memory,
        cores=order.weight,
        name=container,
        serial=state.slices_made,
    )
    slices = tuple(sorted((*state.slices, made), key=lambda each: each.id))
    return msgspec.structs.replace(state, slices=slices, slices_made=state.slices_made + 1)


def stop(state: CardState, container: str) -> CardState:
    """The card without that container: its processes end with it."""
    gone = {each.id for each in state.slices if each.name == container}
    holders = {
        part: holder
        for part, holder in state.holders.items()
        if part not in gone and not (part == WHOLE and holder.name == container)
    }
    slices = tuple(each for each in state.slices if each.id not in gone)
    return msgspec.structs.replace(state, slices=slices, holders=holders)


def set_sliced(spec: CardSpec, state: CardState, *, on: bool) -> CardState:
    """The card held by the sgpu module, or by nobody; an administrator's doing, not the runtime's."""
    if on is not state.sliced and (state.slices or state.busy):
        raise refused(Kind.BUSY, spec, "it has slices or is in use", "wait until it is idle")
    return msgspec.structs.replace(state, sliced=on)


def set_policy(spec: CardSpec, state: CardState, policy: QosPolicy) -> CardState:
    """The card under another policy; an administrator's doing, or the agent's, while it has no slice."""
    if not state.sliced:
        raise refused(Kind.NOT_SUPPORTED, spec, "it is not bound to the sgpu_km module", "hand it over first")
    if policy is not state.policy and state.slices:
        why = f"its {len(state.slices)} slices run under {state.policy}, and a card has one policy"
        raise refused(Kind.BUSY, spec, why, "wait until their containers have ended")
    return msgspec.structs.replace(state, policy=policy)


def tiers(memory: Bytes) -> tuple[Bytes, ...]:
    """Sizes that the runtime makes on a card of that memory."""
    return (*(tier for tier in KERNEL_TIERS if tier < memory), memory)


def rounded_up(spec: CardSpec, memory: Bytes) -> Bytes:
    """The tier that a limit becomes."""
    fitting = [tier for tier in tiers(spec.memory) if tier >= memory]
    if not fitting or memory <= 0:
        why = f"a slice of {memory_text(memory)} cannot be made"
        raise refused(Kind.INVALID, spec, why, f"ask for up to {memory_text(spec.memory)}, and more than 0")
    return fitting[0]


def room(spec: CardSpec, state: CardState) -> SliceRoom:
    """What is left to be sliced off. Weights beyond 16 leave nothing, though the kernel would take more."""
    if not state.sliced or WHOLE in state.holders:
        return SliceRoom(0, Bytes(0), 0, state.policy)
    return SliceRoom(
        slots=MOST_SLICES - len(state.slices),
        memory=Bytes(spec.memory - sum(each.memory for each in state.slices)),
        cores=max(0, CORES_PER_CARD - sum(each.cores for each in state.slices)),
        policy=state.policy,
    )


def slice_minor(spec: CardSpec, slice_id: int) -> int:
    """The minor number of a slice's control node: the card in bits 6 to 4, the slice below."""
    return (spec.vendor_position % 8) << 4 | slice_id


def _visible(text: str, cards: int) -> tuple[int, ...]:
    numbers: list[int] = []
    for word in text.split(","):
        number = int(word) if _DIGITS.fullmatch(word.strip()) else -1
        if not 0 <= number < cards or number in numbers:
            legal = (
                f"it is all, or a comma list of different cards from 0 to {cards - 1}"
                if cards
                else "there are no cards"
            )
            raise _bad(VISIBLE, text, legal)
        numbers.append(number)
    return tuple(numbers)


def _number(environment: Mapping[str, str], key: str, most: int) -> int | None:
    text = environment.get(key)
    if text is None:
        return None
    number = int(text) if _DIGITS.fullmatch(text.strip()) else 0
    if not 1 <= number <= most:
        unit = "bytes" if key == MEMORY_LIMIT else "a weight"
        raise _bad(key, text, f"it is {unit}, from 1 to {most}")
    return number


def _bad(key: str, text: str, legal: str) -> DriverError:
    return DriverError(Kind.INVALID, f"{key} is {quoted(text)}; {legal}; correct it", call="start_container")
