"""Simulated cards that outlive their users: one process holds them, any number talk to it over a unix socket.

Every connection is served by a thread of its own and may send any number of lines; one that breaks off in the middle
of a line has said nothing. The socket belongs to whoever started the server, and is removed when it ends.
"""

from __future__ import annotations

import socket
import socketserver
import sys
from pathlib import Path
from typing import Final, cast

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.device_nodes import DeviceFolder
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.messages import encoded, error_fields
from tangram.drivers.simulated.serving import LONGEST_LINE, answer

LONGEST_PATH: Final = 100
"""Bytes: the kernel keeps 108 for the name of a socket."""
_POLL: Final = 0.2


class Server:
    """Serves one simulation until it is closed."""

    def __init__(self, driver: SimulatedDriver, path: Path, folder: DeviceFolder | None = None) -> None:
        self.path = path
        self._folder = folder
        self._listener = _listening(driver, path, folder)

    def serve(self) -> None:
        """Serve in this thread until it is interrupted."""
        self._listener.serve_forever(poll_interval=_POLL)

    def close(self) -> None:
        """Remove the socket and every device node that was made."""
        self._listener.server_close()
        self.path.unlink(missing_ok=True)
        if self._folder is not None:
            self._folder.clear()


class _Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    # Waiting for a client that never leaves would keep the server alive.
    block_on_close = False
    request_queue_size = 128

    def __init__(self, path: Path, driver: SimulatedDriver, folder: DeviceFolder | None) -> None:
        self.driver = driver
        self._folder = folder
        super().__init__(str(path), _Conversation)

    def service_actions(self) -> None:
        # Cards come and go with the timeline, whether anybody asks or not.
        if self._folder is not None:
            self._folder.follow(self.driver.world.devices())

    def handle_error(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """A client that went away has nothing left to be told; anything else is a fault of ours and is shown."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        listener = cast("_Listener", self.server)
        while line := self.rfile.readline(LONGEST_LINE + 1):
            if not line.endswith(b"\n"):
                if len(line) > LONGEST_LINE:
                    self.wfile.write(_TOO_LONG)
                return
            reply = answer(listener.driver, line)
            listener.service_actions()
            self.wfile.write(reply + b"\n")


_TOO_LONG = (
    encoded(
        {
            "ok": False,
            "error": error_fields(
                DriverError(Kind.INVALID, f"the line has more than {LONGEST_LINE} bytes; send less")
            ),
        }
    )
    + b"\n"
)


def _listening(driver: SimulatedDriver, path: Path, folder: DeviceFolder | None) -> _Listener:
    if len(str(path).encode()) > LONGEST_PATH:
        raise DriverError(
            Kind.INVALID, f"the socket's path has more than {LONGEST_PATH} bytes; choose a shorter one"
        )
    _clear_the_way(path)
    if folder is not None:
        folder.follow(driver.world.devices())
    try:
        return _Listener(path, driver, folder)
    except OSError as error:
        if folder is not None:
            folder.clear()
        raise DriverError(
            Kind.INVALID, f"{path} cannot be listened on ({error.strerror}); choose another path"
        ) from error


def _clear_the_way(path: Path) -> None:
    """Remove the socket of a server that is no more; leave everything else alone."""
    if not path.is_socket():
        if path.exists():
            raise DriverError(Kind.INVALID, f"{path} exists and is no socket; choose another path")
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise DriverError(Kind.BUSY, f"a simulation is served at {path} already; end it, or choose another path")
