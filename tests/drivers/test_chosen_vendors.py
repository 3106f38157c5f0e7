"""Cards of a vendor that is switched off are in no answer, whichever way of reaching cards is chosen."""

from pathlib import Path

import pytest

from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from builders.sysfs_tree import METAX, S4000, Tree
from tangram.drivers import opening
from tangram.drivers.chosen_vendors import ChosenVendors
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import open_driver
from tangram.drivers.protocol import Driver
from tangram.drivers.ways import Conditions
from tangram.model.cards import Vendor
from tangram.units.ids import CardUuid

ONE = "pci0000:00/0000:00:01.0/0000:0e:00.0"
BOTH = FakeDriver(metax_card(0), mthreads_card(0), name="sysfs")


@pytest.fixture(autouse=True)
def no_vendor_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that another test loaded into this process would be found again by its name."""

    def absent(_: str | None, __: Conditions) -> Driver:
        raise DriverError(Kind.NO_LIBRARY, "no such library")

    for name in ("METAX_WAYS", "MTHREADS_WAYS"):
        ways = tuple(way._replace(open=absent) for way in getattr(opening, name))
        monkeypatch.setattr(opening, name, ways)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("vendor", "uuid"),
    [pytest.param(Vendor.METAX, "GPU-0", id="metax"), pytest.param(Vendor.MTHREADS, "mt-0", id="mthreads")],
)
def test_only_cards_of_the_chosen_vendor_are_listed_and_judged(vendor: Vendor, uuid: str) -> None:
    driver = ChosenVendors(BOTH, {vendor})
    (device,) = driver.devices()
    assert (device.vendor, device.uuid) == (vendor, uuid)
    assert [*driver.health()] == [uuid]
    assert driver.figures(CardUuid(uuid)) == BOTH.figures(CardUuid(uuid))
    assert driver.name == "sysfs"


def test_health_is_judged_of_the_chosen_cards_before_any_were_listed() -> None:
    assert [*ChosenVendors(BOTH, {Vendor.METAX}).health()] == ["GPU-0"]


@pytest.mark.parametrize("text", ["auto", "sysfs"])
def test_a_driver_is_opened_for_the_chosen_vendors(tree: Tree, text: str) -> None:
    tree.card(ONE, METAX)
    tree.card("pci0000:00/0000:00:02.0/0000:02:00.0", S4000, driver="mtgpu")
    conditions = Conditions(root=tree.sys.parent)
    assert len(open_driver(text, conditions=conditions).devices()) == 2
    for vendor in (Vendor.METAX, Vendor.MTHREADS):
        chosen = Conditions(root=tree.sys.parent, vendors=frozenset({vendor}))
        assert {device.vendor for device in open_driver(text, conditions=chosen).devices()} == {vendor}


def test_the_other_vendors_library_is_not_even_looked_for(tree: Tree) -> None:
    tried: list[str] = []
    conditions = Conditions(root=tree.sys.parent, vendors=frozenset({Vendor.METAX}))
    with pytest.raises(DriverError):
        open_driver("auto", tried.append, conditions)
    assert not {"mtml", "gmi"} & set(tried)
    assert "mxsml" in tried
