"""Modules for a simulated kernel, and the loader of a simulated node without a socket between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builders.simulated import DirectLine
from tangram.drivers.modules.simulated import SimulatedLoader
from tangram.drivers.simulated.driver import SimulatedDriver

KERNEL = "5.15.0-91-generic"


def module_text(version: str, kernel: str = KERNEL, parameters: Sequence[str] = ()) -> str:
    """What such a file says."""
    return f"tangram simulated module\nversion: {version}\nkernel: {kernel}\nparameters: [{', '.join(parameters)}]\n"


def module_file(
    folder: Path, version: str, kernel: str = KERNEL, parameters: Sequence[str] = (), name: str = "metax"
) -> Path:
    """A module of that version for that kernel."""
    path = folder / version / f"{name}.ko"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(module_text(version, kernel, parameters))
    return path


def loader_of(driver: SimulatedDriver) -> SimulatedLoader:
    return SimulatedLoader(DirectLine(driver))
