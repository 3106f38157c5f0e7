"""Ports of this machine alone, for parts that are told theirs before they begin."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

LOOPBACK: Final = "127.0.0.1"


@contextmanager
def held_port() -> Generator[int]:
    """A port that only a server told of it can take meanwhile, after each restart too.

    A port that is merely free when it is looked for is gone as soon as any client's connection is given it. One that
    a socket is bound to, without listening, is never given out as just any; and a server that allows
    addresses to be used again, as all of ours and those written in Go do, can listen there nevertheless.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((LOOPBACK, 0))
        yield int(held.getsockname()[1])
