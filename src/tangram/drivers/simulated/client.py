"""The cards of a running simulation, from another process: the same interface, over its socket.

A connection is opened when needed and opened again once when the server was restarted in between. A simulation that
does not answer in time is reported as any hanging driver is, by the name of the call.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import Call, KernelCall
from tangram.drivers.simulated.messages import encoded, restored, restored_error
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.wire import loose

LIMIT: Final = 65.0
"""Seconds to wait for an answer; a described call takes at most a minute."""


class Asker(Protocol):
    """Whoever carries a line to a simulation and its answer back."""

    def ask(self, line: bytes, call: str) -> object:
        """The answer as plain values. Raises whatever the simulation refused the line with."""
        ...

    def close(self) -> None: ...


class Connection:
    """One conversation with a simulation. Safe from several threads, which take turns."""

    def __init__(self, path: Path, limit: float = LIMIT) -> None:
        self.path = path
        self._limit = limit
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._rest = b""

    def ask(self, line: bytes, call: str) -> object:
        with self._lock:
            try:
                reply = self._exchange(line)
            except TimeoutError:
                self._hang_up()
                raise DriverError(
                    Kind.STUCK,
                    f"{call} has not returned within {self._limit:g} s: the simulation hangs",
                    call=call,
                ) from None
            except OSError as error:
                self._hang_up()
                raise DriverError(
                    Kind.NO_DRIVER,
                    f"no simulation answers at {self.path} ({error.strerror or error}); "
                    "start one with tangram simulate-cards serve",
                    call=call,
                ) from None
        return answer_in(reply)

    def close(self) -> None:
        with self._lock:
            self._hang_up()

    def _exchange(self, line: bytes) -> bytes:
        fresh = self._socket is None
        try:
            return self._once(line)
        except TimeoutError:
            raise
        except OSError:
            # A server that was restarted has forgotten this connection; one that was never there stays so.
            self._hang_up()
            if fresh:
                raise
            return self._once(line)

    def _once(self, line: bytes) -> bytes:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(self._limit)
            self._socket.connect(str(self.path))
        self._socket.sendall(line + b"\n")
        while b"\n" not in self._rest:
            part = self._socket.recv(1 << 16)
            if not part:
                message = "it hung up"
                raise ConnectionError(message)
            self._rest += part
        reply, _, self._rest = self._rest.partition(b"\n")
        return reply

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""


def answer_in(reply: bytes) -> object:
    """What a line from a simulation says. Raises the error that it carries."""
    try:
        fields = loose.members(msgspec.json.decode(reply))
    except (msgspec.DecodeError, RecursionError):
        raise DriverError(Kind.FAILED, "the simulation answered with something that is no JSON") from None
    if fields.get("ok") is not True:
        raise restored_error(fields.get("error"))
    return fields.get("answer")


def connected(path: Path, limit: float = LIMIT) -> SimulatedClient:
    """The cards of the simulation that listens there."""
    return SimulatedClient(Connection(path, limit))


class BusClient:
    """The bus of somebody else's simulation, where cards are whether a driver holds them or not."""

    def __init__(self, connection: Asker) -> None:
        self._connection = connection

    def devices(self) -> Sequence[Device]:
        answer = loose.members(self._connection.ask(encoded({"call": KernelCall.BUS}), KernelCall.BUS))
        return tuple(restored(Device, each) for each in loose.elements(answer.get("done")))

    def close(self) -> None:
        self._connection.close()


class SimulatedClient:
    """A driver over somebody else's simulation."""

    def __init__(self, connection: Asker) -> None:
        self._connection = connection

    @property
    def name(self) -> str:
        return "simulated"

    def devices(self) -> Sequence[Device]:
        return tuple(restored(Device, each) for each in loose.elements(self._call(Call.DEVICES)))

    def links(self, devices: Sequence[Device]) -> LinkReport:
        return restored(LinkReport, self._call(Call.LINKS, devices=tuple(devices)))

    def figures(self, uuid: CardUuid) -> Figures:
        return restored(Figures, self._call(Call.FIGURES, uuid=uuid))

    def health(self) -> Mapping[CardUuid, Health]:
        answer = loose.members(self._call(Call.HEALTH))
        return {CardUuid(uuid): restored(Health, each) for uuid, each in answer.items()}

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        return tuple(restored(Slice, each) for each in loose.elements(self._call(Call.SLICES, uuid=uuid)))

    def room(self, uuid: CardUuid) -> SliceRoom:
        return restored(SliceRoom, self._call(Call.ROOM, uuid=uuid))

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        answer = self._call(
            Call.CREATE_SLICE, uuid=uuid, memory=memory, cores=cores, name=name, online=online
        )
        return restored(Slice, answer)

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        return restored(
            Slice, self._call(Call.RESIZE_SLICE, uuid=uuid, slice_id=slice_id, memory=memory, cores=cores)
        )

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        self._call(Call.SET_POLICY, uuid=uuid, policy=policy)

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        self._call(Call.REMOVE_SLICE, uuid=uuid, slice_id=slice_id)

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        self._call(Call.SET_SLICED, uuid=uuid, on=on)

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        self._call(Call.SET_VIRTUAL_FUNCTIONS, uuid=uuid, count=count)

    def close(self) -> None:
        self._connection.close()

    def control(self, line: str) -> object:
        """A command in words, as `tangram simulate-cards ctl` sends it."""
        if "\n" in line or line.lstrip().startswith("{"):
            raise DriverError(
                Kind.INVALID, "a command is one line of words; send it without line ends or braces"
            )
        return self._connection.ask(line.encode(errors="replace"), line.partition(" ")[0])

    def _call(self, call: Call, **fields: object) -> object:
        return self._connection.ask(encoded({"call": call, **fields}), call)
