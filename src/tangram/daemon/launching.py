"""From everything that was read on the command line to a process that runs, and to its exit status.

What cannot work is said in one sentence on standard error; a log may not be read by whoever started the process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import Final

from tangram.daemon.errors import SettingError
from tangram.daemon.log_options import LogOptions
from tangram.daemon.logs import start_logging
from tangram.daemon.running import FAILED, Supervisor, run_service
from tangram.kube.errors import NoConnection

USAGE_ERROR: Final = 2


def run_daemon(
    component: str, logs: LogOptions, serve: Callable[[Supervisor], Coroutine[None, None, int]]
) -> int:
    """Run a service with its logs until it is told to stop. Its exit status."""
    end_logging = start_logging(component, logs)
    try:
        return run_service(serve)
    except (SettingError, NoConnection) as error:
        sys.stderr.write(f"tangram: {str(error).rstrip('.')}.\n")
        return USAGE_ERROR
    except OSError as error:
        sys.stderr.write(f"tangram: {error.filename or 'a folder'} cannot be used ({error.strerror}).\n")
        return FAILED
    finally:
        end_logging()
