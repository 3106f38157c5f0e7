"""Cards through the tool: what several commands say becomes one report, and what fails costs only itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import mxsmi_shapes as shapes
from builders.hanging import LONG, eventually
from builders.metax_tree import MetaxTree, TreeCard
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsmi.driver import FRESH, MxSmiDriver, Settings
from tangram.drivers.mxsmi.tool import GRACE, MxSmi, Output, find_binary
from tangram.drivers.mxsml import settings as mxsml
from tangram.drivers.mxsml.kernel import Kernel
from tangram.drivers.opening import open_driver
from tangram.model.cards import QosPolicy
from tangram.model.devices import Health, SliceRoom
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.units.na import NA

FIRST = CardUuid(shapes.UUIDS[0])


class FakeTool:
    """Prints what it was told to, and remembers what it was asked."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def run(self, arguments: Sequence[str]) -> Output:
        command = " ".join(arguments)
        self.asked.append(command)
        return Output(self.answers.get(command, shapes.UNKNOWN_OPTION), 0)


def every_answer() -> dict[str, str]:
    return {
        "-L": shapes.WHOLE_LISTING,
        "-j": shapes.report(shapes.BDFS),
        "--show-hwinfo": shapes.sections(shapes.HARDWARE_ROWS, shapes.BDFS),
        "--show-memory": shapes.sections(shapes.MEMORY_ROWS, shapes.BDFS),
        "--show-version": shapes.sections(shapes.VERSION_ROWS, shapes.BDFS),
        "--show-sysinfo": shapes.sections(shapes.SYSTEM_ROWS, shapes.BDFS),
        "--show-board-power": shapes.sections(shapes.POWER_ROWS, shapes.BDFS),
        "--count-ecc": shapes.sections(shapes.ECC_ROWS, shapes.BDFS),
        "topo -m": shapes.matrix(shapes.two_groups("SYS")),
        "": shapes.TABLE_2_2_12,
    }


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def make(answers: dict[str, str], tmp_path: Path, clock: Clock | None = None) -> tuple[MxSmiDriver, FakeTool]:
    tool = FakeTool(answers)
    return MxSmiDriver(tool, Settings(sysfs_root=str(tmp_path)), clock or Clock()), tool


def test_eight_cards_in_two_groups(tmp_path: Path) -> None:
    driver, _ = make(every_answer(), tmp_path)
    devices = driver.devices()
    assert [device.uuid for device in devices] == list(shapes.UUIDS)
    card = devices[5]
    assert (card.product, card.family, card.memory, card.numa) == ("MXC500", "MXC", from_gib(64), 1)
    assert (card.driver_version, card.firmware_version, card.serial) == ("3.8.30", "1.33.5.0", "B0123456789")
    assert card.nodes.all == ("/dev/mxcd", "/dev/dri/card1", "/dev/dri/renderD128")
    report = driver.links(devices)
    assert report.known
    linked = {(link.a, link.b) for link in report.links if link.kind is LinkKind.METAXLINK}
    assert linked == {(a, b) for a in range(8) for b in range(a + 1, 8) if a // 4 == b // 4}
    assert {link.pcie for link in report.links if link.kind is LinkKind.NONE} == {PcieLevel.SYSTEM}
    driver.close()


def test_the_tool_under_another_brand_tells_as_much(tmp_path: Path) -> None:
    answers = {name: text.replace("MXC500", "Mars X201") for name, text in every_answer().items()}
    driver, _ = make(answers, tmp_path)
    devices = driver.devices()
    assert {device.product for device in devices} == {"Mars X201"}
    assert (devices[5].memory, devices[5].driver_version) == (from_gib(64), "3.8.30")
    assert driver.figures(FIRST).power_watts == 61.5
    assert driver.links(devices).known
    driver.close()


def test_figures_come_from_the_commands_that_are_made_for_programs(tmp_path: Path) -> None:
    driver, tool = make(every_answer(), tmp_path)
    figures = driver.figures(FIRST)
    assert (figures.utilisation_percent, figures.temperature_celsius) == (7, 38.5)
    assert (figures.memory_used, figures.memory_total) == (from_mib(858), from_gib(64))
    assert (figures.power_watts, figures.power_cap_watts) == (61.5, 350)
    assert (figures.ecc_corrected, figures.ecc_uncorrected, figures.retired_pages) == (3, 0, 0)
    assert figures.processes is NA
    assert "" not in tool.asked, "the table for people is a last resort"


def test_an_old_tool_is_read_through_its_table(tmp_path: Path) -> None:
    listing = f"GPU#0 MXC500 0000:38:00.0 Available (UUID: {FIRST})\n"
    driver, _ = make({"-L": listing, "": shapes.TABLE_2_2_6}, tmp_path)
    figures = driver.figures(FIRST)
    assert (figures.utilisation_percent, figures.temperature_celsius, figures.power_watts) == (0, 44, 71)
    assert (figures.memory_used, figures.ecc_uncorrected) == (from_mib(986), NA)
    (device,) = driver.devices()
    assert (device.sliced, device.memory, device.numa) == (False, NA, NA)
    with pytest.raises(DriverError, match="does not say how much memory"):
        driver.room(FIRST)


def test_slices_are_named_by_the_list_and_measured_by_the_report(tmp_path: Path) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING, "-j": shapes.report()}, tmp_path)
    one, other = driver.slices(FIRST)
    assert (one.id, one.memory, one.cores, one.name, one.minor) == (3, from_mib(16000), 25, "sgpu-alias", 22)
    assert (one.memory_used, one.utilisation_percent, one.busy) == (from_mib(12), 4, NA)
    assert (other.id, other.memory, other.memory_used) == (11, from_gib(4), NA)
    room = driver.room(FIRST)
    assert (room.slots, room.cores, room.policy) == (14, 70, NA)
    assert room.memory == from_gib(64) - from_mib(16000) - from_gib(4)


def test_a_card_that_cannot_be_used_is_unhealthy_with_the_tools_reason(tmp_path: Path) -> None:
    clock = Clock()
    driver, tool = make(every_answer(), tmp_path, clock)
    assert all(health.healthy for health in driver.health().values())
    tool.answers["-L"] = shapes.LISTING
    clock.seconds += FRESH
    health = driver.health()
    second = health[CardUuid(shapes.UUIDS[1])]
    assert (second.healthy, second.code, second.message) == (
        False,
        "limited",
        "MetaX Sysfs File Unaccessible",
    )
    assert health[CardUuid(shapes.UUIDS[7])].code == "card-gone"
    assert [device.index for device in driver.devices()] == [0, 1]


def test_a_card_that_was_never_usable_is_listed_under_its_address(tmp_path: Path) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING}, tmp_path)
    name = CardUuid(f"PCI-{shapes.BDFS[1]}")
    assert driver.health()[name] == Health(
        healthy=False, code="limited", message="MetaX Sysfs File Unaccessible"
    )
    usable, limited = driver.devices()
    assert (usable.uuid, limited.uuid) == (FIRST, name)
    assert (limited.product, limited.bdf, limited.index) == ("MXC500", shapes.BDFS[1], 1)
    assert (limited.sliced, limited.sliceable) == (NA, NA)
    assert driver.links((usable, limited)).links == ()


def limited_tree(tmp_path: Path, **changes: Any) -> Path:  # noqa: ANN401 - whatever TreeCard takes
    """The machine of `LISTING` in the kernel's files: the second card cannot be used."""
    cards = (
        TreeCard(at, bdf, uuid=uuid.removeprefix("GPU-"), model="sgpu", smi=at == 0)
        for at, (bdf, uuid) in enumerate(zip(shapes.BDFS[:2], shapes.UUIDS[:2], strict=True))
    )
    MetaxTree(cards=tuple(replace(card, **changes) for card in cards)).grow(tmp_path, tmp_path / "dev")
    return tmp_path


def test_a_card_limited_from_the_start_keeps_the_name_and_slicing_of_the_kernels_files(
    tmp_path: Path,
) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING}, limited_tree(tmp_path))
    second = CardUuid(shapes.UUIDS[1])
    usable, limited = driver.devices()
    assert (usable.uuid, limited.uuid) == (FIRST, second)
    assert (limited.sliced, limited.sliceable) == (True, from_mib(64512))
    assert driver.health()[second] == Health(
        healthy=False, code="limited", message="MetaX Sysfs File Unaccessible"
    )
    driver.close()


def test_a_limited_card_is_listed_by_the_tools_driver_as_by_the_librarys(tmp_path: Path) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING}, limited_tree(tmp_path))
    kernel = Kernel(mxsml.Settings(sysfs_root=str(tmp_path), dev_root=str(tmp_path / "dev")))
    bdf = shapes.BDFS[1]
    limited = driver.devices()[1]
    assert (limited.uuid, (limited.sliced, limited.sliceable)) == (kernel.uuid(bdf), kernel.slicing(bdf))
    driver.close()


def test_a_limited_card_in_native_mode_is_not_sliced(tmp_path: Path) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING}, limited_tree(tmp_path, model="native"))
    limited = driver.devices()[1]
    assert (limited.sliced, limited.sliceable) == (False, NA)
    driver.close()


def test_slices_that_the_tool_does_not_list_of_a_limited_card_are_unknown_and_not_none(
    tmp_path: Path,
) -> None:
    driver, _ = make({**every_answer(), "-L": shapes.LISTING}, limited_tree(tmp_path))
    for question in (driver.slices, driver.room):
        with pytest.raises(
            DriverError, match=r"card 1 at 0000:0f:00\.0 .*MetaX Sysfs File Unaccessible"
        ) as caught:
            question(CardUuid(shapes.UUIDS[1]))
        assert caught.value.kind is Kind.FAILED
    assert len(driver.slices(FIRST)) == 2
    driver.close()


def test_cards_that_are_all_limited_are_listed_and_not_called_none(tmp_path: Path) -> None:
    clock = Clock()
    driver, tool = make({"-L": shapes.ALL_LIMITED}, tmp_path, clock)
    assert [device.uuid for device in driver.devices()] == [f"PCI-{bdf}" for bdf in shapes.BDFS]
    assert {health.code for health in driver.health().values()} == {"limited"}
    tool.answers |= every_answer()
    clock.seconds += FRESH
    assert [device.uuid for device in driver.devices()] == list(shapes.UUIDS)
    assert driver.devices()[0].memory == from_gib(64)
    assert all(health.healthy for health in driver.health().values())


def test_a_card_with_a_name_that_is_out_of_service_is_unavailable(tmp_path: Path) -> None:
    listing = f"GPU#0 MXC500 {shapes.BDFS[0]} Not Available (UUID: {FIRST})\n"
    driver, _ = make({"-L": listing}, tmp_path)
    assert driver.health()[FIRST].code == "unavailable"


def sliced_answers() -> dict[str, str]:
    """As 2.3.1 answers of two cards that are switched to slices, the first with two."""
    two = shapes.BDFS[:2]
    listing = shapes.LISTING.replace(
        "Not Available(MetaX Sysfs File Unaccessible)", f"Available (UUID: {shapes.UUIDS[1]})"
    )
    return {
        **every_answer(),
        "-L": listing,
        "": shapes.UNKNOWN_OPTION,
        "sgpu --show-remain": shapes.untitled(shapes.REMAIN_ROWS, two),
        "sgpu --show-mode": shapes.untitled(shapes.MODE_ROWS, two),
        "sgpu --show-sched-class": shapes.untitled(shapes.POLICY_ROWS, two),
        "sgpu --show-usage": shapes.untitled(shapes.USAGE_ROWS, two[:1]),
    }


def test_what_a_card_can_slice_and_has_left_is_what_the_tool_says(tmp_path: Path) -> None:
    driver, _ = make(sliced_answers(), tmp_path)
    devices = driver.devices()
    assert [(device.sliced, device.sliceable) for device in devices] == [(True, from_mib(64512))] * 2
    room = driver.room(FIRST)
    assert (room.slots, room.memory, room.cores) == (14, from_mib(581), 0)
    assert room.policy is QosPolicy.BEST_EFFORT


def test_a_card_in_native_mode_has_nothing_to_slice(tmp_path: Path) -> None:
    native = shapes.untitled({"sgpu mode": "Disable"}, shapes.BDFS)
    remain = shapes.untitled(shapes.REMAIN_ROWS, shapes.BDFS)
    answers = {**every_answer(), "": "", "sgpu --show-mode": native, "sgpu --show-remain": remain}
    driver, tool = make(answers, tmp_path)
    assert {(device.sliced, device.sliceable) for device in driver.devices()} == {(False, NA)}
    assert "sgpu --show-remain" not in tool.asked
    assert driver.room(FIRST) == SliceRoom(0, Bytes(0), 0)


def test_use_that_the_report_lacks_is_asked_for_by_slice(tmp_path: Path) -> None:
    driver, tool = make(sliced_answers(), tmp_path)
    assert [each.utilisation_percent for each in driver.slices(FIRST)] == [4, 12.5]
    tool.answers["-j"] = shapes.UNKNOWN_OPTION
    other, _ = make(tool.answers, tmp_path)
    assert [each.utilisation_percent for each in other.slices(FIRST)] == [3, 12.5]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(shapes.UNKNOWN_OPTION, id="older-tool"),
        pytest.param("GPU#0 show-remain Sysfs error: No such file or directory\n", id="failed"),
        pytest.param(
            shapes.untitled({"total vram quota": "much", "sgpu mode": "Perhaps"}), id="not-understood"
        ),
    ],
)
def test_a_tool_without_the_commands_for_slices_still_tells_the_rest(tmp_path: Path, answer: str) -> None:
    answers = {name: answer if name.startswith("sgpu") else text for name, text in sliced_answers().items()}
    driver, _ = make({**answers, "": shapes.TABLE_2_2_12}, tmp_path)
    first = driver.devices()[0]
    assert (first.sliced, first.sliceable, first.memory) == (True, NA, from_gib(64))
    room = driver.room(FIRST)
    assert (room.memory, room.cores, room.policy) == (from_gib(60) - from_mib(16000), 70, NA)


@pytest.mark.parametrize(
    ("errors", "retired", "code"),
    [
        pytest.param({"DRAM Uncorrectable": "4"}, "0", "ecc-uncorrected", id="uncorrected"),
        pytest.param(
            {"DRAM Uncorrectable": "4", "SRAM Uncorrectable": "N/A"},
            "N/A",
            "ecc-uncorrected",
            id="beside-unknown",
        ),
        pytest.param({}, "2", "retired-pages", id="retired"),
    ],
)
def test_memory_that_lost_data_makes_a_card_unhealthy(
    errors: dict[str, str], retired: str, code: str, tmp_path: Path
) -> None:
    rows = {
        "ECC Errors": {**shapes.ECC_ROWS["ECC Errors"], **errors},
        "Retired Pages": {"Double Bit ECC": retired},
    }
    driver, _ = make({**every_answer(), "--count-ecc": shapes.sections(rows, shapes.BDFS[:1])}, tmp_path)
    health = driver.health()
    assert health[FIRST].code == code
    assert health[CardUuid(shapes.UUIDS[1])].healthy


def test_a_matrix_that_does_not_fit_the_list_says_nothing_about_links(tmp_path: Path) -> None:
    driver, _ = make({**every_answer(), "topo -m": shapes.matrix([["X"]])}, tmp_path)
    assert not driver.links(driver.devices()).known


def test_questions_about_each_card_share_one_run_of_the_tool(tmp_path: Path) -> None:
    clock = Clock()
    driver, tool = make(every_answer(), tmp_path, clock)
    for device in driver.devices():
        driver.figures(device.uuid)
    assert len(tool.asked) == len(set(tool.asked))
    clock.seconds += FRESH
    driver.figures(FIRST)
    assert tool.asked.count("-j") == 2


def test_a_list_that_cannot_be_understood_is_a_failure_that_names_the_command(tmp_path: Path) -> None:
    driver, _ = make({"-L": "GPU#0 what"}, tmp_path)
    with pytest.raises(DriverError, match="mx-smi -L: no card can be read") as caught:
        driver.devices()
    assert (caught.value.kind, caught.value.call) == (Kind.FAILED, "mx-smi -L")


def test_a_tool_that_lists_nothing_has_no_driver_below_it(tmp_path: Path) -> None:
    driver, _ = make({"-L": shapes.NO_CARDS + "no driver is loaded\n"}, tmp_path)
    with pytest.raises(DriverError, match="it printed 'no driver is loaded'") as caught:
        driver.devices()
    assert caught.value.kind is Kind.NO_DRIVER


def test_nothing_is_changed_through_the_tool(tmp_path: Path) -> None:
    driver, tool = make(every_answer(), tmp_path)
    for change in (
        lambda: driver.create_slice(FIRST, memory=from_gib(1), cores=5, name="x"),
        lambda: driver.create_slice(FIRST, memory=from_gib(1), cores=5, online=True),
        lambda: driver.resize_slice(FIRST, 0, memory=from_gib(1)),
        lambda: driver.set_sliced(FIRST, on=True),
        lambda: driver.remove_slice(FIRST, 0),
        lambda: driver.set_policy(FIRST, QosPolicy.BEST_EFFORT),
        lambda: driver.set_virtual_functions(FIRST, 2),
    ):
        with pytest.raises(DriverError, match="mx-smi only reads, and cannot ") as caught:
            change()
        assert caught.value.kind is Kind.NOT_SUPPORTED
    assert tool.asked == []


# --------------------------------------------------------------------------------------------------- the tool itself


def script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "mx-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_the_tool_is_run_and_its_output_read(tmp_path: Path) -> None:
    (tmp_path / "listing").write_text(shapes.WHOLE_LISTING)
    program = script(tmp_path, f'[ "$1" = -L ] && cat "{tmp_path}/listing" || exit 3')
    driver = open_driver(f"mx-smi:{program}")
    assert len(driver.health()) == 8
    driver.close()


def out_of_time(started: Path) -> int:
    """Time is up when the tool has come to where it hangs, and not before."""
    assert eventually(lambda: started.exists() and started.read_text().endswith("\n"))
    raise subprocess.TimeoutExpired("mx-smi", 0)


def test_a_tool_that_hangs_is_given_up_by_name_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    tool = MxSmi(script(tmp_path, f'echo $$ >> "{started}"; exec sleep 1000'), limit=77.0)
    patiently, patience = subprocess.Popen[bytes].wait, list[float | None]()

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        patience.append(timeout)
        return patiently(process, LONG) if len(patience) > 1 else out_of_time(started)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    with pytest.raises(DriverError, match=r"mx-smi -L has not ended within 77 s") as caught:
        MxSmiDriver(tool).devices()
    assert (caught.value.kind, caught.value.call) == (Kind.STUCK, "mx-smi -L")
    assert patience == [77.0, GRACE], "first for the answer, then for the end of the killed process"
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_a_process_that_cannot_be_killed_is_not_joined_by_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, mended = tmp_path / "started", tmp_path / "mended"
    body = f'[ -e "{mended}" ] && exit 0; echo $$ >> "{started}"; exec sleep 1000'
    tool = MxSmi(script(tmp_path, body), limit=LONG)

    def spare(_group: int, _signal: int) -> None: ...

    def wait(_process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        assert timeout is not None
        return out_of_time(started)

    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", spare)
        patched.setattr(subprocess.Popen, "wait", wait)
        for command in ("-L", "-j", "-j"):
            with pytest.raises(DriverError, match="mx-smi -L has not ended"):
                tool.run([command])
    (pid,) = started.read_text().split()
    os.kill(int(pid), signal.SIGKILL)
    os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOWAIT)
    mended.write_text("")
    assert tool.run(["-j"]).status == 0


def test_a_tool_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="is no program that can be run") as caught:
        open_driver(f"mx-smi:{tmp_path / 'none'}")
    assert caught.value.kind is Kind.NO_LIBRARY


def test_a_tool_that_cannot_be_started_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mx-smi"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(DriverError, match="cannot be run"):
        open_driver(f"mx-smi:{path}").devices()


def test_the_tool_under_another_brand_is_taken_where_the_usual_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branded = tmp_path / "ht-smi"
    branded.write_text("#!/bin/sh\n")
    branded.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary(None) == str(branded)
    usual = tmp_path / "mx-smi"
    usual.write_text("#!/bin/sh\n")
    usual.chmod(0o755)
    assert find_binary(None) == str(usual)
