import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching import same_but_for_times, with_managed_fields
from tangram.sandbox.apiserver.patching.claiming import claimed
from tangram.sandbox.apiserver.patching.fields import Fields, fields_v1, read_fields_v1
from tangram.sandbox.apiserver.patching.managers import MOST_UPDATERS
from tangram.sandbox.apiserver.shape import Shape

TEXT = Shape(type="string")
MAP = Shape(type="object", values=TEXT)
SHAPE = Shape(
    type="object",
    properties={
        "metadata": Shape(type="object", properties={"name": TEXT, "labels": MAP}),
        "spec": MAP,
        "status": MAP,
    },
)
CONTENT = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
WRITES = st.lists(
    st.tuples(st.sampled_from(["kim", "lee", "max"]), st.sampled_from(["", "status"]), CONTENT, CONTENT),
    max_size=5,
)


def thing(
    spec: dict[str, str], status: dict[str, str], labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "metadata": {"name": "t"} | ({"labels": labels} if labels else {}),
        "spec": spec,
        "status": status,
    }


def written(
    before: dict[str, Any] | None,
    after: dict[str, Any],
    manager: str = "kim",
    *,
    api_version: str = "x/v1",
    subresource: str = "",
    now: str = "2026-01-01T00:00:00Z",
) -> dict[str, Any]:
    return with_managed_fields(
        before, after, SHAPE, manager=manager, api_version=api_version, subresource=subresource, now=now
    )


def owned(of: dict[str, Any]) -> list[Fields]:
    return [read_fields_v1(entry["fieldsV1"]) for entry in of["metadata"].get("managedFields", [])]


@given(WRITES)
def test_every_field_has_at_most_one_owner_and_nobody_owns_what_is_not_there(
    writes: list[tuple[str, str, dict[str, str], dict[str, str]]],
) -> None:
    live = written(None, thing({"a": "0"}, {}))
    for manager, subresource, spec, status in writes:
        after = copy.deepcopy(live)
        # The server resets what a request through the other door cannot change.
        after["status" if subresource else "spec"] = status if subresource else spec
        live = written(live, after, manager, subresource=subresource)
        there = claimed(live, SHAPE)
        seen = Fields()
        for fields in owned(live):
            assert not seen & fields
            leaves = {path for path in fields.paths() if len(path) > 1}
            assert leaves <= set(there.paths())
            seen |= fields


def test_a_write_that_changes_nothing_renews_nothing() -> None:
    live = written(None, thing({"a": "1"}, {}))
    assert written(live, copy.deepcopy(live), "lee", now="2027-01-01T00:00:00Z") == live


def test_only_the_writer_gets_a_new_time() -> None:
    live = written(None, thing({"a": "1", "b": "1"}, {}))
    after = copy.deepcopy(live)
    after["spec"]["b"] = "2"
    live = written(live, after, "lee", now="2027-01-01T00:00:00Z")
    times = {entry["manager"]: entry["time"] for entry in live["metadata"]["managedFields"]}
    assert times == {"kim": "2026-01-01T00:00:00Z", "lee": "2027-01-01T00:00:00Z"}


def test_one_manager_has_an_entry_for_each_version_and_subresource() -> None:
    live = written(None, thing({"a": "1"}, {}))
    for version, subresource, key in (("x/v2", "", "b"), ("x/v1", "status", "c"), ("x/v1", "", "d")):
        after = copy.deepcopy(live)
        after["status" if subresource else "spec"][key] = "1"
        live = written(live, after, api_version=version, subresource=subresource)
    entries = live["metadata"]["managedFields"]
    assert [(entry["apiVersion"], entry.get("subresource")) for entry in entries] == [
        ("x/v1", None),
        ("x/v1", "status"),
        ("x/v2", None),
    ]
    assert entries[0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}, "f:d": {}}}


def test_a_client_that_sends_no_owners_forgets_none_and_one_that_sends_an_empty_list_all() -> None:
    live = written(None, thing({"a": "1"}, {}))
    sent = thing({"a": "2"}, {})
    assert len(written(live, sent)["metadata"]["managedFields"]) == 1
    emptied: list[list[dict[str, Any]]] = [[], [{}]]
    for forgetting in emptied:
        sent["metadata"]["managedFields"] = forgetting
        left = written(live, sent)
        assert "managedFields" not in left["metadata"]
        assert "managedFields" not in written(left, thing({"a": "3"}, {}))["metadata"]


def test_owners_cannot_be_sent_through_a_subresource() -> None:
    live = written(None, thing({"a": "1"}, {}))
    sent = copy.deepcopy(live)
    sent["status"]["s"] = "1"
    sent["metadata"]["managedFields"][0]["manager"] = "thief"
    managers = [
        entry["manager"]
        for entry in written(live, sent, "lee", subresource="status")["metadata"]["managedFields"]
    ]
    assert managers == ["kim", "lee"]


def test_nameless_writers_are_unknown() -> None:
    assert written(None, thing({"a": "1"}, {}), "")["metadata"]["managedFields"][0]["manager"] == "unknown"


def test_more_than_ten_writers_are_told_as_ten_and_the_ancient() -> None:
    live = written(None, thing({}, {}, {"l": "1"}), "first", now="2020-01-01T00:00:00Z")
    for number in range(2 * MOST_UPDATERS):
        after = copy.deepcopy(live)
        after["spec"][f"key-{number}"] = "1"
        live = written(live, after, f"writer-{number:02}", now=f"2026-01-01T00:00:{number:02}Z")
    entries = live["metadata"]["managedFields"]
    assert len(entries) == MOST_UPDATERS
    assert [entry["manager"] for entry in entries] == [
        "ancient-changes",
        *(f"writer-{number}" for number in range(11, 20)),
    ]
    assert "f:key-10" in entries[0]["fieldsV1"]["f:spec"]
    assert entries[0]["time"] == "2026-01-01T00:00:10Z"


def test_a_later_time_alone_is_no_change() -> None:
    live = written(None, thing({"a": "1"}, {}))
    later = copy.deepcopy(live)
    later["metadata"]["managedFields"][0]["time"] = "2030-01-01T00:00:00Z"
    assert same_but_for_times(live, later)
    later["metadata"]["managedFields"][0]["fieldsV1"] = fields_v1(Fields.of(("f:spec",)))
    assert not same_but_for_times(live, later)
    assert not same_but_for_times(live, written(live, thing({"a": "2"}, {})))
