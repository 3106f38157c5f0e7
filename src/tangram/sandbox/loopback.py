"""Ports of this machine alone, for parts that are told theirs before they begin."""

from __future__ import annotations

import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_port() -> int:
    """One that nobody listens on at the moment."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        return int(taken.getsockname()[1])
