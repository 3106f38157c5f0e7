"""The library's file replaced under a running driver, as a driver upgrade does."""

import os
import subprocess
import sys
from collections.abc import Callable

from builders.mxsml_twin import NEWER_THAN_2_2_8, Twin, c500
from tangram.drivers.mxsml.library import Library
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.units.na import NA

Make = Callable[..., Twin]
PRINT_PATH = """
from tangram.drivers.mxsml.library import Library
library = Library("libmxsml.so.2")
print(library.path)
print(library.call("InitWithFlags", 1), library.call("GetDeviceCount"))
"""
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")


def test_a_replaced_library_is_used_from_the_next_question_on(twin_of: Make) -> None:
    twin = twin_of(c500(2), left_out=NEWER_THAN_2_2_8)
    driver = twin.driver()
    assert len(driver.devices()) == 2
    twin.install()
    assert driver.figures(FIRST).temperature_celsius == 38.5
    twin.install(left_out=("mxSmlGetTemperatureInfo",))
    assert driver.figures(FIRST).temperature_celsius is NA


def test_slices_outlive_the_library_that_made_them(twin_of: Make) -> None:
    twin = twin_of(c500(2))
    driver = twin.driver()
    driver.create_slice(FIRST, memory=from_gib(1), cores=5, name="job")
    twin.install()
    assert [each.name for each in driver.slices(FIRST)] == ["job"]


def test_a_library_that_something_keeps_in_memory_is_replaced_all_the_same(twin_of: Make) -> None:
    twin = twin_of(c500(2), left_out=("mxSmlGetTemperatureInfo",))
    kept = Library(str(twin.library))
    driver = twin.driver()
    assert driver.figures(FIRST).temperature_celsius is NA
    twin.install()
    assert driver.figures(FIRST).temperature_celsius == 38.5
    assert kept.call("GetDeviceCount") == 2
    kept.close()


def test_an_upgrade_half_done_leaves_the_old_library_in_use(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    aside = two.library.rename(two.library.with_name("aside"))
    assert len(driver.devices()) == 2
    two.library.write_text("half a librar")
    assert len(driver.devices()) == 2
    two.library.unlink()
    aside.rename(two.library)
    assert len(driver.devices()) == 2


def test_a_card_lost_with_the_upgrade_is_reported(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    two.show(c500(1))
    two.install()
    assert [health.healthy for health in driver.health().values()] == [True, False]


def test_a_library_found_by_name_knows_its_file(two: Twin) -> None:
    two.library.with_name("libmxsml.so.2").symlink_to(two.library)
    # In a process of its own, as the loader reads its search path once.
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_PATH],
        env={**os.environ, "LD_LIBRARY_PATH": str(two.root)},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert printed.stdout == f"{two.root}/libmxsml.so.2\n0 2\n"


def test_a_closed_library_is_never_called_again(two: Twin) -> None:
    library = Library(str(two.library))
    assert library.call("InitWithFlags", 1) == 0
    assert library.call("GetDeviceCount") == 2
    library.close()
    assert library.call("GetDeviceCount") == 0
    assert library.call("Init") == -1
    assert library.words_for(1) == ""
