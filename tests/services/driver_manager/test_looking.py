"""What is seen of the cards: those that are driven, each well or not, and a driver that hangs costs one thread."""

import threading
from pathlib import Path

from builders.driver_hosts import BDFS, FakeKernel, Fuse
from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from tangram.drivers.errors import DriverError, Kind
from tangram.model.devices import Health
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.looking import BOOT_ID, Looker, boot_id
from tangram.units.ids import CardUuid


def looker_over(driver: FakeDriver, folder: Path, limit: float = 60.0) -> Looker:
    kernel = FakeKernel(Fuse())
    kernel.loaded_version = "2.32.0"
    return Looker(
        kernel, lambda _: driver, Disk(folder), payloads=folder, image="", machine="x86_64", limit=limit
    )


def cards() -> tuple[FakeDriver, FakeDriver]:
    driver = FakeDriver(*(metax_card(at, bdf=bdf, driver_version="2.32.0") for at, bdf in enumerate(BDFS)))
    return driver, FakeDriver(mthreads_card(0))


def test_cards_are_well_or_sick_and_those_that_no_driver_holds_are_not_there(tmp_path: Path) -> None:
    driver, _ = cards()
    driver.health_of[CardUuid("GPU-1")] = Health(healthy=False, code="ecc", message="too many errors")
    sight = looker_over(driver, tmp_path).look().sight
    assert (sight.well, sight.sick, sight.version) == (BDFS[:1], {BDFS[1]: "too many errors"}, "2.32.0")
    driver.health_of[CardUuid("GPU-1")] = Health(healthy=False, code="no-driver")
    sight = looker_over(driver, tmp_path).look().sight
    assert (sight.well, sight.sick) == (BDFS[:1], {})
    assert driver.closed


def test_looks_without_a_card_are_counted_until_there_is_one(tmp_path: Path) -> None:
    driver, other = cards()
    looker = looker_over(driver, tmp_path)
    kept, driver.found = driver.found, other.found
    assert [looker.look().sight.bad_looks for _ in range(3)] == [1, 2, 3]
    driver.errors["devices"] = DriverError(Kind.NO_DRIVER, "nothing")
    assert looker.look().sight.trouble == "nothing"
    driver.errors.clear()
    driver.found = kept
    assert looker.look().sight.bad_looks == 0


def test_a_driver_that_hangs_is_asked_again_and_not_anew(tmp_path: Path) -> None:
    driver, _ = cards()
    let_go = driver.hang("devices")
    looker = looker_over(driver, tmp_path, limit=0.05)
    before = threading.active_count()
    for _ in range(3):
        assert "has not returned" in looker.look().sight.trouble
    assert threading.active_count() <= before + 1
    let_go()


def test_the_start_of_the_machine_is_told_below_its_root_or_by_our_own_kernel(tmp_path: Path) -> None:
    assert boot_id(Disk(tmp_path)) == Path(BOOT_ID).read_text().strip()
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("abc\n")
    assert boot_id(Disk(tmp_path)) == "abc"
