"""From a word to a module loader: `auto`, `kmod`, or the kernel of a simulation that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.protocol import ModuleLoader

AUTO: Final = "auto"
KMOD: Final = "kmod"
SIMULATED: Final = "simulated:unix:"
FORMS: Final = (AUTO, KMOD, f"{SIMULATED}SOCKET")


def open_loader(text: str, host_root: Path = Path("/")) -> ModuleLoader:
    """The loader of that name; `host_root` is where the host's files are seen, its programs among them.

    Raises `DriverError` (`invalid`) for a text that names none. What a loader needs is looked for when it is asked.
    """
    word = text.strip()
    if word in (AUTO, KMOD):
        from tangram.drivers.modules.kmod import KmodLoader  # noqa: PLC0415 - a simulated node needs none of it

        return KmodLoader(host_root)
    where = word.removeprefix(SIMULATED).strip()
    if word.startswith(SIMULATED) and where:
        from tangram.drivers.modules.simulated import SimulatedLoader  # noqa: PLC0415 - nor a real one of this
        from tangram.drivers.simulated.client import Connection  # noqa: PLC0415 - nor a real one of this

        return SimulatedLoader(Connection(Path(where)))
    if word.startswith("simulated"):
        raise DriverError(
            Kind.INVALID,
            f"the loader is {text!r:.80}: a simulated kernel outlives its users, so it is that of a simulation that "
            f"runs (tangram simulate-cards serve); write {SIMULATED}SOCKET",
        )
    raise DriverError(
        Kind.INVALID,
        f"the loader is {text!r:.80}: a loader is {', '.join(FORMS[:-1])} or {FORMS[-1]}; write one",
    )
