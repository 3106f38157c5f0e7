"""Run a program that ends when its parent does: `python dying.py PARENT PROGRAM ARGUMENTS...`.

A step between the two, and not a function called in a forked child: a child of a process with threads (gRPC's, for one)
may do next to nothing before it becomes another program.
"""

import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL = 1


def main() -> None:
    """Become the program."""
    parent = int(sys.argv[1])
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    # Had it died before that, nobody would tell us.
    if os.getppid() == parent:
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - what this is for


if __name__ == "__main__":
    main()
