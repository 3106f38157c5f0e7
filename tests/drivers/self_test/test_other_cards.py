"""The self-test over simulated cards and over Moore Threads' library, whose runtime makes slices."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from builders import mtml_twin
from builders.hosts import Host
from builders.self_tests import FAILED, LIFE, NOT_AVAILABLE, OK, self_test
from builders.simulated import BackgroundServer, make_driver
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.units.memory import from_gib

METAX = {"product": "C500", "count": 2, "sliced": True, "links": "full-mesh"}
MTHREADS = {"product": "S4000", "count": 2, "sliced": True}


def described(tmp_path: Path, *cards: Mapping[str, object], **more: object) -> str:
    file = tmp_path / "cards.yaml"
    file.write_text(yaml.safe_dump({"tangram": "cards/v1", "cards": [dict(card) for card in cards], **more}))
    return f"simulated:{file}"


def test_simulated_cards_pass_every_check(tmp_path: Path) -> None:
    told = self_test(described(tmp_path, METAX), tmp_path, slices=True)
    assert told.failed == set()
    assert told.result("bus") is NOT_AVAILABLE
    assert all(told.result(check) is OK for check in (*LIFE, "restored"))


def test_cards_whose_slices_are_made_by_a_runtime_are_passed_over(tmp_path: Path) -> None:
    told = self_test(described(tmp_path, MTHREADS, METAX), tmp_path, slices=True)
    assert told.failed == set()
    (card,) = told.of("restored")[0].cards
    assert card in told.of("slice-card")[0].cards
    alone = self_test(described(tmp_path, MTHREADS), tmp_path, slices=True)
    assert alone.failed == set()
    assert {row.result for row in alone.of("slice-card")} == {NOT_AVAILABLE}
    assert "container runtime" in alone.of("slice-card")[0].why


def test_no_cards_at_all_is_nothing_to_test(tmp_path: Path) -> None:
    told = self_test(described(tmp_path), tmp_path, slices=True)
    assert told.nothing is not None
    assert told.nothing.kind == "no-driver"
    assert told.rows == []


@pytest.mark.parametrize(
    ("fault", "failed"),
    [
        pytest.param("ecc", {"health"}, id="ecc"),
        pytest.param("overheat", {"health"}, id="overheat"),
        pytest.param("link", {"health", "ports"}, id="link"),
        pytest.param("vanish", {"health", "ports"}, id="vanish"),
        pytest.param("hang", {"figures", "processes", "slices", "room", "leftovers", "health"}, id="hang"),
    ],
)
def test_a_simulated_fault_is_found(fault: str, failed: set[str], tmp_path: Path) -> None:
    driver = described(tmp_path, METAX, faults=[{"card": 1, "fault": fault}], stuck_after="0s")
    assert self_test(driver, tmp_path).failed == failed


@pytest.mark.parametrize(
    ("call", "failed"),
    [
        pytest.param("links", {"links", "ports"}, id="links"),
        pytest.param("figures", {"figures", "processes", "slice-card"}, id="figures"),
        pytest.param("health", {"health", "slice-card"}, id="health"),
        pytest.param("slices", {"processes", "slices", "room", "leftovers", "slice-card"}, id="slices"),
        pytest.param("room", {"room", "slice-card"}, id="room"),
        pytest.param("create_slice", {"slice-create"}, id="create"),
        pytest.param("resize_slice", {"slice-resize"}, id="resize"),
        pytest.param("set_policy", {"qos"}, id="policy"),
        pytest.param("remove_slice", {"slice-remove", "restored"}, id="remove"),
    ],
)
def test_a_call_that_fails_fails_the_checks_that_rest_on_it(
    call: str, failed: set[str], tmp_path: Path
) -> None:
    driver = described(tmp_path, METAX, errors=[{"call": call, "kind": "failed"}])
    assert self_test(driver, tmp_path, slices=True).failed == failed


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[tuple[SimulatedDriver, str]]:
    """One that runs on, whoever asks it."""
    driver = make_driver(METAX)
    socket = tmp_path / "s"
    server = BackgroundServer(driver, socket)
    server.start()
    yield driver, f"simulated:unix:{socket}"
    server.close()


def test_a_running_simulation_is_left_as_it_was(
    simulation: tuple[SimulatedDriver, str], tmp_path: Path
) -> None:
    driver, name = simulation
    before = [driver.room(device.uuid) for device in driver.devices()]
    assert self_test(name, tmp_path, slices=True).failed == set()
    assert [driver.room(device.uuid) for device in driver.devices()] == before


def test_leftovers_in_a_running_simulation_go_and_others_stay(
    simulation: tuple[SimulatedDriver, str], tmp_path: Path
) -> None:
    driver, name = simulation
    uuid = driver.devices()[0].uuid
    for each in ("selftest-0123abcd-00", "tangram-0123", "selftest-0123abcd-01"):
        driver.create_slice(uuid, memory=from_gib(1), cores=5, name=each)
    assert self_test(name, tmp_path, clean=True).result("clean") is OK
    assert [each.name for each in driver.slices(uuid)] == ["tangram-0123"]
    assert self_test(name, tmp_path, slices=True, card="0").result("slice-card") is FAILED


def test_moore_threads_cards_are_read_and_their_runtime_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = mtml_twin.eight_s4000(mtml_twin.two_islands())
    twin = mtml_twin.Twin(tmp_path, machine)
    monkeypatch.setenv(mtml_twin.VARIABLE, str(twin.file))
    host = Host(tmp_path)
    host.mthreads([card.sbdf.removeprefix("0000") for card in machine.cards])
    told = self_test(f"mtml:{mtml_twin.twin_library()}", tmp_path, slices=True)
    assert told.failed == set()
    assert told.result("bus") is OK
    assert told.result("slice-card") is NOT_AVAILABLE
    assert len(told.of("slice-card")[0].cards) == 8
