"""Live figures, and what becomes of those a card does not give."""

from pathlib import Path

import pytest

from builders.mtml_twin import GIB, MakeDriver, Show, eight_s4000, eight_s5000, uuid_of
from tangram.drivers.mtml.calls import signed
from tangram.model.devices import Figures, Process
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA

CARD = CardUuid(uuid_of(2))


def test_an_s4000_tells_everything_but_memory_errors(show: Show, make_driver: MakeDriver) -> None:
    assert make_driver(show(eight_s4000()).library).figures(CARD) == Figures(
        utilisation_percent=37.0,
        memory_used=Bytes(4 * GIB),
        memory_total=Bytes(48 * GIB),
        temperature_celsius=45.0,
        power_watts=123.456,
        clocks_mhz={"gpu": 1750, "memory": 8000},
    )


def test_an_s5000_counts_its_memory_errors(show: Show, make_driver: MakeDriver) -> None:
    machine = eight_s5000().changing(2, corrected=7, uncorrected=1, retired=3)
    figures = make_driver(show(machine).library).figures(CARD)
    assert (figures.ecc_corrected, figures.ecc_uncorrected, figures.retired_pages) == (7, 1, 3)


def test_noughts_of_memory_that_does_not_count_are_not_reported_as_no_errors(
    show: Show, make_driver: MakeDriver
) -> None:
    figures = make_driver(show(eight_s5000().changing(2, ecc=0)).library).figures(CARD)
    assert (figures.ecc_corrected, figures.ecc_uncorrected) == (NA, NA)


@pytest.mark.parametrize("degrees", [-4, -40, 0, 105])
def test_frost_is_not_four_billion_degrees(show: Show, make_driver: MakeDriver, degrees: int) -> None:
    machine = eight_s4000().changing(2, temperature=degrees)
    assert make_driver(show(machine).library).figures(CARD).temperature_celsius == degrees


@pytest.mark.parametrize(
    ("read", "meant"), [(4294967292, -4), (2**31, -(2**31)), (2**31 - 1, 2**31 - 1), (0, 0)]
)
def test_a_number_gets_its_sign_back(read: int, meant: int) -> None:
    assert signed(read) == meant


def test_a_card_that_fails_on_every_figure_has_none(show: Show, make_driver: MakeDriver) -> None:
    twin = show(eight_s5000())
    driver = make_driver(twin.library)
    driver.devices()
    twin.show(
        eight_s5000().having(
            "fault mtmlDeviceInitGpu 2",
            "fault mtmlDeviceInitMemory 2",
            "fault mtmlDeviceGetPowerUsage 2",
            "fault mtmlDeviceCountRunningProcesses 2",
        )
    )
    assert driver.figures(CARD) == Figures()


def test_processes_of_a_sliced_card_are_told_by_its_slices_and_of_a_whole_one_by_the_library(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    twin = show(eight_s4000())
    slice_folder = tmp_path / "sgpu_km/2/0123456789ab"
    slice_folder.mkdir(parents=True)
    (tmp_path / "sgpu_km/cores").write_text("2\n")
    (slice_folder / "id").write_text("163\n")
    (slice_folder / "memsize").write_text(f"{16 * GIB}\n")
    (slice_folder / "weight").write_text("8\n")
    (slice_folder / "meminfo").write_text(f"Free: {15 * GIB}\nPID: 4711 Mem: {GIB}\n")
    driver = make_driver(twin.library)
    driver.devices()
    assert driver.figures(CARD).processes == (Process(pid=4711, memory=Bytes(GIB), slice_id=3),)
    assert driver.figures(CardUuid(uuid_of(1))).processes == ()
    twin.show(eight_s4000().having("fault mtmlDeviceCountRunningProcesses 2"))
    assert driver.figures(CardUuid(uuid_of(1))).processes is NA
