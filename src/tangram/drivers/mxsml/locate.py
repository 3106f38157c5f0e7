"""Where the library may be, best first.

A path given by a person is the only one tried: loading another library than the one that was asked for would make every
later report a riddle. The last resort is the loader's own search, by the name the library gives itself.

Some releases of the driver install below `/usr/local`. In a container that path is the image's own, and a host need not
have the folder, so it cannot be mounted there: a mount would hide the image's modules or make the folder on the host.
The host's `/usr` is mounted at `/host/usr` instead, and the library is loaded from there. It needs nothing beside it
(2.2.8: libc, libm, libdl, libgcc_s, libstdc++), all of which are the image's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILE: Final = "libmxsml.so"
LOADER_NAMES: Final = ("libmxsml.so.2", FILE)
DIRECTORIES: Final = (
    "/opt/mxdriver/lib",
    "/usr/local/metax/mxdriver/lib",
    "/host/usr/local/metax/mxdriver/lib",
    "/opt/maca/lib",
    "/opt/mxn100/lib",
)
PATH_VARIABLE: Final = "MXSML_LIBRARY_PATH"
SDK_VARIABLE: Final = "MACA_HOME"


def candidates(explicit: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What to hand to the loader, in order."""
    if explicit:
        return (_file(explicit),)
    named = environment.get(PATH_VARIABLE, "")
    sdk = environment.get(SDK_VARIABLE, "")
    places = [_file(named)] if named else []
    places += [f"{directory}/{FILE}" for directory in DIRECTORIES]
    places += [f"{sdk.rstrip('/')}/lib/{FILE}"] if sdk else []
    return tuple(dict.fromkeys((*places, *LOADER_NAMES)))


def _file(place: str) -> str:
    # People name the directory as often as the file.
    return str(Path(place) / FILE) if Path(place).is_dir() else place
