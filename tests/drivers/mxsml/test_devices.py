from collections.abc import Callable

import pytest

from builders.mxsml_twin import Machine, Twin, TwinCard, c500
from tangram.drivers.errors import DriverError
from tangram.model.cards import Vendor
from tangram.model.devices import DeviceNodes, DriverMode, SriovState
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.units.na import NA

Make = Callable[..., Twin]


def test_a_card_is_described_by_library_and_kernel_together(eight: Twin) -> None:
    device = eight.driver().devices()[5]
    assert device.uuid == "GPU-00000000-1111-2222-3333-000000000005"
    assert (device.index, device.vendor, device.product, device.family) == (5, Vendor.METAX, "MXC500", "MXC")
    assert (device.serial, device.memory, device.numa) == ("BOARD0005", from_gib(64), 1)
    assert (device.driver_version, device.firmware_version) == ("3.8.30", "1.33.5.0")
    assert device.pcie_path == ("0000:40:01.0", "0000:41:00.0", "0000:42:05.0", "0000:48:00.0")
    assert device.nodes == DeviceNodes("/dev/mxcd", "/dev/dri/card6", "/dev/dri/renderD133")
    assert (device.mode, device.sriov, device.virtual_functions) == (
        DriverMode.NATIVE,
        SriovState.FORBIDDEN,
        0,
    )
    assert device.sliced is True


def test_what_the_kernel_does_not_say_is_not_available(twin_of: Make) -> None:
    machine = Machine((TwinCard(0, bdf="0000:0e:00.0", uuid="GPU-x", numa=-1),))
    twin = twin_of(machine)
    device = twin.driver(
        sysfs_root=str(twin.root / "nothing"), dev_root=str(twin.root / "nowhere")
    ).devices()[0]
    assert (device.pcie_path, device.numa, device.nodes) == ((), NA, DeviceNodes())
    assert device.mode is DriverMode.NATIVE


def test_the_librarys_numa_node_stands_in_for_the_kernels(twin_of: Make) -> None:
    twin = twin_of(c500(2).with_card(1, numa=37))
    devices = twin.driver(sysfs_root=str(twin.root / "nothing")).devices()
    assert [device.numa for device in devices] == [0, 37]


def test_a_board_without_a_serial_number_shows_its_chips(twin_of: Make) -> None:
    device = twin_of(c500(1).with_card(0, serial="", chip="C7")).driver().devices()[0]
    assert device.serial == "C7"


def test_a_card_of_the_other_family_is_told_by_its_name(twin_of: Make) -> None:
    machine = c500(2).with_card(0, name="MXN260").with_card(1, name="0x4242", brand=1)
    assert [device.family for device in twin_of(machine).driver().devices()] == ["MXN", "MXN"]


def test_virtual_functions_name_the_card_they_are_part_of(twin_of: Make) -> None:
    physical = TwinCard(100, bdf="0000:0e:00.0", more={"mode": 1, "sriov": 1})
    parts = tuple(
        TwinCard(
            at,
            bdf=f"0000:0e:00.{at + 1}",
            uuid=f"GPU-vf{at}",
            more={"mode": 2, "parent": 100, "name": "MXC500 VF"},
        )
        for at in range(2)
    )
    twin = twin_of(Machine((*parts, physical)))
    (twin.sysfs / "bus/pci/devices/0000:0e:00.0/sriov_numvfs").write_text("2\n")
    one, other, whole = twin.driver().devices()
    assert (whole.uuid, whole.index, whole.mode) == ("PCI-0000:0e:00.0", 100, DriverMode.CLOUD)
    assert (whole.sriov, whole.virtual_functions) == (SriovState.ON, 2)
    assert one.virtual_function_of == other.virtual_function_of == whole.uuid
    assert (one.sriov, one.virtual_functions, one.mode) == (NA, NA, DriverMode.CLOUD)


def test_the_library_counts_virtual_functions_where_the_kernel_does_not(twin_of: Make) -> None:
    physical = TwinCard(100, bdf="0000:0e:00.0", uuid="GPU-p", more={"mode": 1})
    part = TwinCard(0, bdf="0000:0e:00.1", uuid="GPU-vf", more={"mode": 2, "parent": 100})
    twin = twin_of(Machine((part, physical)))
    found = twin.driver(sysfs_root=str(twin.root / "nothing")).devices()
    assert found[1].virtual_functions == 1
    assert found[0].virtual_function_of == "GPU-p"


def test_a_card_that_could_be_split_and_is_not_is_off(twin_of: Make) -> None:
    twin = twin_of(c500(1, sriov=1))
    assert twin.driver().devices()[0].sriov is SriovState.OFF
    assert twin.driver(sysfs_root=str(twin.root / "nothing")).devices()[0].sriov is SriovState.OFF


def test_a_card_the_library_cannot_use_is_still_listed(twin_of: Make) -> None:
    limited = TwinCard(1, bdf="0000:0f:00.0", more={"limited": 1, "reason": "MetaX Sysfs File Unaccessible"})
    driver = twin_of(Machine((*c500(1).cards, limited))).driver()
    device = driver.devices()[1]
    assert (device.uuid, device.product, device.memory, device.serial) == (
        "PCI-0000:0f:00.0",
        "MXC500",
        NA,
        NA,
    )
    health = driver.health()[device.uuid]
    assert (health.healthy, health.code, health.message) == (
        False,
        "limited",
        "MetaX Sysfs File Unaccessible",
    )


def test_a_card_that_cannot_be_read_is_counted_and_unhealthy(twin_of: Make) -> None:
    driver = twin_of(c500(2).failing("GetDeviceInfo", 4, device=1)).driver()
    assert [device.uuid for device in driver.devices()][1] == "unread-1"
    health = driver.health()[CardUuid("unread-1")]
    assert (health.healthy, health.code) == (False, "unreadable")
    assert "Twin sysfs error" in health.message


def test_a_card_seen_on_the_bus_makes_the_library_look_again(two: Twin) -> None:
    driver = two.driver()
    driver.devices()
    # Only looking again hears of the fault, so it shows that the library was asked to.
    two.show(c500(2).failing("InitWithFlags", 8))
    assert len(driver.devices()) == 2
    (two.sysfs / "bus/pci/drivers/METAX/0000:99:00.0").symlink_to("nowhere")
    with pytest.raises(DriverError) as refusal:
        driver.devices()
    assert refusal.value.call == "mxSmlInitWithFlags"
    two.show(c500(3))
    assert len(driver.devices()) == 3


def test_a_snapshot_says_what_the_single_questions_say(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    whole = driver.snapshot()
    assert [card.device for card in whole.cards] == list(devices)
    assert whole.links == driver.links(devices)
    assert {card.device.uuid: card.health for card in whole.cards} == driver.health()
    assert [card.figures for card in whole.cards] == [driver.figures(device.uuid) for device in devices]
