"""Every function as we declare it, called with poison where a further argument would be.

In a test a register that was not set holds by chance something harmless, and a wrong count of arguments goes unnoticed.
"""

import os
from collections.abc import Callable

import pytest

from builders.mxsml_twin import RULES, SYSFS, Machine, Twin
from real_libraries.mxsml_abi import TREE, UNSEEN, calls_of
from real_libraries.mxsml_calls import DECLARED, LIBRARY, questions
from real_libraries.mxsml_changes import STORIES
from real_libraries.poison import called, first_difference
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES

Make = Callable[..., Twin]
MACHINE = Machine(TREE)


@pytest.fixture
def twin(twin_of: Make) -> Twin:
    return twin_of(MACHINE)


def first_that_takes_more(twin: Twin, functions: list[str]) -> str:
    world = {**os.environ, RULES: str(twin.root / "rules"), SYSFS: str(twin.sysfs)}

    def run(poison: int) -> tuple[int, str]:
        twin.show(MACHINE, renew_slices=True)
        return called(twin.library, PREFIX, poison, functions, world)

    return first_difference(run)


def test_no_function_takes_more_than_we_declare(twin: Twin) -> None:
    assert first_that_takes_more(twin, calls_of(SIGNATURES)) == ""


def test_every_declared_function_is_compared_with_the_vendors_library() -> None:
    asked = {call.name for story in STORIES.values() for call in story.calls}
    asked |= {call.name for call in (LIBRARY.begin, *questions())}
    assert asked >= set(DECLARED) == {*SIGNATURES, "GetErrorString"}


def test_a_function_declared_with_too_few_arguments_is_found(twin: Twin) -> None:
    """The name of a slice was once declared so."""
    found = {
        name: first_that_takes_more(twin, calls_of({**SIGNATURES, name: arguments[:-1]}))
        for name, arguments in SIGNATURES.items()
        if arguments
    }
    assert {name for name, first in found.items() if first != name} == UNSEEN
