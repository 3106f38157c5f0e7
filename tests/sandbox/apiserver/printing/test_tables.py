"""Tables as a whole: those of the real server, and what holds for objects it never had."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.table_cases.comparing import Answer, differences, recorded
from builders.table_cases.specimens import all_kinds
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.printing import as_table
from tangram.sandbox.apiserver.refusals import Refused

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
RECORDED = recorded()
LISTED = [kind for kind in all_kinds() if "list" in kind.verbs]


def kind_of(name: str, group: str = "") -> Kind:
    return next(kind for kind in all_kinds() if (kind.kind, kind.group) == (name, group))


def keys(value: object) -> Iterator[str]:
    """The names of all fields with something inside, at any depth."""
    if isinstance(value, dict):
        for key, inside in cast("dict[str, object]", value).items():
            if isinstance(inside, dict | list):
                yield key
                yield from keys(cast("object", inside))
    elif isinstance(value, list):
        for inside in cast("list[object]", value):
            yield from keys(inside)


def labelled(answer: Answer) -> str:
    return f"{answer.api_version} {answer.kind} {answer.include}"


@pytest.mark.parametrize("answer", RECORDED, ids=labelled)
def test_a_table_is_the_one_that_the_real_server_made_of_the_same_objects(answer: Answer) -> None:
    assert differences(answer) == []


def test_every_kind_that_can_be_listed_was_compared() -> None:
    compared = {(answer.api_version, answer.kind) for answer in RECORDED if answer.things}
    assert {(kind.api_version, kind.kind) for kind in LISTED} == compared


def test_what_differs_is_noticed() -> None:
    answer = next(each for each in recorded() if each.kind == "Pod" and each.things)
    answer.things[0]["status"]["phase"] = "Elsewhere"
    answer.things.pop()
    assert differences(answer)


@pytest.mark.parametrize("kind", LISTED, ids=lambda kind: kind.kind)
def test_a_bookmark_is_printed_like_any_other_object(kind: Kind) -> None:
    table = as_table(kind, [{"metadata": {"resourceVersion": "7"}}], now=NOW)
    assert table["metadata"] == {"resourceVersion": "7"}
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    sorted({key for answer in RECORDED for thing in answer.things for key in keys(thing)})
)
ODD = st.recursive(
    JUNK,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(FIELDS, inside, max_size=5),
    max_leaves=12,
)


@given(kind=st.sampled_from(LISTED), thing=st.dictionaries(FIELDS, ODD, max_size=4))
def test_no_object_is_too_odd_to_be_printed(kind: Kind, thing: dict[str, Any]) -> None:
    table = as_table(kind, [thing], now=NOW)
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


def test_a_list_carries_its_version_and_how_it_goes_on() -> None:
    more = {"continue": "abc", "remainingItemCount": 3}
    table = as_table(kind_of("ConfigMap"), [], now=NOW, version="12", more=more)
    assert table["metadata"] == {"resourceVersion": "12", **more}
    assert table["rows"] == []


def test_the_version_of_a_list_with_one_object_is_the_lists() -> None:
    thing = {"metadata": {"name": "a", "resourceVersion": "3"}}
    assert as_table(kind_of("ConfigMap"), [thing], now=NOW, version="12")["metadata"] == {
        "resourceVersion": "12"
    }


def test_a_scale_has_its_own_columns() -> None:
    kind = Kind(
        group="autoscaling", kind="Scale", plural="scales", definition="io.k8s.api.autoscaling.v1.Scale"
    )
    thing = {"metadata": {"name": "web"}, "spec": {"replicas": 3}, "status": {"replicas": 2}}
    table = as_table(kind, [thing], now=NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "Desired",
        "Available",
        "Age",
    ]
    assert table["rows"][0]["cells"] == ["web", 3, 2, "<unknown>"]


def test_an_unknown_include_is_refused_in_one_sentence() -> None:
    with pytest.raises(Refused, match="must be 'Metadata', 'Object', 'None', or empty") as refused:
        as_table(kind_of("Pod"), [], now=NOW, include="Everything")
    assert refused.value.code == 400


def test_a_whole_object_says_what_it_is_even_where_a_list_left_that_out() -> None:
    row = as_table(kind_of("Job", "batch"), [{"metadata": {"name": "a"}}], now=NOW, include="Object")["rows"][
        0
    ]
    assert (row["object"]["apiVersion"], row["object"]["kind"]) == ("batch/v1", "Job")
