from collections.abc import Callable
from pathlib import Path

import pytest

from builders.metax_tree import TreeCard
from builders.mxsml_twin import Twin, c500, machine_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.kernel import Kernel
from tangram.units.ids import CardUuid

Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")


def attribute(twin: Twin, name: str = "sriov_numvfs") -> Path:
    return twin.sysfs / "bus/pci/devices/0000:03:00.0" / name


def kind_of(twin: Twin, count: int, uuid: CardUuid = FIRST) -> Kind:
    with pytest.raises(DriverError) as refusal:
        twin.driver().set_virtual_functions(uuid, count)
    return refusal.value.kind


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a_card_is_split_and_joined_through_the_kernel(count: int, twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8))
    driver = twin.driver()
    driver.set_virtual_functions(FIRST, count)
    assert attribute(twin).read_text() == f"{count}\n"
    assert driver.devices()[0].virtual_functions == count
    driver.set_virtual_functions(FIRST, 0)
    assert attribute(twin).read_text() == "0\n"


@pytest.mark.parametrize("count", [3, 16, -1])
def test_other_numbers_of_parts_are_refused(count: int, twin_of: Make) -> None:
    assert kind_of(twin_of(c500(1, virtual_functions=8)), count) is Kind.INVALID


def test_more_parts_than_the_card_has_are_refused(twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8))
    attribute(twin, "sriov_totalvfs").write_text("4\n")
    assert kind_of(twin, 8) is Kind.INVALID


def test_a_card_without_sriov_is_not_split(two: Twin) -> None:
    assert kind_of(two, 2) is Kind.NOT_SUPPORTED


def test_slices_exclude_virtual_functions(twin_of: Make) -> None:
    assert kind_of(twin_of(c500(1, virtual_functions=8).with_slice(0, 1)), 2) is Kind.BUSY


def test_a_card_in_use_is_not_split(twin_of: Make) -> None:
    assert kind_of(twin_of(c500(1, virtual_functions=8).with_process(5, 0)), 2) is Kind.BUSY


def test_a_card_whose_processes_are_hidden_is_not_split(twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8).with_process(5, 0, nspid=0))
    assert kind_of(twin, 2) is Kind.BUSY
    assert attribute(twin).read_text() == "0\n"


def test_a_part_is_not_split_again(twin_of: Make) -> None:
    part = TreeCard(0, "0000:0e:00.1", uuid="vf", product="MXC500 VF", part_of="0000:0e:00.0")
    assert kind_of(twin_of(machine_of(part)), 2, CardUuid("GPU-vf")) is Kind.INVALID


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        pytest.param("/dev/full", Kind.FULL, id="no-room"),
        pytest.param("/nowhere/at/all", Kind.NOT_SUPPORTED, id="no-such-file"),
        pytest.param("/", Kind.FAILED, id="no-file-at-all"),
    ],
)
def test_a_kernel_that_refuses_is_quoted(target: str, kind: Kind, twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8))
    attribute(twin).unlink()
    attribute(twin).symlink_to(target)
    with pytest.raises(DriverError) as refusal:
        Kernel(twin.settings()).write_virtual_functions("0000:03:00.0", 2)
    assert refusal.value.kind is kind
    assert "sriov_numvfs" in refusal.value.call


def test_names_from_before_the_split_are_not_reported_as_lost(twin_of: Make) -> None:
    twin = twin_of(c500(1, virtual_functions=8))
    driver = twin.driver()
    driver.devices()
    driver.set_virtual_functions(FIRST, 2)
    physical = TreeCard(0, "0000:03:00.0", driver="MXGVM")
    parts = (
        TreeCard(at, f"0000:03:00.{at}", uuid=f"vf{at}", product="MXC500 VF", part_of=physical.bdf)
        for at in (1, 2)
    )
    twin.show(machine_of(physical, *parts))
    assert set(driver.health()) == {"GPU-vf1", "GPU-vf2", "PCI-0000:03:00.0"}
