"""The kernel of a simulated node: which driver it has loaded, which files it takes, and what was told to go wrong.

A module is a text file that says so in its first line (`read_module`), so that payloads for tests are made with an
editor. The rules are the real kernel's: made for another release, an unknown parameter, something in use, each is
refused before anything has changed. Nothing here knows cards; the world does, and holds the lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.drivers.modules.protocol import LoaderCode, LoaderError
from tangram.units.refusal import quoted

FIRST_LINE: Final = "tangram simulated module"
MODULE: Final = "metax"

_KEYS: Final = ("version", "kernel", "parameters")
_INSTEAD: Final = "docs/simulated-cards.md shows one"


class Breaking(StrEnum):
    """What can be told to go wrong."""

    REQUIRE = "require"
    """A module of the kernel's own that the driver needs is not there."""
    LOAD = "load"
    UNLOAD = "unload"
    VERIFY = "verify"
    """The driver is loaded, and one card does not start with it."""


class When(StrEnum):
    ONCE = "once"
    ALWAYS = "always"


class ModuleFile(msgspec.Struct, frozen=True):
    """A module as it comes to the kernel."""

    name: str
    text: str
    """Its beginning."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    name: str = MODULE
    version: str
    parameters: Mapping[str, str] = {}
    broken: bool = False
    """One card does not start with it."""


class _Module(msgspec.Struct, frozen=True):
    name: str
    version: str
    kernel: str
    parameters: tuple[str, ...]


def read_module(file: ModuleFile) -> _Module:
    """What a file says of itself. Raises `LoaderError`."""
    first, *lines = file.text.splitlines() or [""]
    if first.strip() != FIRST_LINE:
        raise LoaderError(
            LoaderCode.REFUSED,
            f"{file.name} is no module that the simulated kernel can load: its first line is {quoted(first)} and "
            f"not {FIRST_LINE!r}; {_INSTEAD}",
        )
    fields: dict[str, str] = {}
    for line in filter(str.strip, lines):
        key, colon, value = line.partition(":")
        if not colon or key.strip() not in _KEYS:
            raise LoaderError(
                LoaderCode.REFUSED,
                f"{file.name} has the line {quoted(line)}: its lines begin with {', '.join(_KEYS)}; {_INSTEAD}",
            )
        fields[key.strip()] = value.strip()
    lacking = [key for key in ("version", "kernel") if not fields.get(key)]
    if lacking:
        raise LoaderError(
            LoaderCode.REFUSED, f"{file.name} does not say its {' and '.join(lacking)}; {_INSTEAD}"
        )
    words = fields.get("parameters", "").strip("[]").split(",")
    parameters = tuple(word.strip() for word in words if word.strip())
    return _Module(file.name, fields["version"], fields["kernel"], parameters)


class Kernel:
    """Not safe from several threads by itself."""

    def __init__(self, release: str, loaded: Loaded | None, host_driver: str) -> None:
        self.release = release
        self.loaded = loaded
        self.host_driver = host_driver
        """The version that the host has installed; empty for none."""
        self.slow = 0.0
        """Seconds that loading and unloading take."""
        self._breaking: dict[Breaking, str] = {}

    @property
    def breaking(self) -> Mapping[str, str]:
        return {str(what): when for what, when in self._breaking.items()}

    def break_next(self, what: Breaking, when: str) -> None:
        """Let something go wrong: once, always, or whenever it happens to that version."""
        self._breaking[what] = when

    def heal(self) -> None:
        self._breaking.clear()

    def by_hand(self, version: str | None) -> None:
        """As an administrator or a boot would, without a question."""
        self.loaded = None if version is None else Loaded(version=version)

    def load(
        self, files: Sequence[ModuleFile], requires: Sequence[str], parameters: Mapping[str, str]
    ) -> None:
        if not files:
            raise LoaderError(LoaderCode.MISSING, "no module file was named; name one at least")
        modules = [read_module(file) for file in files]
        for module in modules:
            if module.kernel != self.release:
                raise LoaderError(
                    LoaderCode.WRONG_KERNEL,
                    f"{module.name} was made for kernel {module.kernel} and this is {self.release}: Invalid module "
                    "format; use a driver for this kernel",
                )
        known = {each for module in modules for each in module.parameters}
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise LoaderError(
                LoaderCode.REFUSED,
                f"{modules[-1].name} has no parameter {quoted(unknown[0])}; it has "
                f"{', '.join(sorted(known)) or 'none'}; name one of these or remove it",
            )
        # Helpers are loaded before the driver that needs them, so the last one is the driver.
        driver = modules[-1]
        self._refuse_a_second(driver.version)
        if requires and self._goes_wrong(Breaking.REQUIRE, driver.version):
            raise LoaderError(
                LoaderCode.MISSING,
                f"module {requires[0]} is not found in /lib/modules/{self.release}; install the kernel's extra modules",
            )
        self._begin(driver.name, driver.version, parameters)

    def load_of_host(self) -> None:
        if not self.host_driver:
            raise LoaderError(
                LoaderCode.MISSING,
                f"module {MODULE} is not found in /lib/modules/{self.release}: the host has no driver; install one",
            )
        self._refuse_a_second(self.host_driver)
        self._begin(MODULE, self.host_driver, {})

    def unload(self, users: int) -> bool:
        """Whether anything was unloaded."""
        if self.loaded is None:
            return False
        if users:
            raise LoaderError(
                LoaderCode.BUSY,
                f"module {self.loaded.name} is in use by {users} processes; end them first",
            )
        if self._goes_wrong(Breaking.UNLOAD, self.loaded.version):
            raise LoaderError(
                LoaderCode.BUSY,
                f"module {self.loaded.name} is in use: Resource temporarily unavailable (as the simulation was told); "
                "try again later",
            )
        self.loaded = None
        return True

    def _refuse_a_second(self, version: str) -> None:
        if self.loaded is not None:
            raise LoaderError(
                LoaderCode.BUSY,
                f"version {version} cannot be loaded while {self.loaded.name} {self.loaded.version} is: File exists; "
                "unload that first",
            )

    def _begin(self, name: str, version: str, parameters: Mapping[str, str]) -> None:
        if self._goes_wrong(Breaking.LOAD, version):
            raise LoaderError(
                LoaderCode.FAILED,
                f"{name} {version} could not be loaded: Input/output error (as the simulation was told); "
                "look into the kernel log",
            )
        broken = self._goes_wrong(Breaking.VERIFY, version)
        self.loaded = Loaded(name=name, version=version, parameters=dict(parameters), broken=broken)

    def _goes_wrong(self, what: Breaking, version: str) -> bool:
        when = self._breaking.get(what)
        if when == When.ONCE:
            del self._breaking[what]
        return when in (When.ONCE, When.ALWAYS, version)
