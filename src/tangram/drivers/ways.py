"""Every way of reaching cards: what it is called, what it needs, and how it is opened.

A way's code is imported inside the function that opens it, so that a node of one vendor never loads the other vendor's
code: the agent of every GPU node pays for what stands at the top of a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.pid_namespace import sees_every_process
from tangram.drivers.protocol import Driver
from tangram.model.cards import SERVED, Vendor


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Under which a driver works, whichever it is."""

    root: Path = Path("/")
    """Where the machine's /sys, /proc and /dev are seen."""
    limit: float = 5.0
    """Seconds that one question to a library or tool may take."""
    lock_directory: str = "/run/tangram"
    """Where makers of slices on one node take turns, as seen from here."""
    doubts: Mapping[Vendor, str] = {}
    """Of each vendor whose own software answers, why a card that it does not list is not usable: the kernel's view
    alone must not call it so."""
    vendors: frozenset[Vendor] = frozenset(SERVED)
    """Whose cards count."""

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")


class Way(NamedTuple):
    name: str
    open: Callable[[str | None, Conditions], Driver]
    """Called with what stands after the colon."""
    looks_for: str
    """What it needs, for the sentence that says what was not found."""
    forms: tuple[str, ...]
    """How it is written."""
    needs: bool = False
    """Whether something must stand after the colon."""


def _simulated(where: str | None, _: Conditions) -> Driver:
    from tangram.drivers.simulated.opening import open_simulated  # noqa: PLC0415 - the reason stands at the top

    return open_simulated(where)


def _mxsml(where: str | None, conditions: Conditions) -> Driver:
    from tangram.drivers.mxsml.driver import MxsmlDriver  # noqa: PLC0415 - the reason stands at the top
    from tangram.drivers.mxsml.settings import Settings  # noqa: PLC0415 - the reason stands at the top

    sysfs, dev = str(conditions.at("/sys")), str(conditions.at("/dev"))
    return MxsmlDriver(
        Settings(
            library=where,
            limit=conditions.limit,
            sysfs_root=sysfs,
            dev_root=dev,
            lock_directory=conditions.lock_directory,
        )
    )


def _mxsmi(where: str | None, conditions: Conditions) -> Driver:
    from tangram.drivers.mxsmi.driver import MxSmiDriver, Settings  # noqa: PLC0415 - the reason stands at the top
    from tangram.drivers.mxsmi.tool import MxSmi, find_binary  # noqa: PLC0415 - the reason stands at the top

    settings = Settings(binary=where, limit=conditions.limit, sysfs_root=str(conditions.at("/sys")))
    return MxSmiDriver(MxSmi(find_binary(where), conditions.limit), settings)


def _mtml(where: str | None, conditions: Conditions) -> Driver:
    from tangram.drivers.mtml.driver import MtmlDriver  # noqa: PLC0415 - the reason stands at the top
    from tangram.drivers.mtml.locate import library_in  # noqa: PLC0415 - the reason stands at the top

    if where is not None and not Path(where).is_file():
        raise DriverError(Kind.NO_LIBRARY, f"{where} is no file; name the vendor's library", call="dlopen")
    return MtmlDriver(
        where or library_in(os.environ),
        limit=conditions.limit,
        sysfs=conditions.at("/sys"),
        sgpu_km=conditions.at("/proc/sgpu_km"),
        all_seen=sees_every_process(),
    )


def _gmi(where: str | None, conditions: Conditions) -> Driver:
    from tangram.drivers.gmi.driver import GmiDriver  # noqa: PLC0415 - the reason stands at the top

    return GmiDriver(
        where,
        limit=conditions.limit,
        sysfs=conditions.at("/sys"),
        sgpu_km=conditions.at("/proc/sgpu_km"),
        all_seen=sees_every_process(),
    )


def _sysfs(where: str | None, conditions: Conditions) -> Driver:
    from tangram.drivers.sysfs.driver import Settings, SysfsDriver  # noqa: PLC0415 - the reason stands at the top

    root = conditions.at("/sys") if where is None else Path(where)
    return SysfsDriver(
        Settings(
            sysfs_root=str(root),
            dev_root=str(conditions.at("/dev")),
            limit=conditions.limit,
            doubts=conditions.doubts,
        )
    )


SIMULATED: Final = Way(
    "simulated",
    _simulated,
    "a file of simulated cards",
    ("simulated:FILE", "simulated:unix:SOCKET"),
    needs=True,
)
MXSML: Final = Way(
    "mxsml",
    _mxsml,
    "libmxsml.so in /opt/mxdriver/lib, /usr/local/metax/mxdriver/lib, /opt/maca/lib, /opt/mxn100/lib and on the "
    "library path",
    ("mxsml[:LIBRARY]",),
)
MXSMI: Final = Way(
    "mx-smi",
    _mxsmi,
    "mx-smi on PATH and in /opt/mxdriver/bin, /usr/local/metax/mxdriver/bin and /opt/maca/bin",
    ("mx-smi[:BINARY]",),
)
SYSFS: Final = Way("sysfs", _sysfs, "PCI devices of vendors 9999 and 1ed5 in /sys/bus/pci", ("sysfs[:ROOT]",))
MTML: Final = Way("mtml", _mtml, "libmtml.so.2 on the library path", ("mtml[:LIBRARY]",))
GMI: Final = Way("gmi", _gmi, "mthreads-gmi on PATH", ("gmi[:BINARY]",))

METAX_WAYS: Final = (MXSML, MXSMI)
MTHREADS_WAYS: Final = (MTML, GMI)
WAYS: Final = (SIMULATED, *METAX_WAYS, SYSFS, *MTHREADS_WAYS)
