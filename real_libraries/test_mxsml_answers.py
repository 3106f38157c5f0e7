"""Function by function, the twin answers as the vendor's library does."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_libraries import mxsml_calls
from real_libraries.comparing import BOTH_END, changed, compared
from real_libraries.conftest import TABLES, Grow
from real_libraries.mxsml_abi import TREE, UNSEEN, calls_of
from real_libraries.mxsml_changes import STORIES
from real_libraries.poison import called, first_difference
from real_libraries.scenes import SCENES
from real_libraries.tables import WRONG, note, told
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES


@pytest.mark.parametrize("scene", SCENES)
def test_both_answer_the_same(
    scene: str, grow: Grow, real: Path, twin: Path, request: pytest.FixtureRequest
) -> None:
    grow(SCENES[scene])
    verdicts = compared(real, twin, mxsml_calls)
    note(request.config.stash[TABLES].setdefault(PREFIX, {}), verdicts)
    assert [told(each) for each in verdicts if each.word in WRONG] == []


@pytest.mark.parametrize("story", STORIES)
def test_both_change_the_same(
    story: str, grow: Grow, real: Path, twin: Path, request: pytest.FixtureRequest
) -> None:
    """Codes, written memory and the files that are left, from the same tree."""
    calls, tree = STORIES[story]
    verdicts, left = changed(real, twin, mxsml_calls, calls, lambda: grow(tree))
    note(request.config.stash[TABLES].setdefault(PREFIX, {}), verdicts)
    assert [told(each) for each in verdicts if each.word in (*WRONG, BOTH_END)] == []
    assert left == []


def first_that_takes_more(grow: Grow, real: Path, functions: list[str]) -> str:
    def run(poison: int) -> tuple[int, str]:
        grow(TREE)
        return called(real, PREFIX, poison, functions)

    return first_difference(run)


def test_no_function_of_the_original_takes_more_than_we_declare(grow: Grow, real: Path) -> None:
    assert first_that_takes_more(grow, real, calls_of(SIGNATURES)) == ""


def test_a_function_of_the_original_declared_with_too_few_arguments_is_found(grow: Grow, real: Path) -> None:
    found = {
        name: first_that_takes_more(grow, real, calls_of({**SIGNATURES, name: arguments[:-1]}))
        for name, arguments in SIGNATURES.items()
        if arguments
    }
    assert {name for name, first in found.items() if first != name} == UNSEEN | {"GetMetaXLinkInfo_v2"}
