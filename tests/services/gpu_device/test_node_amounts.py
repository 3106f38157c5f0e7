"""Which change makes a node state what it should, and nothing else."""

import pytest

from tangram.kube.api import Object
from tangram.services.gpu_device.node_amounts import NAMES, amounts_change, labels_change, withdrawal

CORE, MEMORY, RATIO, SHARED = NAMES
WANTED = {CORE: "200", MEMORY: "128Gi", RATIO: "200", SHARED: "200"}


def node(capacity: object = None, allocatable: object = None, owned: tuple[str, ...] = ()) -> Object:
    fields: Object = {"f:status": {"f:capacity": {f"f:{name}": {} for name in owned}}}
    return {
        "metadata": {"labels": {"a": "b"}, "managedFields": [{"manager": "us", "fieldsV1": fields}]},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable if allocatable is not None else capacity,
        },
    }


@pytest.mark.parametrize(
    ("stated", "wanted", "change"),
    [
        pytest.param(WANTED, WANTED, None, id="as it should be"),
        pytest.param({**WANTED, CORE: "0.2k", MEMORY: str(128 << 30)}, WANTED, None, id="spelled otherwise"),
        pytest.param({**WANTED, "cpu": "8", "koordinator.sh/gpu": "3"}, WANTED, None, id="others' names"),
        pytest.param({**WANTED, CORE: "0"}, WANTED, {CORE: "200"}, id="one is 0"),
        pytest.param({**WANTED, CORE: "??"}, WANTED, {CORE: "200"}, id="one is no amount"),
        pytest.param({"cpu": "8"}, WANTED, WANTED, id="none are there"),
        pytest.param(None, WANTED, WANTED, id="no status yet"),
        pytest.param({**WANTED, "cpu": "8"}, {}, dict.fromkeys(WANTED), id="no card is left"),
        pytest.param({"cpu": "8"}, {}, None, id="none were ever there"),
    ],
)
def test_the_change_is_what_differs(
    stated: object, wanted: dict[str, str], change: dict[str, str | None] | None
) -> None:
    expected = None if change is None else {"status": {"capacity": change, "allocatable": change}}
    assert amounts_change(node(stated), wanted) == expected


def test_each_side_is_put_right_by_itself() -> None:
    assert amounts_change(node(WANTED, {**WANTED, SHARED: "0"}), WANTED) == {
        "status": {"allocatable": {SHARED: "200"}}
    }


def test_only_what_was_ours_and_what_is_nothing_is_withdrawn() -> None:
    stated = {CORE: "200", MEMORY: "0", RATIO: "100", "cpu": "8", "example.com/x": "0"}
    gone = {CORE: None, MEMORY: None}
    assert withdrawal(node(stated, owned=(CORE, "cpu")), "us") == {
        "status": {"capacity": gone, "allocatable": gone}
    }
    assert withdrawal(node(stated | {MEMORY: "1"}, owned=(CORE,)), "them") is None


def test_labels_are_set_and_never_removed() -> None:
    assert labels_change(node(), {"a": "b"}) is None
    assert labels_change(node(), {"a": "c", "d": "e"}) == {"metadata": {"labels": {"a": "c", "d": "e"}}}
    assert labels_change(node(), {}) is None
