"""YAML and JSON text as plain values, with the line of whatever cannot be read.

Values are read as Kubernetes' own tools read them: dates stay text, and a key that is written twice in one map is an
error instead of a silent choice between the two.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import yaml

from tangram.cli.failures import InputError
from tangram.cli.files import Source
from tangram.daemon.json_text import json_values
from tangram.daemon.yaml_text import MOST_DEPTH, StrictLoader, line_too_deep, problem_of

_CHUNK = 1 << 16

Progress = Callable[[int, int], None]


class _Watched(io.BytesIO):
    """Text on its way into the parser, telling how much of it has gone."""

    def __init__(self, text: str, on_progress: Progress) -> None:
        content = text.encode()
        super().__init__(content)
        self._size = len(content)
        self._on_progress = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        self._on_progress(self.tell(), self._size)
        return super().read(_CHUNK if size is None or size < 0 else size)


def read_documents(source: Source, on_progress: Progress) -> list[object]:
    """Every document of the text that is not blank; at least one."""
    documents = [document for document in _parsed(source, on_progress) if document is not None]
    if not documents:
        raise InputError(
            f"{source.name} holds no document, only blanks or comments: give one in YAML or JSON."
        )
    return documents


def _parsed(source: Source, on_progress: Progress) -> list[object]:
    if source.text.lstrip()[:1] in ("{", "["):
        try:
            return json_values(source.text)
        except (ValueError, RecursionError):
            # Braces begin YAML too, and its parser tells the line.
            pass
    try:
        _check_depth(source)
        return list(yaml.load_all(_Watched(source.text, on_progress), Loader=StrictLoader))
    except yaml.MarkedYAMLError as error:
        raise InputError(
            f"{source.name}{_line(error)}: {problem_of(error)}; correct it, as YAML or JSON."
        ) from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise InputError(f"{source.name}: {what:.200}; give YAML or JSON.") from None
    except (ValueError, OverflowError):
        raise InputError(
            f"{source.name} holds a number too long to be read: shorten it, or put it in quotes."
        ) from None


def _check_depth(source: Source) -> None:
    """Refuse nesting without end before it is built: the parser would run out of stack, and end without a word."""
    line = line_too_deep(source.text)
    if line is not None:
        what = f"{source.name} line {line} is nested more than {MOST_DEPTH} deep"
        raise InputError(f"{what}: give YAML or JSON of a usual shape.")


def _line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}"
