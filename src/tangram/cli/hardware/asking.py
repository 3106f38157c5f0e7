"""What the four commands have in common: which driver, for how long, and what to say when there is none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.failures import InputError
from tangram.cli.output import Format, write_data
from tangram.cli.plain import clean
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import FORMS, open_driver
from tangram.drivers.snapshot import Reader
from tangram.drivers.ways import Conditions
from tangram.units.durations import DurationError, parse_duration

NOT_ALL_READ: Final = 1
NOTHING_FOUND: Final = 3
"""Exit status of a machine without cards: neither an answer nor a wrong command line."""
SHORTEST: Final = 0.05
LONGEST: Final = 3600.0

DriverOption = Annotated[
    str,
    Parameter(name="--driver", metavar="DRIVER", help=f"How to reach the cards: {', '.join(FORMS)}."),
]
TimeoutOption = Annotated[
    str, Parameter(name="--timeout", metavar="DURATION", help="Answer within this time, whatever hangs.")
]
RootOption = Annotated[
    str,
    Parameter(
        name="--root", metavar="DIR", help="Where the machine's / is seen, such as /host in a container."
    ),
]
OutputOption = Annotated[
    str,
    Parameter(
        name=["--output", "-o"],
        metavar="FORMAT",
        completer=candidates.formats,
        help="table, json or yaml.",
    ),
]


class NothingReport(msgspec.Struct, frozen=True, kw_only=True):
    """What programs read where people read a sentence."""

    tangram: str
    driver: str
    cards: tuple[()] = ()
    nothing: str


def reader_for(driver: str, timeout: str, root: str) -> Reader:
    """A reader of that driver, which is opened at the first reading."""
    limit = read_seconds(timeout, "--timeout")
    # A driver that gives up by itself can name the vendor's function that hangs, so it must give up before we do.
    conditions = Conditions(root=read_root(root), limit=limit / 2)
    return Reader(lambda on_try: open_driver(driver, on_try, conditions), limit=limit)


def read_root(text: str) -> Path:
    """The folder where the machine's / is seen."""
    try:
        if Path(text).is_dir():
            return Path(text)
    except (OSError, ValueError):
        pass
    raise InputError(
        f"--root is {text!r:.80}, which is no folder: name the folder where the machine's / is mounted."
    )


def read_seconds(text: str, option: str) -> float:
    """A duration between a twentieth of a second and an hour; a bare number means seconds."""
    written = f"{text}s" if text.replace(".", "", 1).isdecimal() else text
    try:
        seconds = parse_duration(written)
    except DurationError as error:
        raise InputError(f"{option}: {error}") from None
    if not SHORTEST <= seconds <= LONGEST:
        raise InputError(f"{option} is {text!r:.80}: it is between 50ms and 1h; write a duration such as 2s.")
    return float(seconds)


def give_up(error: DriverError, driver: str, version: str, form: Format) -> int:
    """Say why there is nothing to show, to people or to programs, and return the exit status."""
    if error.kind is Kind.INVALID:
        raise InputError(_sentence(error)) from None
    if form is not Format.TABLE:
        write_data(NothingReport(tangram=version, driver=driver, nothing=_sentence(error)), form)
    sys.stderr.write(f"tangram: {clean(_sentence(error))}\n")
    return NOTHING_FOUND if error.kind in (Kind.NO_LIBRARY, Kind.NO_DRIVER) else NOT_ALL_READ


def status_of(cards: Sequence[object], troubles: Sequence[object]) -> int:
    """The exit status of what was read."""
    return NOT_ALL_READ if troubles else 0 if cards else NOTHING_FOUND


def _sentence(error: DriverError) -> str:
    return f"{error.sentence.rstrip('.')}."
