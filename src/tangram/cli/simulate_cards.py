"""`tangram simulate-cards`: cards for those who have none, shared by every process on the machine."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import cyclopts
import msgspec
from cyclopts import Parameter

from tangram.cli import manual
from tangram.cli.failures import InputError
from tangram.drivers.errors import DriverError
from tangram.drivers.simulated.client import connected
from tangram.drivers.simulated.control import USAGES
from tangram.drivers.simulated.device_nodes import DeviceFolder
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.opening import describe
from tangram.drivers.simulated.server import Server
from tangram.drivers.simulated.world import World

REFUSED: Final = 1
"""Exit status of a command that the simulation understood and refused."""

SERVE: Final = """Serve the cards of a description until interrupted.

To processes on this machine:
  tangram simulate-cards serve --cards cards.yaml --socket cards.sock

With device nodes, for containers (as root; else plain files):
  tangram simulate-cards serve --cards cards.yaml --socket cards.sock --device-root DIR
"""
CONTROL: Final = (
    """Send one command to a running simulation; the answer is JSON.

What is there, break something, and let time pass:
  tangram simulate-cards ctl --socket cards.sock list
  tangram simulate-cards ctl --socket cards.sock fail GPU-3
  tangram simulate-cards ctl --socket cards.sock advance 30s

The commands:
"""
    + "\n".join(f"  {usage}" for usage in USAGES)
    + "\n"
)

app = cyclopts.App(name="simulate-cards", help=manual.SIMULATE_CARDS, help_format="plaintext")

_Socket = Annotated[Path, Parameter(name="--socket", metavar="PATH", help="The simulation's unix socket.")]


@app.command(name="serve", help=SERVE)
def serve(
    *,
    cards: Annotated[Path, Parameter(metavar="FILE", help="What the cards are (docs/simulated-cards.md).")],
    socket: _Socket,
    device_root: Annotated[
        Path | None, Parameter(metavar="DIR", help="Make device nodes in this folder, as if it were /dev.")
    ] = None,
    name: Annotated[
        str, Parameter(metavar="NAME", help="The node's name: cards of two names have different uuids.")
    ] = "",
) -> int:
    """Serve simulated cards until interrupted or told to end."""
    try:
        driver = SimulatedDriver(World(describe(cards, name), time.monotonic))
        folder = None if device_root is None else DeviceFolder(device_root)
        server = Server(driver, socket, folder)
    except DriverError as error:
        raise InputError(f"{error.sentence}.") from error
    previous = signal.signal(signal.SIGTERM, _interrupt)
    count = len(driver.world.description.cards)
    try:
        if folder is not None and folder.remark:
            sys.stderr.write(f"tangram: {folder.remark}.\n")
        sys.stdout.write(f"{count} simulated cards are served at {socket}.\n")
        sys.stdout.flush()
        server.serve()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
        signal.signal(signal.SIGTERM, previous)
    return 0


@app.command(name="ctl", help=CONTROL)
def control(
    *command: Annotated[str, Parameter(metavar="COMMAND", allow_leading_hyphen=True, help="What to do.")],
    socket: _Socket,
) -> int:
    """Send one command to a running simulation."""
    client = connected(socket)
    try:
        answer = client.control(shlex.join(command))
    except DriverError as error:
        sys.stderr.write(f"tangram: {error.sentence}.\n")
        return REFUSED
    finally:
        client.close()
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n")
    return 0


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
