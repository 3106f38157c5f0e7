"""Tables of the real server beside ours for the same objects, and what differs."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, convert, to_builtins

from builders.table_cases.specimens import all_kinds
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.printing import as_table

Object = dict[str, Any]
CAPTURE = Path(__file__).resolve().parents[2] / "data" / "captures" / "tables.json"
WHOLE = "Object"


class Answer(Struct):
    """A table as the real server sent it, and the objects it is of."""

    api_version: str
    kind: str
    asked: float
    answered: float
    """Between these two moments (Unix seconds) the ages were counted."""
    things: list[Object]
    table: Object
    include: str = ""
    headers: bool = True

    def of_kind(self) -> Kind:
        kinds = (kind for kind in all_kinds() if kind.api_version == self.api_version)
        return next(kind for kind in kinds if kind.kind == self.kind)

    def ours(self) -> Iterator[Object]:
        """The tables we make of the same objects, at the first and the last moment the server can have made its own."""
        metadata = self.table["metadata"]
        for moment in (self.asked, self.answered):
            yield as_table(
                self.of_kind(),
                self.things,
                now=datetime.fromtimestamp(moment, UTC),
                include=self.include,
                headers=self.headers,
                version=metadata["resourceVersion"],
                more={key: value for key, value in metadata.items() if key != "resourceVersion"},
            )


def recorded() -> list[Answer]:
    """What was recorded."""
    answers = convert(json.loads(CAPTURE.read_text("utf-8")), list[Answer])
    for answer in answers:
        if answer.include == WHOLE:
            for row, thing in zip(answer.table["rows"], answer.things, strict=True):
                row["object"] = thing
    return answers


def record(answers: Sequence[Answer]) -> None:
    """Write the capture, a table on a line. Rows with whole objects go without them: they are beside the table."""
    lines: list[str] = []
    for answer in answers:
        plain = to_builtins(answer)
        if answer.include == WHOLE:
            plain["table"] = answer.table | {"rows": [row | {"object": None} for row in answer.table["rows"]]}
        lines.append(json.dumps(plain, sort_keys=True))
    CAPTURE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def comparable(table: Object, *, custom: bool) -> Object:
    """Without descriptions that no definition gives, which are ours to leave out, and without who wrote which field."""
    told = cast("Object", json.loads(json.dumps(table)))
    columns: list[Object] = told["columnDefinitions"] or []
    for column in columns:
        if not custom or column["name"] in {"Name", "Age"}:
            column["description"] = ""
    for row in told["rows"]:
        if row["object"]:
            row["object"]["metadata"].pop("managedFields", None)
    return told


def differences(answer: Answer) -> list[str]:
    """Every column and cell of ours that is not the server's, as a sentence."""
    custom = not answer.of_kind().definition
    theirs = comparable(answer.table, custom=custom)
    early, late = (comparable(table, custom=custom) for table in answer.ours())
    found = [
        f"{field}: {early[field]} instead of {theirs[field]}"
        for field in theirs
        if field not in {"rows", "columnDefinitions"} and early.get(field) != theirs[field]
    ]
    columns, wanted_columns = early["columnDefinitions"], theirs["columnDefinitions"]
    if columns != wanted_columns:
        found.append(f"columns {columns} instead of {wanted_columns}")
    if len(early["rows"]) != len(theirs["rows"]):
        return [*found, f"{len(early['rows'])} rows instead of {len(theirs['rows'])}"]
    for first, last, wanted in zip(early["rows"], late["rows"], theirs["rows"], strict=True):
        found += _row(first, last, wanted)
    return found


def _row(first: Object, last: Object, wanted: Object) -> list[str]:
    thing: Object = wanted["object"] or {"metadata": {"name": "?"}}
    name = thing["metadata"]["name"]
    found: list[str] = []
    if len(first["cells"]) != len(wanted["cells"]):
        found.append(f"{name}: {first['cells']} instead of {wanted['cells']}")
    else:
        for number, cell in enumerate(wanted["cells"]):
            # True is 1 to Python, and not to a client.
            said = [json.dumps(cells[number]) for cells in (first["cells"], last["cells"])]
            if json.dumps(cell) not in said:
                found.append(f"{name}, cell {number}: {said[0]} instead of {json.dumps(cell)}")
    found += [
        f"{name}, {field}: {first.get(field)} instead of {wanted.get(field)}"
        for field in ("conditions", "object")
        if first.get(field) != wanted.get(field)
    ]
    return found
