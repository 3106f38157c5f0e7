"""Objects as the server writes them."""

import copy
import json
from importlib.resources import files
from typing import Any

import pytest

from tangram.sandbox.apiserver.rules.written import as_written, quantity_text, time_text
from tangram.sandbox.apiserver.schemas import built_in

TABLE: dict[str, dict[str, str]] = json.loads(
    files("tangram.sandbox.apiserver.rules").joinpath("gofields.json").read_text("utf-8")
)
SELF_WRITTEN = ("FieldsV1", "JSONSchemaProps")
"""Their OpenAPI says less than their Go types."""


@pytest.mark.parametrize("name", sorted(name for name in TABLE if not name.endswith(SELF_WRITTEN)))
def test_the_table_of_fields_has_the_fields_of_the_shapes(name: str) -> None:
    assert TABLE[name].keys() == built_in(f"io.k8s.{name}").properties.keys()


def written(kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    copied = copy.deepcopy(thing)
    as_written(copied, f"io.k8s.api.core.v1.{kind}")
    return copied


def test_what_is_empty_goes_and_what_is_a_struct_comes() -> None:
    pod: dict[str, Any] = {
        "metadata": {"labels": {}, "annotations": None, "creationTimestamp": None},
        "spec": {
            "containers": [{"name": "a", "tty": False, "args": [], "securityContext": {}}],
            "hostPID": False,
        },
    }
    assert written("Pod", pod) == {
        "metadata": {},
        "spec": {"containers": [{"name": "a", "resources": {}, "securityContext": {}}]},
        "status": {},
    }


def test_a_time_nobody_gave_is_null_and_a_list_that_must_be_there_too() -> None:
    assert written("Event", {})["eventTime"] is None
    assert written("PodTemplate", {})["template"]["spec"]["containers"] is None


def test_what_points_somewhere_stays_though_it_is_zero() -> None:
    spec = written("Pod", {"spec": {"terminationGracePeriodSeconds": 0, "enableServiceLinks": False}})["spec"]
    assert spec["terminationGracePeriodSeconds"] == 0
    assert spec["enableServiceLinks"] is False


def test_fields_that_nobody_knows_are_left_to_others() -> None:
    assert written("ConfigMap", {"extra": None, "data": {}}) == {"extra": None, "metadata": {}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("1000m", "1", id="whole"),
        pytest.param(0.5, "500m", id="a fraction in JSON"),
        pytest.param(8, "8", id="a number in JSON"),
        pytest.param("1024Mi", "1Gi", id="a larger suffix"),
        pytest.param("1e3", "1e3", id="an exponent"),
        pytest.param("much", "much", id="no quantity"),
        pytest.param(True, True, id="a boolean"),
    ],
)
def test_quantities_have_one_spelling(given: object, kept: object) -> None:
    assert quantity_text(given) == kept


def test_lists_of_resources_are_kept_to_a_thousandth_and_rounded_up() -> None:
    assert quantity_text("0.0001", to_milli=True) == "1m"
    assert quantity_text("-0.0001", to_milli=True) == "0"


@pytest.mark.parametrize(
    ("given", "micro", "kept"),
    [
        pytest.param("2030-01-01T02:00:00+02:00", False, "2030-01-01T00:00:00Z", id="another zone"),
        pytest.param("2030-01-01T00:00:00.5Z", False, "2030-01-01T00:00:00Z", id="a fraction"),
        pytest.param("2030-01-01T00:00:00.5Z", True, "2030-01-01T00:00:00.500000Z", id="microseconds"),
        pytest.param("2030-13-01T00:00:00Z", False, "2030-13-01T00:00:00Z", id="no such month"),
        pytest.param("0001-01-01T00:00:00+23:00", False, "0001-01-01T00:00:00+23:00", id="before all times"),
        pytest.param("soon", False, "soon", id="no time"),
    ],
)
def test_times_are_in_utc(given: str, micro: bool, kept: str) -> None:  # noqa: FBT001 - a column of the table
    assert time_text(given, micro=micro) == kept
