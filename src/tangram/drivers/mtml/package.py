"""The vendor's Python package, in a copy of our own.

`pymtml` keeps the loaded library, the resolved functions and the initialised handles in module globals, for ever. Were
it imported the usual way, a library replaced by an upgrade could never be loaded again in this process, and whoever
else in the process uses the package would share our handles and we theirs. So each load executes the module anew under
a private name and throws the old one away: that is all the reloading the package allows, and it is enough.

Versions before 2.4.3 are refused: their records are smaller than what the library writes, which corrupts memory.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Mapping
from importlib import metadata, util
from itertools import count
from types import ModuleType
from typing import Final

from tangram.drivers.errors import DriverError, Kind

MODULE: Final = "pymtml"
DISTRIBUTION: Final = "mthreads-ml-py"
OLDEST: Final = (2, 4, 3)
RECORD_SIZES: Final = {
    "c_mtmlPciInfo_t": 104,
    "c_mtmlDeviceProperty_t": 8,
    "c_mtmlMtLinkSpec_t": 28,
    "c_mtmlMtLinkLayout_t": 24,
    "c_mtmlPageRetirementCount_t": 8,
}
"""Bytes that the library writes on a 64-bit machine."""
INSTALL: Final = "install mthreads-ml-py 2.4.3 or newer, for example with pip install 'tangram-gpu[mthreads]'"

_COPIES = count(1)
_unused: list[ModuleType] = []


def give_back(module: ModuleType) -> None:
    """Take a copy back that its user needs no more; one that has loaded no library serves the next.

    A copy can be thrown away but never freed: ctypes remembers its records. On a machine without the library, where
    somebody looks every few seconds, that would grow for ever.
    """
    if vars(module).get("mtmlLib") is None:
        _unused.append(module)


def fresh_copy() -> ModuleType:
    """A copy of `pymtml` that has loaded no library yet. Raises `no-library` when it is missing or unfit."""
    try:
        return _unused.pop()
    except IndexError:
        pass
    found = util.find_spec(MODULE)
    if found is None or found.origin is None:
        raise DriverError(
            Kind.NO_LIBRARY, f"the Python package {DISTRIBUTION} is not here; {INSTALL}", call=MODULE
        )
    _refuse_old(_installed_version())
    name = f"_tangram_{MODULE}_{next(_COPIES)}"
    spec = util.spec_from_file_location(name, found.origin)
    if spec is None or spec.loader is None:
        raise DriverError(Kind.NO_LIBRARY, f"{found.origin} cannot be imported; {INSTALL}", call=MODULE)
    module = util.module_from_spec(spec)
    # While it runs, the module looks itself up under its name to add its error classes.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DriverError(
            Kind.NO_LIBRARY, f"{MODULE} cannot be imported ({error!r:.200}); {INSTALL}", call=MODULE
        ) from error
    finally:
        del sys.modules[name]
    refuse_wrong_records(vars(module))
    return module


def refuse_wrong_records(names: Mapping[str, object]) -> None:
    """Raise when a record is not as large as what the library writes into it."""
    for record, size in RECORD_SIZES.items():
        kind = names.get(record)
        found = ctypes.sizeof(kind) if isinstance(kind, type) and issubclass(kind, ctypes.Structure) else None
        if found != size:
            raise DriverError(
                Kind.NO_LIBRARY,
                f"{record} of {MODULE} has {found or 'no'} bytes where the library writes {size}; {INSTALL}",
                call=MODULE,
            )


def _installed_version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        # Copied in without its metadata; the sizes of its records decide.
        return ""


def _refuse_old(version: str) -> None:
    numbers = re.match(r"([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?", version)
    if numbers and tuple(int(number or 0) for number in numbers.groups()) < OLDEST:
        raise DriverError(
            Kind.NO_LIBRARY, f"{DISTRIBUTION} is {version}, which corrupts memory; {INSTALL}", call=MODULE
        )
