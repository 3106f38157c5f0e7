import pytest

from tangram.wire.managed_fields import fields_of, managers_of

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
