"""Logging for a whole process: to standard error always, to a file where one can be written."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from tangram.daemon.log_files import AgingFile
from tangram.daemon.log_lines import JsonLines, TextLines
from tangram.daemon.log_options import LogFormat, LogOptions


def start_logging(component: str, options: LogOptions) -> Callable[[], None]:
    """Send everything that is logged from now on where the options say. What is returned ends it again."""
    lines = JsonLines() if options.form is LogFormat.JSON else TextLines()
    handlers: list[logging.Handler] = [_StandardError()]
    if options.directory is not None:
        file = AgingFile(options.directory, component, rotation=options.rotation, max_age=options.max_age)
        file.open()
        handlers.append(file)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    for handler in handlers:
        handler.setFormatter(lines)
    root.handlers[:] = handlers
    root.setLevel(options.level)
    logging.captureWarnings(capture=True)

    def end() -> None:
        logging.captureWarnings(capture=False)
        root.handlers[:], level = before
        root.setLevel(level)
        for handler in handlers:
            handler.close()

    return end


class _StandardError(logging.Handler):
    """Asks for the stream each time, and takes its loss without a word: there is nowhere left to say it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
