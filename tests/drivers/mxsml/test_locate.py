from pathlib import Path

import pytest

from builders.mxsml_twin import Twin, c500
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.locate import candidates
from tangram.drivers.mxsml.settings import Settings


def test_a_named_library_is_the_only_one_tried() -> None:
    assert candidates("/somewhere/lib.so", {"MXSML_LIBRARY_PATH": "/else"}) == ("/somewhere/lib.so",)


def test_the_documented_places_are_tried_in_order() -> None:
    environment = {"MXSML_LIBRARY_PATH": "/mine/libmxsml.so", "MACA_HOME": "/opt/maca-3.5/"}
    assert candidates(None, environment) == (
        "/mine/libmxsml.so",
        "/opt/mxdriver/lib/libmxsml.so",
        "/usr/local/metax/mxdriver/lib/libmxsml.so",
        "/host/usr/local/metax/mxdriver/lib/libmxsml.so",
        "/opt/maca/lib/libmxsml.so",
        "/opt/mxn100/lib/libmxsml.so",
        "/opt/maca-3.5/lib/libmxsml.so",
        "libmxsml.so.2",
        "libmxsml.so",
    )


def test_a_place_named_twice_is_tried_once() -> None:
    listed = candidates(None, {"MACA_HOME": "/opt/maca"})
    assert len(set(listed)) == len(listed)


def test_a_folder_stands_for_the_library_in_it(tmp_path: Path) -> None:
    assert candidates(str(tmp_path), {}) == (str(tmp_path / "libmxsml.so"),)


def test_a_variable_finds_the_library(two: Twin) -> None:
    settings = two.settings(library=None)
    driver = MxsmlDriver(settings, environment={"MXSML_LIBRARY_PATH": str(two.library)})
    assert len(driver.devices()) == 2
    driver.close()


def test_no_library_says_what_was_tried(tmp_path: Path) -> None:
    driver = MxsmlDriver(Settings(library=str(tmp_path / "none.so")))
    with pytest.raises(DriverError, match=r"none\.so") as refusal:
        driver.devices()
    assert refusal.value.kind is Kind.NO_LIBRARY
    driver.close()


def test_a_file_that_is_no_library_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libmxsml.so").write_text("not an ELF file")
    driver = MxsmlDriver(Settings(library=str(tmp_path), limit=60.0))
    with pytest.raises(DriverError) as refusal:
        driver.health()
    assert refusal.value.kind is Kind.NO_LIBRARY
    driver.close()


def test_a_library_installed_later_is_found(tmp_path: Path, two: Twin) -> None:
    later = tmp_path / "later.so"
    driver = two.driver(library=str(later))
    with pytest.raises(DriverError):
        driver.devices()
    two.library.rename(later)
    assert len(driver.devices()) == 2


def test_a_closed_driver_answers_with_an_error(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    driver.close()
    driver.close()
    with pytest.raises(DriverError):
        driver.devices()


def test_cards_that_appear_after_the_agent_are_found(two: Twin) -> None:
    machine = c500(2)
    two.show(c500(0))
    driver = two.driver()
    for ask in (driver.devices, driver.health):
        with pytest.raises(DriverError) as refusal:
            ask()
        assert refusal.value.kind is Kind.NO_DRIVER
        assert refusal.value.vendor_code == 2
    two.show(machine)
    assert len(driver.devices()) == 2
    assert all(health.healthy for health in driver.health().values())
