"""Making, changing and removing slices.

The kernel rounds some sizes, and the library reports success for things that did not happen as asked. So every request
is checked against what the card can do before, and what was made is read back after; a slice that is not what was asked
for, or that nobody waits for any more, is removed again.
"""

from __future__ import annotations

from ctypes import byref, c_uint, create_string_buffer
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.processes import Users, pids_in_slice, require_idle, unknown_use, users_on
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.mxsml.slices import ALL_CORES, listing, read, room
from tangram.model.devices import Slice
from tangram.units.memory import MIB, Bytes, memory_text
from tangram.units.na import NA, NotAvailable, known
from tangram.vendors.metax.products import MEMORY_STEP, MOST_SLICES, whole_steps

LONGEST_NAME: Final = functions.ALIAS_BYTES - 1


def check_memory(memory: Bytes) -> None:
    """Refuse a size the kernel would round."""
    if memory <= 0 or memory % MEMORY_STEP:
        below = whole_steps(memory)
        near = [memory_text(Bytes(size)) for size in (below, below + MEMORY_STEP) if size > 0]
        raise _invalid(
            f"a slice of {memory_text(memory)} cannot be made: memory comes in steps of {memory_text(MEMORY_STEP)}; "
            f"take {' or '.join(near if memory > 0 else near[-1:] or [memory_text(MEMORY_STEP)])}"
        )


def check_cores(cores: int, *, online: bool = False) -> None:
    """Refuse a share that is no percentage. Online slices need none: they take precedence and reserve nothing."""
    least = 0 if online else 1
    if not least <= cores <= ALL_CORES:
        kind = "an online slice" if online else "a slice"
        raise _invalid(f"{kind} of {cores} % of a card's compute cannot be made; take {least} to {ALL_CORES}")


def check_name(name: str) -> None:
    """Refuse a name that would be cut or that would break the line it is listed on."""
    if len(name) > LONGEST_NAME or not all("!" <= letter <= "~" for letter in name):
        raise _invalid(
            f"{name!r:.60} cannot be a slice's name: it takes up to {LONGEST_NAME} printable ASCII characters "
            "without spaces"
        )


def create(binding: Binding, seen: Sighting, *, memory: Bytes, cores: int, name: str, online: bool) -> Slice:
    """Make a slice, name it, let it go first if it is online, and prove that it is what was asked for."""
    _require_slicing(binding, seen)
    _require_room(binding, seen, memory=memory, cores=cores)
    made = (c_uint * 16)()
    binding.library.must(
        "CreateSgpu", seen.number, memory // MIB, cores, byref(made), about=f"card {seen.number}"
    )
    slice_id = made[0]
    try:
        _require_waiting(binding)
        if name:
            text = create_string_buffer(name.encode(), functions.ALIAS_BYTES)
            binding.library.must(
                "SetSgpuAlias", seen.number, slice_id, byref(text), about=f"slice {slice_id}"
            )
        if online:
            set_online(binding, seen, slice_id, online=True)
        found = _proven(binding, seen, slice_id, memory=memory, cores=cores, name=name)
        if online and found.online is not True:
            raise _not_online(seen, slice_id)
    except DriverError as error:
        if binding.library.call("RemoveSgpu", seen.number, slice_id) != codes.DONE:
            raise _left_behind(seen, slice_id, error) from error
        raise
    return found


def set_online(binding: Binding, seen: Sighting, slice_id: int, *, online: bool) -> None:
    """Say whether a slice may suspend the others of its card."""
    binding.library.must(
        "SetSgpuDeviceQueuePriority", seen.number, slice_id, int(online), about=f"slice {slice_id}"
    )


def resize(
    binding: Binding, seen: Sighting, slice_id: int, *, memory: Bytes | None, cores: int | None
) -> Slice:
    """Change quotas; when the second change fails the first is taken back."""
    before = existing(binding, seen, slice_id)
    if cores is not None:
        check_cores(cores, online=before.online is True)
    wanted = before.memory if memory is None else memory
    share = before.cores if cores is None else cores
    used = known(before.memory_used, Bytes(0))
    if wanted < used:
        raise DriverError(
            Kind.BUSY,
            f"slice {slice_id} uses {memory_text(used)} now and cannot shrink to {memory_text(wanted)}",
        )
    grows = wanted - before.memory, share - before.cores
    left = room(binding, seen)
    _require_quota(left.memory, left.cores, memory=Bytes(grows[0]), cores=grows[1], card=seen.number)
    number = seen.number
    if wanted != before.memory:
        binding.library.must("SetSgpuVramQuota", number, slice_id, wanted // MIB, about=f"slice {slice_id}")
    try:
        if share != before.cores:
            binding.library.must("SetSgpuComputeQuota", number, slice_id, share, about=f"slice {slice_id}")
        return _proven(binding, seen, slice_id, memory=wanted, cores=share, name=known(before.name, ""))
    except DriverError:
        if wanted != before.memory:
            binding.library.call("SetSgpuVramQuota", number, slice_id, before.memory // MIB)
        raise


def remove(binding: Binding, seen: Sighting, slice_id: int) -> None:
    """Remove a slice nobody is in."""
    existing(binding, seen, slice_id)
    users = users_on(binding, seen)
    pids = pids_in_slice(binding, seen, users, slice_id)
    if isinstance(pids, NotAvailable):
        raise unknown_use(f"slice {slice_id} of card {seen.number}", users)
    if pids:
        raise _occupied(slice_id, pids)
    code = binding.library.call("RemoveSgpu", seen.number, slice_id)
    if code == codes.DONE:
        return
    error = binding.library.error("RemoveSgpu", code, f"slice {slice_id} of card {seen.number}")
    if code in {1, codes.SYSFS_WRITE}:
        # The kernel refuses a slice in use by failing the write, which has no code of its own.
        pids = pids_in_slice(binding, seen, users_on(binding, seen), slice_id)
        if not isinstance(pids, NotAvailable) and pids:
            raise _occupied(slice_id, pids) from error
    raise error


def switch(binding: Binding, seen: Sighting, *, on: bool) -> None:
    """Turn slicing of a card on or off. Off only when no slice is left, on only when no process is there."""
    if binding.number("GetSgpuToggle", seen.number) == int(on):
        return
    if not on and (present := listing(binding, seen)):
        raise DriverError(
            Kind.BUSY,
            f"card {seen.number} still has {len(present)} slices; remove them before switching it back",
        )
    require_idle(binding, seen)
    binding.library.must("SetSgpuToggle", seen.number, int(on), about=f"card {seen.number}")


def existing(binding: Binding, seen: Sighting, slice_id: int) -> Slice:
    """The slice, or a refusal that says there is none."""
    found = _read_alone(binding, seen, slice_id) if 0 <= slice_id < MOST_SLICES else None
    if found is None:
        raise _invalid(f"card {seen.number} has no slice {slice_id}")
    return found


def _read_alone(binding: Binding, seen: Sighting, slice_id: int) -> Slice | None:
    """Without the list of processes, which costs more than the slice."""
    snapshot = binding.rings.snapshot()
    return read(binding, seen, slice_id, Users(NA) if snapshot is None else Users(NA, snapshot.unseen()))


def _require_waiting(binding: Binding) -> None:
    if binding.given_up():
        raise DriverError(
            Kind.STUCK, "made when nobody waited any more", call=f"{functions.PREFIX}CreateSgpu"
        )


def _require_slicing(binding: Binding, seen: Sighting) -> None:
    toggle = binding.number("GetSgpuToggle", seen.number)
    if toggle == 0:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {seen.number} is in native mode and has no slices; switch it to sGPU mode first",
            call=f"{functions.PREFIX}GetSgpuToggle",
        )


def _require_room(binding: Binding, seen: Sighting, *, memory: Bytes, cores: int) -> None:
    left = room(binding, seen)
    if left.slots <= 0:
        raise DriverError(Kind.FULL, f"card {seen.number} has {MOST_SLICES} slices, and more cannot be made")
    _require_quota(left.memory, left.cores, memory=memory, cores=cores, card=seen.number)


def _require_quota(free_memory: Bytes, free_cores: int, *, memory: Bytes, cores: int, card: int) -> None:
    if memory > free_memory:
        raise DriverError(
            Kind.FULL,
            f"card {card} has {memory_text(free_memory)} left to slice, and {memory_text(memory)} more were asked for",
        )
    if cores > free_cores:
        raise DriverError(
            Kind.FULL, f"card {card} has {free_cores} % of compute left, and {cores} % more were asked for"
        )


def _proven(
    binding: Binding, seen: Sighting, slice_id: int, *, memory: Bytes, cores: int, name: str
) -> Slice:
    made = _read_alone(binding, seen, slice_id)
    if made is None or (made.memory, made.cores) != (memory, cores):
        found = "nothing" if made is None else f"{memory_text(made.memory)} and {made.cores} %"
        raise DriverError(
            Kind.FAILED,
            f"slice {slice_id} of card {seen.number} should have {memory_text(memory)} and {cores} % "
            f"and reads back as {found}",
            call=f"{functions.PREFIX}GetSgpuInfo",
        )
    if name and made.name != name:
        found = "its name cannot be read" if made.name is NA else f"reads back as {made.name!r}"
        raise DriverError(
            Kind.FAILED,
            f"slice {slice_id} of card {seen.number} should be called {name!r} and {found}",
            call=f"{functions.PREFIX}GetSgpuAlias",
        )
    return made


def _not_online(seen: Sighting, slice_id: int) -> DriverError:
    return DriverError(
        Kind.FAILED,
        f"slice {slice_id} of card {seen.number} should be online and reads back as offline",
        call=f"{functions.PREFIX}SetSgpuDeviceQueuePriority",
    )


def _left_behind(seen: Sighting, slice_id: int, error: DriverError) -> DriverError:
    return DriverError(
        error.kind,
        f"{error.sentence}; and slice {slice_id} of card {seen.number}, made before that, could not be removed",
        call=error.call,
        vendor_code=error.vendor_code,
        vendor_text=error.vendor_text,
    )


def _occupied(slice_id: int, pids: tuple[int, ...]) -> DriverError:
    listed = ", ".join(str(pid) for pid in pids[:8] if pid)
    by = f"process {listed}" if listed else "a process that has no number here"
    return DriverError(
        Kind.BUSY,
        f"slice {slice_id} is in use by {by}",
        call=f"{functions.PREFIX}RemoveSgpu",
    )


def _invalid(sentence: str) -> DriverError:
    return DriverError(Kind.INVALID, sentence)
