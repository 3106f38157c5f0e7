"""Our driver without a library beside the one over MetaX's library: what both know of one tree is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from real_libraries.conftest import Grow
from real_libraries.scenes import SCENES
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.sysfs.driver import Settings, SysfsDriver
from tangram.model.devices import Device, Figures, Slice, SliceRoom
from tangram.units.na import NotAvailable

ASKED: Final = ("usual", "every-link", "two-dies", "labelled-use", "one-inactive", "sixteen-slices")
KNOWN: Final[dict[str, list[tuple[str, str, object, object]]]] = {
    # The library leaves out the fraction of a mean.
    "two-dies": [("0000:10:00.0", "utilisation_percent", 20.5, 20.0)],
    "labelled-use": [("0000:13:00.0", "utilisation_percent", 24.5, 24.0)],
}
"""Card and figure in which the two differ, with what each says. An entry goes when the driver is mended."""
_OF_THE_LIBRARY: Final = frozenset({"processes", "throttled_by", "clocks_mhz"})
"""Figures that are empty, and not `N/A`, where they are not read."""

Open = Callable[[], MxsmlDriver]
Record = Device | Figures | Slice | SliceRoom


def differences(bdf: str, ours: Record, theirs: Record) -> list[tuple[str, str, object, object]]:
    """Fields that both know, and that are not the same."""
    pairs: list[tuple[str, Any, Any]] = [
        (name, getattr(ours, name), getattr(theirs, name))
        for name in ours.__struct_fields__
        if name not in _OF_THE_LIBRARY
    ]
    return [
        (bdf, name, one, other)
        for name, one, other in pairs
        if one != other and not isinstance(one, NotAvailable) and not isinstance(other, NotAvailable)
    ]


@pytest.mark.parametrize("scene", ASKED)
def test_both_know_the_same(scene: str, grow: Grow, opened: Open, tmp_path: Path) -> None:
    grow(SCENES[scene])
    sysfs, library = SysfsDriver(Settings(dev_root=str(tmp_path / "dev"))), opened()
    devices = list(zip(sysfs.devices(), library.devices(), strict=True))
    found: list[tuple[str, str, object, object]] = []
    for one, other in devices:
        found += differences(one.bdf, one, other)
        found += differences(one.bdf, sysfs.figures(one.uuid), library.figures(one.uuid))
        if one.sliced is True:
            found += differences(one.bdf, sysfs.room(one.uuid), library.room(one.uuid))
            slices = zip(sysfs.slices(one.uuid), library.slices(one.uuid), strict=True)
            found += [each for pair in slices for each in differences(one.bdf, *pair)]
    sysfs.close()
    assert found == KNOWN.get(scene, [])


def test_both_find_the_same_cards_joined(grow: Grow, opened: Open, tmp_path: Path) -> None:
    grow(SCENES["every-link"])
    sysfs, library = SysfsDriver(Settings(dev_root=str(tmp_path / "dev"))), opened()
    joined = [
        [(each.a, each.b, each.kind) for each in driver.links(driver.devices()).links]
        for driver in (sysfs, library)
    ]
    sysfs.close()
    assert joined[0] == joined[1]
