"""What a MetaX card allows: its slices, its policy, its virtual functions.

Slices are at most 16, their memory comes in steps of 128 MiB and is in all less than the card's on some models, and
their compute is a percentage, which only online ones may have 0 of. The kernel keeps one number for the compute that is
left, whatever the policy, so the percentages of a card never add up to more than 100. A policy is the card's, not the
slice's: it changes only while the card has no slices.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import CardSpec
from tangram.drivers.simulated.refusing import refused
from tangram.drivers.simulated.state import WHOLE, CardState, SliceState
from tangram.model.cards import QosPolicy
from tangram.model.devices import SliceRoom, SriovState
from tangram.units.memory import Bytes, memory_text
from tangram.vendors.metax.products import MEMORY_STEP, MOST_SLICES, VIRTUAL_FUNCTION_COUNTS, whole_steps
from tangram.vendors.wording import either

MOST_CORES: Final = 100
LONGEST_NAME: Final = 31
"""Bytes that the kernel keeps of an alias."""


def sliceable(spec: CardSpec) -> Bytes:
    """What slices of it can have in all."""
    return whole_steps(spec.sliceable)


def room(spec: CardSpec, state: CardState) -> SliceRoom:
    """What is left to be sliced off."""
    if not state.sliced:
        return SliceRoom(0, Bytes(0), 0, state.policy)
    memory = sliceable(spec) - sum(each.memory for each in state.slices)
    return SliceRoom(
        slots=MOST_SLICES - len(state.slices),
        memory=whole_steps(memory),
        cores=MOST_CORES - sum(each.cores for each in state.slices),
        policy=state.policy,
    )


def create(
    spec: CardSpec, state: CardState, memory: Bytes, cores: int, name: str, *, online: bool = False
) -> tuple[CardState, SliceState]:
    """The card with one slice more."""
    if not state.sliced:
        why = (
            f"it is split into {state.virtual_functions} virtual functions, which excludes slices"
            if state.virtual_functions
            else "it is in native mode, which has no slices"
        )
        raise refused(Kind.INVALID, spec, why, "switch it to slices first")
    if WHOLE in state.holders:
        raise refused(Kind.BUSY, spec, "a process has all of it", "end it first")
    _check_memory(spec, memory)
    _check_cores(spec, cores, online=online)
    _check_name(spec, name)
    left = room(spec, state)
    if not left.slots:
        raise refused(Kind.FULL, spec, f"it has {MOST_SLICES} slices, as many as there can be", "remove one")
    _check_left(spec, left, memory, cores)
    taken = {each.id for each in state.slices}
    made = SliceState(
        id=next(number for number in range(MOST_SLICES) if number not in taken),
        memory=memory,
        cores=cores,
        name=name,
        online=online,
        serial=state.slices_made,
    )
    slices = tuple(sorted((*state.slices, made), key=lambda each: each.id))
    return msgspec.structs.replace(state, slices=slices, slices_made=state.slices_made + 1), made


def resize(
    spec: CardSpec, state: CardState, slice_id: int, memory: Bytes | None, cores: int | None
) -> tuple[CardState, SliceState]:
    """The card with other quotas for one slice; a slice never shrinks below what its process holds."""
    before = found(spec, state, slice_id)
    after = msgspec.structs.replace(
        before,
        memory=before.memory if memory is None else memory,
        cores=before.cores if cores is None else cores,
    )
    _check_memory(spec, after.memory)
    _check_cores(spec, after.cores, online=after.online)
    holder = state.holders.get(slice_id)
    if holder is not None and holder.memory > after.memory:
        why = f"slice {slice_id} uses {memory_text(holder.memory)}"
        raise refused(Kind.BUSY, spec, why, "ask for at least that, or end its process")
    left = room(spec, without(state, slice_id))
    _check_left(spec, left, after.memory, after.cores)
    slices = tuple(after if each.id == slice_id else each for each in state.slices)
    return msgspec.structs.replace(state, slices=slices), after


def remove(spec: CardSpec, state: CardState, slice_id: int) -> CardState:
    """The card without a slice that nobody uses."""
    found(spec, state, slice_id)
    if slice_id in state.holders:
        raise refused(Kind.BUSY, spec, f"slice {slice_id} is in use", "end its process first")
    return without(state, slice_id)


def set_policy(spec: CardSpec, state: CardState, policy: QosPolicy) -> CardState:
    """The card under another policy."""
    if policy is not state.policy and state.slices:
        why = f"its {len(state.slices)} slices run under {state.policy}, and a card has one policy"
        raise refused(Kind.BUSY, spec, why, "remove them first")
    return msgspec.structs.replace(state, policy=policy)


def set_sliced(spec: CardSpec, state: CardState, *, on: bool) -> CardState:
    """The card offered in slices, or whole."""
    if on and state.virtual_functions:
        why = f"it is split into {state.virtual_functions} virtual functions, which excludes slices"
        raise refused(Kind.BUSY, spec, why, "join them first")
    if on is not state.sliced and (state.slices or state.busy):
        raise refused(Kind.BUSY, spec, "it has slices or is in use", "wait until it is idle")
    return msgspec.structs.replace(state, sliced=on)


def set_virtual_functions(spec: CardSpec, state: CardState, count: int) -> CardState:
    """The card split into so many. As for every PCIe device, one split must end before another begins."""
    if spec.sriov in (None, SriovState.FORBIDDEN):
        raise refused(
            Kind.NOT_SUPPORTED,
            spec,
            "its firmware has no virtual functions",
            "use another card, or describe it with sriov: off",
        )
    if count not in (0, *VIRTUAL_FUNCTION_COUNTS):
        why = f"it cannot be split into {count} virtual functions"
        raise refused(Kind.INVALID, spec, why, f"ask for 0, {either(VIRTUAL_FUNCTION_COUNTS)}")
    if count == state.virtual_functions:
        return state
    if state.sliced:
        why = "it is offered in slices, which excludes virtual functions"
        raise refused(Kind.BUSY, spec, why, "switch it to whole first")
    if state.busy:
        raise refused(Kind.BUSY, spec, "it is in use", "end its processes first")
    if count and state.virtual_functions:
        why = f"it is split into {state.virtual_functions} already"
        raise refused(Kind.BUSY, spec, why, "join them (0) first")
    return msgspec.structs.replace(state, virtual_functions=count)


def found(spec: CardSpec, state: CardState, slice_id: int) -> SliceState:
    """The slice of that id."""
    held = state.slice(slice_id)
    if held is None:
        have = ", ".join(str(each.id) for each in state.slices) or "none"
        raise refused(
            Kind.INVALID, spec, f"there is no slice {slice_id}", f"its slices are {have}; name one of these"
        )
    return held


def without(state: CardState, slice_id: int) -> CardState:
    """The card without that slice, whoever uses it."""
    holders = {part: holder for part, holder in state.holders.items() if part != slice_id}
    slices = tuple(each for each in state.slices if each.id != slice_id)
    return msgspec.structs.replace(state, slices=slices, holders=holders)


def _check_memory(spec: CardSpec, memory: Bytes) -> None:
    if memory <= 0 or memory % MEMORY_STEP:
        why = f"a slice of {memory_text(memory)} cannot be made"
        raise refused(Kind.INVALID, spec, why, "ask for a multiple of 128 MiB")


def _check_cores(spec: CardSpec, cores: int, *, online: bool) -> None:
    least = 0 if online else 1
    if not least <= cores <= MOST_CORES:
        why = f"{'an online slice' if online else 'a slice'} with {cores} % of compute cannot be made"
        raise refused(Kind.INVALID, spec, why, f"ask for {least} to {MOST_CORES}")


def _check_name(spec: CardSpec, name: str) -> None:
    printable = all("!" <= letter <= "~" for letter in name)
    if len(name) > LONGEST_NAME or not printable:
        why = f"a slice cannot be called {name!r:.60}"
        raise refused(Kind.INVALID, spec, why, f"use up to {LONGEST_NAME} visible ASCII characters")


def _check_left(spec: CardSpec, left: SliceRoom, memory: Bytes, cores: int) -> None:
    if memory > left.memory:
        why = f"{memory_text(memory)} was asked for and {memory_text(left.memory)} is left"
        raise refused(Kind.FULL, spec, why, "ask for less, or remove a slice")
    if cores > left.cores:
        why = f"{cores} % of compute was asked for and {left.cores} % is left"
        raise refused(Kind.FULL, spec, why, "ask for less, or remove a slice")


def not_metax(spec: CardSpec) -> DriverError:
    """What a card of the other vendor answers to all of this."""
    return refused(
        Kind.NOT_SUPPORTED,
        spec,
        "Moore Threads cards are sliced by the vendor's container runtime",
        "start a container with MTHREADS_VISIBLE_DEVICES and MTHREADS_QOS_MEMORY_LIMIT",
    )
