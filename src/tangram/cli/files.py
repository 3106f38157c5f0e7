"""Text from the files people name, or from standard input; every way this fails becomes a sentence."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tangram.cli.failures import InputError

STANDARD_INPUT = "-"

# Windows shells write redirected output in UTF-16, with a mark that says so.
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Source(NamedTuple):
    name: str
    """How to speak of it in a sentence."""
    text: str


def check_one_standard_input(sources: Iterable[str | None]) -> None:
    """Standard input can be read once, so only one option may name it."""
    if sum(1 for source in sources if source == STANDARD_INPUT) > 1:
        raise InputError(
            "standard input (-) is named twice, and can be read once: put one of the two into a file."
        )


def read_source(path: str, option: str) -> Source:
    """The text of a file, or of standard input for `-`."""
    name = "standard input" if path == STANDARD_INPUT else path
    return Source(name, _decoded(_content(path, option), name))


def _content(path: str, option: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    advice = "name a file, or - for standard input"
    if not path.strip():
        raise InputError(f"{option} names nothing: {advice}.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{option} names {path}, which does not exist: {advice}.") from None
    except IsADirectoryError:
        raise InputError(f"{option} names {path}, which is a directory: {advice}.") from None
    except PermissionError:
        raise InputError(
            f"{option} names {path}, which may not be read: {advice} that you may read."
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{option} names {path!r}, which cannot be read ({reason}): {advice}.") from error


def _decoded(content: bytes, name: str) -> str:
    encoding = next((found for mark, found in _MARKS if content.startswith(mark)), "utf-8-sig")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is no text (byte {error.start} is not {error.encoding}): give YAML, JSON or CSV in UTF-8."
        ) from None
    if "\0" in text:
        raise InputError(f"{name} is no text (it holds null characters): give YAML, JSON or CSV in UTF-8.")
    if not text.strip():
        raise InputError(f"{name} is empty: give a file with something in it.")
    return text
