"""The command line run inside the test's own process: the real entry point, without the cost of a new interpreter."""

import io
import sys
from typing import NamedTuple
from unittest import mock

from tangram.cli.app import main


class Answer(NamedTuple):
    status: int
    out: str
    err: str


def run(*arguments: str, stdin: str | bytes = b"", encoding: str = "utf-8") -> Answer:
    """What `tangram` with these arguments would print and return, into pipes."""
    given = stdin if isinstance(stdin, bytes) else stdin.encode()
    streams = [io.TextIOWrapper(io.BytesIO(content), encoding) for content in (given, b"", b"")]
    with (
        mock.patch.object(sys, "stdin", streams[0]),
        mock.patch.object(sys, "stdout", streams[1]),
        mock.patch.object(sys, "stderr", streams[2]),
    ):
        status = _status(list(arguments))
    return Answer(status, *(_written(stream) for stream in streams[1:]))


def _status(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
