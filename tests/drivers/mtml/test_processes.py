"""Who uses a card that no slices divide, by functions that are in no header."""

from pathlib import Path

import pytest

from builders.mtml_twin import GIB, MakeDriver, Show, eight_s4000, twin_library, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.processes import COUNT, LIST
from tangram.units.ids import CardUuid
from tangram.units.na import NA

FIRST, SECOND = CardUuid(uuid_of(0)), CardUuid(uuid_of(1))
USED = eight_s4000().having(f"process 0 4711 {GIB}", "process 0 4712 4096", "process 2 9 1")


def test_processes_come_with_the_memory_they_hold(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(USED).library)
    driver.devices()
    found = driver.figures(FIRST).processes
    assert isinstance(found, tuple)
    assert [(each.pid, each.memory, each.slice_id) for each in found] == [
        (4711, GIB, None),
        (4712, 4096, None),
    ]


def test_a_list_without_an_entry_does_not_say_that_the_card_is_idle(
    show: Show, make_driver: MakeDriver
) -> None:
    """Processes without a number in the namespace of the one that asks are left out without a word."""
    driver = make_driver(show(USED.having("process 1 0 4096")).library)
    driver.devices()
    assert driver.figures(SECOND).processes is NA


@pytest.mark.parametrize(
    ("left_out", "flags"),
    [
        pytest.param((COUNT, LIST), (), id="a library without them"),
        pytest.param((LIST,), (), id="a library with the count alone"),
        pytest.param((), ("-DRECORD_WORDS=4",), id="longer records"),
        pytest.param((), ("-DRECORD_WORDS=1",), id="shorter records"),
    ],
)
def test_what_was_not_measured_is_not_read(
    show: Show, make_driver: MakeDriver, left_out: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    show(USED)
    driver = make_driver(twin_library(left_out=left_out, flags=flags))
    driver.devices()
    assert driver.figures(FIRST).processes is NA


@pytest.mark.parametrize("answer", [2, 4, 6, 999])
@pytest.mark.parametrize("function", [COUNT, LIST])
def test_an_error_makes_the_list_unknown(
    show: Show, make_driver: MakeDriver, function: str, answer: int
) -> None:
    driver = make_driver(show(USED.having(f"fault {function} {answer}")).library)
    driver.devices()
    assert driver.figures(FIRST).processes is NA


def test_a_card_in_use_is_not_handed_to_the_module(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    module = tmp_path / "sgpu_km"
    module.mkdir()
    (module / "cores").write_text("\n")
    driver = make_driver(show(USED).library)
    with pytest.raises(DriverError, match="in use by process 4711, 4712") as caught:
        driver.set_sliced(FIRST, on=True)
    assert caught.value.kind is Kind.BUSY
    driver.set_sliced(SECOND, on=True)
    assert (module / "cores").read_text() == "1\n"
