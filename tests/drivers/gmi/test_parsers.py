"""What each parser makes of the tool's answers, and that nothing but its own error ever leaves it."""

import json
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.gmi_answers import IDLE_SUMMARY, SUMMARY, card, matrix, query
from builders.mtml_twin import GIB, uuid_of
from tangram.drivers.gmi.matrix import Pair, parse_matrix
from tangram.drivers.gmi.processes import parse_processes
from tangram.drivers.gmi.query import parse_query
from tangram.drivers.gmi.values import ParseError, measure, memory, percent, whole, word
from tangram.drivers.sgpu_km import parse_bound_cards, parse_number, parse_usage
from tangram.model.devices import Process
from tangram.model.topology import PcieLevel
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA


def test_the_query_gives_every_figure_a_real_machine_prints() -> None:
    answer = parse_query(query(card(0), card(5)))
    assert answer.driver_version == "3.3.8-server"
    assert [each.index for each in answer.cards] == [0, 5], "indices may have gaps"
    first = answer.cards[0]
    assert (first.uuid, first.product, first.bdf) == (uuid_of(0), "MTT S5000", "0000:03:00.0")
    assert (first.memory_total, first.memory_used) == (80 * GIB, 66641 * MIB)
    assert (first.utilisation_percent, first.temperature_celsius) == (42.0, 34.0)
    assert (first.power_watts, first.power_cap_watts) == (367.49, 950.0)
    assert first.clocks_mhz == {"gpu": 1750, "memory": 2000}


def test_figures_that_are_missing_or_odd_are_not_available() -> None:
    odd = card(0, **{"FB Memory Usage": {"Total": "80GiB", "Used": "12345"}, "Utilization": {"Gpu": "N/A"}})
    odd |= {
        "Temperature": "hot",
        "Power Readings": {"Power Draw": "Unknown Error"},
        "Clocks": None,
        "PCI": {},
    }
    got = parse_query(query(odd)).cards[0]
    assert got.memory_total == 80 * GIB
    assert (got.memory_used, got.utilisation_percent, got.temperature_celsius) == (NA, NA, NA)
    assert (got.power_watts, got.power_cap_watts, got.clocks_mhz, got.bdf) == (NA, NA, {}, "")
    assert not got.silent


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "no JSON", id="empty"),
        pytest.param("Error: no device", "no JSON", id="an error in words"),
        pytest.param(query(card(0))[:-20], "no JSON", id="cut off"),
        pytest.param("[" * 100_000, "no JSON", id="too deep"),
        pytest.param("\ud800", "no JSON", id="half a character"),
        pytest.param("[]", "no list named GPU", id="another shape"),
        pytest.param('{"GPU": "none"}', "no list named GPU", id="no list"),
        pytest.param('{"GPU": [7]}', "no keys", id="no card in the list"),
        pytest.param(
            '{"GPU": [], "Attached GPUs": "8"}', "counts 8 cards and lists none", id="counted, not listed"
        ),
        pytest.param(query(card(0), card(0)), "one UUID twice", id="the same card twice"),
    ],
)
def test_an_answer_of_another_structure_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        parse_query(text)


def test_the_process_table_keeps_blanks_in_commands() -> None:
    assert parse_processes(SUMMARY) == {
        0: (
            Process(4711, "python3 -m vllm serve --port 8000", Bytes(66000 * MIB)),
            Process(4712, "/usr/bin/worker", Bytes(641 * MIB)),
        ),
        3: (Process(99, "x"),),
    }


def test_nobody_and_nobody_knows_are_two_answers() -> None:
    assert parse_processes(IDLE_SUMMARY) == {}
    unavailable = IDLE_SUMMARY.replace(
        "No running processes found", "Error: the requested operation is not available"
    )
    for text in (unavailable, SUMMARY[: SUMMARY.index("Processes:")], ""):
        with pytest.raises(ParseError):
            parse_processes(text)


def test_the_matrix_gives_every_pair_once() -> None:
    pairs = parse_matrix(matrix())
    assert len(pairs) == 28
    assert {pair.lanes for pair in pairs} == {2}
    assert parse_matrix(matrix(5, bonded=0))[-1] == Pair(3, 4, 0, PcieLevel.SYSTEM)
    assert parse_matrix(f"\x1b[4m{matrix(2)}\x1b[0m") == (Pair(0, 1, 2, PcieLevel.UNKNOWN),)
    assert parse_matrix("GPU0\nGPU0 X") == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(
            "Error: the requested operation is not available on target device", id="an error in words"
        ),
        pytest.param(matrix(3).replace("GPU1\tMT2", "GPU1\tSYS"), id="halves that disagree"),
        pytest.param(matrix(3).replace("\nGPU2\t", "\nGPU7\t"), id="another row"),
        pytest.param(matrix(3).replace("MT2\tMT2\n", "MT2\n"), id="a row too short"),
        pytest.param("GPU0 GPU0\nGPU0 X X", id="a column twice"),
        pytest.param("GPU0 GPU1\nGPU0 X X\nGPU1 X X", id="itself off the diagonal"),
    ],
)
def test_a_matrix_that_contradicts_itself_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_matrix(text)


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        (memory("81920MiB"), 80 * GIB),
        (memory(" 1.5 GiB "), 3 * GIB // 2),
        (memory("5"), NA),
        (memory("5MB"), NA),
        (memory("-5MiB"), NA),
        (memory(None), NA),
        (measure("-4C", "C"), -4.0),
        (measure("34", "C"), NA),
        (percent("100%"), 100.0),
        (percent("101%"), NA),
        (percent("-1%"), NA),
        (whole("8"), 8),
        (whole(8), 8),
        (whole(True), NA),  # noqa: FBT003 - what JSON makes of the word
        (whole("٣"), NA),
        (word(" N/A "), NA),
        (word("3.3\x00"), NA),
    ],
)
def test_a_value_is_read_exactly_or_not_at_all(read: object, meant: object) -> None:
    assert read == meant


# ------------------------------------------------------------------------------------------------ random answers

PARSERS: dict[str, tuple[Callable[[str], object], str]] = {
    "query": (parse_query, query(card(0), card(1))),
    "processes": (parse_processes, SUMMARY),
    "matrix": (parse_matrix, matrix(4)),
    "usage": (parse_usage, "Free: 17179869184\nPID: 4711 Mem: 1073741824\n"),
    "cores": (lambda text: (parse_bound_cards(text), parse_number(text)), "0,2,3\n"),
}

ANYTHING = st.text(st.characters(), max_size=300)
PIECES = st.sampled_from(
    [
        "N/A",
        "-",
        "99999999999999999999999",
        "0",
        "MiB",
        "GPU0",
        "X",
        "MT2",
        "\n",
        "\t",
        '"',
        "{",
        "}",
        "[",
        "]",
        "null",
        ":",
        "|",
        "\x1b[0m",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable, max_size=12) | PIECES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["GPU", "Index", "GPU UUID", "PCI", "Bus ID", "Total", "Power Draw ", "Clocks", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def edited(text: str) -> st.SearchStrategy[str]:
    """The text with a stretch replaced by something else, several times."""
    change = st.tuples(
        st.integers(0, len(text)), st.integers(0, 60), ANYTHING.map(lambda new: new[:20]) | PIECES
    )

    def apply(changes: list[tuple[int, int, str]]) -> str:
        changed = text
        for at, length, new in changes:
            changed = changed[:at] + new + changed[at + length :]
        return changed

    return st.lists(change, min_size=1, max_size=6).map(apply)


def rearranged(text: str) -> st.SearchStrategy[str]:
    """Lines left out, doubled and in another order."""
    return st.lists(st.sampled_from(text.splitlines()), max_size=40).map("\n".join)


def swapped_words(text: str) -> st.SearchStrategy[str]:
    words = text.split(" ")
    return st.lists(st.tuples(st.integers(0, len(words) - 1), PIECES), min_size=1, max_size=5).map(
        lambda swaps: " ".join(dict(swaps).get(at, each) for at, each in enumerate(words))
    )


def jsonish(text: str) -> st.SearchStrategy[str]:
    del text
    keys = st.sampled_from(["GPU", "gpu ", "Driver Version"])
    return st.dictionaries(keys, VALUES, max_size=3).map(json.dumps)


KINDS: dict[str, Callable[[str], st.SearchStrategy[str]]] = {
    "anything": lambda _: ANYTHING,
    "edited": edited,
    "rearranged": rearranged,
    "words swapped": swapped_words,
    "json": jsonish,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parser", PARSERS)
@given(data=st.data())
def test_only_its_own_error_leaves_a_parser(parser: str, kind: str, data: st.DataObject) -> None:
    parse, sample = PARSERS[parser]
    text = data.draw(KINDS[kind](sample))
    complaint = "none"
    try:
        parse(text)
    except ParseError as error:
        complaint = str(error)
    assert 0 < len(complaint) < 400


def test_a_soak_tries_each_family_of_inputs_often_enough() -> None:
    assert len(PARSERS) * len(KINDS) * settings.get_profile("soak").max_examples >= 100_000
