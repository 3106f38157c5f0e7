"""Functions of a library as we declare them, called with poison where a further argument would be.

    python -m real_libraries.poison LIBRARY PREFIX NAME:KINDS ...

KINDS has a letter per declared argument: `u` for a number, which is 0, and `p` for an address, which is that of enough
zeroed memory. A function that takes more than was declared finds an address that is never mapped, and ends the
process: the last name that was printed is its.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

REGISTERS: Final = 6
"""In which whole numbers and addresses are passed."""
POISON: Final = 0xDEAD_0000_0000
ENOUGH: Final = 1 << 20


def main(path: str, prefix: str, functions: list[str]) -> None:
    """Call each, and say so before."""
    library = ctypes.CDLL(path)
    for each in functions:
        name, _, kinds = each.partition(":")
        found = getattr(library, prefix + name, None)
        sys.stdout.write(f"{name}{'' if found else ' is not there'}\n")
        sys.stdout.flush()
        if found is not None:
            call(found, kinds)
    sys.stdout.write("all\n")


def call(function: Any, kinds: str) -> int:  # noqa: ANN401 - what ctypes makes of a symbol has no public type
    """What it answers, if it answers."""
    given = [ctypes.c_uint(0) if kind == "u" else ctypes.create_string_buffer(ENOUGH) for kind in kinds]
    rest = [ctypes.c_void_p(POISON)] * (REGISTERS - len(kinds))
    function.restype = ctypes.c_uint
    return int(function(*given, *rest))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
