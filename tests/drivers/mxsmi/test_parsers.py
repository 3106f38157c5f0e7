"""Every shape of `mx-smi`'s answers that was seen is understood; every other is refused in a sentence."""

from __future__ import annotations

import pytest

from builders import mxsmi_shapes as shapes
from tangram.drivers.mxsmi import sections
from tangram.drivers.mxsmi.json_report import ReportedSlice, parse_report
from tangram.drivers.mxsmi.listing import ListedSlice, parse_listing
from tangram.drivers.mxsmi.matrix import parse_matrix
from tangram.drivers.mxsmi.summary_table import TableCard, parse_table
from tangram.drivers.mxsmi.text import ParseError
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import from_gib, from_mib
from tangram.units.na import NA


def test_the_list_tells_cards_slices_and_why_a_card_is_not_available() -> None:
    first, second = parse_listing(shapes.LISTING)
    assert (first.index, first.product, first.bdf, first.uuid) == (
        0,
        "MXC500",
        shapes.BDFS[0],
        shapes.UUIDS[0],
    )
    assert first.available
    assert first.slices == (
        ListedSlice(
            id=3,
            cores=25,
            memory=from_mib(16000),
            available=True,
            uuid="GPU-00000000-1111-2222-3333-555555555555",
            alias="sgpu-alias",
        ),
        ListedSlice(
            id=11,
            cores=5,
            memory=from_gib(4),
            available=True,
            uuid="GPU-00000000-1111-2222-3333-666666666666",
        ),
    )
    assert (second.available, second.uuid, second.reason) == (False, "", "MetaX Sysfs File Unaccessible")


def branded(text: str) -> str:
    """What the tool prints under another maker's brand, whose cards have names of two words."""
    return (
        text.replace("mx-smi", "ht-smi")
        .replace("MX-SMI", "HT-SMI")
        .replace("MXC500", "Mars X201")
        .replace("MetaX C500", "Mars X201 ")
        .replace("MACA Version", "HPCC Version")
    )


def test_the_list_of_another_brand_has_names_with_blanks() -> None:
    first, second = parse_listing(branded(shapes.LISTING))
    assert (first.product, first.bdf, first.uuid) == ("Mars X201", shapes.BDFS[0], shapes.UUIDS[0])
    assert [each.id for each in first.slices] == [3, 11]
    assert (second.product, second.reason) == ("Mars X201", "MetaX Sysfs File Unaccessible")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param(shapes.sections(shapes.HARDWARE_ROWS, shapes.BDFS[:2]), 8, id="sections"),
        pytest.param(shapes.untitled(shapes.REMAIN_ROWS, shapes.BDFS[:2]), 3, id="untitled"),
    ],
)
def test_blocks_of_another_brand_have_names_with_blanks(text: str, rows: int) -> None:
    blocks = sections.parse_blocks(branded(text), sections.HARDWARE)
    assert {(each.bdf, each.product, len(each.rows)) for each in blocks.values()} == {
        (bdf, "Mars X201", rows) for bdf in shapes.BDFS[:2]
    }


def test_a_failure_of_another_brand_is_told() -> None:
    failed = "GPU#0  Mars X201  Sysfs error: No such file or directory\n"
    with pytest.raises(ParseError, match="it failed"):
        sections.parse_blocks(failed, sections.HARDWARE)


def test_the_table_of_another_brand_is_read_by_its_units() -> None:
    table = parse_table(branded(shapes.TABLE_2_2_12))
    card = table.cards[shapes.BDFS[0]]
    assert (card.index, card.sliced, card.power_watts) == (0, True, 61)
    assert (table.driver_version, table.firmware_version) == ("3.8.30", "1.33.5.0")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("GPU#0  Mars X201  Available (UUID: GPU-1)", id="no-address"),
        pytest.param(
            f"GPU#0  {shapes.BDFS[1]} X201  {shapes.BDFS[0]}  Available (UUID: GPU-1)", id="address-first"
        ),
        pytest.param(f"GPU#0  {'Mars ' * 9}  {shapes.BDFS[0]}  Available (UUID: GPU-1)", id="a-tale"),
    ],
)
def test_a_name_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ParseError, match="no card can be read"):
        parse_listing(line)


def test_a_list_without_cards_is_empty() -> None:
    assert parse_listing(shapes.NO_CARDS) == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("GPU#0 MXC500", id="cut"),
        pytest.param("GPU#0 MXC500 0000:zz:00.0 Available (UUID: GPU-1)", id="address"),
        pytest.param("GPU#0 MXC500 0000:0e:00.0 Available", id="no-uuid"),
        pytest.param("  SGPU#0 5% 4gb Available (UUID: GPU-1)", id="slice-first"),
        pytest.param("GPU#0 MXC500 0000:0e:00.0 Not Available(x)\n  SGPU#0 5 4gb Available", id="slice"),
        pytest.param(
            "GPU#0 MXC500 0000:0e:00.0 Not Available(x)\nGPU#0 MXC500 0000:0f:00.0 Not Available(x)",
            id="twice",
        ),
    ],
)
def test_a_list_that_cannot_be_understood_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="mx-smi -L: "):
        parse_listing(text)


def test_the_report_is_json_after_a_line_that_is_not() -> None:
    report = parse_report(shapes.report())
    assert (report.smi_version, report.driver_version, report.attached) == ("2.2.12", "3.8.30", 1)
    card = report.cards[shapes.BDFS[0]]
    assert (card.temperature_celsius, card.utilisation_percent, card.clocks_mhz["XCORE"]) == (38.5, 7, 1600)
    assert card.slices == (
        ReportedSlice(
            id=3,
            cores=25,
            memory=from_mib(16000),
            minor=22,
            memory_used=from_mib(12),
            utilisation_percent=4,
        ),
    )


def test_values_of_the_wrong_kind_in_the_report_are_not_available() -> None:
    bdf = shapes.BDFS[0]
    report = parse_report(
        f'x\n{{"{bdf}": {{"hotspot": "NA", "utilization": [], "clocks": 3, "sgpu_info": [{{"sgpu_id": 1}}, 7]}},'
        ' "attached_gpus": 1e300, "smi_version": 7}'
    )
    card = report.cards[bdf]
    assert (card.temperature_celsius, card.utilisation_percent, card.clocks_mhz, card.slices) == (
        NA,
        NA,
        {},
        (),
    )
    assert (report.attached, report.smi_version) == (NA, NA)


@pytest.mark.parametrize("text", ["", "mx-smi  version: 2.2.12\n", "x {", '{"a": 1', shapes.UNKNOWN_OPTION])
def test_a_report_without_json_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="mx-smi -j: "):
        parse_report(text)


def test_sections_are_told_apart_by_the_exact_card() -> None:
    """GPU#1 is not GPU#10, whatever a search for its name finds."""
    bdfs = tuple(f"0000:{bus:02x}:00.0" for bus in range(1, 13))
    blocks = sections.parse_blocks(shapes.sections(shapes.HARDWARE_ROWS, bdfs), sections.HARDWARE)
    assert [block.index for block in blocks.values()] == list(range(12))
    assert list(blocks) == list(bdfs)


def test_uncorrected_errors_of_every_kind_of_memory_are_added_up() -> None:
    rows = {
        "ECC Errors": {**shapes.ECC_ROWS["ECC Errors"], "SRAM Uncorrectable": "2", "DRAM Uncorrectable": "5"}
    }
    ecc = sections.ecc_in(sections.parse_blocks(shapes.sections(rows), "x")[shapes.BDFS[0]])
    assert ecc.uncorrected == 7


def test_hardware_memory_versions_errors_power_and_nodes_are_read() -> None:
    def block(rows: dict[str, dict[str, str]]) -> sections.Block:
        return sections.parse_blocks(shapes.sections(rows), "x")[shapes.BDFS[0]]

    hardware = sections.hardware_in(block(shapes.HARDWARE_ROWS))
    assert (hardware.model, hardware.serial, hardware.memory) == ("MetaX C500", "B0123456789", from_gib(64))
    memory = sections.memory_in(block(shapes.MEMORY_ROWS))
    assert (memory.total, memory.used) == (from_gib(64), from_mib(858))
    versions = sections.versions_in(block(shapes.VERSION_ROWS))
    assert (versions.driver, versions.firmware) == ("3.8.30", "1.33.5.0")
    ecc = sections.ecc_in(block(shapes.ECC_ROWS))
    assert (ecc.corrected, ecc.uncorrected, ecc.retired_pages) == (3, 0, 0)
    power = sections.power_in(block(shapes.POWER_ROWS))
    assert (power.watts, power.cap_watts) == (61.5, 350)
    nodes = sections.nodes_in(block(shapes.SYSTEM_ROWS))
    assert (nodes.card, nodes.render) == ("card1", "renderD128")


def test_rows_that_are_missing_empty_or_odd_are_not_available() -> None:
    rows = {
        "Memory": {"vram total": "lots", "vram used": "-3 KB"},
        "ECC Errors": {"SRAM Correctable": "1", "DRAM Uncorrectable": "N/A"},
        "Sys info": {"render id": "", "card id": "cardx"},
    }
    block = sections.parse_blocks(shapes.sections(rows), "x")[shapes.BDFS[0]]
    assert sections.memory_in(block) == sections.Memory()
    assert sections.ecc_in(block) == sections.EccCounts()
    assert sections.nodes_in(block) == sections.SystemNodes()
    assert sections.hardware_in(block) == sections.Hardware()


def test_a_command_that_failed_for_every_card_says_with_what() -> None:
    with pytest.raises(ParseError, match="No such file or directory"):
        sections.parse_blocks(shapes.FAILED_SECTION, sections.HARDWARE)


@pytest.mark.parametrize("across", ["NODE", "SYS"])
def test_the_matrix_of_two_groups(across: str) -> None:
    found = parse_matrix(shapes.matrix(shapes.two_groups(across)))
    assert found.numa == (0, 0, 0, 0, 1, 1, 1, 1)
    links = {(link.a, link.b): link for link in found.links()}
    assert len(links) == 28
    assert (links[0, 3].kind, links[0, 3].pcie) == (LinkKind.METAXLINK, PcieLevel.UNKNOWN)
    assert links[3, 4].kind is LinkKind.NONE
    assert links[3, 4].pcie is (PcieLevel.NUMA_NODE if across == "NODE" else PcieLevel.SYSTEM)


def test_the_matrix_of_builds_without_title_and_affinity() -> None:
    found = parse_matrix(shapes.matrix(shapes.two_groups(), affinity=False, title=False))
    assert found.numa == (NA,) * 8


def test_the_matrix_of_one_card_is_only_itself() -> None:
    assert parse_matrix(shapes.matrix([["X"]])).links() == ()


def test_adapters_in_the_matrix_are_passed_over() -> None:
    text = "        GPU0    GPU1    NIC0    Node Affinity  CPU Affinity\n"
    text += "GPU0    X       PIX     SYS     1   0-3\nGPU1    PIX     X       SYS     1   0-3\n"
    text += "NIC0    SYS     SYS     X\n"
    found = parse_matrix(text)
    assert found.numa == (1, 1)
    assert [link.pcie for link in found.links()] == [PcieLevel.SINGLE_SWITCH]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        pytest.param([["X", "MX"]], "2 columns and 1 rows|1 columns", id="row-missing"),
        pytest.param([["X", "MX"], ["PIX", "X"]], "one way", id="contradiction"),
        pytest.param([["X", "FAST"], ["FAST", "X"]], "stands 'FAST'", id="word"),
        pytest.param([["MX", "MX"], ["MX", "X"]], "stands 'MX'", id="not-itself"),
    ],
)
def test_a_matrix_that_contradicts_itself_is_refused(cells: list[list[str]], says: str) -> None:
    text = shapes.matrix(cells)
    if len(cells) < 2:
        text = text.replace("GPU0    Node", "GPU0    GPU1    Node")
    with pytest.raises(ParseError, match=says):
        parse_matrix(text)


@pytest.mark.parametrize(
    ("text", "card"),
    [
        pytest.param(
            shapes.TABLE_2_1_6,
            TableCard(
                bdf="0000:05:00.0",
                index=0,
                utilisation_percent=3,
                temperature_celsius=51,
                power_watts=71,
                memory_used=from_mib(60982),
                memory_total=from_gib(64),
            ),
            id="2.1.6",
        ),
        pytest.param(
            shapes.TABLE_2_2_4,
            TableCard(
                bdf="0000:34:00.0",
                index=1,
                utilisation_percent=12,
                temperature_celsius=34,
                power_watts=97,
                memory_used=from_mib(858),
                memory_total=from_gib(64),
                state="Available",
            ),
            id="2.2.4",
        ),
        pytest.param(
            shapes.TABLE_2_2_6,
            TableCard(
                bdf="0000:38:00.0",
                index=0,
                utilisation_percent=0,
                sliced=False,
                temperature_celsius=44,
                power_watts=71,
                power_cap_watts=350,
                memory_used=from_mib(986),
                memory_total=from_gib(64),
                state="Available",
            ),
            id="2.2.6",
        ),
        pytest.param(
            shapes.TABLE_2_2_12,
            TableCard(
                bdf=shapes.BDFS[0],
                index=0,
                utilisation_percent=0,
                sliced=True,
                temperature_celsius=38,
                power_watts=61,
                power_cap_watts=350,
                memory_used=from_mib(15155),
                memory_total=from_gib(64),
                state="Available",
            ),
            id="2.2.12",
        ),
    ],
)
def test_the_table_is_read_in_every_shape_it_has_had(text: str, card: TableCard) -> None:
    assert parse_table(text).cards[card.bdf] == card


def test_versions_stand_above_the_table() -> None:
    table = parse_table(shapes.TABLE_2_2_12)
    assert (table.driver_version, table.firmware_version) == ("3.8.30", "1.33.5.0")


def test_a_table_without_cards_is_refused() -> None:
    with pytest.raises(ParseError, match=r"^mx-smi: no row"):
        parse_table(shapes.BANNER.format(version="2.2.12", count=0))
