"""What is to be registered with a container runtime, in words that all of them share."""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.wire import jsontext
from tangram.wire.operator.names import RUNTIME_CLASS

RUNTIME: Final = RUNTIME_CLASS
ANNOTATIONS: Final = "tangram.dev/*"
"""Annotations of a pod that the runtime's program is to see; who registered a runtime is told by it too."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    program: str
    """The host's path of the program."""
    default: bool = False
    """Whether every container is to be started by it."""


class ProgramSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the program reads at each start of a container."""

    runtime: str
    """The runtime that really starts containers: a path, or a name to be found in PATH."""
    folders: tuple[str, ...] = ()


def program_settings_text(settings: ProgramSettings) -> str:
    """The file. Raises `WireError` for text that UTF-8 cannot carry."""
    return jsontext.pretty(settings, "the runtime's settings") + "\n"
