"""Node and pod lists of the public openb trace, as cards and arrivals to replay.

The trace counts in thousandths of a card and knows no memory of cards, so a card here has a thousand of each and any
part of it may be taken. A row that cannot be read is refused with its line and column: a replay over the rows that
happened to parse would be quoted as if it were the whole trace.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tangram.engine.simulate import Arrival
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import HostCapacity, Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, CardFilter, ContainerAsk, HostAsk, Request, Vocabulary
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import MIB, Bytes
from tangram.wire.errors import WireError, shown
from tangram.wire.node_facts import MOST_CARDS, stand_in_id

WHOLE_CARD: Final = 1000
"""Thousandths of a card."""

NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
"""The columns that must be there; `gpu_spec` may be, and any others are not read."""

_LARGEST = 2**40


class _Row(NamedTuple):
    file: str
    line: int
    values: dict[str, str]

    def refusal(self, column: str, legal: str, instead: str) -> WireError:
        read = shown(self.values.get(column, ""))
        where = f"{self.file} line {self.line}, column {column}"
        return WireError("trace-row", f"{where}: it is {read}; {legal}; {instead}")

    def text(self, column: str) -> str:
        written = self.values[column].strip()
        if not written:
            raise self.refusal(column, "it is a name", "write one")
        return written

    def whole(self, column: str, most: int = _LARGEST) -> int:
        written = self.values[column].strip()
        if not (written.isascii() and written.isdigit()) or len(written) > 15 or int(written) > most:
            raise self.refusal(column, f"it is a whole number from 0 to {most}", "write for example 1")
        return int(written)


def read_trace_nodes(lines: Iterable[str], file: str) -> tuple[Node, ...]:
    """The nodes of a node list, in file order. Raises `WireError`, which names the file as given."""
    return tuple(_node(row) for row in _rows(lines, file, NODE_COLUMNS))


def read_trace_pods(lines: Iterable[str], file: str) -> tuple[Arrival, ...]:
    """The pods of a pod list, in file order. Raises `WireError`, which names the file as given."""
    return tuple(_arrival(row) for row in _rows(lines, file, POD_COLUMNS))


def _rows(lines: Iterable[str], file: str, columns: tuple[str, ...]) -> Iterator[_Row]:
    reader = csv.reader(lines)
    first_seen: dict[str, int] = {}
    try:
        header = _header(reader, file, columns)
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            row = _Row(file, reader.line_num, dict(zip(header, fields, strict=False)))
            if len(fields) < len(header):
                found = f"it has {len(fields)} fields; its header has {len(header)}"
                raise WireError("trace-row", f"{file} line {row.line}: {found}; add the others")
            name = row.text(columns[0])
            if first_seen.setdefault(name, row.line) != row.line:
                legal = f"that is on line {first_seen[name]} already"
                raise row.refusal(columns[0], legal, "rename one of them")
            yield row
    except csv.Error as error:
        line = reader.line_num
        raise WireError("trace-row", f"{file} line {line}: {error}; it is no CSV; write one") from error
    if not first_seen:
        raise WireError("trace-empty", f"{file} has a header and no rows; it lists something; add a row")


def _header(reader: Iterator[list[str]], file: str, columns: tuple[str, ...]) -> list[str]:
    header = [column.strip() for column in next(reader, list[str]())]
    missing = [column for column in columns if column not in header]
    if missing:
        found = f"has columns {', '.join(header)}" if any(header) else "is empty"
        legal = f"the columns it must have are {', '.join(columns)}"
        raise WireError(
            "trace-header", f"{file} {found:.200}; {legal}; add {', '.join(missing)} to its first line"
        )
    return header


def _node(row: _Row) -> Node:
    name = NodeName(row.text("sn"))
    model = row.values["model"].strip()
    return Node(
        name=name,
        cards=tuple(_card(name, model, index) for index in range(row.whole("gpu", MOST_CARDS))),
        host=HostCapacity(row.whole("cpu_milli"), Bytes(row.whole("memory_mib") * MIB)),
    )


def _card(node: NodeName, model: str, index: int) -> Card:
    return Card(
        uuid=CardUuid(stand_in_id(node, Vendor.GENERIC, index)),
        index=index,
        vendor=Vendor.GENERIC,
        memory=Bytes(WHOLE_CARD),
        product=model,
        cores=WHOLE_CARD,
        slots=WHOLE_CARD,
        mode=CardMode.UNDECIDED,
    )


def _arrival(row: _Row) -> Arrival:
    name = row.text("name")
    count = row.whole("num_gpu", MOST_CARDS)
    part = row.whole("gpu_milli", WHOLE_CARD)
    if (count == 0) != (part == 0):
        raise row.refusal("gpu_milli", f"the pod asks for {count} cards", "write both as 0 or both above")
    asks = ()
    if count:
        asks = (
            Ask(
                vendor=Vendor.GENERIC,
                kind=AskKind.SLICE,
                count=count,
                memory=Bytes(part),
                cores=part,
                vocabulary=Vocabulary.PLAIN,
            ),
        )
    models = frozenset(model.strip() for model in row.values.get("gpu_spec", "").split("|") if model.strip())
    request = Request(
        pod=PodRef(Namespace("openb"), PodName(name), PodUid(name)),
        containers=(ContainerAsk("main", Role.APP, asks),),
        cards=CardFilter(only_products=models),
        host=HostAsk(row.whole("cpu_milli"), Bytes(row.whole("memory_mib") * MIB)),
    )
    return Arrival(name, request, count * part)
