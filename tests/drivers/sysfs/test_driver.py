"""Cards as the kernel shows them, with no vendor library at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.hanging import LONG, Fifo, time_is_up_while
from builders.metax_tree import MetaxTree, TreeCard, TreeSlice
from builders.sysfs_tree import METAX, S4000, Tree
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.sysfs.driver import Settings, SysfsDriver
from tangram.drivers.sysfs.products import product_of
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import DriverMode, SriovState
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib, from_mib
from tangram.units.na import NA

ONE = "pci0000:00/0000:00:01.0/0000:0e:00.0"
OTHER = "pci0000:00/0000:00:02.0/0000:0f:00.0"
FIRST = CardUuid("GPU-00000001-1111-2222-3333-444444444444")
FILES = {
    "smi/showdriverversion": "driver version: 3.8.30",
    "smi/showvbios": "vbios version 1.33.5.0",
    "smi/showxcuse": "0x1f",
    "smi/showmeminfo": "vis_vram: 67108864\nvram: 67108864\nxtt: 1",
    "smi/showmemuse": "878592\n878592\n0",
    "smi/showtemp": "soc: 3500\nhotspot: 3925",
    "model": "native",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def driver_of(tree: Tree) -> SysfsDriver:
    return SysfsDriver(Settings(sysfs_root=str(tree.sys), dev_root=str(tree.dev), limit=LONG))


def two_cards(tree: Tree, root: str = "class/metax/mxcd") -> SysfsDriver:
    tree.card(ONE, minor=0, files=FILES)
    tree.card(OTHER, minor=1, numa=1, files=FILES)
    tree.node(1, "0000:0e:00.0", root=root, links={2: 4})
    tree.node(2, "0000:0f:00.0", root=root)
    (tree.dev / "mxcd").write_text("")
    return driver_of(tree)


@pytest.mark.parametrize("root", ["class/metax/mxcd", "class/mxcd/mxcd"])
def test_two_c500_are_told_completely(tree: Tree, root: str) -> None:
    driver = two_cards(tree, root)
    first, second = driver.devices()
    assert (first.uuid, first.index, first.bdf) == (FIRST, 0, "0000:0e:00.0")
    assert (first.product, first.family, first.memory) == ("MXC500", "MXC", from_gib(64))
    assert (first.driver_version, first.firmware_version) == ("3.8.30", "1.33.5.0")
    assert (first.mode, first.sriov, first.sliced) == (DriverMode.NATIVE, SriovState.FORBIDDEN, False)
    assert first.nodes.all == ("/dev/mxcd", "/dev/dri/card1", "/dev/dri/renderD128")
    assert first.pcie_path == ("0000:00:01.0", "0000:0e:00.0")
    assert (second.index, second.numa) == (1, 1)
    figures = driver.figures(FIRST)
    assert (figures.utilisation_percent, figures.temperature_celsius) == (31, 39.25)
    assert (figures.memory_used, figures.memory_total) == (from_mib(858), from_gib(64))
    assert figures.power_watts is NA
    (link,) = driver.links([first, second]).links
    assert (link.kind, link.pcie) == (LinkKind.METAXLINK, PcieLevel.HOST_BRIDGE)
    assert all(health.healthy for health in driver.health().values())
    driver.close()


def test_a_card_without_a_driver_is_still_known_by_its_ids(tree: Tree) -> None:
    tree.card(ONE, driver=None, numa=-1)
    driver = driver_of(tree)
    (device,) = driver.devices()
    assert (device.uuid, device.product, device.memory) == ("PCI-0000:0e:00.0", "MXC500", from_gib(64))
    assert (device.numa, device.mode, device.sriov, device.sliced) == (NA, NA, NA, NA)
    assert (device.driver_version, device.nodes.all) == (NA, ())
    assert driver.health()[device.uuid].code == "no-driver"
    assert driver.figures(device.uuid).temperature_celsius is NA


def test_the_sound_function_of_a_board_is_no_card(tree: Tree) -> None:
    tree.card(ONE, S4000, driver="mtgpu", minor=0)
    tree.card("pci0000:00/0000:00:01.0/0000:0e:00.1", {**S4000, "class": "0x040100"}, driver=None)
    tree.card(
        "pci0000:00/0000:00:1f.0", {"vendor": "0x8086", "device": "0x1", "class": "0x030000"}, driver=None
    )
    tree.write("module/mtgpu/version", "3.3.1")
    (device,) = driver_of(tree).devices()
    assert (device.vendor, device.product, device.memory) == (Vendor.MTHREADS, "MTT S4000", from_gib(48))
    assert (device.driver_version, device.family) == ("3.3.1", "MTT")
    assert device.memory_tiers[-1] == from_gib(48)
    assert device.nodes.all == ("/dev/dri/card1", "/dev/dri/renderD128")


def test_cards_are_numbered_per_vendor_by_bus_address(tree: Tree) -> None:
    tree.card("pci0000:00/0000:00:01.0/0000:10:00.0")
    tree.card("pci0000:00/0000:00:02.0/0000:02:00.0", S4000, driver="mtgpu")
    tree.card("pci0000:00/0000:00:03.0/0000:0f:00.0")
    devices = driver_of(tree).devices()
    assert [(device.bdf, device.index) for device in devices] == [
        ("0000:0f:00.0", 0),
        ("0000:10:00.0", 1),
        ("0000:02:00.0", 0),
    ]


def test_virtual_functions_name_their_card(tree: Tree) -> None:
    files = {"sriov_totalvfs": "8", "sriov_numvfs": "1"}
    parent = tree.card(ONE, driver="MXGVM", files=files)
    function = tree.card("pci0000:00/0000:00:01.0/0000:0e:00.1", {**METAX, "device": "0x4019"})
    (function / "physfn").symlink_to(parent)
    card, virtual = driver_of(tree).devices()
    assert (card.mode, card.sriov, card.virtual_functions) == (DriverMode.CLOUD, SriovState.ON, 1)
    assert (virtual.product, virtual.virtual_function_of, virtual.sriov) == ("MXC500 VF", card.uuid, NA)
    assert virtual.memory is NA


def test_a_card_that_offers_virtual_functions_and_has_none_has_them_off(tree: Tree) -> None:
    tree.card(ONE, files={"sriov_totalvfs": "8", "sriov_numvfs": "0"})
    (device,) = driver_of(tree).devices()
    assert (device.sriov, device.virtual_functions) == (SriovState.OFF, 0)


def test_a_card_that_cannot_be_split_is_split_into_no_functions(tree: Tree) -> None:
    """As the vendor's library has it: its kernel driver shows no file about them, and the manual's jobs select 0."""
    tree.card(ONE)
    (device,) = driver_of(tree).devices()
    assert (device.sriov, device.virtual_functions) == (SriovState.FORBIDDEN, 0)


def test_of_a_function_in_a_virtual_machine_nobody_knows_how_its_card_is_split(tree: Tree) -> None:
    tree.card(ONE, {**METAX, "device": "0x4019"})
    (device,) = driver_of(tree).devices()
    assert (device.product, device.virtual_functions) == ("MXC500 VF", NA)


def test_a_card_that_is_not_active_says_why(tree: Tree) -> None:
    tree.card(ONE)
    tree.node(1, "0000:0e:00.0", active="0", inactive_reason="4\nDriver And Vbios Compatibility Check Failed")
    health = driver_of(tree).health()[FIRST]
    assert (health.healthy, health.message) == (False, "Driver And Vbios Compatibility Check Failed")


def test_a_card_that_vanished_is_reported(tree: Tree) -> None:
    driver = two_cards(tree)
    driver.devices()
    (tree.sys / "bus/pci/devices/0000:0e:00.0").unlink()
    assert len(driver.devices()) == 1
    assert driver.health()[FIRST].code == "card-gone"
    with pytest.raises(DriverError) as caught:
        driver.figures(FIRST)
    assert caught.value.kind is Kind.CARD_GONE


def test_slices_and_what_is_left_are_read_where_the_kernel_shows_them(tree: Tree) -> None:
    sgpu = {
        "sgpu/available_devcnt": "15",
        "sgpu/available_vram_quota": "49536",
        "sgpu/available_sched_quota": "75",
        "sgpu/sched_class": "1",
        "sgpu/sgpu3/vram_quota": "16000",
        "sgpu/sgpu3/sched_quota": "25",
        "sgpu/sgpu3/node_id": "9",
        "sgpu/sgpu3/minor": "22",
        "sgpu/sgpu3/online": "0",
        "sgpu/sgpu3/alias": "web",
        "sgpu/sgpu4/vram_quota": "rubbish",
    }
    tree.card(ONE, files={**FILES, "model": "sgpu", **sgpu})
    tree.node(1, "0000:0e:00.0", type="sgpu-parent-dev")
    tree.node(9, "0000:0e:00.0", type="sgpu-sub-dev")
    driver = driver_of(tree)
    (device,) = driver.devices()
    assert (device.uuid, device.sliced) == (FIRST, True)
    (found,) = driver.slices(FIRST)
    assert (found.id, found.memory, found.cores, found.minor) == (3, from_mib(16000), 25, 22)
    assert (found.name, found.online, found.busy) == ("web", False, NA)
    assert found.uuid == "GPU-00000009-1111-2222-3333-444444444444"
    room = driver.room(FIRST)
    assert (room.slots, room.memory, room.cores) == (15, from_mib(49536), 75)
    assert room.policy is QosPolicy.FIXED_SHARE


def test_what_the_kernel_does_not_say_about_room_is_not_made_up(tree: Tree) -> None:
    with pytest.raises(DriverError) as caught:
        two_cards(tree).room(FIRST)
    assert caught.value.kind is Kind.NOT_SUPPORTED


def test_a_name_on_the_board_wins_over_the_table_of_ids(tree: Tree) -> None:
    tree.card(ONE, files={"smi/showcardname": "MXC500-X1"})
    (device,) = driver_of(tree).devices()
    assert device.product == "MXC500-X1"


@pytest.mark.parametrize(
    ("vendor", "device", "name"),
    [
        pytest.param(Vendor.METAX, 0x4000, "MXC550", id="c550"),
        pytest.param(Vendor.METAX, 0x4083, "MXN260", id="n260"),
        pytest.param(Vendor.METAX, 0x409B, "MXN260 VF", id="n260-function"),
        pytest.param(Vendor.METAX, 0x0A1B, "MXN100E VF", id="n100e-function"),
        pytest.param(Vendor.METAX, 0x4029, "MXC500-P VF", id="c500p-function"),
        pytest.param(Vendor.METAX, 0x4242, "0x4242", id="unknown"),
        pytest.param(Vendor.MTHREADS, 0x0400, "MTT S5000", id="s5000"),
        pytest.param(Vendor.MTHREADS, 0x0418, "0x0418", id="unknown-mt"),
    ],
)
def test_a_pci_id_names_the_product(vendor: Vendor, device: int, name: str) -> None:
    assert product_of(vendor, device).name == name


def test_nothing_here_is_one_sentence(tree: Tree) -> None:
    with pytest.raises(DriverError, match=r"9999 .* 1ed5") as caught:
        driver_of(tree).devices()
    assert caught.value.kind is Kind.NO_DRIVER
    assert driver_of(tree).health() == {}


@pytest.mark.parametrize("content", [b"", b"\0\0", b"\xff\xfe", b"9" * 100_000, b"a: b: c\nd", b"-5\n-5\n-5"])
def test_files_full_of_rubbish_cost_their_figures_only(tree: Tree, content: bytes) -> None:
    driver = two_cards(tree)
    for path in [*tree.sys.rglob("smi/*"), *tree.sys.rglob("layout/nodes/1/*"), *tree.sys.rglob("numa_node")]:
        if path.is_file():
            path.write_bytes(content)
    devices = driver.devices()
    assert [device.bdf for device in devices] == ["0000:0e:00.0", "0000:0f:00.0"]
    driver.links(devices)
    driver.health()
    for device in devices:
        figures = driver.figures(device.uuid)
        assert figures.temperature_celsius is NA
        assert driver.slices(device.uuid) == ()


def test_links_that_lead_nowhere_cost_their_figures_only(tree: Tree) -> None:
    folder = tree.card(ONE)
    (folder / "driver").unlink()
    (folder / "driver").symlink_to("driver")
    (tree.sys / "class").symlink_to("class")
    (device,) = driver_of(tree).devices()
    assert device.bdf == "0000:0e:00.0"


def test_a_file_whose_reading_hangs_is_named_in_time(tree: Tree) -> None:
    folder = tree.card(ONE)
    (folder / "smi").mkdir()
    pipe = Fifo(folder / "smi/showvbios")
    driver = SysfsDriver(Settings(sysfs_root=str(tree.sys), dev_root=str(tree.dev), limit=77.0))
    with (
        time_is_up_while(pipe.hangs) as waits,
        pytest.raises(DriverError, match=r"showvbios.* within 77 s") as caught,
    ):
        driver.devices()
    assert caught.value.kind is Kind.STUCK
    assert waits == [77.0], "nobody waits longer than the limit that was set"
    pipe.release()
    driver.close()


def test_changes_are_refused(tree: Tree) -> None:
    driver = two_cards(tree)
    with pytest.raises(DriverError, match=r"sysfs only reads, and cannot split GPU-.* into 2") as caught:
        driver.set_virtual_functions(FIRST, 2)
    assert caught.value.kind is Kind.NOT_SUPPORTED


def test_the_root_may_be_named() -> None:
    with pytest.raises(DriverError, match="/nowhere/bus/pci/devices"):
        SysfsDriver(Settings(sysfs_root="/nowhere")).devices()


# --- the tree that the vendor's library reads, too


def over_tree(root: Path, card: TreeCard) -> SysfsDriver:
    MetaxTree((card,)).grow(root / "sys", root / "dev")
    return SysfsDriver(Settings(sysfs_root=str(root / "sys"), dev_root=str(root / "dev"), limit=LONG))


C500 = TreeCard(0, "0000:0e:00.0", uuid="00000001-1111-2222-3333-444444444444", model="sgpu", usage=37)


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("25", 37.0),
        ("0x25", 37.0),
        ("total usage: 25 %", 37.0),
        ("total usage: 25%", 37.0),
        ("usage: 64", 100.0),
        ("100", NA),
        ("busy", NA),
    ],
)
def test_use_is_read_in_hexadecimal_with_and_without_a_label(
    tmp_path: Path, text: str, percent: float
) -> None:
    driver = over_tree(tmp_path, replace(C500, files={"smi/showxcuse": text}))
    assert driver.figures(FIRST).utilisation_percent == percent


def test_of_two_dies_memory_adds_up_use_is_the_mean_and_the_hotter_one_counts(tmp_path: Path) -> None:
    second = {
        "smi1/showxcuse": "5",
        "smi1/showmeminfo": "1\n1024\n1",
        "smi1/showmemuse": "1\n512\n1",
        "smi1/showtemp": "hotspot: 5000",
    }
    driver = over_tree(tmp_path, replace(C500, files=second))
    found = driver.figures(FIRST)
    assert (found.utilisation_percent, found.temperature_celsius) == (21.0, 50.0)
    assert found.memory_total == driver.devices()[0].memory == from_gib(64) + from_mib(1)


def test_a_sliced_card_says_how_much_of_it_can_be_sliced(tmp_path: Path) -> None:
    assert over_tree(tmp_path, C500).devices()[0].sliceable == from_mib(64512)
    assert over_tree(tmp_path, replace(C500, model="native")).devices()[0].sliceable is NA


def test_the_name_of_a_slice_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    parts = (TreeSlice(0, alias="pod-1.c"), TreeSlice(1), TreeSlice(2, alias="pod-2.c"))
    driver = over_tree(tmp_path, replace(C500, slices=parts))
    (unreadable,) = tmp_path.rglob("sgpu2/alias")
    unreadable.unlink()
    uuid = driver.devices()[0].uuid
    assert [each.name for each in driver.slices(uuid)] == ["pod-1.c", "", NA]
