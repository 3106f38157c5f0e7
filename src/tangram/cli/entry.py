"""Where the process begins: before anything else is imported, it can be asked to end.

A container's first process gets no signal for which it has no handler. Until a daemon has installed its own, which
takes a busy machine seconds, SIGTERM would be lost, and the kubelet would wait for the whole grace period and kill.
"""

import os
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

FIRST_PROCESS: Final = 1
ENDED: Final = 128 + signal.SIGTERM
"""What shells expect of a process that SIGTERM has ended."""


def main() -> None:
    """Run `tangram`."""
    if os.getpid() == FIRST_PROCESS:
        signal.signal(signal.SIGTERM, _end)
    from tangram.cli.app import main as run  # noqa: PLC0415 - the handler has to be there first

    run()


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(ENDED)
