"""The program that stands in for the container runtime's own, and what it reads: put on the host, and taken away.

Another program may lie at that place, as MetaX's own operator uses it too. It is kept aside and put back in the end.
"""

from __future__ import annotations

from typing import Final

from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.journal import PROGRAM_BEFORE, SETTINGS
from tangram.services.container_runtime.settings import Settings
from tangram.services.container_runtime.trouble import Code, Trouble
from tangram.wire.operator import names
from tangram.wire.runtime_config.wishes import ProgramSettings, program_settings_text

_PROGRAM_MODE: Final = 0o755


class Bringing:
    def __init__(self, host: Host, settings: Settings) -> None:
        self._host = host
        self._settings = settings

    def bring(self, runtime: str) -> None:
        """Have both there, as they should be. Raises `Trouble` and `OSError`."""
        try:
            program = self._settings.program.read_bytes()
        except OSError as error:
            raise Trouble(
                Code.PROGRAM_MISSING,
                f"{self._settings.program} cannot be read ({error.strerror}); it is the program of runtime metax and "
                "part of the image; write --program with where it is",
            ) from error
        text = program_settings_text(
            ProgramSettings(runtime=runtime, folders=self._settings.folders)
        ).encode()
        present = self._host.read(names.RUNTIME_PROGRAM)
        noted = self._host.read(SETTINGS)
        if present is not None and noted is None and present != program:
            self._host.write(PROGRAM_BEFORE, present, _PROGRAM_MODE)
        # What the program reads comes first: it must never run without.
        if noted != text:
            self._host.write(SETTINGS, text)
        if present != program:
            self._host.write(names.RUNTIME_PROGRAM, program, _PROGRAM_MODE)

    def take_away(self) -> None:
        """Have neither, and what was there before. Raises `OSError`."""
        before = self._host.read(PROGRAM_BEFORE)
        if before is not None:
            self._host.write(names.RUNTIME_PROGRAM, before, _PROGRAM_MODE)
        elif self._host.read(SETTINGS) is not None:
            # Without these notes of ours the program is somebody else's.
            self._host.remove(names.RUNTIME_PROGRAM)
            self._host.remove_empty(names.RUNTIME_PROGRAM.rpartition("/")[0], "/var/lib/metax")
