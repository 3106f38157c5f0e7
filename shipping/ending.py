"""How each program here ends: with what it made, with a sentence, or because it was told to; never with a traceback."""

import signal
import sys
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130
"""What shells expect of a process that was stopped with Ctrl-C."""


def ended(
    make: Callable[[], object], refusals: tuple[type[Exception], ...], *, unmade: str, stopped: str
) -> int:
    """The exit status of making something. `refusals` have sentences of their own; `unmade` begins one for the disk's.

    SIGTERM counts as Ctrl-C, so that temporary folders go whoever ends the process.
    """
    signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        make()
    except refusals as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:  # a full disk, a folder that vanished or may not be written
        sys.stderr.write(f"{unmade}: {error}.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(f"{stopped}\n")
        return INTERRUPTED
    return 0


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
