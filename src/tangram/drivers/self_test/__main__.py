"""The process that asks the cards: a request in, events out, one line each.

    python -m tangram.drivers.self_test

The first line of standard input is the request. What follows is never more than its end: whoever holds the other end
and closes it, or dies, stops the test, and the card is put back. Vendors' libraries may write to standard output, so
that is moved away first.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress

import msgspec

from tangram.drivers.self_test.conducting import SelfTestRun
from tangram.drivers.self_test.records import SelfTestEvent, SelfTestRequest


def main() -> None:
    """Until everything was told, or the other end is gone."""
    # Of a terminal, which reaches all processes of a job at once. The other end decides when this one stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=SelfTestRequest)
    stop = threading.Event()
    threading.Thread(target=_watch_lifeline, args=(stop,), name="lifeline", daemon=True).start()
    encoder = msgspec.json.Encoder()

    def tell(event: SelfTestEvent) -> None:
        try:
            _write_all(out, encoder.encode(event) + b"\n")
        except OSError:
            stop.set()

    SelfTestRun(request, tell, stop.is_set).run()


def _watch_lifeline(stop: threading.Event) -> None:
    with suppress(OSError, ValueError):
        while os.read(0, 1024):
            pass
    stop.set()


def _write_all(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]


if __name__ == "__main__":
    main()
    # A library that hangs in a thread of its own must not keep the process.
    os._exit(0)
