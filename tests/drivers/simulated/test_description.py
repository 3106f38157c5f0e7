"""What a description of cards may say, and what it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.simulated import make_driver
from tangram.drivers.inventory import cards_of, topology_of
from tangram.drivers.pcie import WORD_OF_LEVEL
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.layouts import SERVERS
from tangram.drivers.simulated.reading import read_description
from tangram.model.devices import SriovState
from tangram.model.topology import LinkKind
from tangram.units.memory import from_gib
from tangram.units.na import NA
from tangram.wire.errors import WireError


def matrix(driver: SimulatedDriver) -> list[str]:
    """The links as the vendor's tool prints them, a row per card."""
    devices = driver.devices()
    cells = [["X"] * len(devices) for _ in devices]
    for link in driver.links(devices).links:
        lanes = str(link.lanes) if link.lanes > 1 else ""
        word = WORD_OF_LEVEL[link.pcie] if link.kind is LinkKind.NONE else f"{link.kind}{lanes}"
        cells[link.a][link.b] = cells[link.b][link.a] = word
    return [" ".join(row) for row in cells]


def islands(inside: str, outside: str, size: int = 4) -> list[str]:
    return [
        " ".join("X" if a == b else inside if a // size == b // size else outside for b in range(8))
        for a in range(8)
    ]


def bridges(a: int, b: int) -> str:
    return "X" if a == b else "PIX" if a // 2 == b // 2 else "PXB" if a // 4 == b // 4 else "NODE"


@pytest.mark.parametrize(
    ("server", "expected", "numa"),
    [
        pytest.param(
            "c500-4", ["X MX MX MX", "MX X MX MX", "MX MX X MX", "MX MX MX X"], [0] * 4, id="c500-4"
        ),
        pytest.param("c500-8-two-groups", islands("MX", "SYS"), [0] * 4 + [1] * 4, id="two-sockets"),
        pytest.param("c500-8-two-groups-one-numa", islands("MX", "NODE"), [0] * 8, id="one-socket"),
        pytest.param(
            "c500-8-no-bridge",
            [" ".join(bridges(a, b) for b in range(8)) for a in range(8)],
            [0] * 8,
            id="no-bridge",
        ),
        pytest.param("c550-oam-8-full-mesh", islands("MX", "", 8), [0, 0, 2, 2, 4, 4, 6, 6], id="oam"),
        pytest.param("s4000-8", islands("MT", "SYS"), [0] * 4 + [1] * 4, id="s4000"),
        pytest.param("s5000-8-full-mesh", islands("MT2", "", 8), [0] * 4 + [1] * 4, id="s5000"),
    ],
)
def test_a_named_server_has_the_matrix_that_was_seen(
    server: str, expected: list[str], numa: list[int]
) -> None:
    driver = make_driver({"server": server})
    assert matrix(driver) == expected
    assert [device.numa for device in driver.devices()] == numa


def test_every_port_of_a_full_mesh_of_s5000_is_up() -> None:
    driver = make_driver({"server": "s5000-8-full-mesh"})
    ports = driver.links(driver.devices()).ports
    assert len(ports) == 112
    assert {port.port for port in ports} == set(range(14))
    assert all(port.up is True and port.remote is not None for port in ports)


def test_the_s4000_server_has_the_bus_numbers_of_a_real_one() -> None:
    buses = [device.bdf[5:7] for device in make_driver({"server": "s4000-8"}).devices()]
    assert buses == ["08", "09", "0e", "11", "32", "38", "3b", "3c"]


@pytest.mark.parametrize(
    ("pattern", "count", "expected"),
    [
        pytest.param("none", 3, [], id="none"),
        pytest.param("pairs", 5, [(0, 1), (2, 3)], id="pairs"),
        pytest.param("ring", 4, [(0, 1), (0, 3), (1, 2), (2, 3)], id="ring"),
        pytest.param("ring", 2, [(0, 1)], id="ring-of-two"),
        pytest.param("ring", 1, [], id="ring-of-one"),
        pytest.param("two-islands", 4, [(0, 1), (2, 3)], id="two-islands"),
        pytest.param("islands-of-four", 5, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], id="islands"),
        pytest.param("full-mesh", 3, [(0, 1), (0, 2), (1, 2)], id="full-mesh"),
    ],
)
def test_a_pattern_links_these_pairs(pattern: str, count: int, expected: list[tuple[int, int]]) -> None:
    driver = make_driver({"product": "S4000", "count": count, "links": pattern})
    links = driver.links(driver.devices()).links
    assert [(link.a, link.b) for link in links if link.kind is LinkKind.MTLINK] == expected


def test_pairs_say_otherwise_than_the_pattern() -> None:
    driver = make_driver(
        {"product": "C500", "count": 3, "links": "full-mesh"},
        pairs=[{"cards": [2, 0], "link": "none", "pcie": "PHB"}, {"cards": [0, 1], "lanes": 3}],
    )
    assert matrix(driver) == ["X MX3 PHB", "MX3 X MX", "PHB MX X"]


def test_a_mixed_node_counts_its_cards_through_and_never_repeats_an_address() -> None:
    driver = make_driver({"server": "c500-4"}, {"server": "s4000-8"}, {"product": "N260", "count": 2})
    devices = driver.devices()
    assert [device.index for device in devices] == list(range(14))
    assert len({device.bdf for device in devices}) == 14
    assert len({address for device in devices for address in device.nodes.all}) == 1 + 8 + 2 * 14
    assert devices[4].nodes.control == "/dev/mtgpu.0"
    kinds = {link.kind for link in driver.links(devices).links if link.a < 4 <= link.b}
    assert kinds == {LinkKind.NONE}


def test_uuids_follow_from_the_description_alone_and_differ_by_name() -> None:
    first, again = make_driver({"server": "c500-4"}), make_driver({"server": "c500-4"})
    other = make_driver({"server": "c500-4"}, name="node-2")
    assert first.devices() == again.devices()
    assert not {device.uuid for device in first.devices()} & {device.uuid for device in other.devices()}


def test_uuids_are_spelled_as_each_vendor_spells_them() -> None:
    metax, mthreads = make_driver({"product": "C500"}, {"product": "S4000"}).devices()
    assert metax.uuid.startswith("GPU-")
    assert [len(part) for part in metax.uuid.split("-")] == [3, 8, 4, 4, 4, 12]
    assert [len(part) for part in mthreads.uuid.split("-")] == [8, 4, 4, 4, 12]


def test_what_is_taken_away_is_not_available() -> None:
    every = ["utilisation", "memory", "temperature", "power", "ecc", "processes", "clocks", "numa", "serial"]
    driver = make_driver({"product": "C500", "without": every})
    (device,) = driver.devices()
    figures = driver.figures(device.uuid)
    assert (device.numa, device.serial) == (NA, NA)
    assert (figures.temperature_celsius, figures.power_watts, figures.memory_used) == (NA, NA, NA)
    assert (figures.ecc_uncorrected, figures.processes, figures.utilisation_percent) == (NA, NA, NA)
    assert driver.health()[device.uuid].healthy


def test_bare_on_and_off_are_read_as_people_mean_them() -> None:
    (device,) = make_driver({"product": "C500", "sriov": False}).devices()
    assert device.sriov is SriovState.OFF


def test_virtual_functions_are_listed_and_not_sold_a_second_time() -> None:
    driver = make_driver({"product": "C500", "count": 2, "virtual_functions": 4, "links": "full-mesh"})
    devices = driver.devices()
    assert len(devices) == 2 + 8
    assert [device.memory for device in devices[2:]] == [from_gib(16)] * 8
    cards = cards_of(devices, driver.health())
    assert [card.slots for card in cards] == [4, 4]
    topology = topology_of(devices, driver.links(devices))
    assert topology is not None
    assert topology.size == 2
    # MetaXLink is off while virtual functions are on.
    assert {link.kind for link in topology.links} == {LinkKind.NONE}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        pytest.param({}, "write tangram: cards/v1", id="no-version"),
        pytest.param({"tangram": "cluster/v1"}, "it is 'cluster/v1'", id="other-version"),
        pytest.param({"tangram": "cards/v1"}, "cards is missing", id="no-cards"),
        pytest.param({"tangram": "cards/v1", "cards": {}}, "it is a list", id="cards-no-list"),
        pytest.param({"tangram": "cards/v1", "cards": [], "fualts": []}, "write faults", id="misspelled"),
    ],
)
def test_a_document_that_is_no_description_is_refused(document: object, says: str) -> None:
    with pytest.raises(WireError, match=says):
        read_description(document)


@pytest.mark.parametrize(
    ("cards", "keys", "says"),
    [
        pytest.param({"servr": "c500-4"}, {}, "write server", id="key"),
        pytest.param({}, {}, "neither product nor server", id="nothing"),
        pytest.param({"server": "c500-9"}, {}, "write c500", id="server"),
        pytest.param({"server": "c500-4", "count": 2}, {}, "a named server has its own", id="server-count"),
        pytest.param({"product": "C501"}, {}, "the products known here are", id="product"),
        pytest.param({"product": "MXC588"}, {}, "write memory: 64 GiB", id="no-memory"),
        pytest.param({"product": "C500", "memory": "64"}, {}, "a memory size is", id="memory"),
        pytest.param({"product": "C500", "count": 65}, {}, "0 to 64", id="many"),
        pytest.param({"product": "C500", "count": 2, "numa": [0]}, {}, "a list of 2", id="numa"),
        pytest.param({"product": "C500", "links": "mesh"}, {}, "write full-mesh", id="links"),
        pytest.param({"product": "C500", "virtual_functions": 3}, {}, "0, 1, 2, 4 or 8", id="functions"),
        pytest.param({"product": "S4000", "virtual_functions": 2}, {}, "only MetaX", id="functions-mt"),
        pytest.param(
            {"product": "C500", "virtual_functions": 2, "sliced": True}, {}, "exclude each other", id="both"
        ),
        pytest.param({"product": "C500", "sriov": "of"}, {}, "it is on, off or forbidden", id="sriov"),
        pytest.param({"product": "C500", "without": ["heat"]}, {}, "temperature", id="without"),
        pytest.param(
            {"product": "C500", "policy": "best"},
            {},
            "it is best-effort, fixed-share or burst-share",
            id="policy",
        ),
        pytest.param(
            {"product": "C500"}, {"faults": [{"at": "30", "card": 0, "fault": "ecc"}]}, "30s", id="at"
        ),
        pytest.param({"product": "C500"}, {"faults": [{"card": 1, "fault": "ecc"}]}, "0 to 0", id="card"),
        pytest.param({"product": "C500"}, {"faults": [{"card": 0}]}, "fault is missing", id="no-fault"),
        pytest.param({"product": "C500"}, {"faults": [{"fault": "ecc"}]}, "card is missing", id="no-card"),
        pytest.param({"product": "C500"}, {"errors": [{"call": "figurs"}]}, "write figures", id="call"),
        pytest.param(
            {"product": "C500"},
            {"errors": [{"call": "figures", "at": "5s", "until": "5s"}]},
            "later than at",
            id="until",
        ),
        pytest.param({"product": "C500"}, {"latency": "2m"}, "at most 60s", id="latency"),
        pytest.param({"product": "C500"}, {"pairs": [{"cards": [0, 0]}]}, "two different cards", id="pair"),
        pytest.param(
            {"product": "C500", "count": 2},
            {"pairs": [{"cards": [0, 1], "link": "mtlink"}]},
            "of the vendor whose link",
            id="foreign-link",
        ),
        pytest.param(
            {"product": "C500", "count": 2}, {"pairs": [{"cards": [0, 1], "pcie": "PIXX"}]}, "PIX", id="pcie"
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    cards: dict[str, object], keys: dict[str, object], says: str
) -> None:
    with pytest.raises(WireError, match=says):
        read_description({"tangram": "cards/v1", "cards": [cards], **keys})


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["C500", "c500-4", "30s", "ecc", "ring", "64 GiB", "devices", "on"])
)
_KEYS = st.sampled_from(
    (
        *(
            "tangram",
            "name",
            "cards",
            "pairs",
            "faults",
            "errors",
            "latency",
            "stuck_after",
            "server",
            "product",
        ),
        *(
            "count",
            "memory",
            "numa",
            "links",
            "lanes",
            "sliced",
            "sriov",
            "virtual_functions",
            "policy",
            "mode",
        ),
        *("load", "without", "at", "card", "fault", "call", "kind", "until", "text", "code", "pcie", "link"),
    )
)
_DOCUMENTS = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(
    st.dictionaries(_KEYS, _DOCUMENTS, max_size=6),
    st.lists(st.dictionaries(_KEYS, _DOCUMENTS, max_size=6), max_size=3),
)
def test_no_document_gets_through_but_by_a_sentence(document: dict[str, object], cards: list[object]) -> None:
    try:
        read_description({"cards": cards, **document, "tangram": "cards/v1"})
    except WireError as error:
        sentence = error.sentence
    else:
        sentence = "there was nothing to say"
    assert len(sentence) > 20


def test_every_named_server_can_be_made() -> None:
    assert all(make_driver({"server": name}).devices() for name in SERVERS)
