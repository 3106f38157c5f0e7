"""Functions of a library as we declare them, called with poison where a further argument would be.

    python -m real_libraries.poison LIBRARY PREFIX POISON NAME:KINDS ...

KINDS are the declared arguments, with a comma between: a number, or `p` for an address, which is that of enough memory
full of eights: room for eight of anything. A function that takes one more address than was declared finds one
that is never mapped, and ends the process: the last name that was printed is its. One that takes one more number finds
the low half of the poison, so it answers otherwise to another poison: behind each name stand the code and a sum of the
memory that it was given.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).resolve().parents[1]
REGISTERS: Final = 6
"""In which whole numbers and addresses are passed."""
POISON: Final = 0xDEAD_0000_0000
"""With a number that most functions take in its low half."""
OTHER_POISON: Final = POISON + 128
"""With one that is no card, slice, share or unit; as an amount of memory it is one that a card can slice."""
ENOUGH: Final = 1 << 20


def main(path: str, prefix: str, poison: str, functions: list[str]) -> None:
    """Call each, and say so before."""
    library = ctypes.CDLL(path)
    for each in functions:
        name, _, kinds = each.partition(":")
        found = getattr(library, prefix + name, None)
        sys.stdout.write(f"{name}{'' if found else ' is not there'}")
        sys.stdout.flush()
        if found is not None:
            code, sum_of_memory = call(found, kinds, int(poison))
            sys.stdout.write(f" {code} {sum_of_memory:08x}")
        sys.stdout.write("\n")
    sys.stdout.write("all\n")


def call(function: Any, kinds: str, poison: int) -> tuple[int, int]:  # noqa: ANN401 - what ctypes makes of a symbol
    """What it answers, and a sum of the memory it had, if it answers."""
    words = kinds.split(",") if kinds else []
    memory = [bytearray(b"\x08\0\0\0") * (ENOUGH // 4) for word in words if word == "p"]
    addresses = iter([(ctypes.c_char * ENOUGH).from_buffer(each) for each in memory])
    given = [next(addresses) if word == "p" else ctypes.c_uint(int(word)) for word in words]
    rest = [ctypes.c_void_p(poison)] * (REGISTERS - len(given))
    function.restype = ctypes.c_uint
    code = int(function(*given, *rest))
    return code, zlib.crc32(b"".join(memory))


def called(
    library: Path,
    prefix: str,
    poison: int,
    functions: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """The status of a process that calls them, negative for one that was ended, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "real_libraries.poison", str(library), prefix, str(poison), *functions],
        env=environment,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode >= 0 and done.stdout.splitlines()[-1:] != ["all"]:
        raise RuntimeError(done.stderr)
    return done.returncode, done.stdout


def first_difference(run: Callable[[int], tuple[int, str]]) -> str:
    """The first function that takes more than was declared; empty where none does.

    `run` answers as `called` does, with a poison and on a machine as it was at the beginning.
    """
    (ended, one), (_, again), (_, other) = run(POISON), run(POISON), run(OTHER_POISON)
    if ended:
        return one.splitlines()[-1].split(" ")[0]
    for first, second, third in zip(one.splitlines(), again.splitlines(), other.splitlines(), strict=False):
        # Some leave what happens to be in memory behind their answer: then the code is all there is to compare.
        words = None if first == second else 2
        if first.split(" ")[:words] != third.split(" ")[:words]:
            return first.split(" ")[0]
    return ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
