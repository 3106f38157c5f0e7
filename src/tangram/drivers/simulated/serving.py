"""One line to a simulation, one line back: pure but for what the line does to the world.

A line that begins with a brace is a driver's call in JSON, anything else is a command in words, so that a person with
netcat and a program with a client speak to the same cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.description import Call, KernelCall
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.loading import answer_kernel_call
from tangram.drivers.simulated.messages import encoded, error_fields, restored
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.refusal import quoted
from tangram.wire import loose

LONGEST_LINE: Final = 1 << 20


def answer(driver: SimulatedDriver, line: bytes) -> bytes:
    """The answer to one line, as one line."""
    try:
        text = line.decode()
        result = _called(driver, text) if text.lstrip().startswith("{") else carry_out(driver.world, text)
    except UnicodeDecodeError:
        return _refusal(DriverError(Kind.INVALID, "the line is not UTF-8; send text"))
    except DriverError as error:
        return _refusal(error)
    return encoded({"ok": True, "answer": result})


def _refusal(error: DriverError) -> bytes:
    return encoded({"ok": False, "error": error_fields(error)})


def _called(driver: SimulatedDriver, text: str) -> object:
    try:
        fields = loose.members(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        raise DriverError(Kind.INVALID, f"read {quoted(text)}, which is no JSON; send an object") from None
    name = loose.text(fields.get("call"))
    if name in tuple(KernelCall):
        return answer_kernel_call(driver.world, driver.sleep, KernelCall(name), fields)
    if name not in _CALLS:
        legal = ", ".join((*_CALLS, *KernelCall))
        raise DriverError(Kind.INVALID, f"call is {quoted(name)}; it is one of {legal}; name one of these")
    return _CALLS[name](driver, fields)


def _uuid(fields: Mapping[str, object]) -> CardUuid:
    return CardUuid(_text(fields, "uuid"))


def _text(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise DriverError(Kind.INVALID, f"{key} is missing or no text; send one")
    return value


def _whole(fields: Mapping[str, object], key: str) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise DriverError(Kind.INVALID, f"{key} is missing or no whole number; send one")
    return value


def _truth(fields: Mapping[str, object], key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        raise DriverError(Kind.INVALID, f"{key} is missing or neither true nor false; send one of these")
    return value


def _create(driver: SimulatedDriver, fields: Mapping[str, object]) -> object:
    return driver.create_slice(
        _uuid(fields),
        memory=Bytes(_whole(fields, "memory")),
        cores=_whole(fields, "cores"),
        name=_text(fields, "name"),
        online=_truth(fields, "online"),
    )


def _resize(driver: SimulatedDriver, fields: Mapping[str, object]) -> object:
    return driver.resize_slice(
        _uuid(fields),
        _whole(fields, "slice_id"),
        memory=None if fields.get("memory") is None else Bytes(_whole(fields, "memory")),
        cores=None if fields.get("cores") is None else _whole(fields, "cores"),
    )


def _policy(driver: SimulatedDriver, fields: Mapping[str, object]) -> object:
    word = _text(fields, "policy")
    if word not in tuple(QosPolicy):
        raise DriverError(Kind.INVALID, f"policy is {quoted(word)}; it is one of {', '.join(QosPolicy)}")
    return driver.set_policy(_uuid(fields), QosPolicy(word))


def _links(driver: SimulatedDriver, fields: Mapping[str, object]) -> object:
    devices = [restored(Device, each) for each in loose.elements(fields.get("devices"))]
    return driver.links(devices)


_CALLS: Final[dict[str, Callable[[SimulatedDriver, Mapping[str, object]], object]]] = {
    Call.DEVICES: lambda driver, _: driver.devices(),
    Call.LINKS: _links,
    Call.FIGURES: lambda driver, fields: driver.figures(_uuid(fields)),
    Call.HEALTH: lambda driver, _: driver.health(),
    Call.SLICES: lambda driver, fields: driver.slices(_uuid(fields)),
    Call.ROOM: lambda driver, fields: driver.room(_uuid(fields)),
    Call.CREATE_SLICE: _create,
    Call.RESIZE_SLICE: _resize,
    Call.SET_POLICY: _policy,
    Call.REMOVE_SLICE: lambda driver, fields: driver.remove_slice(_uuid(fields), _whole(fields, "slice_id")),
    Call.SET_SLICED: lambda driver, fields: driver.set_sliced(_uuid(fields), on=_truth(fields, "on")),
    Call.SET_VIRTUAL_FUNCTIONS: lambda driver, fields: driver.set_virtual_functions(
        _uuid(fields), _whole(fields, "count")
    ),
}
