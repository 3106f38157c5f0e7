import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.metax_tree import CLASS_ROOT, begin_process_in_slice
from builders.mxsml_twin import Machine, Twin, c500
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import driver as mxsml_driver
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.functions import SIGNATURES
from tangram.drivers.mxsml.slicing import check_memory, check_name
from tangram.drivers.mxsml.turns import turn
from tangram.model.cards import QosPolicy
from tangram.model.devices import Process, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.units.na import NA, known

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
GIB4 = from_gib(4)


def sliced() -> Machine:
    """A card with slices 3 and 15, the first in use."""
    return (
        c500(1)
        .with_slice(
            0, 3, memory=16000, compute=25, minor=22, alias="web-0", used=from_mib(300), usage=1234, uuid="s3"
        )
        .with_slice(0, 15, memory=128, compute=1, online=1, uuid="s15")
        .with_process(4242, 0, memory=1, slice=3)
    )


def refused(kind: Kind, change: Callable[[], object]) -> str:
    with pytest.raises(DriverError) as refusal:
        change()
    assert refusal.value.kind is kind
    return refusal.value.sentence


def test_slices_of_a_card_the_library_cannot_use_are_unknown_and_not_none(twin_of: Make) -> None:
    driver = twin_of(sliced().with_card(0, smi=False)).driver()
    assert driver.devices()[0].sliced is True
    refused(Kind.FAILED, lambda: driver.slices(FIRST))
    refused(Kind.FAILED, lambda: driver.room(FIRST))


def test_slices_are_found_across_gaps_in_their_numbers(twin_of: Make) -> None:
    first, second = twin_of(sliced()).driver().slices(FIRST)
    assert first == Slice(
        card=FIRST,
        id=3,
        memory=from_mib(16000),
        cores=25,
        uuid="GPU-s3",
        name="web-0",
        minor=22,
        online=False,
        memory_used=from_mib(300),
        utilisation_percent=12.34,
        busy=True,
    )
    assert (second.id, second.memory, second.online, second.uuid, second.busy) == (
        15,
        from_mib(128),
        True,
        "GPU-s15",
        False,
    )


@pytest.mark.parametrize("code", [1, 4, 6, 9, 10])
def test_a_name_that_cannot_be_read_is_not_taken_for_none(code: int, twin_of: Make) -> None:
    driver = twin_of(sliced().failing("GetSgpuAlias", code, times=1)).driver()
    with pytest.raises(DriverError) as refusal:
        driver.slices(FIRST)
    assert (refusal.value.call, refusal.value.vendor_code) == ("mxSmlGetSgpuAlias", code)
    assert [each.name for each in driver.slices(FIRST)] == ["web-0", ""]


@pytest.mark.parametrize("replaced", ["nothing", "a folder"])
def test_a_name_whose_file_the_library_cannot_read_is_not_taken_for_none(
    replaced: str, twin_of: Make
) -> None:
    """The library answers it as it does a slice without a name."""
    machine = sliced()
    twin = twin_of(machine)
    driver = twin.driver()
    file = twin.sysfs / machine.cards[0].folder / "sgpu/sgpu15/alias"
    file.unlink()
    if replaced == "a folder":
        file.mkdir()
    with pytest.raises(DriverError) as refusal:
        driver.slices(FIRST)
    assert (refusal.value.call, refusal.value.vendor_code) == ("mxSmlGetSgpuAlias", 4)


@pytest.mark.parametrize(
    ("alias", "name"),
    [("n" * 95, "n" * 95), ("n" * 96, "n" * 96), ("n" * 120, "n" * 120), (" web", "web"), (" ", "")],
    ids=["95 letters", "96 letters", "120 letters", "blank in front", "blank"],
)
def test_names_that_others_gave_are_read_as_they_are(alias: str, name: str, twin_of: Make) -> None:
    machine = c500(1).with_slice(0, 3, uuid="s3", alias=alias).with_slice(0, 4, uuid="s4", alias="next")
    assert [each.name for each in twin_of(machine).driver().slices(FIRST)] == [name, "next"]


def test_names_are_unknown_and_not_empty_without_the_function_that_reads_them(twin_of: Make) -> None:
    driver = twin_of(sliced(), left_out=("mxSmlGetSgpuAlias",)).driver()
    assert [each.name for each in driver.slices(FIRST)] == [NA, NA]
    assert driver.resize_slice(FIRST, 15, cores=2).name is NA
    said = refused(Kind.FAILED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5, name="pod"))
    assert "should be called 'pod' and its name cannot be read" in said
    assert [each.id for each in driver.slices(FIRST)] == [3, 15]


def test_many_slices_with_names_are_listed_with_them(twin_of: Make) -> None:
    driver = twin_of(c500(1)).driver()
    names = [f"tangram-{at:023d}" for at in range(16)]
    for name in names:
        driver.create_slice(FIRST, memory=from_gib(3), cores=6, name=name)
    assert [each.name for each in driver.slices(FIRST)] == names


def test_slices_are_found_without_a_count(twin_of: Make) -> None:
    driver = twin_of(sliced(), left_out=("mxSmlGetSgpuCount",)).driver()
    assert [each.id for each in driver.slices(FIRST)] == [3, 15]


def test_room_is_what_is_left(twin_of: Make) -> None:
    room = SliceRoom(14, from_mib(64581 - 16128), 74, QosPolicy.BEST_EFFORT)
    twin = twin_of(sliced())
    assert twin.driver().room(FIRST) == room


def test_room_is_counted_by_us_where_the_library_does_not(twin_of: Make) -> None:
    twin = twin_of(sliced(), left_out=("mxSmlGetSgpuAvailableQuota", "mxSmlGetDeviceSchedClass"))
    assert twin.driver().room(FIRST) == SliceRoom(14, Bytes(from_gib(64) - from_mib(16128)), 74, NA)


def test_a_slice_is_made_named_resized_and_removed(twin_of: Make) -> None:
    driver = twin_of(c500(1)).driver()
    made = driver.create_slice(FIRST, memory=GIB4, cores=30, name="pod-1.c")
    assert (made.id, made.memory, made.cores, made.name) == (0, GIB4, 30, "pod-1.c")
    resized = driver.resize_slice(FIRST, 0, memory=from_gib(8))
    assert (resized.memory, resized.cores, resized.name) == (from_gib(8), 30, "pod-1.c")
    assert driver.resize_slice(FIRST, 0, cores=100).cores == 100
    driver.remove_slice(FIRST, 0)
    assert driver.slices(FIRST) == ()


@pytest.mark.parametrize("policy", QosPolicy)
def test_a_policy_set_is_a_policy_read(policy: QosPolicy, twin_of: Make) -> None:
    driver = twin_of(c500(1)).driver()
    driver.set_policy(FIRST, policy)
    assert driver.room(FIRST).policy is policy


@pytest.mark.parametrize(
    ("memory", "hint"), [(0, "128 MiB"), (-128, "128 MiB"), (1000, "896 MiB or 1 GiB"), (16001, "15.63 GiB")]
)
def test_memory_that_would_be_rounded_is_refused_with_the_sizes_beside_it(
    memory: int, hint: str, two: Twin
) -> None:
    driver = two.driver()
    said = refused(Kind.INVALID, lambda: driver.create_slice(FIRST, memory=Bytes(memory * 2**20), cores=10))
    assert "128 MiB" in said
    if memory in {0, -128, 1000}:
        assert hint in said
    refused(Kind.INVALID, lambda: driver.resize_slice(FIRST, 0, memory=Bytes(memory * 2**20)))


@given(st.integers(-(2**40), 2**50))
def test_memory_is_accepted_exactly_in_whole_steps(size: int) -> None:
    if size > 0 and size % from_mib(128) == 0:
        check_memory(Bytes(size))
    else:
        with pytest.raises(DriverError):
            check_memory(Bytes(size))


@given(st.text(max_size=40))
def test_a_name_is_kept_whole_or_refused(name: str) -> None:
    fits = len(name) <= 31 and all("!" <= letter <= "~" for letter in name)
    if fits:
        check_name(name)
    else:
        with pytest.raises(DriverError):
            check_name(name)


@pytest.mark.parametrize("cores", [0, 101, -5])
def test_a_share_that_is_no_percentage_is_refused(cores: int, two: Twin) -> None:
    driver = two.driver()
    refused(Kind.INVALID, lambda: driver.create_slice(FIRST, memory=GIB4, cores=cores))
    driver.create_slice(FIRST, memory=GIB4, cores=7)
    assert "take 1 to 100" in refused(Kind.INVALID, lambda: driver.resize_slice(FIRST, 0, cores=cores))
    assert [each.cores for each in driver.slices(FIRST)] == [7]


def test_an_online_slice_needs_no_compute_on_a_card_sold_to_the_last_percent(two: Twin) -> None:
    driver = two.driver()
    driver.create_slice(FIRST, memory=GIB4, cores=100)
    made = driver.create_slice(FIRST, memory=GIB4, cores=0, name="first", online=True)
    assert (made.cores, made.online, made.name) == (0, True, "first")
    assert driver.resize_slice(FIRST, made.id, memory=from_gib(8)).cores == 0
    assert driver.resize_slice(FIRST, made.id, cores=0).cores == 0
    assert driver.room(FIRST).cores == 0
    for cores in (-1, 101):
        said = refused(
            Kind.INVALID,
            lambda cores=cores: driver.create_slice(FIRST, memory=GIB4, cores=cores, online=True),
        )
        assert "take 0 to 100" in said


def test_the_longest_name_is_kept_whole(two: Twin) -> None:
    assert two.driver().create_slice(FIRST, memory=GIB4, cores=1, name="n" * 31).name == "n" * 31


def test_the_seventeenth_slice_is_refused(twin_of: Make) -> None:
    driver = twin_of(c500(1)).driver()
    for _ in range(16):
        driver.create_slice(FIRST, memory=from_mib(128), cores=1)
    assert "16 slices" in refused(
        Kind.FULL, lambda: driver.create_slice(FIRST, memory=from_mib(128), cores=1)
    )


def test_more_than_is_left_is_refused(twin_of: Make) -> None:
    driver = twin_of(sliced()).driver()
    assert "48453 MiB" in refused(Kind.FULL, lambda: driver.create_slice(FIRST, memory=from_gib(60), cores=1))
    assert "74 %" in refused(Kind.FULL, lambda: driver.create_slice(FIRST, memory=GIB4, cores=75))
    refused(Kind.FULL, lambda: driver.resize_slice(FIRST, 15, memory=from_gib(60)))
    refused(Kind.FULL, lambda: driver.resize_slice(FIRST, 15, cores=76))
    assert driver.resize_slice(FIRST, 15, cores=75).cores == 75


def test_a_slice_does_not_shrink_below_what_it_uses(twin_of: Make) -> None:
    driver = twin_of(sliced()).driver()
    assert "300 MiB" in refused(Kind.BUSY, lambda: driver.resize_slice(FIRST, 3, memory=from_mib(256)))


def test_a_busy_slice_is_not_removed(twin_of: Make) -> None:
    driver = twin_of(sliced()).driver()
    assert "4242" in refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 3))
    assert [each.id for each in driver.slices(FIRST)] == [3, 15]


@pytest.mark.parametrize("slice_id", [0, 16, -1])
def test_a_slice_that_is_not_there_cannot_be_changed(slice_id: int, twin_of: Make) -> None:
    driver = twin_of(sliced()).driver()
    for change in (
        lambda: driver.remove_slice(FIRST, slice_id),
        lambda: driver.resize_slice(FIRST, slice_id, cores=5),
    ):
        assert "no slice" in refused(Kind.INVALID, change)


def test_a_card_in_native_mode_makes_no_slices_until_switched(twin_of: Make) -> None:
    driver = twin_of(c500(1, model="native")).driver()
    assert driver.devices()[0].sliced is False
    refused(Kind.NOT_SUPPORTED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5))
    driver.set_sliced(FIRST, on=True)
    assert driver.devices()[0].sliced is True
    driver.create_slice(FIRST, memory=GIB4, cores=5)
    assert "remove them" in refused(Kind.BUSY, lambda: driver.set_sliced(FIRST, on=False))
    driver.remove_slice(FIRST, 0)
    driver.set_sliced(FIRST, on=False)
    assert driver.devices()[0].sliced is False


def test_a_card_in_use_is_not_switched(twin_of: Make) -> None:
    driver = twin_of(c500(1, model="native").with_process(77, 0)).driver()
    assert "77" in refused(Kind.BUSY, lambda: driver.set_sliced(FIRST, on=True))
    driver.set_sliced(FIRST, on=False)
    assert driver.devices()[0].sliced is False


def test_a_card_used_whole_is_not_switched_back(twin_of: Make) -> None:
    driver = twin_of(c500(1).with_process(77, 0)).driver()
    assert "77" in refused(Kind.BUSY, lambda: driver.set_sliced(FIRST, on=False))
    assert driver.devices()[0].sliced is True


def test_a_slice_that_was_rounded_is_taken_back(twin_of: Make) -> None:
    driver = twin_of(c500(1).quirk("rounds-memory")).driver()
    assert "reads back" in refused(Kind.FAILED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5))
    assert driver.slices(FIRST) == ()


def test_an_online_slice_is_made_online_and_others_are_not(twin_of: Make) -> None:
    driver = twin_of(c500(1)).driver()
    assert driver.create_slice(FIRST, memory=GIB4, cores=5, name="first", online=True).online is True
    driver.create_slice(FIRST, memory=GIB4, cores=5)
    assert [each.online for each in driver.slices(FIRST)] == [True, False]


def test_an_online_slice_that_stays_offline_is_taken_back(twin_of: Make) -> None:
    driver = twin_of(c500(1).quirk("stays-offline")).driver()
    said = refused(Kind.FAILED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5, online=True))
    assert "should be online" in said
    assert driver.slices(FIRST) == ()
    assert driver.create_slice(FIRST, memory=GIB4, cores=5).online is False


def test_a_library_without_priorities_makes_only_offline_slices(twin_of: Make) -> None:
    driver = twin_of(c500(1), left_out=("mxSmlSetSgpuDeviceQueuePriority",)).driver()
    refused(Kind.NOT_SUPPORTED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5, online=True))
    assert driver.slices(FIRST) == ()
    assert driver.create_slice(FIRST, memory=GIB4, cores=5).online is False


def test_a_slice_that_cannot_be_taken_back_is_named(twin_of: Make) -> None:
    driver = twin_of(c500(1).failing("SetSgpuDeviceQueuePriority", 5).failing("RemoveSgpu", 1)).driver()
    with pytest.raises(
        DriverError, match="slice 0 of card 0, made before that, could not be removed"
    ) as said:
        driver.create_slice(FIRST, memory=GIB4, cores=5, online=True)
    assert said.value.call == "mxSmlSetSgpuDeviceQueuePriority"


def test_a_library_without_names_makes_only_nameless_slices(twin_of: Make) -> None:
    driver = twin_of(c500(1), left_out=("mxSmlSetSgpuAlias",)).driver()
    refused(Kind.NOT_SUPPORTED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5, name="pod"))
    assert driver.slices(FIRST) == ()
    assert driver.create_slice(FIRST, memory=GIB4, cores=5).name == ""


@pytest.mark.parametrize(
    "function", ["CreateSgpu", "RemoveSgpu", "SetSgpuComputeQuota", "SetDeviceSchedClass"]
)
def test_a_change_the_library_does_not_have_is_not_supported(function: str, twin_of: Make) -> None:
    driver = twin_of(sliced(), left_out=(f"mxSml{function}",)).driver()
    change: Callable[[], object] = {
        "CreateSgpu": lambda: driver.create_slice(FIRST, memory=GIB4, cores=5),
        "RemoveSgpu": lambda: driver.remove_slice(FIRST, 15),
        "SetSgpuComputeQuota": lambda: driver.resize_slice(FIRST, 15, cores=5),
        "SetDeviceSchedClass": lambda: driver.set_policy(FIRST, QosPolicy.FIXED_SHARE),
    }[function]
    assert f"mxSml{function}" in refused(Kind.NOT_SUPPORTED, change)


def test_slices_made_from_many_threads_and_two_drivers_never_collide(twin_of: Make) -> None:
    twin = twin_of(c500(1))
    drivers = [twin.driver(), twin.driver()]

    def make(at: int) -> Slice:
        return drivers[at % 2].create_slice(FIRST, memory=from_gib(1), cores=2, name=f"job-{at}")

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(16)))
    assert sorted(each.id for each in made) == list(range(16))
    assert {each.name for each in drivers[0].slices(FIRST)} == {f"job-{at}" for at in range(16)}
    assert twin.most_inside() == 1


def test_a_writer_that_holds_the_card_keeps_others_waiting_then_busy(
    two: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(mxsml_driver, "turn", partial(turn, clock=lambda: now[0], pause=pause))
    driver = two.driver()
    settings = two.settings()
    with turn(settings.lock_directory, "0000:03:00.0", 1):
        assert "holds" in refused(Kind.BUSY, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5))
    assert now[0] >= settings.limit
    driver.create_slice(FIRST, memory=GIB4, cores=5)


def test_without_a_place_for_locks_nothing_is_changed(two: Twin, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    driver = two.driver(lock_directory=str(tmp_path / "file"))
    refused(Kind.NOT_PERMITTED, lambda: driver.create_slice(FIRST, memory=GIB4, cores=5))
    assert driver.slices(FIRST) == ()


def test_waiting_for_a_turn_asks_the_clock_and_not_the_wall(tmp_path: Path) -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    with (
        turn(str(tmp_path), "x", 60),
        pytest.raises(DriverError),
        turn(str(tmp_path), "x", 60, clock=lambda: now[0], pause=pause),
    ):
        pass
    assert now[0] >= 60


def test_a_card_that_is_not_there_has_no_slices_to_change(two: Twin) -> None:
    driver: MxsmlDriver = two.driver()
    nobody = CardUuid("GPU-nobody")
    for question in (
        lambda: driver.slices(nobody),
        lambda: driver.room(nobody),
        lambda: driver.create_slice(nobody, memory=GIB4, cores=5),
        lambda: driver.remove_slice(nobody, 0),
    ):
        refused(Kind.CARD_GONE, question)


def test_a_slice_that_somebody_without_a_number_here_is_in_is_busy_and_stays(twin_of: Make) -> None:
    machine = c500(1).with_slice(0, 3, uuid="s3").with_process(90, 0, slice=3, nspid=0)
    driver = twin_of(machine).driver()
    assert [each.busy for each in driver.slices(FIRST)] == [True]
    assert "no number here" in refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 3))


FORMS = tuple(f"mxSml{name}" for name in SIGNATURES if "Process" in name)


@pytest.mark.parametrize("change", ["remove", "switch"])
def test_without_a_list_of_processes_nothing_is_taken_for_idle(twin_of: Make, change: str) -> None:
    machine = c500(1).with_slice(0, 3, uuid="s3") if change == "remove" else c500(1, model="native")
    driver = twin_of(machine, left_out=FORMS).driver()
    assert all(each.busy is NA for each in driver.slices(FIRST))
    said = refused(
        Kind.BUSY,
        (lambda: driver.remove_slice(FIRST, 3))
        if change == "remove"
        else (lambda: driver.set_sliced(FIRST, on=True)),
    )
    assert "the library lists no processes" in said
    assert len(driver.slices(FIRST)) == (change == "remove")


OLDER: tuple[tuple[str, tuple[str, ...], dict[str, int]], ...] = (
    ("no list of the machine", ("mxSmlGetProcessInfo_v3",), {}),
    ("a list that is not supported", (), {"GetProcessInfo_v3": 3}),
    ("no list that knows slices", ("mxSmlGetProcessInfo_v3", "mxSmlGetSingleGpuProcess_v3"), {}),
)


@pytest.mark.parametrize(
    ("left_out", "failing"), [each[1:] for each in OLDER], ids=[each[0] for each in OLDER]
)
def test_a_library_that_lists_no_processes_in_slices_calls_none_of_them_idle(
    left_out: tuple[str, ...], failing: dict[str, int], twin_of: Make
) -> None:
    machine = c500(2).with_slice(0, 3, uuid="s3").with_slice(0, 4, uuid="s4").with_process(90, 0, slice=3)
    for name, code in failing.items():
        machine = machine.failing(name, code)
    twin = twin_of(machine, left_out=left_out)
    driver = twin.driver()
    assert [each.busy for each in driver.slices(FIRST)] == [True, False]
    assert [(each.pid, each.slice_id) for each in known(driver.figures(FIRST).processes, ())] == [(90, 3)]
    assert "in use by process 90" in refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 3))
    driver.remove_slice(FIRST, 4)
    # Without the kernel driver's files nothing but the library could tell.
    shutil.rmtree(twin.sysfs / CLASS_ROOT / "proc")
    assert [each.busy for each in driver.slices(FIRST)] == [NA]
    assert [driver.figures(each.uuid).processes for each in driver.devices()] == [NA, ()]
    refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 3))


def test_a_library_that_cannot_look_again_has_no_idle_slice_with_a_process(twin_of: Make) -> None:
    machine = c500(1)
    twin = twin_of(machine, left_out=("mxSmlInitWithFlags",))
    driver = twin.driver()
    made = driver.create_slice(FIRST, memory=GIB4, cores=5)
    assert [each.busy for each in driver.slices(FIRST)] == [False]
    begin_process_in_slice(twin.sysfs, machine.cards[0], made.id, 90, memory=1024)
    assert [each.busy for each in driver.slices(FIRST)] == [True]
    assert driver.figures(FIRST).processes == (Process(90, slice_id=made.id),)


def test_a_card_on_which_a_process_works_without_memory_keeps_its_mode(twin_of: Make) -> None:
    twin = twin_of(c500(1, model="native").with_process(90, 0))
    next((twin.sysfs / CLASS_ROOT / "proc/90").glob("vram_*")).unlink()
    driver = twin.driver()
    assert driver.figures(FIRST).processes == (Process(90),)
    assert "in use by process 90" in refused(Kind.BUSY, lambda: driver.set_sliced(FIRST, on=True))


def test_a_process_with_a_negative_number_has_none(twin_of: Make) -> None:
    driver = twin_of(c500(1).with_slice(0, 3, uuid="s3").with_process(90, 0, slice=3, nspid=-1)).driver()
    assert driver.figures(FIRST).processes is NA
    assert [each.busy for each in driver.slices(FIRST)] == [True]


@pytest.mark.parametrize("memory", [1024, None])
def test_a_slice_made_since_the_library_last_looked_is_busy_when_a_process_is_in_it(
    memory: int | None, twin_of: Make
) -> None:
    machine = c500(1)
    twin = twin_of(machine)
    driver = twin.driver()
    for pid in (90, 91):
        made = driver.create_slice(FIRST, memory=GIB4, cores=5)
        begin_process_in_slice(twin.sysfs, machine.cards[0], made.id, pid, memory=memory)
        found = next(each for each in driver.slices(FIRST) if each.id == made.id)
        assert found.busy is True
        assert driver.figures(FIRST).processes == (
            Process(
                pid, "" if memory is None else "python", NA if memory is None else Bytes(memory), made.id
            ),
        )
        refused(Kind.BUSY, lambda made=made: driver.remove_slice(FIRST, made.id))
        shutil.rmtree(twin.sysfs / CLASS_ROOT / f"proc/{pid}")
        # Another one under the same number, which the library does not know either.
        driver.remove_slice(FIRST, made.id)


def test_a_slice_beside_those_that_hidden_processes_use_counts_as_in_use(twin_of: Make) -> None:
    machine = c500(1).with_slice(0, 3, uuid="s3").with_slice(0, 4, uuid="s4")
    driver = twin_of(machine.with_process(90, 0, slice=3, nspid=0)).driver()
    assert [each.busy for each in driver.slices(FIRST)] == [True, NA]
    assert "hostPID: true" in refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 4))


def test_a_card_that_a_hidden_process_uses_keeps_its_mode(twin_of: Make) -> None:
    driver = twin_of(c500(2, model="native").with_process(90, 0, nspid=0)).driver()
    assert "hostPID: true" in refused(Kind.BUSY, lambda: driver.set_sliced(FIRST, on=True))
    driver.set_sliced(CardUuid("GPU-00000000-1111-2222-3333-000000000001"), on=True)


@pytest.mark.parametrize("broken", ["ringbuf/0/gpuid", "ringbuf/0/type", "ringbuf", "nspid"])
def test_a_hidden_process_that_could_be_anywhere_makes_every_card_and_slice_unknown(
    twin_of: Make, broken: str
) -> None:
    twin = twin_of(c500(2).with_slice(0, 3, uuid="s3").with_process(90, 1, nspid=0))
    process = twin.sysfs / CLASS_ROOT / "proc/90" / broken
    shutil.rmtree(process) if process.is_dir() else process.write_text("rubbish\n")
    if broken == "nspid":
        shutil.rmtree(process.with_name("ringbuf"))
    driver = twin.driver()
    assert [each.busy for each in driver.slices(FIRST)] == [NA]
    assert [driver.figures(each.uuid).processes for each in driver.devices()] == [NA, NA]
    refused(Kind.BUSY, lambda: driver.remove_slice(FIRST, 3))


def test_a_hidden_process_without_work_uses_nothing(twin_of: Make) -> None:
    twin = twin_of(c500(1).with_slice(0, 3, uuid="s3").with_process(90, 0, nspid=0))
    (twin.sysfs / CLASS_ROOT / "proc/90/ringbuf/0/type").write_text("1\n")
    driver = twin.driver()
    assert [each.busy for each in driver.slices(FIRST)] == [False]
    driver.remove_slice(FIRST, 3)
    assert driver.slices(FIRST) == ()
