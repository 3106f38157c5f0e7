"""The slices a card has and the room that is left."""

from __future__ import annotations

from collections.abc import Sequence

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import MemoryInfo, SliceInfo, SliceMemory, SliceQuota
from tangram.drivers.mxsml.processes import Users, pids_in_slice, users_on
from tangram.drivers.mxsml.sightings import Sighting
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice, SliceRoom
from tangram.units.memory import KIB, MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.metax.products import MOST_SLICES

POLICIES = {0: QosPolicy.BEST_EFFORT, 1: QosPolicy.FIXED_SHARE, 2: QosPolicy.BURST_SHARE}
NUMBER_OF_POLICY = {policy: number for number, policy in POLICIES.items()}
ALL_CORES = 100


def listing(binding: Binding, seen: Sighting) -> tuple[Slice, ...]:
    """The slices that exist. Their numbers have gaps, so all are tried until as many as there are were found."""
    expected = binding.count("GetSgpuCount", seen.number, most=MOST_SLICES)
    if not expected and binding.library.has("GetSgpuCount"):
        return ()
    users = users_on(binding, seen)
    found: list[Slice] = []
    for slice_id in range(MOST_SLICES):
        each = read(binding, seen, slice_id, users)
        if each is not None:
            found.append(each)
            if len(found) == expected:
                break
    return tuple(found)


def read(binding: Binding, seen: Sighting, slice_id: int, users: Users) -> Slice | None:
    """One slice, or None when there is none of that number. Raises for one whose name the library fails to read."""
    info = binding.record("GetSgpuInfo", seen.number, slice_id, into=SliceInfo)
    if isinstance(info, NotAvailable):
        return None
    megabytes, cores, minor, online = info.memory_mb, info.compute, info.minor, info.online
    uuid = decoded(info.uuid)
    memory = binding.record("GetSgpuMemory", seen.number, slice_id, into=SliceMemory)
    usage = binding.signed("GetSgpuUsage", seen.number, slice_id)
    pids = pids_in_slice(binding, seen, users, slice_id)
    return Slice(
        card=seen.uuid,
        id=slice_id,
        memory=Bytes(megabytes * MIB),
        cores=cores,
        uuid=uuid,
        name=_name(binding, seen, slice_id),
        minor=minor,
        online=bool(online),
        memory_used=NA if isinstance(memory, NotAvailable) else Bytes(memory.used),
        # Reported in ten-thousandths of the whole.
        utilisation_percent=NA if isinstance(usage, NotAvailable) or usage < 0 else usage / 100,
        busy=NA if isinstance(pids, NotAvailable) else bool(pids),
    )


def _name(binding: Binding, seen: Sighting, slice_id: int) -> Maybe[str]:
    """Its name, empty for a slice without one and NA where the library has no function for it.

    Raises where it cannot be read: slices are removed by their names, and those without one for having none. The
    library answers both in one way, so the kernel driver's file decides.
    """
    name = binding.text("GetSgpuAlias", seen.number, slice_id)
    if not isinstance(name, NotAvailable):
        return name
    if binding.status == codes.ABSENT:
        return NA
    silent = binding.status in {codes.DONE, codes.SYSFS_READ} and binding.last_size() == 1
    if not silent or not binding.rings.is_nameless(seen.bdf, slice_id):
        raise binding.library.error(
            "GetSgpuAlias", binding.status or codes.SYSFS_READ, f"slice {slice_id} of card {seen.number}"
        )
    return ""


def room(binding: Binding, seen: Sighting) -> SliceRoom:
    """What is left, by the library's count or by ours where it has none."""
    present = listing(binding, seen)
    scheduling = binding.number("GetDeviceSchedClass", seen.number)
    policy = NA if isinstance(scheduling, NotAvailable) else POLICIES.get(scheduling, NA)
    quota = binding.record("GetSgpuAvailableQuota", seen.number, into=SliceQuota)
    if isinstance(quota, NotAvailable):
        memory, cores = _remainder(binding, seen, present)
    else:
        memory, cores = Bytes(quota.free_mb * MIB), quota.free_compute
    return SliceRoom(MOST_SLICES - len(present), memory, cores, policy)


def _remainder(binding: Binding, seen: Sighting, present: Sequence[Slice]) -> tuple[Bytes, int]:
    info = binding.record("GetMemoryInfo", seen.number, into=MemoryInfo)
    if isinstance(info, NotAvailable):
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"nobody can tell how much of card {seen.number} is free",
            call=f"{functions.PREFIX}GetSgpuAvailableQuota",
        )
    memory = info.total * KIB - sum(each.memory for each in present)
    return Bytes(max(0, memory)), max(0, ALL_CORES - sum(each.cores for each in present))
