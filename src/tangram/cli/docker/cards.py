"""The cards of this host for `metax-docker`: read once, within a time limit, with a sentence for whatever is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import AUTO, open_driver
from tangram.drivers.snapshot import USUAL_LIMIT, Reader, Snapshot
from tangram.drivers.ways import Conditions
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.reading import Command

DRIVER_VARIABLE: Final = "TANGRAM_DRIVER"
_ABSENT: Final = (Kind.NO_LIBRARY, Kind.NO_DRIVER)


def read_cards(command: Command, environment: Mapping[str, str]) -> Snapshot:
    """What the driver says now. Raises `HostError`."""
    driver = command.own.get("driver") or environment.get(DRIVER_VARIABLE) or AUTO
    conditions = Conditions(root=Path("/"), limit=USUAL_LIMIT / 2)
    reader = Reader(lambda on_try: open_driver(driver, on_try, conditions))
    try:
        snapshot = reader.read(links=True)
    except DriverError as error:
        remedy = (
            " Install the driver, or load it; `tangram doctor` says what is missing."
            if error.kind in _ABSENT
            else ""
        )
        raise HostError(f"{error.sentence.rstrip('.')}.{remedy}") from None
    finally:
        reader.close()
    if not snapshot.cards:
        said = "; ".join(trouble.sentence.rstrip(".") for trouble in snapshot.troubles)
        raise HostError(f"no card can be used on this host{f': {said}' if said else ''}.")
    return snapshot


def device_root(command: Command, environment: Mapping[str, str]) -> str:
    """Where device nodes are; /dev but for simulated cards. Raises `HostError`."""
    text = command.own.get("device-root") or environment.get("METAX_DOCKER_DEVICE_ROOT") or "/dev"
    if not text.startswith("/"):
        raise HostError(f"--device-root is {text!r:.80}: it is an absolute path such as /dev.")
    return text.rstrip("/") or "/"
