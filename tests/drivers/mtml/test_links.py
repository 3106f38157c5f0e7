"""MTLink and PCIe between cards: the layouts a scheduler must tell apart."""

import pytest

from builders.mtml_twin import (
    Joint,
    MakeDriver,
    Show,
    eight_s4000,
    eight_s5000,
    full_mesh,
    ring,
    two_islands,
    uuid_of,
)
from tangram.drivers.inventory import topology_of
from tangram.model.devices import LinkReport
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.na import NA


def joined(report: LinkReport) -> set[tuple[int, int]]:
    return {(link.a, link.b) for link in report.links if link.kind is LinkKind.MTLINK}


ISLANDS = {(a, b) for a in range(8) for b in range(a + 1, 8) if (a < 4) == (b < 4)}


@pytest.mark.parametrize(
    ("joints", "pairs"),
    [
        pytest.param(
            full_mesh(range(8)), {(a, b) for a in range(8) for b in range(a + 1, 8)}, id="full mesh"
        ),
        pytest.param(ring(range(8)), {(at, at + 1) for at in range(7)} | {(0, 7)}, id="ring"),
        pytest.param(two_islands(), ISLANDS, id="two islands"),
        pytest.param((), set[tuple[int, int]](), id="no links"),
    ],
)
def test_the_link_graph_is_the_one_the_machine_has(
    show: Show, make_driver: MakeDriver, joints: tuple[Joint, ...], pairs: set[tuple[int, int]]
) -> None:
    driver = make_driver(show(eight_s4000(joints)).library)
    devices = driver.devices()
    report = driver.links(devices)
    assert report.known
    assert joined(report) == pairs
    assert len(report.links) == 28, "every pair is at some distance on PCIe"
    topology = topology_of(devices, report)
    assert topology is not None
    assert topology.size == 8


def test_pcie_and_links_are_independent(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s5000()).library)
    report = driver.links(driver.devices())
    assert {link.lanes for link in report.links} == {2}
    assert {(link.a, link.b): link.pcie for link in report.links}[0, 3] is PcieLevel.NUMA_NODE
    assert {(link.a, link.b): link.pcie for link in report.links}[0, 4] is PcieLevel.SYSTEM
    assert len(report.ports) == 112
    assert all(port.up is True and port.state == "up" and port.remote for port in report.ports)


def test_every_level_of_the_library_has_a_name_here(show: Show, make_driver: MakeDriver) -> None:
    machine = eight_s4000().having(*(f"level 0 {level + 1} {level}" for level in range(6)), "level 0 7 42")
    driver = make_driver(show(machine).library)
    links = {link.b: link.pcie for link in driver.links(driver.devices()).links if link.a == 0}
    assert [links[level + 1] for level in range(6)] == [PcieLevel(level) for level in range(6)]
    assert 7 not in links, "a level nobody knows is no distance"


def test_a_link_that_is_down_joins_nothing_and_a_slower_one_still_does(
    show: Show, make_driver: MakeDriver
) -> None:
    machine = eight_s5000().having("state 0 0 0", "state 0 2 2", "state 0 13 7")
    driver = make_driver(show(machine).library)
    report = driver.links(driver.devices())
    lanes = {link.b: link.lanes for link in report.links if link.a == 0}
    assert lanes == {1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2}
    ports = {port.port: (port.up, port.state) for port in report.ports if port.card == uuid_of(0)}
    assert (ports[0], ports[2], ports[13]) == ((False, "down"), (True, "degraded"), (NA, "state 7"))


def test_peers_hidden_from_a_container_are_ports_without_a_remote_end(
    show: Show, make_driver: MakeDriver
) -> None:
    machine = eight_s5000()
    for number in range(4, 8):
        machine = machine.changing(number, hidden=1)
    driver = make_driver(show(machine).library)
    devices = driver.devices()
    report = driver.links(devices)
    assert len(devices) == 4
    assert len(joined(report)) == 6
    mine = [port for port in report.ports if port.card == uuid_of(0)]
    assert (len(mine), sum(port.remote is None for port in mine)) == (14, 8)


@pytest.mark.parametrize("code", [4, 2, 7])
def test_links_switched_off_leave_the_distance_on_pcie(
    show: Show, make_driver: MakeDriver, code: int
) -> None:
    calls = ("Spec", "State", "RemoteDevice")
    faults = [f"fault mtmlDeviceGetMtLink{call} {code}" for call in calls]
    faults += [f"fault mtmlDevice{call}MtLinkLayouts {code}" for call in ("Count", "Get")]
    driver = make_driver(show(eight_s5000().having(*faults)).library)
    report = driver.links(driver.devices())
    assert report.known
    assert joined(report) == set()
    assert report.ports == ()


def test_a_card_that_left_since_has_no_pairs_and_the_others_keep_theirs(
    show: Show, make_driver: MakeDriver
) -> None:
    twin = show(eight_s5000())
    driver = make_driver(twin.library)
    devices = driver.devices()
    twin.show(eight_s5000().without(3))
    report = driver.links(devices)
    assert len(joined(report)) == 21
    assert not any(3 in (link.a, link.b) for link in report.links)


def test_a_single_card_has_a_known_empty_graph(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000().without(*range(1, 8))).library)
    report = driver.links(driver.devices())
    assert report.known
    assert report.links == ()


def test_no_answer_about_any_pair_is_said_to_be_unknown(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(eight_s4000().having("fault mtmlDeviceGetTopologyLevel 999")).library)
    assert not driver.links(driver.devices()).known
