from collections.abc import Callable
from itertools import combinations

import pytest

from builders.mxsml_twin import Twin, c500
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.na import NA

Make = Callable[..., Twin]


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
    ("link", "kind", "pcie"),
    [
        (101, LinkKind.NONE, PcieLevel.SINGLE_SWITCH),
        (102, LinkKind.NONE, PcieLevel.MULTIPLE_SWITCHES),
        (103, LinkKind.NONE, PcieLevel.HOST_BRIDGE),
        (104, LinkKind.NONE, PcieLevel.NUMA_NODE),
        pytest.param(4, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH, id="link-with-the-kernels-level"),
        (105, LinkKind.NONE, PcieLevel.SYSTEM),
        pytest.param(5, LinkKind.NONE, PcieLevel.SINGLE_SWITCH, id="ethernet"),
        pytest.param(42, LinkKind.NONE, PcieLevel.SINGLE_SWITCH, id="unknown-to-the-library"),
    ],
)
def test_levels_are_names_and_not_distances(
    link: int, kind: LinkKind, pcie: PcieLevel, twin_of: Make
) -> None:
    driver = twin_of(c500(2, topology=None).joined_by(0, 1, link)).driver()
    (found,) = driver.links(driver.devices()).links
    assert (found.kind, found.pcie) == (kind, pcie)


def test_peers_of_ports_tell_the_links_where_levels_do_not(twin_of: Make) -> None:
    driver = twin_of(c500(4), left_out=("mxSmlGetDeviceTopology",)).driver()
    report = driver.links(driver.devices())
    assert {link.kind for link in report.links} == {LinkKind.METAXLINK}


def test_ports_name_their_far_ends_with_speed_and_state(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    ports = [port for port in driver.links(devices).ports if port.card == devices[4].uuid]
    # Ports 4 to 6 of the first of four.
    assert [port.port for port in ports] == [4, 5, 6]
    assert [port.remote for port in ports] == [devices[at].uuid for at in (6, 7, 5)]
    assert [port.remote_bdf for port in ports] == [devices[at].bdf for at in (6, 7, 5)]
    assert {(port.up, port.state, port.speed, port.width) for port in ports} == {(True, "up", 32.0, 16)}


def test_an_older_library_tells_speeds_in_its_older_form(twin_of: Make) -> None:
    driver = twin_of(c500(2), left_out=("mxSmlGetMetaXLinkInfo_v2",)).driver()
    ports = driver.links(driver.devices()).ports
    assert [(port.speed, port.width) for port in ports] == [(32.0, 16), (32.0, 16)]


def test_a_port_that_should_be_up_is_listed_without_a_peer(twin_of: Make) -> None:
    driver = twin_of(c500(1, port_states={2: 0})).driver()
    (port,) = driver.links(driver.devices()).ports
    assert (port.port, port.up, port.state, port.remote) == (2, False, "not trained", None)


def test_a_port_whose_state_nobody_tells_is_neither_up_nor_down(twin_of: Make) -> None:
    driver = twin_of(c500(2), left_out=("mxSmlGetMetaXLinkPortState",)).driver()
    assert {port.up for port in driver.links(driver.devices()).ports} == {NA}


def test_without_library_levels_and_kernel_tree_nothing_is_known(twin_of: Make) -> None:
    twin = twin_of(c500(2, topology=None).joined_by(0, 1, None))
    driver = twin.driver(sysfs_root=str(twin.root / "nothing"))
    report = driver.links(driver.devices())
    assert not report.known
    assert not report.ports


def test_a_card_that_went_away_is_joined_to_nothing(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    eight.show(c500(8).without(0))
    report = driver.links(devices)
    assert all(link.kind is LinkKind.NONE for link in report.links if link.a == 0)
    assert all(port.card != devices[0].uuid for port in report.ports)
    assert any(link.kind is LinkKind.METAXLINK for link in report.links)
