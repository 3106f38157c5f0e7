"""What a node of the box has for `systemctl`: it restarts the node's containerd, and knows no other unit.

    python systemctl.py SOCKET ROOM restart containerd

It runs wherever a node's files are seen, in a pod that changed its root to them above all, so it needs nothing but the
socket of the box's first process and has no part of the project. Words and statuses are systemd's.
"""

import json
import socket
import sys
import time
from contextlib import closing
from typing import Any

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
UNIT = "containerd.service"
PATIENCE = 60.0
"""Seconds until it listens."""
_NOT_FOUND = 5
_INACTIVE = 3


class Refused(Exception):  # noqa: N818 - reads as what happened
    """The box would not."""


def main(arguments: list[str]) -> int:
    """The exit status."""
    box, room, *words = arguments
    plain = [word for word in words if not word.startswith("-")]
    verb, units = (plain[0], plain[1:]) if plain else ("", [])
    if verb == "daemon-reload":
        return 0
    if verb not in {"restart", "try-restart", "reload-or-restart", "start", "stop", "is-active"} or not units:
        return _say(
            f"Unknown command verb '{verb}', or no unit: the box knows restart, start, stop, is-active.", 1
        )
    for unit in units:
        status = _one(box, f"containerd-{room}", verb, unit if "." in unit else f"{unit}.service")
        if status:
            return status
    return 0


def _one(box: str, program: str, verb: str, unit: str) -> int:
    if unit != UNIT:
        if verb == "is-active":
            sys.stdout.write("inactive\n")
            return _INACTIVE
        return _say(f"Failed to {verb} {unit}: Unit {unit} not found.", _NOT_FOUND)
    runs = _runs(box, program)
    if verb == "is-active":
        sys.stdout.write("active\n" if runs else "inactive\n")
        return 0 if runs else _INACTIVE
    if (verb == "start" and runs) or (verb == "try-restart" and not runs):
        return 0
    _ask(box, do="halt" if verb == "stop" else "restart", name=program)
    if verb == "stop" or _listens(box, program):
        return 0
    return _say(
        f"Job for {unit} failed because the control process exited with error code.\n"
        f'See "systemctl status {unit}" and "journalctl -xeu {unit}" for details.',
        1,
    )


def _listens(box: str, program: str) -> bool:
    """Whether it got that far; a unit that ends again has failed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and _runs(box, program):
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as door:
            try:
                door.connect(CONTAINERD_SOCKET)
            except OSError:
                time.sleep(0.02)
            else:
                return True
    return False


def _runs(box: str, program: str) -> bool:
    known = {one["name"]: one for one in _ask(box, do="list")["programs"]}
    return program in known and known[program]["status"] is None


def _ask(box: str, **request: str) -> dict[str, Any]:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as door:
        door.connect(box)
        door.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(door.makefile("rb").readline() or b'{"error": "the box has ended"}')
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


def _say(sentence: str, status: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Refused, OSError) as error:
        sys.exit(_say(f"Failed to connect to bus: {error}", 1))
