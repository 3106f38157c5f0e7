"""The tool as a driver: what it tells, what it cannot, and what its failures become."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from builders.gmi_answers import IDLE_SUMMARY, SUMMARY, FakeGmi, card, matrix, query
from builders.hanging import LONG
from builders.mtml_twin import GIB, Clock, uuid_of
from tangram.drivers import ways
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.gmi.driver import FRESH, GmiDriver
from tangram.drivers.gmi.processes import processes_on
from tangram.drivers.mtml.processes import MOST_TOLD
from tangram.drivers.opening import open_driver
from tangram.drivers.protocol import Driver
from tangram.model.devices import Process
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA

EIGHT = query(*(card(at) for at in range(8)))
NOT_AVAILABLE = "Error: the requested operation is not available on target device\n"


@pytest.fixture
def tool(tmp_path: Path) -> FakeGmi:
    tool = FakeGmi(tmp_path)
    tool.prints("-q --json", EIGHT)
    tool.prints("", SUMMARY)
    tool.prints("topo -mg", matrix())
    return tool


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(tool: FakeGmi, tmp_path: Path, clock: Clock) -> Iterator[GmiDriver]:
    made = GmiDriver(
        str(tool.binary), sysfs=tmp_path / "sys", sgpu_km=tmp_path / "sgpu_km", clock=clock, limit=LONG
    )
    yield made
    made.close()


def refused(driver: Driver) -> DriverError:
    with pytest.raises(DriverError) as caught:
        driver.devices()
    return caught.value


def test_the_cards_are_described_without_the_library(driver: GmiDriver) -> None:
    devices = driver.devices()
    assert [device.uuid for device in devices] == [uuid_of(at) for at in range(8)]
    assert (devices[7].product, devices[7].bdf, devices[7].memory) == ("MTT S5000", "0000:e3:00.0", 80 * GIB)
    assert (devices[7].driver_version, devices[7].family) == ("3.3.8-server", "MTT")
    assert devices[7].nodes.all == (), "the tool names no device node, and none is made up"
    assert devices[7].numa is NA
    assert devices[7].sliced is False


def test_the_kernel_adds_where_the_cards_sit(driver: GmiDriver, tmp_path: Path) -> None:
    for at, (bus, port) in enumerate((("03", "01.0"), ("24", "01.0"), ("44", "02.0"))):
        place = tmp_path / f"sys/devices/pci0000:00/0000:00:{port}/0000:{bus}:00.0"
        (place / f"drm/card{at + 1}").mkdir(parents=True)
        (place / f"drm/renderD{at + 128}").mkdir()
        (place / "numa_node").write_text("0\n")
        link = tmp_path / f"sys/bus/pci/devices/0000:{bus}:00.0"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place)
    devices = driver.devices()
    assert devices[1].nodes.all == ("/dev/dri/card2", "/dev/dri/renderD129")
    assert devices[1].numa == 0
    links = {(link.a, link.b): link for link in driver.links(devices).links}
    assert (links[0, 1].kind, links[0, 1].lanes, links[0, 1].pcie) == (
        LinkKind.MTLINK,
        2,
        PcieLevel.SINGLE_SWITCH,
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(NOT_AVAILABLE, 1, id="not available"),
        pytest.param(NOT_AVAILABLE, 0, id="not available, with success"),
        pytest.param("surprise", 0, id="another shape"),
    ],
)
def test_a_matrix_that_cannot_be_read_leaves_the_links_unknown(
    driver: GmiDriver, tool: FakeGmi, text: str, code: int
) -> None:
    tool.prints("topo -mg", text, code)
    report = driver.links(driver.devices())
    assert (report.known, report.links) == (False, ())


def test_pcie_alone_is_known_from_the_matrix(driver: GmiDriver, tool: FakeGmi) -> None:
    tool.prints("topo -mg", matrix(bonded=0))
    links = {(link.a, link.b): link for link in driver.links(driver.devices()).links}
    assert (links[0, 3].kind, links[0, 3].pcie) == (LinkKind.NONE, PcieLevel.NUMA_NODE)
    assert links[0, 4].pcie is PcieLevel.SYSTEM


def test_figures_carry_the_processes_of_the_card(driver: GmiDriver) -> None:
    figures = driver.figures(CardUuid(uuid_of(0)))
    assert (figures.utilisation_percent, figures.power_cap_watts) == (42.0, 950.0)
    assert figures.processes == (
        Process(4711, "python3 -m vllm serve --port 8000", Bytes(66000 * MIB)),
        Process(4712, "/usr/bin/worker", Bytes(641 * MIB)),
    )


@pytest.mark.parametrize(
    ("all_seen", "used", "idle"),
    [
        pytest.param(True, [4711, 4712], [], id="the-hosts-namespace"),
        pytest.param(False, NA, NA, id="another-namespace"),
        pytest.param(None, [4711, 4712], NA, id="not-asked"),
    ],
)
@pytest.mark.parametrize("summary", [SUMMARY, IDLE_SUMMARY], ids=["a-table", "nobody"])
def test_a_card_that_is_not_in_the_table_is_idle_only_where_every_process_has_a_number(
    tool: FakeGmi, tmp_path: Path, summary: str, *, all_seen: bool | None, used: object, idle: object
) -> None:
    tool.prints("", summary)
    driver = GmiDriver(
        str(tool.binary),
        sysfs=tmp_path / "sys",
        sgpu_km=tmp_path / "sgpu_km",
        clock=Clock(),
        limit=LONG,
        all_seen=all_seen,
    )
    for place, expected in ((0, used if summary is SUMMARY else idle), (1, idle)):
        found = driver.figures(CardUuid(uuid_of(place))).processes
        assert ([each.pid for each in found] if isinstance(found, tuple) else found) == expected
    driver.close()


@pytest.mark.parametrize(("hosts", "idle"), [(True, ()), (False, NA)])
def test_the_driver_is_opened_with_the_namespace_of_this_process(
    tool: FakeGmi, monkeypatch: pytest.MonkeyPatch, *, hosts: bool, idle: object
) -> None:
    monkeypatch.setattr(ways, "sees_every_process", lambda: hosts)
    with closing(open_driver(f"gmi:{tool.binary}")) as driver:
        assert driver.figures(CardUuid(uuid_of(1))).processes == idle


def test_a_table_as_long_as_the_librarys_lists_may_have_been_cut() -> None:
    many = tuple(Process(pid, "worker", Bytes(MIB)) for pid in range(1, MOST_TOLD + 1))
    assert processes_on({0: many}, 0, all_seen=True) is NA
    assert processes_on({0: many[1:]}, 0, all_seen=True) == many[1:]


def test_a_process_table_that_fails_costs_the_processes_and_nothing_else(
    driver: GmiDriver, tool: FakeGmi
) -> None:
    tool.prints("", NOT_AVAILABLE, 1)
    figures = driver.figures(CardUuid(uuid_of(0)))
    assert figures.processes is NA
    assert figures.temperature_celsius == 34.0


def test_one_answer_serves_all_cards_for_a_moment_and_no_longer(
    driver: GmiDriver, tool: FakeGmi, clock: Clock
) -> None:
    for device in driver.devices():
        driver.figures(device.uuid)
    assert sorted(tool.calls) == ["", "-q --json"]
    clock.advance(FRESH)
    driver.health()
    assert sorted(tool.calls) == ["", "-q --json", "-q --json"]


def test_a_card_that_is_no_longer_listed_is_reported(driver: GmiDriver, tool: FakeGmi, clock: Clock) -> None:
    driver.devices()
    silent = dict.fromkeys(("FB Memory Usage", "Utilization", "Temperature", "Power Readings"), "N/A")
    tool.prints("-q --json", query(card(0), card(1, **silent), card(2, **{"GPU UUID": "N/A"})))
    clock.advance(FRESH)
    health = driver.health()
    assert health[CardUuid(uuid_of(0))].healthy
    assert health[CardUuid(uuid_of(1))].code == "unreadable"
    assert health[CardUuid(uuid_of(2))].code == "card-gone"
    assert health[CardUuid("mthreads-place-2")].code == "unreadable"
    assert len(driver.devices()) == 2
    with pytest.raises(DriverError) as caught:
        driver.figures(CardUuid(uuid_of(5)))
    assert caught.value.kind is Kind.CARD_GONE


def test_a_driver_that_was_unloaded_makes_every_known_card_ill(
    driver: GmiDriver, tool: FakeGmi, clock: Clock
) -> None:
    driver.devices()
    tool.prints("-q --json", "Error: the driver is not loaded\n", 4)
    clock.advance(FRESH)
    assert {each.code for each in driver.health().values()} == {"no-driver"}


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        pytest.param("Error: the driver is not loaded\n", 4, Kind.NO_DRIVER, id="no driver"),
        pytest.param("Error: the driver is not loaded\n", 0, Kind.NO_DRIVER, id="no driver, with success"),
        pytest.param("Error: Permission denied\n", 5, Kind.NOT_PERMITTED, id="not permitted"),
        pytest.param(NOT_AVAILABLE, 1, Kind.NOT_SUPPORTED, id="not available"),
        pytest.param("", 6, Kind.FAILED, id="silence and a code"),
        pytest.param("", 0, Kind.FAILED, id="silence and success"),
        pytest.param(EIGHT, 1, Kind.FAILED, id="an answer and a failure"),
        pytest.param(EIGHT[:200], 0, Kind.FAILED, id="half an answer"),
        pytest.param("\x1b]0;\x07 \ufffd", 3, Kind.FAILED, id="garbage"),
    ],
)
def test_exit_code_text_and_structure_are_looked_at_together(
    driver: GmiDriver, tool: FakeGmi, text: str, code: int, kind: Kind
) -> None:
    tool.prints("-q --json", text, code)
    error = refused(driver)
    assert error.kind is kind
    assert error.call == "mthreads-gmi -q --json"
    assert error.sentence.isprintable()


def test_a_command_that_fails_once_is_asked_again(driver: GmiDriver, tool: FakeGmi, tmp_path: Path) -> None:
    once = tmp_path / "failed-once"
    tool.prints("-q --json", EIGHT, first=f'[ -e "{once}" ] || {{ touch "{once}"; exit 6; }}')
    assert len(driver.devices()) == 8
    assert tool.calls == ["-q --json", "-q --json"]


def test_a_missing_tool_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for driver in (GmiDriver(), GmiDriver(str(tmp_path / "nothing"))):
        error = refused(driver)
        driver.close()
        assert error.kind is Kind.NO_LIBRARY
    (tmp_path / "mthreads-gmi").write_text("not a program")
    (tmp_path / "mthreads-gmi").chmod(0o755)
    driver = GmiDriver()
    assert refused(driver).kind in {Kind.NO_LIBRARY, Kind.FAILED}
    driver.close()


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param("sleep 600 & wait", id="waits with a child"),
        pytest.param("trap '' TERM; while :; do sleep 1; done", id="ignores being asked to end"),
        pytest.param("sleep 600 >/dev/null & exec >&-; wait", id="closes its output and stays"),
    ],
)
def test_a_tool_that_hangs_is_given_up_at_the_limit_and_ended(
    tool: FakeGmi, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - whatever it takes
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    tool.prints("-q --json", EIGHT, first=behaviour)
    driver = GmiDriver(str(tool.binary), limit=0.3)
    error = refused(driver)
    driver.close()
    assert (error.kind, error.call) == (Kind.STUCK, "mthreads-gmi -q --json")
    (process,) = started
    assert process.wait(LONG) == -signal.SIGKILL
    assert not Path(f"/proc/{process.pid}").exists()


def test_a_tool_that_never_stops_printing_is_ended(tool: FakeGmi) -> None:
    tool.prints("-q --json", EIGHT, first="yes")
    driver = GmiDriver(str(tool.binary), limit=LONG)
    error = refused(driver)
    driver.close()
    assert error.kind is Kind.FAILED
    assert "printed more than" in error.sentence


def test_slices_come_from_the_kernel_here_too(driver: GmiDriver, tmp_path: Path) -> None:
    folder = tmp_path / "sgpu_km/1/0123456789ab"
    folder.mkdir(parents=True)
    (tmp_path / "sgpu_km/cores").write_text("1\n")
    for name, text in (
        ("id", "16"),
        ("memsize", str(8 * GIB)),
        ("weight", "4"),
        ("meminfo", f"PID: 7 Mem: {GIB}"),
    ):
        (folder / name).write_text(text)
    uuid = CardUuid(uuid_of(1))
    assert [device.index for device in driver.devices() if device.sliced] == [1]
    (only,) = driver.slices(uuid)
    assert (only.memory, only.cores, only.memory_used, only.busy) == (8 * GIB, 4, GIB, True)
    assert driver.room(uuid).memory == 72 * GIB
    assert driver.figures(uuid).processes == (Process(pid=7, memory=Bytes(GIB), slice_id=0),)
    with pytest.raises(DriverError, match="container runtime makes slices"):
        driver.create_slice(uuid, memory=Bytes(GIB), cores=1, online=True)
    with pytest.raises(DriverError, match="cannot be switched to one whole card") as caught:
        driver.set_sliced(uuid, on=False)
    assert caught.value.kind is Kind.NOT_SUPPORTED
