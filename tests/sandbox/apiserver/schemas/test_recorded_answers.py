"""The same bodies, definitions and objects that a real API server was asked about, and its recorded answers."""

import pytest

from builders.schema_cases import comparing
from builders.schema_cases.bodies import BODIES
from builders.schema_cases.definitions import DEFINITIONS
from builders.schema_cases.objects import OBJECTS

RECORDED = comparing.recorded()


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_refused_in_the_words_of_the_real_server(name: str) -> None:
    assert comparing.of_body(BODIES[name]) == RECORDED["bodies"][name]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_refused_for_what_the_real_server_refuses_it(name: str) -> None:
    found = comparing.of_definition(DEFINITIONS[name])
    assert comparing.comparable(name, found) == comparing.comparable(name, RECORDED["definitions"][name])


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_completed_or_refused_as_by_the_real_server(name: str) -> None:
    assert comparing.of_object(OBJECTS[name]) == RECORDED["objects"][name]


def test_the_recording_is_of_these_cases_and_no_others() -> None:
    assert {part: set(answers) for part, answers in RECORDED.items()} == {
        "bodies": set(BODIES),
        "definitions": set(DEFINITIONS),
        "objects": set(OBJECTS),
    }
