"""Our driver over Moore Threads' library, with poison behind the arguments of every call of the vendor's package.

    python -m real_libraries.mtml_poison LIBRARY [FUNCTION]

The package declares no arguments, so a wrong count of them shows nowhere else. A function that takes more finds an
address that is never mapped, and ends the process; the last name that was printed is its. The last argument of FUNCTION
is left out, to see that it is found.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from real_libraries.poison import POISON, REGISTERS
from tangram.drivers.errors import DriverError
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.drivers.mtml.package import fresh_copy, give_back
from tangram.drivers.mtml.processes import COUNT, LIST

BESIDE: Final = (COUNT, LIST)
"""Functions that the package does not know. The second is asked where the first finds a process."""


def main(library: str, short: str = "") -> None:
    """Ask the driver everything that it asks the library."""
    package = fresh_copy()
    find = package._mtmlGetFunctionPointer  # noqa: SLF001 - where the package gets every function from

    def behind(name: str, found: Any) -> Callable[..., Any]:  # noqa: ANN401 - what ctypes makes of a symbol
        def call(*arguments: Any) -> Any:  # noqa: ANN401 - whatever the package passes and gets
            given = arguments[:-1] if name == short else arguments
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
            found.restype = ctypes.c_char_p if name == "mtmlErrorString" else ctypes.c_int
            return found(*given, *[ctypes.c_void_p(POISON)] * (REGISTERS - len(given)))

        return call

    class Poisoned(ctypes.CDLL):
        """The library as the driver loads it: two functions it takes from there, past the package."""

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a function of the library
            return behind(name, self[name]) if name in BESIDE else super().__getattr__(name)

    def found_by_the_package(name: str) -> Callable[..., Any]:
        return behind(name, find(name))

    vars(package)["_mtmlGetFunctionPointer"] = found_by_the_package
    cast("dict[str, object]", vars(ctypes))["CDLL"] = Poisoned
    give_back(package)
    driver = MtmlDriver(library, limit=60.0)
    devices = driver.devices()
    driver.links(devices)
    driver.health()
    for device in devices:
        driver.figures(device.uuid)
    with suppress(DriverError):
        driver.figures(type(devices[0].uuid)("00000000-0000-0000-0000-000000000000"))
    driver.close()
    sys.stdout.write("all\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
