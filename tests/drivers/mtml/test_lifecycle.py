"""Found or not, started again, loaded again, used from many threads, closed."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata, util
from pathlib import Path

import pytest

from builders import mthreads_tree
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
from tangram.drivers.mtml.library import RESTART_PAUSE, Library, Resident
from tangram.drivers.mtml.place import bound_cards
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


@pytest.fixture
def cards_of_the_kernel() -> list[tuple[str, int]]:
    return [("0000:08:00.0", 71), ("0000:09:00.0", 72)]


@pytest.fixture
def make_library(clock: Clock, cards_of_the_kernel: list[tuple[str, int]]) -> Callable[[Path], Library]:
    residents: dict[str, Resident] = {}

    def make(file: Path) -> Library:
        return Library(
            str(file),
            entering=lambda _call, _subject: None,
            clock=clock,
            bound=lambda: tuple(cards_of_the_kernel),
            residents=residents,
        )

    return make


def test_a_library_is_loaded_again_when_the_kernels_cards_change(
    show: Show,
    make_library: Callable[[Path], Library],
    cards_of_the_kernel: list[tuple[str, int]],
    tmp_path: Path,
) -> None:
    show(eight_s4000())
    # A file of its own: one that a driver of another test still holds would stay loaded.
    file = tmp_path / "libmtml.so.2"
    file.write_bytes(twin_library().read_bytes())
    library = make_library(file)
    first = library.ready()
    assert library.ready() is first
    for change in (
        cards_of_the_kernel.pop,
        lambda: cards_of_the_kernel.append(("0000:09:00.0", 99)),
    ):
        change()
        assert library.ready() is not first
        first = library.ready()
    library.close()


STAYS_LOADED = ("-Wl,-z,nodelete",)


@pytest.mark.parametrize("change", ["kernel", "file"])
def test_a_library_that_stays_loaded_is_outdated_after_a_change(
    show: Show,
    make_library: Callable[[Path], Library],
    cards_of_the_kernel: list[tuple[str, int]],
    *,
    tmp_path: Path,
    change: str,
) -> None:
    """The loader would return the old copy, whose list of cards is the old one; libmtml 1.5.0 does the same."""
    show(eight_s4000())
    file = tmp_path / "libmtml.so.2"
    file.write_bytes(twin_library(flags=STAYS_LOADED).read_bytes())
    library = make_library(file)
    library.ready()
    library.close()
    assert library.ready(), "nothing changed"
    if change == "kernel":
        cards_of_the_kernel.pop()
    else:
        file.unlink()
        file.write_bytes(twin_library().read_bytes())
    for each in (library, library, make_library(file), make_library(twin_library())):
        with pytest.raises(DriverError, match="start this program again") as caught:
            each.ready()
        assert caught.value.kind is Kind.OUTDATED


def test_a_library_that_stays_loaded_serves_the_next_driver_while_nothing_changes(
    show: Show, make_library: Callable[[Path], Library], tmp_path: Path
) -> None:
    show(eight_s4000())
    file = tmp_path / "libmtml.so.2"
    file.write_bytes(twin_library(flags=STAYS_LOADED).read_bytes())
    for _ in range(3):
        library = make_library(file)
        assert library.ready().count_cards() == 8
        library.close()


def test_cards_of_the_kernel_are_others_after_each_binding(tmp_path: Path) -> None:
    assert bound_cards(tmp_path) == ()
    tree = mthreads_tree.grow(eight_s4000(), tmp_path)
    before = bound_cards(tree.sys)
    assert [address for address, _ in before] == [mthreads_tree.bdf_of(card) for card in eight_s4000().cards]
    folder = tree.sys / "bus/pci/drivers/mtgpu" / before[3][0] / "misc"
    (folder / "another").mkdir()
    (folder / "mtgpu.3").rename(folder / "mtgpu.30")
    assert bound_cards(tree.sys) != before
    (tree.sys / "bus/pci/drivers/mtgpu" / before[0][0]).unlink()
    assert len(bound_cards(tree.sys)) == 7


def test_looking_again_needs_no_more_handles(show: Show, make_driver: MakeDriver, clock: Clock) -> None:
    """The library never gives the memory of a handle back."""
    cards = eight_s5000()
    ends = sum(card.ports for card in cards.cards)
    driver = make_driver(show(cards.having(f"handles {2 * len(cards.cards) + ends}")).library)
    for _ in range(20):
        devices = driver.devices()
        assert len(driver.links(devices).links) == 28
        assert all(each.healthy for each in driver.health().values())
        assert all(driver.figures(each.uuid).utilisation_percent == 37 for each in devices)
        clock.advance(RESTART_PAUSE)


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
