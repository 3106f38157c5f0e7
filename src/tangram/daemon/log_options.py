"""How logs are asked for, in the words of MetaX's charts: directory, level, format, rotation time, greatest age."""

from __future__ import annotations

import logging
import re
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.errors import SettingError

USUAL_DIRECTORY: Final = "/var/log/metax"
USUAL_LEVEL: Final = "info"
USUAL_FORMAT: Final = "json"
USUAL_ROTATION: Final = "1w"
USUAL_MAX_AGE: Final = "26w"

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "fatal": logging.CRITICAL,
}
_ALSO: Final = {"warn": "warning"}
"""Levels under the names that the vendor's public charts use."""
_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3600}
_SPAN = re.compile(r"([1-9][0-9]{0,4})([wdh])", re.IGNORECASE)


class LogFormat(StrEnum):
    JSON = "json"
    TEXT = "text"


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    directory: Path | None = Path(USUAL_DIRECTORY)
    """None for standard error alone."""
    level: int = logging.INFO
    form: LogFormat = LogFormat.JSON
    rotation: int = _SECONDS["w"]
    """Seconds."""
    max_age: int = 26 * _SECONDS["w"]
    """Seconds."""


def read_log_options(
    *,
    directory: str = USUAL_DIRECTORY,
    level: str = USUAL_LEVEL,
    form: str = USUAL_FORMAT,
    rotation: str = USUAL_ROTATION,
    max_age: str = USUAL_MAX_AGE,
) -> LogOptions:
    """The options as they were written on a command line. Raises `SettingError`."""
    return LogOptions(
        directory=_directory(directory),
        level=_level(level),
        form=_form(form),
        rotation=_span(rotation, "--log-rotation", USUAL_ROTATION),
        max_age=_span(max_age, "--log-max-age", USUAL_MAX_AGE),
    )


def _directory(text: str) -> Path | None:
    if not text.strip():
        return None
    if "\0" in text:
        raise SettingError(
            f"--log-dir is {text!r:.80}: a path has no null character; name a folder, or nothing for no files."
        )
    return Path(text)


def _level(text: str) -> int:
    word = text.strip().lower()
    level = LEVELS.get(_ALSO.get(word, word))
    if level is None:
        raise SettingError(
            f"--log-level is {text!r:.80}: it is debug, info, warning (or warn), error or fatal; write one of these."
        )
    return level


def _form(text: str) -> LogFormat:
    try:
        return LogFormat(text.strip().lower())
    except ValueError:
        raise SettingError(f"--log-format is {text!r:.80}: it is json or text; write one of these.") from None


def _span(text: str, option: str, usual: str) -> int:
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise SettingError(
            f"{option} is {text!r:.80}: it is a whole number from 1 to 99999 of weeks, days or hours; "
            f"write for example {usual}, 7d or 12h."
        )
    return int(found[1]) * _SECONDS[found[2].lower()]
