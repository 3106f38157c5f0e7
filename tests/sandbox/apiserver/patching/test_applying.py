import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching import same_but_for_times, server_side_apply, with_managed_fields
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.shape import ANYTHING, Shape

TEXT = Shape(type="string")
PORT = Shape(
    type="object",
    properties={"port": Shape(type="integer"), "protocol": Shape(type="string", default="TCP"), "name": TEXT},
)
SPEC = Shape(
    type="object",
    properties={
        "size": Shape(type="integer"),
        "mode": TEXT,
        "settings": Shape(type="object", values=TEXT),
        "whole": Shape(type="object", values=TEXT, atomic=True),
        "tags": Shape(type="array", items=TEXT, list_type="set"),
        "plain": Shape(type="array", items=TEXT),
        "ports": Shape(type="array", items=PORT, list_type="map", list_keys=("port", "protocol")),
        "free": ANYTHING,
    },
)
METADATA = Shape(
    type="object",
    properties={"name": TEXT, "labels": Shape(type="object", values=TEXT), "managedFields": ANYTHING},
)
SHAPE = Shape(
    type="object",
    properties={"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "spec": SPEC, "status": ANYTHING},
)
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def ports_of(named: dict[tuple[int, str], str]) -> list[dict[str, Any]]:
    """Ports with and without a name and a protocol, no two with one key."""
    made: dict[tuple[int, str], dict[str, Any]] = {}
    for (number, protocol), name in named.items():
        said: dict[str, Any] = {"port": number}
        said |= {"protocol": protocol} if protocol else {}
        made[number, protocol or "TCP"] = said | ({"name": name} if name else {})
    return list(made.values())


WORDS = st.text("ab", min_size=1, max_size=2)
MAPS = st.dictionaries(st.sampled_from("pqr"), WORDS, max_size=3)
# Without elements a list that is owned by its elements is nobody's, and nobody can give it up again.
PORTS = st.dictionaries(
    st.tuples(st.integers(1, 3), st.sampled_from(["", "TCP", "UDP"])),
    st.sampled_from(["", "a", "b"]),
    min_size=1,
    max_size=3,
).map(ports_of)
SPECS: dict[str, st.SearchStrategy[Any]] = {
    "size": st.integers(0, 3),
    "mode": WORDS,
    "settings": MAPS,
    "whole": MAPS,
    "tags": st.lists(WORDS, unique=True, min_size=1, max_size=3),
    "plain": st.lists(WORDS, max_size=2),
    "ports": PORTS,
    "free": st.dictionaries(WORDS, MAPS | st.lists(WORDS, max_size=2) | WORDS, max_size=2),
}
ANY_SPEC = st.fixed_dictionaries({}, optional=SPECS)


def thing(spec: dict[str, Any] | None = None, **more: dict[str, Any]) -> dict[str, Any]:
    return (
        {"apiVersion": "x/v1", "kind": "Thing", "metadata": {"name": "t"}}
        | ({"spec": spec} if spec else {})
        | more
    )


def applied(
    live: dict[str, Any] | None,
    wanted: dict[str, Any],
    manager: str = "one",
    *,
    force: bool = False,
    now: str = EARLY,
) -> dict[str, Any]:
    return server_side_apply(
        live, wanted, SHAPE, manager=manager, force=force, api_version="x/v1", subresource="", now=now
    )


def entries(of: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry for entry in of["metadata"].get("managedFields", [])}


@given(ANY_SPEC, ANY_SPEC)
def test_applying_the_same_again_changes_nothing(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(applied(None, thing(first), "other"), thing(second), force=True)
    again = applied(live, thing(second), now=LATE)
    assert again == live
    assert same_but_for_times(live, again)


@given(ANY_SPEC, st.sets(st.sampled_from(sorted(SPECS))))
def test_managers_of_disjoint_fields_never_conflict_and_leave_no_trace(
    spec: dict[str, Any], mine: set[str]
) -> None:
    one = {name: value for name, value in spec.items() if name in mine}
    other = {name: value for name, value in spec.items() if name not in mine}
    alone = applied(None, thing(one), "one")
    both = applied(alone, thing(other), "other")
    assert both.get("spec", {}) == {**alone.get("spec", {}), **applied(None, thing(other)).get("spec", {})}
    without = applied(both, thing(), "other")
    assert (without.get("spec") or {}) == (alone.get("spec") or {})
    assert entries(without) == entries(alone)


@given(ANY_SPEC, ANY_SPEC)
def test_who_forces_gets_everything_stated(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(None, thing(first), "other")
    wanted = thing(second)
    kept = copy.deepcopy((live, wanted))
    forced = applied(live, wanted, force=True)
    assert (live, wanted) == kept, "what is given is not changed"
    fresh = applied(None, wanted)
    assert entries(forced).get("one", {}).get("fieldsV1") == entries(fresh).get("one", {}).get("fieldsV1")
    for name in ("size", "mode", "plain", "whole"):
        if name in second:
            assert forced["spec"][name] == second[name]


@given(ANY_SPEC, ANY_SPEC)
def test_a_conflict_is_exactly_what_forcing_would_take_away(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    live = applied(None, thing(first), "other")
    forced = applied(live, thing(second), force=True)
    lost = entries(live).get("other", {}).get("fieldsV1") != entries(forced).get("other", {}).get("fieldsV1")
    if not lost:
        assert applied(live, thing(second)) == forced
        return
    with pytest.raises(Refused) as refused:
        applied(live, thing(second))
    assert refused.value.code == 409


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["port", "name", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
ODD_SPEC = st.fixed_dictionaries({}, optional=dict.fromkeys(SPECS, ANY_JSON)) | ANY_JSON


@given(ODD_SPEC, ODD_SPEC, ANY_JSON)
def test_whatever_is_live_owned_and_stated_it_is_applied_or_refused_in_words(
    held: object, stated: object, owners: object
) -> None:
    live = thing(spec={"size": 1}) | {"spec": held}
    code = 0
    for entries_held in (
        None,
        owners,
        [owners],
        [
            {
                "manager": "x",
                "operation": "Apply",
                "apiVersion": "x/v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": owners,
            }
        ],
    ):
        live["metadata"] = {"name": "t", "managedFields": entries_held}
        try:
            applied(live, thing() | {"spec": stated}, force=True)
        except Refused as refused:
            code = refused.code
        assert code in (0, 500)


def test_an_applier_takes_along_only_what_nobody_else_owns() -> None:
    live = applied(None, thing({"settings": {"a": "1", "b": "1", "c": "1"}}))
    live = applied(live, thing({"settings": {"b": "1"}}), "other")
    edited = copy.deepcopy(live)
    edited["spec"]["settings"]["c"] = "edited"
    live = with_managed_fields(
        live, edited, SHAPE, manager="edit", api_version="x/v1", subresource="", now=LATE
    )
    left = applied(live, thing({"size": 1}))
    assert left["spec"] == {"size": 1, "settings": {"b": "1", "c": "edited"}}


def test_a_list_that_was_merged_keeps_foreign_elements_between_its_neighbours() -> None:
    ports = [{"port": number, "protocol": "TCP"} for number in (1, 2, 3)]
    live = with_managed_fields(
        None, thing({"ports": ports}), SHAPE, manager="edit", api_version="x/v1", subresource="", now=EARLY
    )
    made = applied(live, thing({"ports": [{"port": 3}, {"port": 1}, {"port": 9}]}))
    assert [port["port"] for port in made["spec"]["ports"]] == [2, 3, 1, 9]


def test_duplicates_that_are_there_already_are_replaced_by_what_is_stated() -> None:
    live = thing({"tags": ["a", "a", "b"], "ports": [{"port": 1, "name": "x"}, {"port": 1, "name": "y"}]})
    live = with_managed_fields(
        None, live, SHAPE, manager="edit", api_version="x/v1", subresource="", now=EARLY
    )
    made = applied(live, thing({"tags": ["a"], "ports": [{"port": 1, "name": "z"}]}), force=True)
    assert made["spec"] == {"tags": ["a", "b"], "ports": [{"port": 1, "name": "z"}]}


def test_a_kind_without_a_status_of_its_own_owns_its_status() -> None:
    wanted = thing(status={"phase": "x"})
    made = server_side_apply(
        None,
        wanted,
        SHAPE,
        manager="one",
        force=False,
        api_version="x/v1",
        subresource="",
        now=EARLY,
        status_apart=False,
    )
    assert entries(made)["one"]["fieldsV1"] == {"f:status": {"f:phase": {}}}
    assert "one" not in entries(applied(None, wanted))


def test_owners_nobody_can_read_stop_an_apply_in_words() -> None:
    live = thing({"size": 1})
    live["metadata"]["managedFields"] = [{"manager": "x", "operation": "Dance", "apiVersion": "x/v1"}]
    with pytest.raises(
        Refused, match="failed to decode managed fields: operation must be `Apply` or `Update`"
    ):
        applied(live, thing({"size": 1}))


def test_when_a_map_becomes_whole_its_owners_own_all_of_it() -> None:
    live = applied(None, thing({"settings": {"a": "1"}}))
    spec = Shape(type="object", properties={"settings": Shape(type="object", values=TEXT, atomic=True)})
    changed = Shape(type="object", properties={**SHAPE.properties, "spec": spec})
    made = server_side_apply(
        live,
        thing({"settings": {"b": "1"}}),
        changed,
        manager="two",
        force=True,
        api_version="x/v1",
        subresource="",
        now=LATE,
    )
    assert made["spec"] == {"settings": {"b": "1"}}
    assert list(entries(made)) == ["two"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"sise": 1}, id="unknown field"),
        pytest.param({"size": "1"}, id="text for a number"),
        pytest.param({"size": True}, id="truth for a number"),
        pytest.param({"settings": ["a"]}, id="list for a map"),
        pytest.param({"tags": {"a": "b"}}, id="map for a list"),
        pytest.param({"tags": ["a", "a"]}, id="twice in a set"),
        pytest.param({"tags": [["a"]]}, id="list in a set"),
        pytest.param({"tags": [None]}, id="null in a set"),
        pytest.param({"ports": ["80"]}, id="text among keyed elements"),
        pytest.param({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}, id="one key in two spellings"),
        pytest.param({"plain": [{"a": 1}]}, id="map in a list of texts"),
    ],
)
def test_what_does_not_fit_the_shape_is_refused_with_its_place(spec: dict[str, Any]) -> None:
    with pytest.raises(
        Refused, match=r"failed to create typed patch object \(/t; x/v1, Kind=Thing\): \.spec\."
    ) as refused:
        applied(None, thing(spec))
    assert refused.value.code == 500
