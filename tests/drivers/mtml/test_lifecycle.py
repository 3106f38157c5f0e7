"""Found or not, started again, loaded again, used from many threads, closed."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, util
from pathlib import Path

import pytest

from builders.hanging import LONG
from builders.mtml_twin import (
    VARIABLE,
    Clock,
    MakeDriver,
    Show,
    Twin,
    eight_s4000,
    eight_s5000,
    twin_library,
    uuid_of,
)
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.drivers.mtml.library import RESTART_PAUSE, Library
from tangram.units.ids import CardUuid

CARD = CardUuid(uuid_of(3))


def refused(driver: MtmlDriver) -> DriverError:
    with pytest.raises(DriverError) as caught:
        driver.devices()
    return caught.value


def test_without_the_vendors_package_the_sentence_says_what_to_install(
    make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str) -> None:
        assert name == "pymtml"

    monkeypatch.setattr(util, "find_spec", found)
    error = refused(make_driver("any.so"))
    assert error.kind is Kind.NO_LIBRARY
    assert "install mthreads-ml-py 2.4.3 or newer" in error.sentence


@pytest.mark.parametrize("version", ["2.2.11", "2.4.2", "0.0.1"])
def test_a_package_that_corrupts_memory_is_refused(
    make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    def found(name: str) -> str:
        assert name == "mthreads-ml-py"
        return version

    monkeypatch.setattr(metadata, "version", found)
    error = refused(make_driver("any.so"))
    assert error.kind is Kind.NO_LIBRARY
    assert f"is {version}, which corrupts memory" in error.sentence


def test_a_file_that_is_no_library_is_named(make_driver: MakeDriver, tmp_path: Path) -> None:
    (tmp_path / "libmtml.so.2").write_bytes(b"\x7fELF but not really")
    for file in (tmp_path / "libmtml.so.2", tmp_path / "missing.so"):
        error = refused(make_driver(file))
        assert error.kind is Kind.NO_LIBRARY
        assert str(file) in error.sentence
        assert error.call == "dlopen"


LOOK = """
from tangram.drivers.errors import DriverError
from tangram.drivers.mtml.driver import MtmlDriver
driver = MtmlDriver(limit=60.0)
try:
    cards = len(driver.devices())
    mapped = {line.split()[-1].rpartition("/")[2] for line in open("/proc/self/maps") if "/libmtml" in line}
    print(cards, *sorted(mapped))
except DriverError as error:
    print(error.kind, "libmtml.so.2 or libmtml.so" in error.sentence)
driver.close()
"""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        pytest.param("libmtml.so.2", "8 libmtml.so.2", id="present name"),
        pytest.param("libmtml.so", "8 libmtml.so", id="only the old name"),
        pytest.param(None, "no-library True", id="no library at all"),
    ],
)
def test_the_library_is_found_by_name_on_the_library_path(
    tmp_path: Path, name: str | None, printed: str
) -> None:
    """The loader reads its path when a process starts, so this takes a process."""
    twin = Twin(tmp_path, eight_s4000())
    folder = tmp_path / "lib"
    folder.mkdir()
    if name is not None:
        (folder / name).write_bytes(twin_library().read_bytes())
    answer = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={VARIABLE: str(twin.file), "LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert (answer.stdout.strip(), answer.stderr) == (printed, "")


def test_handles_that_went_bad_are_fetched_anew(show: Show, make_driver: MakeDriver, clock: Clock) -> None:
    """Splitting a card makes every handle invalid until the library is started again."""
    twin = show(eight_s4000())
    driver = make_driver(twin.library)
    assert len(driver.devices()) == 8
    for generation, ask in enumerate(
        (
            driver.devices,
            driver.health,
            lambda: driver.links(driver.devices()).links,
            lambda: [driver.figures(CARD)],
        ),
        1,
    ):
        twin.show(eight_s4000().having(f"generation {generation}"))
        clock.advance(RESTART_PAUSE)
        assert ask()
    assert all(each.healthy for each in driver.health().values())


def test_a_card_that_stays_broken_does_not_cost_a_restart_per_question(
    show: Show, make_driver: MakeDriver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarts: list[bool] = []
    restart = Library.restart

    def counted(library: Library) -> bool:
        restarts.append(restart(library))
        return restarts[-1]

    monkeypatch.setattr(Library, "restart", counted)
    driver = make_driver(show(eight_s4000().having("fault * 2 3")).library)
    for _ in range(10):
        driver.health()
    assert sum(restarts) == 1
    clock.advance(RESTART_PAUSE)
    driver.health()
    assert sum(restarts) == 2


def test_a_library_replaced_by_an_upgrade_is_loaded_anew(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    show(eight_s4000())
    file = tmp_path / "libmtml.so.2"
    file.write_bytes(twin_library(left_out=("mtmlDeviceGetName",)).read_bytes())
    driver = make_driver(file)
    assert driver.devices()[0].product == ""
    file.unlink()
    assert driver.devices()[0].product == "", "half an upgrade changes nothing"
    file.write_bytes(twin_library().read_bytes())
    assert driver.devices()[0].product == "MTT S4000"


def test_two_drivers_in_one_process_do_not_share_the_packages_state(
    show: Show, make_driver: MakeDriver
) -> None:
    twin = show(eight_s4000())
    one, other = make_driver(twin.library), make_driver(twin_library(left_out=("mtmlDeviceGetName",)))
    assert (one.devices()[0].product, other.devices()[0].product) == ("MTT S4000", "")
    one.close()
    assert len(other.devices()) == 8


def test_many_threads_may_ask_at_once(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s5000()).library)
    devices = driver.devices()
    start = threading.Barrier(8)

    def ask(number: int) -> bool:
        start.wait()
        for _ in range(5):
            same = driver.devices() == devices
            same = same and driver.figures(devices[number].uuid).utilisation_percent == 37
            same = same and len(driver.links(devices).links) == 28
            if not (same and driver.health()[devices[number].uuid].healthy):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))


def test_a_closed_driver_refuses_and_may_be_closed_again(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000()).library)
    before = set(threading.enumerate())
    driver.devices()
    (worker,) = set(threading.enumerate()) - before
    driver.close()
    driver.close()
    worker.join(LONG)
    assert not worker.is_alive()
    assert refused(driver).kind is Kind.INVALID


def test_opening_touches_nothing_until_the_first_question() -> None:
    driver = MtmlDriver("no such file")
    assert driver.name == "mtml"
    assert refused(driver).kind is Kind.NO_LIBRARY
    driver.close()


def test_a_library_that_refuses_to_stop_is_not_unmapped_under_its_own_threads(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    show(eight_s4000().having("fault mtmlLibraryShutDown 12"))
    file = tmp_path / "libmtml.so.2"
    file.write_bytes(twin_library().read_bytes())
    driver = make_driver(file)
    driver.devices()
    driver.close()
    assert str(file) in Path("/proc/self/maps").read_text()
    show(eight_s4000())
    second = twin_library(left_out=("mtmlDeviceGetBrand",))
    other = make_driver(second)
    other.devices()
    assert str(second) in Path("/proc/self/maps").read_text()
    other.close()
    assert str(second) not in Path("/proc/self/maps").read_text()
