"""A log record as one line: JSON for machines, text for people. Nothing that is logged can break the line.

What a message says comes from drivers, API servers and other people's annotations, so line breaks and control
characters are escaped, and a value that JSON cannot express is written as its text.
"""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from typing import Final

import msgspec

_NAMES: Final = ((logging.CRITICAL, "fatal"), (logging.ERROR, "error"), (logging.WARNING, "warning"))
_FIRST: Final = ("time", "level", "logger", "message")
_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMATTER = logging.Formatter()


class JsonLines(logging.Formatter):
    """One object per line: time, level, logger, message, then the record's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _moment(record),
            "level": level_name(record.levelno),
            "logger": record.name,
            "message": _encodable(_message(record)),
        }
        for name, value in _fields(record).items():
            line[f"{name}_" if name in _FIRST else name] = value
        try:
            encoded = msgspec.json.encode(line, enc_hook=str)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            # A field that is odd beyond its own text: the line matters more than its type.
            encoded = msgspec.json.encode({name: _encodable(str(value)) for name, value in line.items()})
        return encoded.decode()


class TextLines(logging.Formatter):
    """Time, level, logger and message, then `name=value` for the record's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_word(value)}" for name, value in _fields(record).items())
        level = level_name(record.levelno).upper()
        line = f"{_moment(record)} {level:<7} {record.name}: {_message(record)}{fields}"
        return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], _encodable(line))


def level_name(level: int) -> str:
    """The name by which a level is asked for."""
    return next(
        (name for least, name in _NAMES if level >= least), "info" if level >= logging.INFO else "debug"
    )


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = {
        name: value for name, value in record.__dict__.items() if name not in _STANDARD
    }
    if record.exc_info and record.exc_info[0] is not None:
        fields["exception"] = _encodable(_FORMATTER.formatException(record.exc_info))
    return fields


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - arguments may be anything, and their fault is not the line's
        return f"{record.msg} {record.args!r}"


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    text = str(value)
    return text if text and " " not in text and '"' not in text else repr(text)


def _encodable(text: str) -> str:
    """File names may hold bytes that are no text, which Python keeps as half characters."""
    return text.encode("utf-8", "backslashreplace").decode()
