from collections.abc import Callable

import pytest

from builders.metax_tree import TreeCard
from builders.mxsml_twin import Machine, Twin, c500, machine_of
from tangram.drivers.errors import DriverError
from tangram.drivers.inventory import cards_of
from tangram.model.cards import CardMode, Vendor
from tangram.model.devices import DeviceNodes, DriverMode, SriovState
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.units.na import NA, Maybe, known

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


def test_a_sliced_card_says_how_much_of_it_can_be_sliced(twin_of: Make) -> None:
    sliced, whole = twin_of(c500(2).with_card(1, model="native")).driver().devices()
    # 64581 MiB in whole steps of 128.
    assert (sliced.memory, sliced.sliceable) == (from_gib(64), from_mib(64512))
    assert whole.sliceable is NA


def test_what_the_kernel_does_not_say_is_not_available(twin_of: Make) -> None:
    machine = machine_of(TreeCard(0, "0000:0e:00.0", uuid="x", numa=-1))
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


def test_a_board_without_a_serial_number_has_none(twin_of: Make) -> None:
    assert twin_of(c500(1, serial="")).driver().devices()[0].serial is NA


def test_a_card_of_the_other_family_is_told_by_its_name(twin_of: Make) -> None:
    machine = c500(2).with_card(0, product="MXN260").with_card(1, product="MXN100", shown_name="0x4242")
    assert [device.family for device in twin_of(machine).driver().devices()] == ["MXN", "MXN"]


def split() -> Machine:
    """A card of the virtualisation driver with two parts."""
    physical = TreeCard(0, "0000:0e:00.0", driver="MXGVM", virtual_functions=8, files={"sriov_numvfs": "2"})
    parts = (
        TreeCard(at, f"0000:0e:00.{at}", uuid=f"vf{at}", product="MXC500 VF", part_of=physical.bdf)
        for at in (1, 2)
    )
    return machine_of(physical, *parts)


def test_virtual_functions_name_the_card_they_are_part_of(twin_of: Make) -> None:
    one, other, whole = twin_of(split()).driver().devices()
    assert (whole.uuid, whole.index, whole.mode) == ("PCI-0000:0e:00.0", 100, DriverMode.CLOUD)
    assert (whole.sriov, whole.virtual_functions) == (SriovState.ON, 2)
    assert one.virtual_function_of == other.virtual_function_of == whole.uuid
    assert (one.sriov, one.virtual_functions, one.mode) == (NA, NA, DriverMode.CLOUD)


def test_the_library_counts_virtual_functions_where_the_kernel_does_not(twin_of: Make) -> None:
    twin = twin_of(split())
    found = twin.driver(sysfs_root=str(twin.root / "nothing")).devices()
    assert found[2].virtual_functions == 2
    assert found[0].virtual_function_of == found[2].uuid


def test_a_card_that_could_be_split_and_is_not_is_off(twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8))
    assert twin.driver().devices()[0].sriov is SriovState.OFF
    assert twin.driver(sysfs_root=str(twin.root / "nothing")).devices()[0].sriov is SriovState.OFF


def test_a_card_the_library_cannot_use_is_still_listed(twin_of: Make) -> None:
    machine = c500(2).with_card(1, bdf="0000:0f:00.0", smi=False, reason=(3, "MetaX Sysfs File Unaccessible"))
    driver = twin_of(machine).driver()
    device = driver.devices()[1]
    assert (device.product, device.memory, device.serial) == ("MXC500", NA, NA)
    health = driver.health()[device.uuid]
    assert (health.healthy, health.code, health.message) == (
        False,
        "limited",
        "MetaX Sysfs File Unaccessible",
    )


@pytest.mark.parametrize(
    ("model", "mode", "sliceable"),
    [("sgpu", CardMode.SLICED, from_mib(64512)), ("native", CardMode.WHOLE, NA)],
)
def test_a_card_the_library_cannot_use_has_its_name_and_its_mode_from_the_kernel(
    model: str, mode: CardMode, sliceable: Maybe[Bytes], twin_of: Make
) -> None:
    driver = twin_of(c500(2).with_card(1, smi=False, model=model)).driver()
    device = driver.devices()[1]
    assert device.uuid == "GPU-00000000-1111-2222-3333-000000000001"
    assert (device.sliced, device.sliceable) == (mode is CardMode.SLICED, sliceable)
    (card,) = cards_of((device,), driver.health())
    assert (card.mode, card.healthy, card.memory) == (mode, False, known(sliceable, 0))


def test_a_card_that_neither_library_nor_kernel_names_is_called_after_its_place(twin_of: Make) -> None:
    driver = twin_of(c500(2).with_card(1, smi=False, uuid="")).driver()
    assert driver.devices()[1].uuid == "PCI-0000:04:00.0"


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
