"""One library, asked call after call in a process of its own, because a real one may end it.

    python -m real_libraries.asking LIBRARY MODULE FIRST

MODULE has the vendor's `LIBRARY`. Calls come from standard input, one JSON list per line. The first one, which begins,
and those that make handles are always made, and of the others those from number FIRST on; each answer is one line,
written before the next call is made.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from typing import Any

from real_libraries.questions import Argument, Call, Handle, InOut, Library, Made, Nothing, Out, Text

PATTERN = b"\xa5"


class Asked:
    """A library with the handles it made."""

    def __init__(self, path: str, library: Library) -> None:
        self._functions = ctypes.CDLL(path)
        self._library = library
        self._handles: dict[str, ctypes.c_void_p] = {}

    def answer(self, call: Call) -> dict[str, Any] | None:
        """The code with everything that was written; None for a function that is not there."""
        function = getattr(self._functions, self._library.prefix + call.name, None)
        if function is None:
            return None
        worded = call.name in self._library.texts
        function.restype = ctypes.c_char_p if worded else ctypes.c_uint
        memory = [self._memory(each) for each in call.arguments]
        answer = function(*(self._passed(each) for each in memory))
        code = bool(answer) if worded else answer
        written = [
            plain(each)
            for each, argument in zip(memory, call.arguments, strict=True)
            if isinstance(argument, Out | InOut | Text)
        ]
        return {"code": code, "out": written}

    def _memory(self, argument: Argument) -> Any:  # noqa: ANN401 - a number, or memory of some shape
        match argument:
            case Out(record, times):
                kind = self._library.records[record] * times
                # A function that writes more than was promised writes into room behind it.
                return kind.from_buffer(bytearray(PATTERN * (ctypes.sizeof(kind) + 1024)))
            case InOut(value):
                return (ctypes.c_uint * 8)(value)
            case Text(text):
                return ctypes.create_string_buffer(text, max(64, len(text) + 1))
            case Made(name):
                return ctypes.byref(self._handles.setdefault(name, ctypes.c_void_p()))
            case Handle(name):
                return self._handles.get(name, ctypes.c_void_p())
            case Nothing():
                return None
            case _:
                return argument

    @staticmethod
    def _passed(memory: Any) -> Any:  # noqa: ANN401 - as above
        return ctypes.c_uint(memory) if isinstance(memory, int) else memory


def main(path: str, module: str, first: int) -> None:
    """Ask and print."""
    asked = Asked(path, importlib.import_module(module).LIBRARY)
    for at, line in enumerate(sys.stdin):
        name, arguments = json.loads(line)
        call = Call(name, tuple(read_argument(each) for each in arguments))
        if 0 < at < first and not call.makes:
            continue
        sys.stdout.write(json.dumps([at, asked.answer(call)]) + "\n")
        sys.stdout.flush()


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


KINDS = {kind.__name__: kind for kind in (Out, InOut, Text, Made, Handle, Nothing)}


def written_argument(argument: Argument) -> list[Any]:
    """As it is written for the other process."""
    if isinstance(argument, int):
        return ["", argument]
    parts = [each.decode("latin-1") if isinstance(each, bytes) else each for each in argument]
    return [type(argument).__name__, *parts]


def read_argument(written: list[Any]) -> Argument:
    """As `written_argument` wrote it."""
    kind, *parts = written
    if not kind:
        return int(parts[0])
    if kind == Text.__name__:
        return Text(parts[0].encode("latin-1"))
    made: Argument = KINDS[kind](*parts)
    return made


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
