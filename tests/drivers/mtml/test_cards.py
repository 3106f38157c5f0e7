"""What the driver says of the cards, over a library with the vendor's ABI."""

from pathlib import Path

import pytest

from builders.mtml_twin import (
    GIB,
    MakeDriver,
    Show,
    eight_s4000,
    eight_s5000,
    full_mesh,
    twin_library,
    uuid_of,
)
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.inventory import cards_of
from tangram.drivers.protocol import Driver
from tangram.model.cards import CardMode, Vendor
from tangram.units.ids import CardUuid
from tangram.units.na import NA


def test_eight_cards_are_described_in_the_librarys_order(show: Show, make_driver: MakeDriver) -> None:
    driver: Driver = make_driver(show(eight_s4000()).library)
    devices = driver.devices()
    assert [device.index for device in devices] == list(range(8))
    assert [device.uuid for device in devices] == [uuid_of(at) for at in range(8)]
    first = devices[0]
    assert (first.vendor, first.product, first.family) == (Vendor.MTHREADS, "MTT S4000", "MTT")
    assert (first.bdf, first.serial, first.memory) == ("0000:08:00.0", "SN0000", 48 * GIB)
    assert (first.driver_version, first.firmware_version) == ("3.3.5-server", "4.1.2")
    assert first.memory_tiers == tuple(size * GIB for size in (1, 2, 4, 8, 16, 32, 48))


def test_device_nodes_are_the_librarys_and_not_computed_from_an_index(
    show: Show, make_driver: MakeDriver
) -> None:
    machine = eight_s4000().changing(
        5, control="/dev/mtgpu.5", primary="/dev/dri/card6", render="/dev/dri/renderD141"
    )
    device = make_driver(show(machine).library).devices()[5]
    assert device.nodes.all == ("/dev/mtgpu.5", "/dev/dri/card6", "/dev/dri/renderD141")


def test_two_numa_nodes_of_an_s5000_server_are_told_apart(show: Show, make_driver: MakeDriver) -> None:
    devices = make_driver(show(eight_s5000()).library).devices()
    assert [device.numa for device in devices] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert devices[7].memory == 80 * GIB


def test_the_kernel_says_the_numa_node_where_the_library_does_not(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    twin = show(eight_s4000().changing(0, numa=-1).changing(1, numa=-1))
    for bdf, node in (("0000:08:00.0", "1\n"), ("0000:09:00.0", "-1\n")):
        place = tmp_path / "sys/devices/pci0000:00/0000:00:01.0" / bdf
        place.mkdir(parents=True)
        (place / "numa_node").write_text(node)
        link = tmp_path / "sys/bus/pci/devices" / bdf
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place)
    devices = make_driver(twin.library).devices()
    assert [device.numa for device in devices[:3]] == [1, NA, 0]
    assert devices[0].pcie_path == ("0000:00:01.0", "0000:08:00.0")
    assert devices[2].pcie_path == ()


def test_the_parent_of_a_split_card_is_not_offered(show: Show, make_driver: MakeDriver) -> None:
    machine = eight_s4000().changing(0, mpc=1).changing(1, mpc=2)
    devices = make_driver(show(machine).library).devices()
    assert [device.uuid for device in devices] == [uuid_of(at) for at in range(1, 8)]
    assert devices[0].index == 1


def test_a_card_seen_from_inside_a_slice_has_the_memory_of_the_slice(
    show: Show, make_driver: MakeDriver
) -> None:
    machine = eight_s4000().changing(0, memory=16 * GIB)
    assert make_driver(show(machine).library).devices()[0].memory == 16 * GIB


def test_a_node_without_the_slicing_module_has_whole_cards(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000()).library)
    cards = cards_of(driver.devices(), driver.health())
    assert {card.mode for card in cards} == {CardMode.WHOLE}
    assert all(card.healthy for card in cards)


def test_cards_bound_to_the_slicing_module_are_sliced(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    twin = show(eight_s4000())
    (tmp_path / "sgpu_km").mkdir()
    (tmp_path / "sgpu_km/cores").write_text("0,2\n")
    devices = make_driver(twin.library).devices()
    assert [device.index for device in devices if device.sliced] == [0, 2]


def test_the_slicing_module_knows_a_card_by_its_control_node(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    """A split card's parent takes a place in the list, so the index of the next one is not its kernel number."""
    twin = show(eight_s4000().changing(0, control="/dev/mtgpu.5"))
    (tmp_path / "sgpu_km").mkdir()
    (tmp_path / "sgpu_km/cores").write_text("5")
    devices = make_driver(twin.library).devices()
    assert [device.index for device in devices if device.sliced] == [0, 5]


@pytest.mark.parametrize(
    ("uuid", "reported"),
    [
        pytest.param("with a blank", "mthreads-place-3", id="blank"),
        pytest.param("", "mthreads-place-3", id="empty"),
        pytest.param("\x01\x02", "mthreads-place-3", id="control characters"),
    ],
)
def test_a_card_without_a_usable_uuid_is_not_offered_and_not_hushed_up(
    show: Show, make_driver: MakeDriver, uuid: str, reported: str
) -> None:
    driver = make_driver(show(eight_s4000().changing(3, uuid=uuid)).library)
    assert len(driver.devices()) == 7
    health = driver.health()
    assert not health[CardUuid(reported)].healthy
    assert sum(each.healthy for each in health.values()) == 7


def test_texts_that_are_no_text_are_not_available(
    show: Show, make_driver: MakeDriver, tmp_path: Path
) -> None:
    twin = show(eight_s4000().changing(0, name="MTT ~", sbdf="zz:~"))
    (tmp_path / "world").write_bytes((tmp_path / "world").read_bytes().replace(b"~", b"\xff\xfe"))
    device = make_driver(twin.library).devices()[0]
    assert (device.product, device.bdf) == ("", "")


def test_a_library_without_a_function_loses_that_figure_and_nothing_else(
    show: Show, make_driver: MakeDriver
) -> None:
    show(eight_s4000(full_mesh(range(8))))
    lacking = ("mtmlDeviceGetMtBiosVersion", "mtmlLibraryInitDeviceByUuid", "mtmlDeviceCountMtLinkLayouts")
    driver = make_driver(twin_library(left_out=lacking))
    devices = driver.devices()
    assert len(devices) == 8
    assert devices[0].firmware_version is NA
    assert devices[0].serial == "SN0000"
    assert driver.figures(devices[4].uuid).utilisation_percent == 37
    links = driver.links(devices)
    assert len(links.links) == 28
    assert {link.lanes for link in links.links} == {1}


def test_a_number_of_ports_that_cannot_be_is_not_followed(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000().changing(0, ports=2_000_000_000)).library)
    assert driver.health()[CardUuid(uuid_of(0))].healthy
    assert driver.links(driver.devices()).ports == ()


def test_asking_about_a_card_nobody_has_is_card_gone(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000()).library)
    for ask in (driver.figures, driver.slices, driver.room):
        with pytest.raises(DriverError) as caught:
            ask(CardUuid("no-such-card"))
        assert caught.value.kind is Kind.CARD_GONE
