"""Columns that definitions of kinds ask for; most of what they print is compared with the real server elsewhere."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tangram.sandbox.apiserver.kinds import Column, Kind
from tangram.sandbox.apiserver.printing import as_table

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def cell(value: object, kind: str) -> Any:  # noqa: ANN401 - cells are of any kind
    tile = Kind(
        group="example.com",
        kind="Tile",
        plural="tiles",
        columns=(Column(name="Value", type=kind, path=".spec.value"),),
    )
    thing = {"metadata": {"name": "a"}, "spec": {"value": value}}
    return as_table(tile, [thing], now=NOW)["rows"][0]["cells"][1]


@pytest.mark.parametrize(
    ("value", "kind", "printed"),
    [
        pytest.param(3, "integer", 3, id="whole"),
        pytest.param(3.9, "integer", 3, id="fraction cut off"),
        pytest.param(True, "integer", None, id="truth is no number"),
        pytest.param("3", "integer", None, id="text is no number"),
        pytest.param(2, "number", 2, id="whole number"),
        pytest.param(2.5, "number", 2.5, id="fraction"),
        pytest.param(True, "boolean", True, id="truth"),
        pytest.param("true", "boolean", None, id="text is no truth"),
        pytest.param("2026-03-01T11:00:00Z", "date", "60m", id="date"),
        pytest.param("", "date", "<unknown>", id="empty date"),
        pytest.param("yesterday", "date", "<invalid>", id="no date"),
        pytest.param(5, "date", None, id="number is no date"),
        pytest.param(None, "string", "<no value>", id="null"),
        pytest.param(False, "string", "false", id="truth as text"),
        pytest.param(7, "string", "7", id="number as text"),
        pytest.param(100000.5, "string", "100000.5", id="six digits"),
        pytest.param(1000000.0, "string", "1e+06", id="a million"),
        pytest.param(-1234567.5, "string", "-1.2345675e+06", id="digits before an exponent"),
        pytest.param(1e22, "string", "1e+22", id="large"),
        pytest.param(0.0001, "string", "0.0001", id="small"),
        pytest.param(0.00001, "string", "1e-05", id="smaller"),
        pytest.param(0.0, "string", "0", id="zero"),
        pytest.param(20.0, "string", "20", id="no needless fraction"),
        pytest.param(
            {"b": [1, True], "a": "<&>"}, "string", r'{"a":"\u003c\u0026\u003e","b":[1,true]}', id="object"
        ),
        pytest.param("x", "strange", None, id="a type nobody knows"),
    ],
)
def test_a_cell_is_of_the_type_its_column_has(value: object, kind: str, printed: object) -> None:
    said = cell(value, kind)
    assert said == printed
    assert type(said) is type(printed)
