"""The module loader of a simulated node, where its world is, and the lines by which others reach it.

A refusal is an answer here (`refused`) and no error of the conversation: its code is the loader's and not a driver's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.protocol import FunctionState, LoadedModule, LoaderCode, LoaderError
from tangram.drivers.simulated import metax_rules
from tangram.drivers.simulated.bus import bus_devices
from tangram.drivers.simulated.description import CardSpec, KernelCall
from tangram.drivers.simulated.kernel import ModuleFile
from tangram.drivers.simulated.state import card_uuid
from tangram.drivers.simulated.world import World
from tangram.model.cards import Vendor
from tangram.model.devices import SriovState
from tangram.units.refusal import quoted
from tangram.vendors.metax.products import VIRTUAL_FUNCTION_COUNTS
from tangram.wire import loose


class WorldLoader:
    """What `ModuleLoader` says, with files that were read already."""

    def __init__(self, world: World, sleep: Callable[[float], None] = time.sleep) -> None:
        self._world = world
        self._sleep = sleep

    def loaded(self) -> LoadedModule | None:
        with self._world.lock:
            module = self._world.kernel.loaded
            if module is None:
                return None
            return LoadedModule(
                name=module.name,
                version=module.version,
                parameters=dict(module.parameters),
                users=self._users(),
            )

    def load_of_host(self) -> None:
        self._sleep(self._world.kernel.slow)
        with self._world.lock:
            self._world.kernel.load_of_host()
            self._world.restart_cards()

    def load(
        self, files: Sequence[ModuleFile], requires: Sequence[str], parameters: Mapping[str, str]
    ) -> None:
        self._sleep(self._world.kernel.slow)
        with self._world.lock:
            self._world.kernel.load(files, requires, parameters)
            self._world.restart_cards()

    def unload(self) -> None:
        self._sleep(self._world.kernel.slow)
        with self._world.lock:
            if self._world.kernel.unload(self._users()):
                self._world.restart_cards()

    def cards(self) -> tuple[str, ...]:
        return tuple(spec.bdf for spec in self._world.on_bus() if spec.vendor is Vendor.METAX)

    def functions(self) -> tuple[FunctionState, ...]:
        with self._world.lock:
            return tuple(map(self._function_state, filter(self._is_ours, self._world.on_bus())))

    def set_functions(self, bdf: str, count: int) -> None:
        with self._world.lock:
            driven = [spec for spec in self._world.on_bus() if self._is_ours(spec)]
            spec = next((spec for spec in driven if spec.bdf == bdf), None)
            if spec is None:
                have = ", ".join(spec.bdf for spec in driven) or "none"
                raise LoaderError(
                    LoaderCode.MISSING,
                    f"no driven card is at {quoted(bdf)}; there are {have}; name one of these",
                )
            self._split(spec, count)

    def _split(self, spec: CardSpec, count: int) -> None:
        uuid, state = card_uuid(self._world.description, spec), self._world.state(spec.position)
        try:
            # Tried on a copy first, so that a number that is refused leaves the card as it was.
            if count and count != state.virtual_functions:
                joined = metax_rules.set_virtual_functions(spec, state, 0)
                metax_rules.set_virtual_functions(spec, joined, count)
                self._world.set_virtual_functions(uuid, 0)
            self._world.set_virtual_functions(uuid, count)
        except DriverError as error:
            raise LoaderError(_CODES.get(error.kind, LoaderCode.FAILED), error.sentence) from error

    def _is_ours(self, spec: CardSpec) -> bool:
        return spec.vendor is Vendor.METAX and self._world.is_driven(spec)

    def _function_state(self, spec: CardSpec) -> FunctionState:
        state = self._world.state(spec.position)
        able = spec.sriov not in (None, SriovState.FORBIDDEN)
        most = max(VIRTUAL_FUNCTION_COUNTS) if able else 0
        return FunctionState(bdf=spec.bdf, now=state.virtual_functions, most=most, in_use=state.busy)

    def _users(self) -> int:
        cards = self._world.description.cards
        return sum(
            len(self._world.state(spec.position).holders) for spec in cards if spec.vendor is Vendor.METAX
        )


_CODES: Final = {
    Kind.BUSY: LoaderCode.BUSY,
    Kind.NOT_SUPPORTED: LoaderCode.NO_FUNCTIONS,
    Kind.INVALID: LoaderCode.NO_FUNCTIONS,
}


def answer_kernel_call(
    world: World, sleep: Callable[[float], None], call: KernelCall, fields: Mapping[str, object]
) -> object:
    """The answer as plain values: what was asked for under `done`, or why not under `refused`."""
    try:
        return {"done": _CALLS[call](WorldLoader(world, sleep), world, fields)}
    except LoaderError as error:
        return {"refused": {"code": error.code, "sentence": error.sentence}}


def _load(loader: WorldLoader, fields: Mapping[str, object]) -> object:
    files = [
        ModuleFile(loose.text(loose.members(each).get("name")), loose.text(loose.members(each).get("text")))
        for each in loose.elements(fields.get("files"))
    ]
    requires = [loose.text(each) for each in loose.elements(fields.get("requires"))]
    return loader.load(files, requires, loose.text_map(fields.get("parameters")))


def _set_functions(loader: WorldLoader, fields: Mapping[str, object]) -> object:
    count = loose.integer(fields.get("count"))
    if count is None:
        raise DriverError(Kind.INVALID, "count is missing or no whole number; send one")
    return loader.set_functions(loose.text(fields.get("bdf")), count)


_Answering = Callable[[WorldLoader, World, Mapping[str, object]], object]
_CALLS: Final[dict[KernelCall, _Answering]] = {
    KernelCall.BUS: lambda _, world, __: bus_devices(world),
    KernelCall.RELEASE: lambda _, world, __: world.kernel.release,
    KernelCall.LOADED: lambda loader, _, __: loader.loaded(),
    KernelCall.OF_HOST: lambda _, world, __: world.kernel.host_driver,
    KernelCall.LOAD_OF_HOST: lambda loader, _, __: loader.load_of_host(),
    KernelCall.LOAD: lambda loader, _, fields: _load(loader, fields),
    KernelCall.UNLOAD: lambda loader, _, __: loader.unload(),
    KernelCall.CARDS: lambda loader, _, __: loader.cards(),
    KernelCall.FUNCTIONS: lambda loader, _, __: loader.functions(),
    KernelCall.SET_FUNCTIONS: lambda loader, _, fields: _set_functions(loader, fields),
}
