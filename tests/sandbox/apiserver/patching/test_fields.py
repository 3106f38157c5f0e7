from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching.elements import canonical, field, keyed, path_text, valued
from tangram.sandbox.apiserver.patching.fields import Fields, fields_v1, read_fields_v1

STEPS = st.sampled_from(
    [
        field("a"),
        field("b"),
        keyed({"name": "x"}),
        keyed({"port": 80, "protocol": "TCP"}),
        valued("x"),
        valued(7),
    ]
)
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)
SETS = st.sets(PATHS, max_size=8)


def as_paths(fields: Fields) -> set[tuple[str, ...]]:
    return set(fields.paths())


@given(SETS, SETS)
def test_the_arithmetic_of_trees_is_that_of_sets_of_paths(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    ours, theirs = Fields.of(*one), Fields.of(*other)
    assert as_paths(ours | theirs) == one | other
    assert as_paths(ours & theirs) == one & other
    assert as_paths(ours - theirs) == one - other
    assert as_paths(ours.without_branches(theirs)) == {
        path for path in one if not any(path[:length] in other for length in range(1, 4))
    }
    assert bool(ours - theirs) == bool(one - other), "no empty branch is left that would keep an owner alive"
    assert all((path in ours) == (path in one) for path in one | other)


@given(SETS, SETS)
def test_only_branches_keeps_what_leads_to_a_member_or_lies_below_one(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    expected = {
        path
        for path in one
        if any(path[: len(member)] == member or member[: len(path)] == path for member in other)
    }
    assert as_paths(Fields.of(*one).only_branches(Fields.of(*other))) == expected


@given(SETS)
def test_what_is_written_reads_as_the_same_set(paths: set[tuple[str, ...]]) -> None:
    fields = Fields.of(*paths)
    assert read_fields_v1(fields_v1(fields)) == fields


def test_a_member_with_something_below_it_is_written_with_a_dot() -> None:
    said: dict[str, Any] = {"f:spec": {"f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:name": {}}}}}
    assert fields_v1(read_fields_v1(said)) == said


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(
            'k:{ "protocol": "TCP", "port": 80 }',
            'k:{"port":80,"protocol":"TCP"}',
            id="keys sorted, no blanks",
        ),
        pytest.param('k:{"port":80.0}', 'k:{"port":80}', id="a whole number"),
        pytest.param('v:"a<b"', 'v:"a\\u003cb"', id="escaped as Go does"),
        pytest.param("i:007", "i:7", id="a position"),
        pytest.param("f:a/b", "f:a/b", id="a field as it is"),
        pytest.param("x:new", None, id="a kind of step not known yet"),
    ],
)
def test_a_step_has_one_text(written: str, read: str | None) -> None:
    assert canonical(written) == read


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"spec": {}}, id="no kind of step"),
        pytest.param({"k:[1]": {}}, id="keys that are none"),
        pytest.param({"v:{": {}}, id="a value that is no JSON"),
        pytest.param({"i:x": {}}, id="a position that is none"),
        pytest.param({"": {}}, id="nothing"),
        pytest.param([], id="a list"),
        pytest.param({"f:a": 1}, id="a number below"),
    ],
)
def test_what_is_no_set_of_fields_is_refused(said: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_fields_v1(said)


def test_unknown_steps_are_left_out() -> None:
    assert fields_v1(read_fields_v1({"f:a": {}, "z:9": {"f:b": {}}})) == {"f:a": {}}


def test_elements_are_told_in_the_order_of_what_they_hold() -> None:
    ports = [keyed({"port": number}) for number in (443, 80, 8080)]
    assert list(fields_v1(Fields(ports))) == [keyed({"port": number}) for number in (80, 443, 8080)]


def test_paths_read_as_people_write_them() -> None:
    path: Any = (field("spec"), field("ports"), keyed({"port": 80, "protocol": "TCP"}), field("name"))
    assert path_text(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert path_text((field("finalizers"), valued("a"))) == '.finalizers[="a"]'
    assert path_text((field("list"), "i:3")) == ".list[3]"
