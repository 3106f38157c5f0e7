import pytest

from tangram.wire.managed_fields import fields_of, managers_of, owners_below

NODE: dict[str, object] = {
    "metadata": {
        "managedFields": [
            {"manager": "us", "fieldsV1": {"f:status": {"f:capacity": {"f:a/b": {}, "f:c": {}}}}},
            {"manager": "kubelet", "fieldsV1": {"f:status": {"f:capacity": {".": {}, "f:cpu": {}}}}},
            {"manager": "us", "fieldsV1": {"f:status": {"f:capacity": {"f:d": {}}}}},
            {"manager": "else", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
        ]
    }
}


def test_whoever_wrote_below_a_field_owns_some_of_it() -> None:
    assert managers_of(NODE, "status") == {"us", "kubelet"}
    assert managers_of(NODE, "status", "capacity", "cpu") == {"kubelet"}
    assert managers_of(NODE, "spec") == frozenset()


def test_names_are_gathered_from_all_entries_of_a_manager() -> None:
    assert fields_of(NODE, "us", "status", "capacity") == {"a/b", "c", "d"}
    assert fields_of(NODE, "kubelet", "status", "capacity") == {"cpu"}
    assert fields_of(NODE, "nobody", "status", "capacity") == frozenset()


@pytest.mark.parametrize(
    "thing",
    [
        {},
        {"metadata": None},
        {"metadata": {"managedFields": None}},
        {"metadata": {"managedFields": [7, None, {"manager": 7, "fieldsV1": 7}]}},
        {"metadata": {"managedFields": [{"manager": "us", "fieldsV1": {"f:status": None}}]}},
    ],
)
def test_what_is_not_kept_is_owned_by_nobody(thing: dict[str, object]) -> None:
    assert managers_of(thing, "status", "capacity") == frozenset()
    assert fields_of(thing, "us", "status", "capacity") == frozenset()


def test_each_field_has_its_owners_and_an_element_of_a_list_is_named_by_its_key() -> None:
    fields: dict[str, object] = {
        "f:conditions": {".": {}, 'k:{"type":"Ready"}': {"f:status": {}}, "v:7": {}, "k:{": {}}
    }
    listed: dict[str, object] = {
        "metadata": {"managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": fields}}]}
    }
    assert owners_below(listed, "status", "conditions") == {"Ready": {"kubelet"}}
    assert owners_below(NODE, "status", "capacity") == {
        "a/b": {"us"},
        "c": {"us"},
        "d": {"us"},
        "cpu": {"kubelet"},
    }
    assert owners_below({}, "status") == {}


@pytest.mark.parametrize("key", ["k:7", "k:[]", 'k:{"a":1,"b":2}', 'k:{"a":7}', "k:" + "[" * 100_000])
def test_an_element_without_a_single_name_is_nobodys(key: str) -> None:
    listed: dict[str, object] = {
        "metadata": {"managedFields": [{"manager": "us", "fieldsV1": {"f:status": {key: {}}}}]}
    }
    assert owners_below(listed, "status") == {}
