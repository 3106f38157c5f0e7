"""The page about MetaX's manual has every item once, with a legal mark and tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "metax-checklist.md").read_text("utf-8")
ITEMS = {"M": 114, "S0-": 14, "S1-": 8, "S2-": 16, "S4-": 12}
"""How many items the manual has, and the pages for users: HAMi's of sharing, HAMi's of topology, Koordinator's, and
HAMi's of Moore Threads cards."""
WORKS, PARTLY = "works", "partly: no card at hand"
DIFFERS = re.compile(r"differs on purpose \(\[[^]]+\]\((?P<page>[\w./-]+\.md)(?:#[\w-]+)?\)\)")

_ROW = re.compile(r"\| ((?:M|S\d-)\d+) \| (.+?) \| (.+?) \| (.+?) \|")
_TEST = re.compile(r"`((?:tests|e2e)/[\w/]+\.py)::(test_\w+)`")


class Row(NamedTuple):
    item: str
    answer: str
    mark: str
    tests: str


ROWS = [Row(*found.groups()) for line in PAGE.splitlines() if (found := _ROW.fullmatch(line))]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)


@cache
def functions_of(path: str) -> frozenset[str]:
    """The test functions of a module, those in classes too."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions)


def test_every_item_has_one_row_in_its_order() -> None:
    expected = [f"{kind}{number}" for kind, last in ITEMS.items() for number in range(1, last + 1)]
    assert [row.item for row in ROWS] == expected


def test_no_row_of_an_item_is_of_another_form() -> None:
    """A row that cannot be read would be missed by every other test here."""
    begun = re.findall(r"^\|\s*\**((?:M|S\d-)\d+)", PAGE, re.MULTILINE)
    assert begun == [row.item for row in ROWS]


@each_row
def test_a_row_says_what_is_done_and_has_a_legal_mark(row: Row) -> None:
    assert len(row.answer) > 15
    if row.mark not in {WORKS, PARTLY}:
        differs = DIFFERS.fullmatch(row.mark)
        assert differs is not None, row.mark
        assert (ROOT / "docs" / differs["page"]).is_file(), row.mark


@each_row
def test_the_tests_of_a_row_exist(row: Row) -> None:
    named = row.tests.split("<br>")
    assert len(named) == len(set(named))
    for each in named:
        found = _TEST.fullmatch(each)
        assert found is not None, f"{each} is no test"
        path, name = found.groups()
        assert (ROOT / path).is_file(), f"{path} does not exist"
        assert name in functions_of(path), f"{path} has no {name}"


def test_an_item_that_end_to_end_tests_are_named_after_is_held_by_one_of_them() -> None:
    """Names such as test_m106_... and test_m99_m100_... claim to prove an item."""
    claims: dict[str, set[str]] = {}
    for path in (ROOT / "e2e").glob("test_*.py"):
        for name in functions_of(f"e2e/{path.name}"):
            claimed = re.match(r"test((?:_m\d+)+)_", name)
            for number in re.findall(r"\d+", claimed[1]) if claimed else ():
                claims.setdefault(f"M{number}", set()).add(f"`e2e/{path.name}::{name}`")
    assert len(claims) > 12
    held = {row.item: set(row.tests.split("<br>")) for row in ROWS}
    assert [item for item, tests in claims.items() if not tests & held[item]] == []


def test_every_mark_is_explained_and_used() -> None:
    explained = re.findall(r"^\| (works|partly: [^|]+?|differs on purpose) \|", PAGE, re.MULTILINE)
    assert explained == [WORKS, PARTLY, "differs on purpose"]
    assert {row.mark.partition(" (")[0] for row in ROWS} == set(explained)
