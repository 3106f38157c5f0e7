"""Moore Threads slices in our records, for every way of reaching the cards.

Whether a card is sliced is decided by which kernel module holds it, and the vendor's container runtime makes slices
from a container's environment; so this answers questions, hands a card to the module or takes it back, and refuses
every other change with the sentence that says who to ask.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NoReturn

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.sgpu_km import CARDS_FILE, POLICY_FILE, KernelSlice, SgpuKm
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, DeviceNodes, Process, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable, known
from tangram.vendors.mthreads.products import MOST_SLICES

CORES_PER_CARD: Final = 16
POLICIES: Final = {0: QosPolicy.BEST_EFFORT, 1: QosPolicy.BURST_SHARE, 2: QosPolicy.FIXED_SHARE}
_CONTROL_NODE = re.compile(r"/dev/mtgpu\.([0-9]{1,4})")


def kernel_number(nodes: DeviceNodes, index: int) -> int:
    """The number the kernel module knows a card by: that of its control node, or else its index."""
    found = _CONTROL_NODE.fullmatch(nodes.control)
    return int(found[1]) if found else index


def is_sliced(module: SgpuKm, nodes: DeviceNodes, index: int) -> Maybe[bool]:
    """Whether the kernel module holds the card; `NA` when the module is there and does not say."""
    bound = module.bound_cards()
    return NA if isinstance(bound, NotAvailable) else kernel_number(nodes, index) in bound


def slices_of(module: SgpuKm, device: Device) -> tuple[Slice, ...]:
    """The slices that exist on a card now."""
    return tuple(
        _slice(device.uuid, each) for each in module.slices(kernel_number(device.nodes, device.index))
    )


def processes_of(module: SgpuKm, device: Device) -> Maybe[tuple[Process, ...]]:
    """Who holds memory of a sliced card. The module counts for no other, so it is `NA` then, not empty.

    A slice whose use cannot be read may have processes, so then the list is `NA` as well.
    """
    if is_sliced(module, device.nodes, device.index) is not True:
        return NA
    found: list[Process] = []
    for each in module.slices(kernel_number(device.nodes, device.index)):
        if isinstance(each.usage, NotAvailable):
            return NA
        number = None if isinstance(each.number, NotAvailable) else each.number
        found += [Process(pid=pid, memory=held, slice_id=number) for pid, held in each.usage.processes]
    return tuple(found)


def room_of(module: SgpuKm, device: Device) -> SliceRoom:
    """What is left to slice. The kernel's overcommit is not counted: memory sold twice is memory nobody has."""
    if is_sliced(module, device.nodes, device.index) is not True:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {device.index} is not bound to the sgpu_km module, so it cannot be sliced; "
            "bind it with the module's gpu_ids parameter",
            call=str(module.root / "cores"),
        )
    knobs = module.knobs(kernel_number(device.nodes, device.index))
    taken = slices_of(module, device)
    total = known(device.memory, Bytes(0))
    policy = known(knobs.policy, -1)
    return SliceRoom(
        slots=max(0, known(knobs.most_slices, MOST_SLICES) - len(taken)),
        memory=Bytes(max(0, total - sum(each.memory for each in taken))),
        cores=max(0, CORES_PER_CARD - sum(each.cores for each in taken)),
        policy=POLICIES.get(policy, NA),
    )


def switch(module: SgpuKm, device: Device, *, on: bool) -> None:
    """Hand a card to the kernel module, or take it back.

    Taking back is refused while there is a slice. The module counts no processes on a card that is whole, so the
    caller that hands one over has to know that it is idle.
    """
    number = kernel_number(device.nodes, device.index)
    before = _held_cards(module)
    if (number in before) is on:
        return
    if not on:
        _require_no_slices(module, device.index, number)
    wanted = sorted({*before, number} if on else {*before} - {number})
    try:
        module.bind(wanted)
    except DriverError:
        if not on:
            # The kernel has no error of its own for a slice that came in between.
            _require_no_slices(module, device.index, number)
        raise
    if (number in _held_cards(module)) is not on:
        raise DriverError(
            Kind.FAILED,
            f"card {device.index} was {'handed to' if on else 'taken from'} the sgpu_km module, which still says "
            f"otherwise; look for its messages in the kernel log",
            call=str(module.root / CARDS_FILE),
        )


def set_policy(module: SgpuKm, device: Device, policy: QosPolicy) -> None:
    """Have the module share the card's compute by that policy; refused while there is a slice."""
    number = kernel_number(device.nodes, device.index)
    if number not in _held_cards(module):
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {device.index} is not bound to the sgpu_km module, so it has no policy; hand it to the module first",
            call=str(module.root / CARDS_FILE),
        )
    wanted = next(each for each, meaning in POLICIES.items() if meaning is policy)
    if module.knobs(number).policy == wanted:
        return
    _require_no_slices(module, device.index, number)
    module.set_policy(number, wanted)
    if module.knobs(number).policy != wanted:
        raise DriverError(
            Kind.FAILED,
            f"card {device.index} was given policy {policy}, and the sgpu_km module still says otherwise; look for its "
            "messages in the kernel log",
            call=str(module.root / str(number) / POLICY_FILE),
        )


def _held_cards(module: SgpuKm) -> tuple[int, ...]:
    bound = module.bound_cards()
    if not module.present or isinstance(bound, NotAvailable):
        raise DriverError(
            Kind.NOT_SUPPORTED,
            "the sgpu_km module is not loaded, or does not say which cards it slices; load it first",
            call=str(module.root / CARDS_FILE),
        )
    return bound


def _require_no_slices(module: SgpuKm, index: int, number: int) -> None:
    if present := module.slices(number):
        raise DriverError(
            Kind.BUSY,
            f"card {index} still has {len(present)} slices; wait until their containers have ended",
            call=str(module.root / CARDS_FILE),
        )


class RuntimeMakesSlices:
    """The half of the driver interface that changes things, for a vendor whose container runtime does that."""

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        del memory, cores, name, online
        _refuse(uuid, "made")

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        del slice_id, memory, cores
        _refuse(uuid, "resized")

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        del slice_id
        _refuse(uuid, "removed")

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"the policy of card {uuid} cannot be set to {policy} from here; use the vendor's library, its "
            "ClusterConfig, or write to the sgpu_km module while the card has no slice",
        )

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {uuid} cannot be switched to {'slices' if on else 'one whole card'} from here; use the vendor's "
            "library, or write the list of sliced cards to the sgpu_km module",
        )

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {uuid} cannot be split into {count} virtual functions: Moore Threads cards are shared as slices",
        )


def _refuse(uuid: CardUuid, verb: str) -> NoReturn:
    raise DriverError(
        Kind.NOT_SUPPORTED,
        f"a slice of card {uuid} is not {verb} by a driver: the vendor's container runtime makes slices from the "
        "container's environment (MTHREADS_QOS_MEMORY_LIMIT and MTHREADS_QOS_COMPUTING_POWER_WEIGHT) when the "
        "container starts, and removes them when it ends",
    )


def _slice(card: CardUuid, each: KernelSlice) -> Slice:
    number, memory, weight = each.number, each.memory, each.weight
    if (
        isinstance(number, NotAvailable)
        or isinstance(memory, NotAvailable)
        or isinstance(weight, NotAvailable)
    ):
        # Leaving it out, or taking it for empty, would let somebody sell its memory again.
        raise DriverError(
            Kind.FAILED,
            f"the slice of container {each.container} on card {card} does not tell its number, size and weight; "
            "look at its files under sgpu_km",
        )
    used: Maybe[Bytes] = NA
    busy: Maybe[bool] = NA
    if not isinstance(each.usage, NotAvailable):
        busy = bool(each.usage.processes)
        free = each.usage.free
        used = _held(each.usage.processes) if isinstance(free, NotAvailable) else Bytes(max(0, memory - free))
    return Slice(
        card=card,
        id=number,
        memory=memory,
        cores=weight,
        name=each.container,
        minor=each.minor,
        memory_used=used,
        busy=busy,
    )


def _held(processes: Sequence[tuple[int, Bytes]]) -> Bytes:
    return Bytes(sum(held for _, held in processes))
