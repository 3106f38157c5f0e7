"""`docs/operator.md` names every field, state, condition, event and metric there is, and no other."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tangram.services.operator import applying, reporting
from tangram.services.operator.metrics import Metrics
from tangram.wire.operator.definition import operator_definition
from tangram.wire.operator.status import ConditionType, PartState, State

PAGE = (Path(__file__).parents[3] / "docs" / "operator.md").read_text("utf-8")
BLOCKS = {"log", "resources"}
REFUSED = {"dataExporter", "topoDiscovery", "openshift", "vendor"}


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        if (path and name in BLOCKS) or place in REFUSED:
            continue
        if "properties" in inner:
            yield from fields(inner, place)
        else:
            yield place


def test_every_field_has_its_row_and_every_row_its_field() -> None:
    schema = operator_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    table = PAGE.partition("| Field |")[2].partition("\n\n")[0]
    rows = {
        word for line in table.splitlines()[2:] for word in re.findall(r"`([^`]+)`", line.split(" | ")[0])
    }
    assert rows == {*fields(schema["properties"]["spec"]), *REFUSED}


def test_every_default_is_the_schemas() -> None:
    schema = operator_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for line in PAGE.splitlines():
        found = re.match(r"\| `([a-zA-Z.]+)` \| `([^`]*)` \|", line)
        place = schema
        for name in found[1].split(".") if found else ():
            place = place.get("properties", {}).get(name, {})
        if found and "default" in place:
            default = place["default"]
            assert found[2] == (str(default).lower() if isinstance(default, bool) else str(default)), line


def test_every_word_of_the_status_is_explained() -> None:
    assert [word for word in State if f"| `{word}` |" not in PAGE] == []
    assert [word for word in ConditionType if f"| `{word}` |" not in PAGE] == []
    assert [word for word in PartState if f"`{word}`" not in PAGE] == []


def test_every_event_is_named() -> None:
    events = (applying.PUT_BACK, applying.MADE_AGAIN, applying.TAKEN_AWAY, reporting.REFUSED)
    assert [word for word in events if f"`{word}`" not in PAGE] == []


def test_every_metric_is_named() -> None:
    names = {metric.name for metric in Metrics().registry.collect()}
    told = set(re.findall(r"`(tangram_operator_[a-z_]+)", PAGE))
    assert {name.removesuffix("_total") for name in told} == names
