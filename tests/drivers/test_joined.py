"""Two vendors on one node are one driver to everybody above."""

import pytest

from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.joined import JoinedDriver
from tangram.model.devices import Figures, Health, LinkReport
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib

MX = FakeDriver(
    metax_card(0, numa=0),
    metax_card(1, numa=0),
    name="mxsml",
    links=LinkReport(known=True, links=(Link(0, 1, LinkKind.METAXLINK, PcieLevel.NUMA_NODE),)),
)


def moore(name: str = "mtml") -> FakeDriver:
    return FakeDriver(
        mthreads_card(0, numa=1, pcie_path=("0001:00:01.0", "0001:10:00.0")),
        mthreads_card(1, numa=1, pcie_path=("0001:00:02.0", "0001:11:00.0")),
        name=name,
        links=LinkReport(known=True, links=(Link(0, 1, LinkKind.MTLINK, PcieLevel.SYSTEM, lanes=2),)),
    )


def test_cards_come_in_the_order_of_the_parts_and_the_name_tells_both() -> None:
    joined = JoinedDriver([MX, moore()])
    assert joined.name == "mxsml+mtml"
    assert [device.uuid for device in joined.devices()] == ["GPU-0", "GPU-1", "mt-0", "mt-1"]


def test_links_are_moved_to_the_joined_positions_and_across_vendors_only_pcie_is_left() -> None:
    joined = JoinedDriver([MX, moore()])
    report = joined.links(joined.devices())
    assert report.known
    kinds = {(link.a, link.b): link.kind for link in report.links}
    assert kinds[0, 1] is LinkKind.METAXLINK
    assert kinds[2, 3] is LinkKind.MTLINK
    assert {kinds[pair] for pair in ((0, 2), (0, 3), (1, 2), (1, 3))} == {LinkKind.NONE}


def test_questions_about_a_card_go_to_the_part_that_has_it() -> None:
    part = moore()
    part.figures_of[CardUuid("mt-1")] = Figures(utilisation_percent=42)
    joined = JoinedDriver([MX, part])
    assert joined.figures(CardUuid("mt-1")).utilisation_percent == 42
    made = joined.create_slice(CardUuid("mt-1"), memory=from_gib(8), cores=4, name="mine", online=True)
    assert made.online is True
    assert list(joined.slices(CardUuid("mt-1"))) == [made]
    joined.set_sliced(CardUuid("mt-1"), on=True)
    assert [device.sliced for device in joined.devices()] == [False, False, False, True]


def test_a_card_two_parts_report_belongs_to_the_first() -> None:
    bare = FakeDriver(metax_card(0, uuid="sysfs-0"), metax_card(7, uuid="sysfs-7"), name="sysfs")
    joined = JoinedDriver([MX, bare])
    assert [device.uuid for device in joined.devices()] == ["GPU-0", "GPU-1", "sysfs-7"]
    assert set(joined.health()) >= {"GPU-0", "GPU-1", "sysfs-7"}


def test_what_the_last_part_says_of_a_card_that_the_first_owns_is_hidden() -> None:
    doubted = Health(healthy=False, code="limited", message="not listed")
    bare = FakeDriver(metax_card(0, uuid="PCI-0"), metax_card(7, uuid="PCI-7"), name="sysfs")
    bare.health_of.update({CardUuid("PCI-0"): doubted, CardUuid("PCI-7"): doubted})
    for listed_before in (False, True):
        joined = JoinedDriver([MX, bare])
        if listed_before:
            joined.devices()
        assert {uuid: found.healthy for uuid, found in joined.health().items()} == {
            "GPU-0": True,
            "GPU-1": True,
            "PCI-7": False,
        }


def test_a_part_whose_driver_went_away_is_left_out_and_its_cards_are_unhealthy() -> None:
    part = moore()
    joined = JoinedDriver([MX, part])
    joined.devices()
    gone = DriverError(Kind.NO_DRIVER, "mtgpu was unloaded")
    part.errors.update(devices=gone, health=gone)
    assert joined.health()[CardUuid("mt-0")] == Health(
        healthy=False, code="no-driver", message="mtgpu was unloaded"
    )
    assert [device.uuid for device in joined.devices()] == ["GPU-0", "GPU-1"]


def test_trouble_of_a_part_is_everybodys_trouble() -> None:
    part = moore()
    part.errors["devices"] = DriverError(Kind.STUCK, "hangs", call="mtmlLibraryInit")
    with pytest.raises(DriverError, match="hangs"):
        JoinedDriver([MX, part]).devices()


def test_with_no_part_left_the_first_absence_is_the_answer() -> None:
    one, other = moore("a"), moore("b")
    one.errors["devices"] = DriverError(Kind.NO_DRIVER, "a is gone")
    other.errors["devices"] = DriverError(Kind.NO_DRIVER, "b is gone")
    with pytest.raises(DriverError, match="a is gone"):
        JoinedDriver([one, other]).devices()


def test_a_card_nobody_has_is_gone() -> None:
    with pytest.raises(DriverError) as caught:
        JoinedDriver([MX]).figures(CardUuid("nobody"))
    assert caught.value.kind is Kind.CARD_GONE


def test_closing_closes_every_part() -> None:
    parts = [moore("a"), moore("b")]
    JoinedDriver(parts).close()
    assert all(part.closed for part in parts)
