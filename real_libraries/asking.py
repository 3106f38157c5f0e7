"""One library, asked call after call in a process of its own, because a real one may end it.

    python -m real_libraries.asking LIBRARY FIRST

Calls come from standard input, one JSON list per line. The first one, which begins, is always made, and of the others
those from number FIRST on; each answer is one line, told before the next call is made.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

from real_libraries.mxsml_calls import RECORDS, Argument, InOut, Out, Text

PATTERN = b"\xa5"
PREFIX = "mxSml"


def main(path: str, first: int) -> None:
    """Ask and print."""
    library = ctypes.CDLL(path)
    for at, line in enumerate(sys.stdin):
        if 0 < at < first:
            continue
        name, arguments = json.loads(line)
        answer = answer_of(library, name, [read_argument(each) for each in arguments])
        sys.stdout.write(json.dumps([at, answer]) + "\n")
        sys.stdout.flush()


def answer_of(library: ctypes.CDLL, name: str, arguments: list[Argument]) -> dict[str, Any] | None:
    """The code with everything that was written, in hexadecimal; None for a function that is not there."""
    function = getattr(library, PREFIX + name, None)
    if function is None:
        return None
    function.restype = ctypes.c_uint
    memory = [_memory(each) for each in arguments]
    code = function(*(ctypes.c_uint(each) if isinstance(each, int) else each for each in memory))
    return {"code": code, "out": [plain(each) for each in memory if not isinstance(each, int)]}


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever memory holds
    """What was written, as JSON has it. What is behind the end of a text says nothing, and some leave it as it was."""
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    text = getattr(value, "value", None)
    if text is not None:
        return plain(text)
    return [plain(each) for each in value] if isinstance(value, ctypes.Array) else value


def _memory(argument: Argument) -> Any:  # noqa: ANN401 - a number, or memory of some shape
    match argument:
        case Out(record, times):
            kind = RECORDS[record] * times
            # A function that writes more than was promised writes into room behind it.
            return kind.from_buffer(bytearray(PATTERN * (ctypes.sizeof(kind) + 1024)))
        case InOut(value):
            return (ctypes.c_uint * 8)(value)
        case Text(text):
            return ctypes.create_string_buffer(text, 64)
        case _:
            return argument


def written_argument(argument: Argument) -> list[Any]:
    """As it is told to the other process."""
    match argument:
        case Out():
            return ["out", argument]
        case InOut(value):
            return ["in", value]
        case Text(text):
            return ["text", text.decode()]
        case _:
            return ["number", argument]


def read_argument(written: list[Any]) -> Argument:
    """As `written_argument` told it."""
    kind, value = written
    match kind:
        case "out":
            return Out(*value)
        case "in":
            return InOut(value)
        case "text":
            return Text(value.encode())
        case _:
            return int(value)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
