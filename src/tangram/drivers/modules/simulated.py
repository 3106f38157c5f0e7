"""The loader of a simulated node, from another process: its kernel lives where its cards do, and outlives us.

Module files are read here, because whoever serves the cards may see other folders than we do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tangram.drivers.errors import DriverError
from tangram.drivers.modules.protocol import FunctionState, LoadedModule, LoaderCode, LoaderError
from tangram.drivers.simulated.client import Asker
from tangram.drivers.simulated.description import KernelCall
from tangram.drivers.simulated.messages import encoded, restored
from tangram.units.na import Maybe
from tangram.wire import loose

NAME: Final = "simulated"

_Record = TypeVar("_Record")

_LONGEST: Final = 16_384
"""Characters of a file that are sent: all of a simulated module, and of a real one enough to see that it is none."""


class SimulatedLoader:
    """A loader over somebody else's simulation. Safe from several threads, as its connection is."""

    def __init__(self, connection: Asker) -> None:
        self._connection = connection

    @property
    def name(self) -> str:
        return NAME

    def kernel(self) -> str:
        return loose.text(self._call(KernelCall.RELEASE))

    def loaded(self) -> LoadedModule | None:
        found = self._call(KernelCall.LOADED)
        return None if found is None else _record(LoadedModule, found)

    def of_host(self) -> Maybe[str] | None:
        return loose.text(self._call(KernelCall.OF_HOST)) or None

    def load_of_host(self) -> None:
        self._call(KernelCall.LOAD_OF_HOST)

    def load(
        self, files: Sequence[Path], *, requires: Sequence[str] = (), parameters: Mapping[str, str]
    ) -> None:
        read = [{"name": path.name.partition(".")[0], "text": _beginning(path)} for path in files]
        self._call(KernelCall.LOAD, files=read, requires=tuple(requires), parameters=dict(parameters))

    def unload(self) -> None:
        self._call(KernelCall.UNLOAD)

    def cards(self) -> tuple[str, ...]:
        return tuple(loose.text(each) for each in loose.elements(self._call(KernelCall.CARDS)))

    def functions(self) -> tuple[FunctionState, ...]:
        return tuple(
            _record(FunctionState, each) for each in loose.elements(self._call(KernelCall.FUNCTIONS))
        )

    def set_functions(self, bdf: str, count: int) -> None:
        self._call(KernelCall.SET_FUNCTIONS, bdf=bdf, count=count)

    def _call(self, call: KernelCall, **fields: object) -> object:
        try:
            answer = loose.members(self._connection.ask(encoded({"call": call, **fields}), call))
        except DriverError as error:
            raise LoaderError(LoaderCode.FAILED, error.sentence) from error
        finally:
            # A loader is asked seldom and never closed.
            self._connection.close()
        if "refused" in answer:
            refused = loose.members(answer["refused"])
            code = loose.text(refused.get("code"))
            raise LoaderError(
                LoaderCode(code) if code in tuple(LoaderCode) else LoaderCode.FAILED,
                loose.text(refused.get("sentence"), "the simulation gave no reason"),
            )
        return answer.get("done")


def _record(kind: type[_Record], value: object) -> _Record:
    try:
        return restored(kind, value)
    except DriverError as error:
        raise LoaderError(LoaderCode.FAILED, error.sentence) from error


def _beginning(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode(errors="replace")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LoaderError(
            LoaderCode.MISSING, f"module {path} cannot be read ({reason}); name a file that is there"
        ) from error
