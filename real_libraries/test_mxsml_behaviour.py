"""Our driver over the vendor's library and over its twin: what it does for people is the same."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders.metax_tree import MetaxTree, TreeProcess, TreeSlice, begin_process_in_slice
from real_libraries import mxsml_calls
from real_libraries.asking import Asked
from real_libraries.comparing import REPOSITORY
from real_libraries.conftest import SYSFS, Grow
from real_libraries.questions import Call, Out
from real_libraries.scenes import FOUR, MESH, PROCESSES, SCENES
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.codes import SYSFS_WRITE
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Health
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib, from_mib
from tangram.units.na import NA, known

Open = Callable[[], MxsmlDriver]

FIRST, SECOND = (CardUuid(f"GPU-{FOUR[at].uuid}") for at in (0, 1))


def bare(*, model: str = "sgpu") -> MetaxTree:
    """Four cards without slices."""
    return MetaxTree(tuple(replace(card, slices=(), model=model) for card in FOUR), (), MESH)


def test_cards_are_described(grow: Grow, opened: Open) -> None:
    grow(SCENES["usual"])
    devices = opened().devices()
    assert [(each.index, each.bdf, each.product, each.serial) for each in devices] == [
        (at, f"0000:{0x10 + at:02x}:00.0", "MXC500", f"BOARD{at}") for at in range(4)
    ]
    assert {(each.memory, each.numa, each.driver_version) for each in devices} == {
        (from_gib(64), 0, "3.8.30")
    }
    assert [each.sliced for each in devices] == [True, True, False, False]


def test_links_are_those_of_the_layout(grow: Grow, opened: Open) -> None:
    grow(SCENES["every-link"])
    driver = opened()
    links = {(each.a, each.b): each for each in driver.links(driver.devices()).links}
    assert links[0, 1].kind is LinkKind.METAXLINK
    assert links[0, 2].kind is LinkKind.NONE
    assert links[0, 3].pcie is PcieLevel.SINGLE_SWITCH
    assert links[1, 2].pcie is PcieLevel.NUMA_NODE
    assert links[1, 3].pcie is PcieLevel.SYSTEM


def test_ports_name_their_far_ends(grow: Grow, opened: Open) -> None:
    grow(SCENES["usual"])
    driver = opened()
    devices = driver.devices()
    ports = [each for each in driver.links(devices).ports if each.card == FIRST]
    assert [(each.port, each.remote, each.up, each.speed) for each in ports] == [
        (port, devices[at].uuid, True, 32.0) for port, at in ((4, 2), (5, 3), (6, 1))
    ]


def test_figures_are_in_our_units(grow: Grow, opened: Open) -> None:
    grow(MetaxTree(FOUR, (TreeProcess(778, 1, memory=77),), MESH))
    found = opened().figures(SECOND)
    assert (found.utilisation_percent, found.temperature_celsius, found.power_watts) == (11.0, 38.5, 61.5)
    assert (found.power_cap_watts, found.memory_total) == (350.0, from_gib(64))
    assert found.clocks_mhz == {"XCORE": 1500, "MC": 1800, "VPUE": 500, "VPUD": 600}
    assert [(each.pid, each.memory) for each in known(found.processes, ())] == [(778, 77)]


def test_a_process_in_a_slice_is_in_it_and_a_hidden_one_makes_the_list_none(grow: Grow, opened: Open) -> None:
    grow(MetaxTree(FOUR, PROCESSES[:3], MESH))
    driver = opened()
    assert {(each.pid, each.slice_id) for each in known(driver.figures(FIRST).processes, ())} == {
        (777, None),
        (779, 3),
    }
    assert [each.busy for each in driver.slices(FIRST)] == [True, False]
    grow(MetaxTree(FOUR, (TreeProcess(90, 0, slice=3, nspid=0),), MESH))
    assert driver.figures(FIRST).processes is NA
    assert [each.busy for each in driver.slices(FIRST)] == [True, NA]


def test_two_hundred_processes_are_all_listed(grow: Grow, opened: Open) -> None:
    grow(MetaxTree(FOUR, tuple(TreeProcess(pid, 0) for pid in range(1, 201)), MESH))
    assert len(known(opened().figures(FIRST).processes, ())) == 200


def test_health_follows_a_card_that_fails_vanishes_and_returns(grow: Grow, opened: Open) -> None:
    whole = bare()
    grow(whole)
    driver = opened()
    assert driver.health() == dict.fromkeys(
        (CardUuid(f"GPU-{card.uuid}") for card in FOUR), Health(healthy=True)
    )
    hot = tuple(
        replace(card, active=0, reason=(7, "Too hot")) if card.number == 1 else card for card in whole.cards
    )
    grow(replace(whole, cards=hot))
    assert driver.health()[SECOND] == Health(healthy=False, code="unavailable", message="Too hot")
    lost = tuple(card for card in whole.cards if card.number != 1)
    grow(replace(whole, cards=lost))
    assert driver.health()[SECOND].code == "gone"
    with pytest.raises(DriverError) as refusal:
        driver.figures(SECOND)
    assert refusal.value.kind is Kind.CARD_GONE
    silent = tuple(replace(card, smi=False) if card.number == 0 else card for card in whole.cards)
    grow(whole)
    assert driver.health()[SECOND].healthy
    grow(replace(whole, cards=silent))
    assert driver.health()[FIRST].code == "unreadable"
    assert driver.health()[FIRST].code == "limited"
    grow(whole)
    assert driver.health()[FIRST].healthy


def test_cards_that_are_all_limited_are_listed_and_end_nothing(grow: Grow, opened: Open) -> None:
    grow(SCENES["all-limited"])
    driver = opened()
    devices = driver.devices()
    assert len(devices) == 4
    assert {each.code for each in driver.health().values()} == {"limited"}
    assert not any(driver.figures(each.uuid).clocks_mhz for each in devices)
    assert all(link.kind is LinkKind.NONE for link in driver.links(devices).links)


def test_without_a_card_the_driver_says_so(grow: Grow, opened: Open) -> None:
    grow(MetaxTree())
    with pytest.raises(DriverError) as refusal:
        opened().devices()
    assert refusal.value.kind is Kind.NO_DRIVER


def test_sixteen_slices_live_a_whole_life(grow: Grow, opened: Open) -> None:
    grow(bare(model="native"))
    driver = opened()
    driver.set_sliced(FIRST, on=True)
    driver.set_policy(FIRST, QosPolicy.BURST_SHARE)
    names = [f"tangram-{at:023d}" for at in range(16)]
    for name in names:
        made = driver.create_slice(FIRST, memory=from_gib(3), cores=6, name=name)
        assert (made.name, made.memory, made.cores) == (name, from_gib(3), 6)
    with pytest.raises(DriverError) as refusal:
        driver.create_slice(FIRST, memory=from_mib(128), cores=1)
    assert refusal.value.kind is Kind.FULL
    assert [(each.id, each.name) for each in driver.slices(FIRST)] == list(enumerate(names))
    room = driver.room(FIRST)
    assert (room.slots, room.memory, room.cores, room.policy) == (
        0,
        from_mib(64581 - 16 * 3072),
        4,
        QosPolicy.BURST_SHARE,
    )
    resized = driver.resize_slice(FIRST, 7, memory=from_gib(4), cores=10)
    assert (resized.memory, resized.cores, resized.name) == (from_gib(4), 10, names[7])
    for at in range(16):
        driver.remove_slice(FIRST, at)
    assert driver.slices(FIRST) == ()
    driver.set_sliced(FIRST, on=False)
    assert driver.devices()[0].sliced is False


def test_a_slice_that_the_library_lists_as_used_is_not_even_asked_for(grow: Grow, opened: Open) -> None:
    grow(MetaxTree(FOUR, PROCESSES[:3], MESH))
    driver = opened()
    with pytest.raises(DriverError, match="in use by process 779") as refusal:
        driver.remove_slice(FIRST, 3)
    assert (refusal.value.kind, refusal.value.vendor_code) == (Kind.BUSY, None)
    assert [each.id for each in driver.slices(FIRST)] == [3, 15]


def test_a_slice_in_which_a_process_works_without_memory_is_not_even_asked_for(
    grow: Grow, opened: Open
) -> None:
    """The library lists processes by the memory that they hold."""
    grow(bare())
    driver = opened()
    driver.create_slice(FIRST, memory=from_gib(1), cores=5, name="busy")
    begin_process_in_slice(SYSFS, FOUR[0], 0, 900, memory=None)
    with pytest.raises(DriverError, match="in use by process 900") as refusal:
        driver.remove_slice(FIRST, 0)
    assert (refusal.value.kind, refusal.value.vendor_code) == (Kind.BUSY, None)
    assert [each.name for each in driver.slices(FIRST)] == ["busy"]


def test_the_kernels_refusal_to_remove_a_slice_is_a_write_that_failed(grow: Grow, library: Path) -> None:
    """The kernel answers EBUSY, and all that the library says of it is that a write failed."""
    grow(bare())
    asked = Asked(str(library), mxsml_calls.LIBRARY)
    asked.answer(Call("InitWithFlags", (1,)))
    assert asked.answer(Call("CreateSgpu", (0, 1024, 5, Out("u32")))) == {"code": 0, "out": [[0]]}
    begin_process_in_slice(SYSFS, FOUR[0], 0, 900, memory=None)
    assert asked.answer(Call("RemoveSgpu", (0, 0))) == {"code": SYSFS_WRITE, "out": []}
    assert (SYSFS / FOUR[0].folder / "sgpu/sgpu0").is_dir()


def test_processes_in_a_slice_are_listed_once_the_library_looked_again(grow: Grow, library: Path) -> None:
    """Slices that were made since it last looked are not known to it, whoever made them."""
    grow(bare())
    asked = Asked(str(library), mxsml_calls.LIBRARY)

    def pids() -> list[int]:
        answer = asked.answer(Call("GetProcessInfo_v3", (4, Out("ProcessRecord3", 4))))
        return [] if answer is None else [each["pid"] for each in answer["out"][0] if each["pid"]]

    asked.answer(Call("InitWithFlags", (1,)))
    assert asked.answer(Call("CreateSgpu", (0, 1024, 5, Out("u32")))) == {"code": 0, "out": [[0]]}
    begin_process_in_slice(SYSFS, FOUR[0], 0, 900, memory=77)
    assert pids() == []
    asked.answer(Call("Init"))
    assert pids() == []
    asked.answer(Call("InitWithFlags", (1,)))
    assert pids() == [900]


def test_a_slice_that_was_just_made_is_busy_when_a_process_is_in_it(grow: Grow, opened: Open) -> None:
    grow(bare())
    driver = opened()
    driver.create_slice(FIRST, memory=from_gib(1), cores=5, name="busy")
    begin_process_in_slice(SYSFS, FOUR[0], 0, 900, memory=77)
    assert [each.busy for each in driver.slices(FIRST)] == [True]
    assert [(each.pid, each.slice_id) for each in known(driver.figures(FIRST).processes, ())] == [(900, 0)]


@pytest.mark.parametrize("replaced", ["nothing", "a folder"])
def test_a_name_whose_file_cannot_be_read_is_not_taken_for_none(
    replaced: str, grow: Grow, opened: Open
) -> None:
    """The library answers it as it does a slice without a name."""
    grow(bare())
    driver = opened()
    driver.create_slice(FIRST, memory=from_gib(1), cores=5)
    assert [each.name for each in driver.slices(FIRST)] == [""]
    file = SYSFS / FOUR[0].folder / "sgpu/sgpu0/alias"
    file.unlink()
    if replaced == "a folder":
        file.mkdir()
    with pytest.raises(DriverError) as refusal:
        driver.slices(FIRST)
    assert (refusal.value.call, refusal.value.vendor_code) == ("mxSmlGetSgpuAlias", 4)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("n" * 95, "n" * 95),
        ("n" * 96, "n" * 96),
        ("n" * 120, "n" * 120),
        (" web", "web"),
        ("a b", "a"),
        (" ", ""),
    ],
)
def test_names_that_others_gave_are_read_as_they_are(alias: str, name: str, grow: Grow, opened: Open) -> None:
    slices = (TreeSlice(0, alias=alias, uuid="s0"), TreeSlice(1, alias="next", uuid="s1"))
    grow(MetaxTree((replace(FOUR[0], slices=slices), *FOUR[1:]), (), MESH))
    assert [each.name for each in opened().slices(FIRST)] == [name, "next"]


def test_an_online_slice_needs_no_compute(grow: Grow, opened: Open) -> None:
    grow(bare())
    driver = opened()
    driver.create_slice(FIRST, memory=from_gib(1), cores=100, name="offline")
    made = driver.create_slice(FIRST, memory=from_gib(2), cores=0, name="online", online=True)
    assert (made.memory, made.cores, made.online, made.name) == (from_gib(2), 0, True, "online")
    assert [(each.cores, each.online) for each in driver.slices(FIRST)] == [(100, False), (0, True)]
    assert driver.room(FIRST).cores == 0
    with pytest.raises(DriverError) as refusal:
        driver.create_slice(FIRST, memory=from_gib(1), cores=1)
    assert refusal.value.kind is Kind.FULL
    driver.remove_slice(FIRST, made.id)
    assert [each.name for each in driver.slices(FIRST)] == ["offline"]


@pytest.mark.parametrize(("gib", "fits"), [(16, 3), (32, 1), (64, 0)])
def test_the_card_refuses_what_it_cannot_slice(gib: int, fits: int, grow: Grow, opened: Open) -> None:
    grow(bare())
    driver = opened()
    for _ in range(fits):
        driver.create_slice(FIRST, memory=from_gib(gib), cores=10)
    with pytest.raises(DriverError) as refusal:
        driver.create_slice(FIRST, memory=from_gib(gib), cores=10)
    assert refusal.value.kind is Kind.FULL


FUZZ = """
import random, sys
from pathlib import Path
from tangram.drivers.errors import DriverError
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings
driver = MxsmlDriver(Settings(library=sys.argv[1], lock_directory=sys.argv[2]), environment={})
for question in (
    driver.devices,
    driver.health,
    lambda: driver.links(driver.devices()),
    lambda: [driver.figures(each.uuid) for each in driver.devices()],
    lambda: [driver.slices(each.uuid) for each in driver.devices()],
):
    try:
        question()
    except DriverError:
        pass
print("done")
"""


ENDS: dict[tuple[str, str, int], int] = {}
"""The signal that ends a process with the vendor's library, by scene, files and seed. None of these do."""


@pytest.mark.parametrize("scene", ["usual", "two-dies"])
@pytest.mark.parametrize("among", ["smi*/*", "*"], ids=["figures", "all"])
@pytest.mark.parametrize("seed", range(12))
def test_files_full_of_nonsense_end_in_an_answer_or_an_error(
    scene: str, among: str, seed: int, *, library: Path, real: Path, grow: Grow, tmp_path: Path
) -> None:
    """In a process of its own. No text in these files ends a process with the twin, or one that is not in `ENDS`."""
    grow(SCENES[scene])
    dice = random.Random(seed)  # noqa: S311 - a test
    files = sorted(path for path in SYSFS.rglob(among) if path.is_file() and not path.is_symlink())
    nonsense = [b"", b"\xff" * 40, b"1" * 4000, b"-1\n", b"4294967296\n", b"a: b: c\n", b"\0\0\n"]
    for path in dice.sample(files, 3):
        # Not written to where it is: the kernel's stand-in would refuse it.
        beside = path.with_name("nonsense")
        beside.write_bytes(dice.choice(nonsense))
        beside.replace(path)
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(library), str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    signal = ENDS.get((scene, among, seed), 0) if library == real else 0
    assert (done.returncode, done.stdout) == (-signal, "" if signal else "done\n"), done.stderr


def test_a_thousand_drivers_one_after_the_other_take_no_more_memory(
    grow: Grow, library: Path, tmp_path: Path
) -> None:
    grow(bare())
    settings = f"Settings(library={str(library)!r}, lock_directory={str(tmp_path)!r})"
    code = (
        "from tangram.drivers.mxsml.driver import MxsmlDriver\n"
        "from tangram.drivers.mxsml.settings import Settings\n"
        "def resident():\n"
        "    return int(next(line for line in open('/proc/self/status') if line.startswith('VmRSS')).split()[1])\n"
        "def once():\n"
        f"    driver = MxsmlDriver({settings}, environment={{}}); driver.devices(); driver.close()\n"
        "for _ in range(100): once()\n"
        "before = resident()\n"
        "for _ in range(1000): once()\n"
        "print(resident() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) < 8192, "KiB grown"
