"""Slices of Moore Threads cards: read from the kernel module, made by the vendor's container runtime."""

from pathlib import Path

import pytest

from builders.mtml_twin import GIB, MakeDriver, Show, eight_s4000, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, known

CARD = CardUuid(uuid_of(0))


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The module's files with two slices on card 0: one busy, one idle."""
    root = tmp_path / "sgpu_km"
    for name, minor, size, weight, usage in (
        ("aaaaaaaaaaaa", 0, 16, 8, f"Free: {12 * GIB}\nPID: 100 Mem: {3 * GIB}\nPID: 101 Mem: {GIB}\n"),
        ("bbbbbbbbbbbb", 1, 8, 4, f"Free: {8 * GIB}\n"),
    ):
        folder = root / "0" / name
        folder.mkdir(parents=True)
        (folder / "id").write_text(f"{minor}\n")
        (folder / "memsize").write_text(f"{size * GIB}\n")
        (folder / "weight").write_text(f"{weight}\n")
        (folder / "meminfo").write_text(usage)
    (root / "version").write_text("1.3.0\n")
    (root / "cores").write_text("0,1\n")
    for card in ("0", "1"):
        (root / card).mkdir(exist_ok=True)
        (root / card / "max_inst").write_text("16\n")
        (root / card / "policy").write_text("2\n")
    return root


@pytest.fixture
def driver(show: Show, make_driver: MakeDriver, module: Path) -> MtmlDriver:
    assert module.is_dir()
    return make_driver(show(eight_s4000()).library)


def test_slices_are_listed_with_their_use(driver: MtmlDriver) -> None:
    assert driver.slices(CARD) == (
        Slice(
            card=CARD,
            id=0,
            memory=Bytes(16 * GIB),
            cores=8,
            name="aaaaaaaaaaaa",
            minor=0,
            memory_used=Bytes(4 * GIB),
            busy=True,
        ),
        Slice(
            card=CARD,
            id=1,
            memory=Bytes(8 * GIB),
            cores=4,
            name="bbbbbbbbbbbb",
            minor=1,
            memory_used=Bytes(0),
            busy=False,
        ),
    )
    assert driver.slices(CardUuid(uuid_of(1))) == ()


def test_processes_of_a_sliced_card_are_unknown_where_one_slice_hides_its_use(
    driver: MtmlDriver, module: Path
) -> None:
    driver.devices()
    assert [each.pid for each in known(driver.figures(CARD).processes, ())] == [100, 101]
    (module / "0/bbbbbbbbbbbb/meminfo").unlink()
    assert driver.figures(CARD).processes is NA


def test_room_is_what_no_slice_holds(driver: MtmlDriver) -> None:
    assert driver.room(CARD) == SliceRoom(
        slots=14, memory=Bytes(24 * GIB), cores=4, policy=QosPolicy.FIXED_SHARE
    )


@pytest.mark.parametrize(
    ("policy", "meant"),
    [
        ("0", QosPolicy.BEST_EFFORT),
        ("1", QosPolicy.BURST_SHARE),
        ("2", QosPolicy.FIXED_SHARE),
        ("9", NA),
        ("", NA),
    ],
)
def test_the_policy_is_read(driver: MtmlDriver, module: Path, policy: str, meant: object) -> None:
    (module / "0/policy").write_text(policy)
    assert driver.room(CARD).policy == meant


def test_overcommitted_memory_is_not_room(driver: MtmlDriver, module: Path) -> None:
    (module / "0/overcommit_ratio").write_text("200\n")
    (module / "0/aaaaaaaaaaaa/memsize").write_text(f"{80 * GIB}\n")
    assert driver.room(CARD).memory == 0


def test_a_card_held_whole_has_no_room_for_slices(driver: MtmlDriver) -> None:
    with pytest.raises(DriverError, match="not bound to the sgpu_km module") as caught:
        driver.room(CardUuid(uuid_of(5)))
    assert caught.value.kind is Kind.NOT_SUPPORTED


def test_a_slice_that_hides_its_size_is_an_error_not_an_empty_slice(driver: MtmlDriver, module: Path) -> None:
    (module / "0/aaaaaaaaaaaa/memsize").unlink()
    for ask in (driver.slices, driver.room):
        with pytest.raises(DriverError, match="aaaaaaaaaaaa") as caught:
            ask(CARD)
        assert caught.value.kind is Kind.FAILED


def test_a_card_is_handed_to_the_module_and_taken_back(driver: MtmlDriver, module: Path) -> None:
    fifth = CardUuid(uuid_of(5))
    for on, cards in ((True, "0,1,5"), (True, "0,1,5"), (False, "0,1"), (False, "0,1")):
        driver.set_sliced(fifth, on=on)
        assert (module / "cores").read_text() == f"{cards}\n"
        assert driver.devices()[5].sliced is on


def test_the_last_card_can_be_taken_back_too(driver: MtmlDriver, module: Path) -> None:
    (module / "cores").write_text("1\n")
    driver.set_sliced(CardUuid(uuid_of(1)), on=False)
    assert [device.sliced for device in driver.devices()] == [False] * 8


def test_a_card_with_slices_stays_with_the_module(driver: MtmlDriver, module: Path) -> None:
    with pytest.raises(DriverError, match="card 0 still has 2 slices") as caught:
        driver.set_sliced(CARD, on=False)
    assert caught.value.kind is Kind.BUSY
    assert (module / "cores").read_text() == "0,1\n"


def test_without_the_module_no_card_is_switched(driver: MtmlDriver, module: Path) -> None:
    (module / "cores").unlink()
    with pytest.raises(DriverError, match="load it first") as caught:
        driver.set_sliced(CARD, on=True)
    assert caught.value.kind is Kind.NOT_SUPPORTED
    assert not (module / "cores").exists()


def test_a_module_that_says_yes_and_does_nothing_is_found_out(driver: MtmlDriver, module: Path) -> None:
    (module / "cores").unlink()
    (module / "cores").symlink_to("/dev/null")
    with pytest.raises(DriverError, match="still says otherwise") as caught:
        driver.set_sliced(CARD, on=True)
    assert caught.value.kind is Kind.FAILED


def test_nobody_makes_a_slice_behind_the_container_runtimes_back(driver: MtmlDriver, module: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in module.rglob("*")}
    for change in (
        lambda: driver.create_slice(CARD, memory=Bytes(GIB), cores=1, name="x"),
        lambda: driver.resize_slice(CARD, 0, memory=Bytes(GIB), cores=2),
        lambda: driver.remove_slice(CARD, 0),
    ):
        with pytest.raises(
            DriverError, match="container runtime makes slices from the container's environment"
        ) as caught:
            change()
        assert caught.value.kind is Kind.NOT_SUPPORTED
    with pytest.raises(DriverError) as caught:
        driver.set_virtual_functions(CARD, 4)
    assert caught.value.kind is Kind.NOT_SUPPORTED
    assert {path: path.stat().st_mtime_ns for path in module.rglob("*")} == before


def test_a_policy_is_set_on_a_card_without_slices_and_on_no_other(driver: MtmlDriver, module: Path) -> None:
    idle = CardUuid(uuid_of(1))
    driver.set_policy(idle, QosPolicy.BURST_SHARE)
    assert (module / "1/policy").read_text() == "1\n"
    assert driver.room(idle).policy is QosPolicy.BURST_SHARE
    for card, kind in ((CARD, Kind.BUSY), (CardUuid(uuid_of(2)), Kind.NOT_SUPPORTED)):
        with pytest.raises(DriverError) as caught:
            driver.set_policy(card, QosPolicy.BEST_EFFORT)
        assert caught.value.kind is kind
    assert (module / "0/policy").read_text() == "2\n"
    driver.set_policy(CARD, QosPolicy.FIXED_SHARE)
