"""The vendors' management libraries: where, loadable, and which of the functions we use they lack.

Loading is all that is done here. Starting a library touches hardware, and that is the driver's business.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import Final

from tangram.drivers.doctor.bus import cards_on_bus
from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, warn
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.doctor.versions import read_version
from tangram.drivers.mtml.calls import FUNCTIONS as MTML_FUNCTIONS
from tangram.drivers.mtml.locate import NAMES, library_in
from tangram.drivers.mtml.package import DISTRIBUTION, OLDEST
from tangram.drivers.mxsml.functions import OLDER, PREFIX, SIGNATURES
from tangram.drivers.mxsml.locate import candidates

MTML_FOLDERS: Final = ("/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib")
_MOST_NAMED = 6
_NONE: Final[Mapping[str, str]] = {}


def metax_library(explicit: str | None, environment: Mapping[str, str], machine: Machine) -> Findings:
    """libmxsml, in the order the vendor searches it."""
    wanted = bool(explicit) or bool(cards_on_bus(machine).metax)
    found = _first(machine, candidates(None, environment)) if explicit is None else _named(explicit)
    if found is not None:
        older = {PREFIX + name: PREFIX + other for name, other in OLDER.items()}
        yield _loaded("metax-library", found, machine, tuple(PREFIX + name for name in SIGNATURES), older)
    elif wanted:
        yield _absent("metax-library", "libmxsml.so", "mxsml", "the metax-driver package")


def mthreads_library(explicit: str | None, environment: Mapping[str, str], machine: Machine) -> Findings:
    """libmtml, and the vendor's Python package that speaks to it."""
    wanted = bool(explicit) or bool(cards_on_bus(machine).mthreads)
    # The driver takes these before the loader's: what is examined is what it would use.
    said = explicit or library_in(environment)
    folders = [*filter(None, environment.get("LD_LIBRARY_PATH", "").split(":")), *MTML_FOLDERS]
    places = [f"{folder}/{name}" for name in NAMES for folder in folders]
    found = _first(machine, places) if said is None else _named(said)
    if found is not None:
        yield _loaded("mthreads-library", found, machine, MTML_FUNCTIONS)
        yield _package()
    elif wanted:
        yield _absent("mthreads-library", "libmtml.so.2", "mtml", "the vendor's mtml package")


def library_probes(
    metax: str | None, mthreads: str | None, environment: Mapping[str, str] = os.environ
) -> tuple[partial[Findings], partial[Findings]]:
    """Both probes, with the files a person named instead of searching."""
    return partial(metax_library, metax, environment), partial(mthreads_library, mthreads, environment)


def _first(machine: Machine, places: Sequence[str]) -> Path | None:
    return next((machine.place(place) for place in places if "/" in place and machine.exists(place)), None)


def _named(place: str) -> Path | None:
    """A file a person named is looked for from here, wherever the machine's root is mounted."""
    return Path(place) if Path(place).is_file() else None


def _absent(check: str, name: str, driver: str, package: str) -> Finding:
    return fail(
        check,
        f"{name} was not found, so cards are known only from the kernel's files",
        f"install {package}, or name the file with --driver {driver}:FILE",
    )


def _loaded(
    check: str, path: Path, machine: Machine, functions: Sequence[str], older: Mapping[str, str] = _NONE
) -> Finding:
    """`older` names, for functions that say the same in a newer form, the one that stands in for it."""
    machine.touching = f"dlopen {path}"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return fail(check, f"{path} cannot be loaded ({error})", "install the library that fits this machine")
    absent = [name for name in functions if not hasattr(library, name)]
    lacking = [name for name in absent if not _stands_in(library, older, name)]
    if not absent:
        return ok(check, f"{path} has all {len(functions)} functions that are used")
    if not lacking:
        there = len(functions) - len(absent)
        return ok(
            check, f"{path} has {there} of {len(functions)} functions, and older ones in place of the rest"
        )
    named = ", ".join(lacking[:_MOST_NAMED])
    more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
    return warn(
        check,
        f"{path} lacks {len(lacking)} of {len(functions)} functions: {named}{more}",
        "what they report is shown as N/A; a newer driver package has them",
    )


def _stands_in(library: ctypes.CDLL, older: Mapping[str, str], name: str) -> bool:
    """Whether any older form of that function is there: where two forms are missing, the one before them serves."""
    seen = {name}
    while (name := older.get(name, "")) and name not in seen:
        if hasattr(library, name):
            return True
        seen.add(name)
    return False


def _package() -> Finding:
    check, oldest = "mthreads-package", ".".join(map(str, OLDEST))
    todo = f"pip install '{DISTRIBUTION}>={oldest}'"
    if util.find_spec("pymtml") is None:
        return fail(check, f"the Python package {DISTRIBUTION} is not installed", todo)
    try:
        written = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return warn(check, "pymtml is here, and nobody can tell its version", todo)
    if (read_version(written) or OLDEST) < OLDEST:
        return fail(check, f"{DISTRIBUTION} {written} corrupts memory", todo)
    return ok(check, f"{DISTRIBUTION} {written}")
