"""The page about HAMi's defects is complete, and every test it leans on exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEFECTS = 41

_ROW = re.compile(r"\| (B\d+) \| (.+?) \| (.+?) \|")
_ISSUE = re.compile(r"\| (\d+(?:, \d+)*) \| (.+?) \| (.+?) \|")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(form: re.Pattern[str] = _ROW) -> list[tuple[str, str, str]]:
    page = (ROOT / "docs" / "hami-defects.md").read_text().splitlines()
    found = [row for line in page if (row := form.fullmatch(line)) is not None]
    return [(row[1], row[2], row[3]) for row in found]


@cache
def names_in(path: str) -> frozenset[str]:
    """Functions and assigned names at the top of a test module."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def test_every_defect_is_listed_once_in_order() -> None:
    assert [number for number, _, _ in rows()] == [f"B{number}" for number in range(1, DEFECTS + 1)]


@pytest.mark.parametrize(("number", "held_by"), [pytest.param(row[0], row[2], id=row[0]) for row in rows()])
def test_a_defect_is_held_by_tests_or_is_not_ours(number: str, held_by: str) -> None:
    if held_by.startswith("not ours: "):
        assert re.fullmatch(r"not ours: .{20,}", held_by), f"{number}: {held_by}"
    else:
        check_tests(number, held_by)


@pytest.mark.parametrize(
    ("number", "held_by"), [pytest.param(row[0], row[2], id=row[0]) for row in rows(_ISSUE)]
)
def test_what_people_reported_is_held_by_tests(number: str, held_by: str) -> None:
    check_tests(number, held_by)


def check_tests(number: str, held_by: str) -> None:
    for each in held_by.split("<br>"):
        test = _TEST.fullmatch(each)
        assert test is not None, f"{number} names {each}, which is no test"
        path, name = test.groups()
        assert (ROOT / path).is_file(), f"{number} names {path}, which does not exist"
        assert name in names_in(path), f"{number} names {name}, which {path} does not have"
        assert name.lower().startswith("test")


def test_every_page_counts_the_same_defects() -> None:
    pages = [ROOT / "AGENTS.md", ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    counted = {
        path.name: re.findall(r"(\d+) (?:peer )?defects", path.read_text("utf-8")) for path in sorted(pages)
    }
    stated = {name: numbers for name, numbers in counted.items() if numbers}
    assert len(stated) >= 4
    assert {number for numbers in stated.values() for number in numbers} == {str(DEFECTS)}


def test_every_test_that_is_named_after_a_defect_is_on_the_page() -> None:
    page = (ROOT / "docs" / "hami-defects.md").read_text()
    folder = ROOT / "tests" / "services" / "scheduler"
    named = {
        f"tests/services/scheduler/{path.name}::{name}"
        for path in folder.glob("test_*.py")
        for name in names_in(str(path.relative_to(ROOT)))
        if re.match(r"test_(b\d+|\d+)_", name)
    }
    assert sorted(each for each in named if f"`{each}`" not in page) == []


def test_every_defect_says_what_it_was_in_a_line() -> None:
    said = [what for _, what, _ in rows()]
    assert all(20 < len(what) < 130 for what in said)
    assert len(set(said)) == len(said)
