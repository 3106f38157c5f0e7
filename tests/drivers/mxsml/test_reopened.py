"""One process, several drivers, one library that is never unloaded: whoever opens next sees the cards of now."""

from collections.abc import Callable, Iterator

import pytest

from builders.hanging import LONG
from builders.metax_tree import TreeCard
from builders.mxsml_twin import Machine, Twin, c500, machine_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.sysfs.driver import Settings, SysfsDriver
from tangram.model.cards import Vendor
from tangram.model.devices import SriovState
from tangram.services.gpu_label.looking import Looker
from tangram.services.gpu_label.wanting import wanted_labels

Make = Callable[..., Twin]


def split() -> Machine:
    """Two cards, of which the first is split into two virtual functions."""
    physical = TreeCard(0, "0000:0e:00.0", driver="MXGVM", virtual_functions=8, files={"sriov_numvfs": "2"})
    parts = (
        TreeCard(at, f"0000:0e:00.{at}", uuid=f"vf{at}", product="MXC500 VF", part_of=physical.bdf)
        for at in (1, 2)
    )
    return machine_of(physical, *parts)


def whole() -> Machine:
    return machine_of(
        TreeCard(
            0, "0000:0e:00.0", uuid="whole", driver="MXGVM", virtual_functions=8, files={"sriov_numvfs": "0"}
        )
    )


@pytest.mark.parametrize(
    ("before", "after", "listed"),
    [
        pytest.param(c500(3), c500(2), 2, id="lost"),
        pytest.param(c500(2), c500(3), 3, id="added"),
        pytest.param(c500(2), c500(0), None, id="all-lost"),
        pytest.param(whole(), split(), 3, id="split"),
    ],
)
def test_a_second_driver_of_one_process_sees_what_changed_after_the_first(
    twin_of: Make, before: Machine, after: Machine, listed: int | None
) -> None:
    """`Init` looks at the bus once in the life of a process, so the second must say that it shall look again."""
    twin = twin_of(before)
    first = twin.driver()
    assert len(first.devices()) == len(before.cards)
    twin.show(after)
    second = twin.driver()
    if listed is None:
        with pytest.raises(DriverError) as caught:
            second.devices()
        assert caught.value.kind is Kind.NO_DRIVER
    else:
        assert len(second.devices()) == listed
        assert [each.uuid for each in first.devices()] == [each.uuid for each in second.devices()]


@pytest.fixture
def looker_on(twin_of: Make) -> Iterator[Callable[[Machine], tuple[Twin, Looker]]]:
    """What gpu-label asks: the driver over the twin, and the same tree as the PCI bus."""
    made: list[Looker] = []

    def make(machine: Machine) -> tuple[Twin, Looker]:
        twin = twin_of(machine)
        bus = SysfsDriver(Settings(sysfs_root=str(twin.sysfs), dev_root=str(twin.dev), limit=LONG))
        looker = Looker(lambda _on_try: twin.driver(), bus, limit=LONG)
        made.append(looker)
        return twin, looker

    yield make
    for looker in made:
        looker.close()


def counted(looker: Looker) -> list[str]:
    """The products that the labels of the node would count."""
    return [device.product for device in looker.look().devices]


def test_gpu_label_sees_cards_that_were_lost_and_added(
    looker_on: Callable[[Machine], tuple[Twin, Looker]],
) -> None:
    twin, looker = looker_on(c500(3))
    assert counted(looker) == ["MXC500"] * 3
    twin.show(c500(2))
    assert counted(looker) == ["MXC500"] * 2
    twin.show(c500(3))
    assert counted(looker) == ["MXC500"] * 3


def test_gpu_label_sees_the_last_card_go_and_come_back(
    looker_on: Callable[[Machine], tuple[Twin, Looker]],
) -> None:
    twin, looker = looker_on(c500(1))
    assert counted(looker) == ["MXC500"]
    twin.show(c500(0))
    assert counted(looker) == []
    assert not any("product" in label for label in wanted_labels(looker.look()))
    twin.show(c500(1))
    sight = looker.look()
    assert [device.product for device in sight.devices] == ["MXC500"]
    assert sight.vendors == frozenset({Vendor.METAX})


def test_gpu_label_sees_a_card_that_was_split(looker_on: Callable[[Machine], tuple[Twin, Looker]]) -> None:
    twin, looker = looker_on(whole())
    (card,) = looker.look().devices
    assert card.sriov is SriovState.OFF
    twin.show(split())
    devices = looker.look().devices
    assert [device.product for device in devices].count("MXC500 VF") == 2
    assert [device.sriov for device in devices if device.virtual_functions] == [SriovState.ON]
