"""Nothing but `ParseError` leaves a parser, whatever happened to the text on its way.

One example is a captured shape with a handful of edits, and the parser is shown the text after each of them. Under
`make soak` that is over 250,000 texts.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import mxsmi_shapes as shapes
from tangram.drivers.mxsmi import sections, sgpu_sections
from tangram.drivers.mxsmi.json_report import parse_report
from tangram.drivers.mxsmi.listing import parse_listing
from tangram.drivers.mxsmi.matrix import parse_matrix
from tangram.drivers.mxsmi.summary_table import parse_table
from tangram.drivers.mxsmi.text import ParseError

Edit = tuple[str, int, int, str]
Parser = Callable[[str], object]


def every_section(text: str) -> object:
    blocks = sections.parse_blocks(text, "x").values()
    readers = (
        sections.hardware_in,
        sections.memory_in,
        sections.versions_in,
        sections.ecc_in,
        sections.power_in,
        sections.nodes_in,
        sgpu_sections.remaining_in,
        sgpu_sections.sliced_in,
        sgpu_sections.policy_in,
        sgpu_sections.usage_in,
    )
    return [reader(block) for block in blocks for reader in readers]


def matrix_and_links(text: str) -> object:
    return parse_matrix(text).links()


CASES = {
    "listing": (parse_listing, shapes.LISTING),
    "whole-listing": (parse_listing, shapes.WHOLE_LISTING),
    "report": (parse_report, shapes.report()),
    "report-of-eight": (parse_report, shapes.report(shapes.BDFS)),
    "hardware": (every_section, shapes.sections(shapes.HARDWARE_ROWS, shapes.BDFS[:3])),
    "memory": (every_section, shapes.sections(shapes.MEMORY_ROWS, shapes.BDFS[:2])),
    "version": (every_section, shapes.sections(shapes.VERSION_ROWS)),
    "ecc": (every_section, shapes.sections(shapes.ECC_ROWS, shapes.BDFS[:2])),
    "power": (every_section, shapes.sections(shapes.POWER_ROWS)),
    "remain": (every_section, shapes.untitled(shapes.REMAIN_ROWS, shapes.BDFS[:2])),
    "mode-and-policy": (every_section, shapes.untitled({**shapes.MODE_ROWS, **shapes.POLICY_ROWS})),
    "usage": (every_section, shapes.untitled(shapes.USAGE_ROWS)),
    "failed": (every_section, shapes.FAILED_SECTION),
    "matrix": (matrix_and_links, shapes.matrix(shapes.two_groups())),
    "bare-matrix": (matrix_and_links, shapes.matrix(shapes.two_groups("SYS"), affinity=False, title=False)),
    "table-2.1.6": (parse_table, shapes.TABLE_2_1_6),
    "table-2.2.4": (parse_table, shapes.TABLE_2_2_4),
    "table-2.2.6": (parse_table, shapes.TABLE_2_2_6),
    "table-2.2.12": (parse_table, shapes.TABLE_2_2_12),
}
JUNK = st.sampled_from(
    [
        *(
            "\0",
            "\x1b[31m",
            "٣",
            "\uff19",
            "NA",
            "N/A",
            "-1",
            "9" * 400,
            "1e999",
            "nan",
            "{",
            "}",
            "]",
            '"',
            ":",
            "|",
        ),
        *(
            "GPU#",
            "GPU#10",
            "SGPU#0",
            "\n",
            "\r\n",
            "\u2028",
            "\t",
            " ",
            "%",
            "gb",
            "KB",
            "MiB",
            "0000:0e:00.0",
        ),
        *("(UUID: )", "Available", "X", "MX", "GPU0", "null", "[[[[", "\ud7ff", "İ", "½"),
    ]
) | st.text(max_size=8)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(
            ["insert", "delete", "repeat", "replace", "cut", "drop line", "swap lines", "digits"]
        ),
        st.integers(0, 10_000),
        st.integers(1, 80),
        JUNK,
    ),
    min_size=1,
    max_size=5,
)


def edited(text: str, edit: Edit) -> str:
    kind, place, length, junk = edit
    at = place % (len(text) + 1)
    lines = text.splitlines(keepends=True)
    row = place % max(len(lines), 1)
    match kind:
        case "insert":
            return text[:at] + junk + text[at:]
        case "delete":
            return text[:at] + text[at + length :]
        case "repeat":
            return text[:at] + text[at : at + length] * 2 + text[at + length :]
        case "replace":
            return text[:at] + junk + text[at + length :]
        case "cut":
            return text[:at]
        case "drop line":
            return "".join(lines[:row] + lines[row + 1 :])
        case "swap lines":
            return "".join(lines[row:] + lines[:row])
        case _:
            return (
                text[:at]
                + "".join(junk if each.isdigit() else each for each in text[at : at + length])
                + text[at + length :]
            )


def check(parse: Parser, text: str) -> None:
    try:
        parse(text)
    except ParseError as error:
        sentence = str(error)
    else:
        sentence = "mx-smi: understood"
    assert sentence.startswith("mx-smi")


@pytest.mark.parametrize("case", CASES)
@given(edits=EDITS)
def test_only_parse_errors_leave_a_parser_for_a_damaged_answer(case: str, edits: list[Edit]) -> None:
    parse, text = CASES[case]
    for edit in edits:
        text = edited(text, edit)
        check(parse, text)


@pytest.mark.parametrize("parse", [parse_listing, parse_report, every_section, matrix_and_links, parse_table])
@given(text=st.text() | st.lists(JUNK).map("".join))
def test_only_parse_errors_leave_a_parser_for_any_text(parse: Parser, text: str) -> None:
    check(parse, text)


@pytest.mark.parametrize("parse", [parse_listing, parse_report, every_section, matrix_and_links, parse_table])
def test_an_answer_far_too_long_is_refused_and_not_worked_through(parse: Parser) -> None:
    check(parse, "{" * 3000)
    check(parse, "| 0 | 0000:0e:00.0 |\n" * 300_000)
