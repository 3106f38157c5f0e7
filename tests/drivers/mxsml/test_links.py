from collections.abc import Callable
from itertools import combinations

import pytest

from builders.mxsml_twin import Machine, Twin, c500
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.na import NA

Make = Callable[..., Twin]


def _without(machine: Machine, *words: str) -> Machine:
    return Machine(machine.cards, tuple(line for line in machine.lines if line.split()[0] not in words))


def test_two_bridged_groups_are_seen_with_the_pcie_level_beneath(eight: Twin) -> None:
    driver = eight.driver()
    report = driver.links(driver.devices())
    assert report.known
    assert [(link.a, link.b) for link in report.links] == list(combinations(range(8), 2))
    for link in report.links:
        joined = link.a // 4 == link.b // 4
        assert link.kind is (LinkKind.METAXLINK if joined else LinkKind.NONE)
        assert link.pcie is (PcieLevel.SINGLE_SWITCH if joined else PcieLevel.SYSTEM)


@pytest.mark.parametrize(
    ("level", "kind", "pcie"),
    [
        (0, LinkKind.NONE, PcieLevel.INTERNAL),
        (1, LinkKind.NONE, PcieLevel.SINGLE_SWITCH),
        (2, LinkKind.NONE, PcieLevel.MULTIPLE_SWITCHES),
        (3, LinkKind.NONE, PcieLevel.HOST_BRIDGE),
        (4, LinkKind.NONE, PcieLevel.NUMA_NODE),
        pytest.param(5, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH, id="link-with-the-kernels-level"),
        (6, LinkKind.NONE, PcieLevel.SYSTEM),
        pytest.param(7, LinkKind.NONE, PcieLevel.SINGLE_SWITCH, id="ethernet"),
        pytest.param(8, LinkKind.NONE, PcieLevel.SINGLE_SWITCH, id="unknown-to-the-library"),
        pytest.param(42, LinkKind.NONE, PcieLevel.SINGLE_SWITCH, id="unheard-of"),
    ],
)
def test_levels_are_names_and_not_distances(
    level: int, kind: LinkKind, pcie: PcieLevel, twin_of: Make
) -> None:
    machine = _without(c500(2), "level", "port").plus("level", a=0, b=1, **{"is": level})
    driver = twin_of(machine).driver()
    (link,) = driver.links(driver.devices()).links
    assert (link.kind, link.pcie) == (kind, pcie)


def test_peers_of_ports_tell_the_links_where_levels_do_not(twin_of: Make) -> None:
    driver = twin_of(_without(c500(4), "level"), left_out=("mxSmlGetDeviceTopology",)).driver()
    report = driver.links(driver.devices())
    assert {link.kind for link in report.links} == {LinkKind.METAXLINK}


def test_ports_name_their_far_ends_with_speed_and_state(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    ports = [port for port in driver.links(devices).ports if port.card == devices[4].uuid]
    assert [port.remote for port in ports] == [device.uuid for device in devices[5:]]
    assert [port.remote_bdf for port in ports] == [device.bdf for device in devices[5:]]
    assert {(port.up, port.state, port.speed, port.width) for port in ports} == {(True, "up", 32.0, 16)}


def test_an_older_library_tells_speeds_in_its_older_form(twin_of: Make) -> None:
    driver = twin_of(c500(2), left_out=("mxSmlGetMetaXLinkInfo_v2",)).driver()
    ports = driver.links(driver.devices()).ports
    assert [(port.speed, port.width) for port in ports] == [(31.5, 8), (31.5, 8)]


def test_ports_counted_from_one_keep_their_speeds(twin_of: Make) -> None:
    driver = twin_of(c500(2).plus("quirk", name="ports-from-one")).driver()
    ports = driver.links(driver.devices()).ports
    assert [(port.port, port.speed, port.state) for port in ports] == [(1, 32.0, "up"), (1, 32.0, "up")]


def test_a_port_that_should_be_up_is_listed_without_a_peer(twin_of: Make) -> None:
    machine = _without(c500(1), "port").plus("port", card=0, port=2, to=-1, state=0)
    driver = twin_of(machine).driver()
    (port,) = driver.links(driver.devices()).ports
    assert (port.port, port.up, port.state, port.remote) == (2, False, "not trained", None)


def test_a_port_whose_state_nobody_tells_is_neither_up_nor_down(twin_of: Make) -> None:
    driver = twin_of(c500(2), left_out=("mxSmlGetMetaXLinkPortState",)).driver()
    assert {port.up for port in driver.links(driver.devices()).ports} == {NA}


def test_without_library_levels_and_kernel_tree_nothing_is_known(twin_of: Make) -> None:
    twin = twin_of(_without(c500(2), "level", "port"))
    driver = twin.driver(sysfs_root=str(twin.root / "nothing"))
    report = driver.links(driver.devices())
    assert not report.known
    assert not report.ports


def test_a_card_that_went_away_is_joined_to_nothing(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    eight.show(c500(8).with_card(0, gone=1))
    report = driver.links(devices)
    assert all(link.kind is LinkKind.NONE for link in report.links if link.a == 0)
    assert all(port.card != devices[0].uuid for port in report.ports)
    assert any(link.kind is LinkKind.METAXLINK for link in report.links)
