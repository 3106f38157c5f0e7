"""The one interface through which the kernel driver of a machine is loaded, unloaded and split into virtual functions.

It knows nothing of payloads, policies or pods. It either does what it was asked or raises `LoaderError`, and it never
unloads what is in use: the kernel refuses that by itself, and so does the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec

from tangram.units.na import NA, Maybe


class LoaderCode(StrEnum):
    """Stable words for what goes wrong; driver-manager passes them on."""

    BUSY = "module-busy"
    """Somebody uses the module or the card."""
    WRONG_KERNEL = "wrong-kernel"
    """The kernel refuses the module: made for another one, or a symbol is missing."""
    REFUSED = "module-refused"
    """The kernel says no for another reason: a parameter, a signature, lockdown."""
    MISSING = "module-missing"
    """No such file, program or module."""
    NO_FUNCTIONS = "functions-unsupported"
    """The card, its firmware or the machine offers no virtual functions, or not so many."""
    FAILED = "loader-failed"
    """Anything else, such as a kernel that does not answer in time."""


class LoaderError(Exception):
    """What was asked was not done. The sentence says what was tried, what the kernel said and what to do."""

    def __init__(self, code: LoaderCode, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class LoadedModule(msgspec.Struct, frozen=True, kw_only=True):
    """The driver as the kernel has it now."""

    name: str
    version: Maybe[str] = NA
    """Of the driver, where the kernel or a card tells."""
    parameters: Mapping[str, str] = {}
    users: int = 0
    """How often it is held: open device files and other modules, as the kernel counts."""


class FunctionState(msgspec.Struct, frozen=True, kw_only=True):
    """What one card is split into."""

    bdf: str
    now: int
    most: int
    """0 where the card offers none."""
    in_use: bool = False


class ModuleLoader(Protocol):
    @property
    def name(self) -> str:
        """How people name it on the command line: `kmod`, `simulated`."""
        ...

    def kernel(self) -> str:
        """The release that runs, as `uname -r` prints it."""
        ...

    def loaded(self) -> LoadedModule | None:
        """The driver that is loaded, whoever loaded it."""
        ...

    def of_host(self) -> Maybe[str] | None:
        """The version of the driver that the host has installed for this kernel, loaded or not; None without one."""
        ...

    def load_of_host(self) -> None:
        """Load the host's own driver, as booting would."""
        ...

    def load(
        self, files: Sequence[Path], *, requires: Sequence[str] = (), parameters: Mapping[str, str]
    ) -> None:
        """Load modules from files, in this order, after what they require. All of them are loaded, or none."""
        ...

    def unload(self) -> None:
        """Unload the driver with everything that was loaded with it. Raises `BUSY`; nothing loaded is no error."""
        ...

    def cards(self) -> tuple[str, ...]:
        """Bus addresses of the MetaX cards on the PCI bus, driven or not, without virtual functions."""
        ...

    def functions(self) -> tuple[FunctionState, ...]:
        """Of every card that is driven."""
        ...

    def set_functions(self, bdf: str, count: int) -> None:
        """Split a card; 0 joins it again. Raises `BUSY`, `NO_FUNCTIONS`."""
        ...
