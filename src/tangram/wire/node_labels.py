"""What labels on nodes have in common: which values are legal, and how to get from the present ones to the wanted.

A label that Kubernetes would refuse takes every other label of the same write with it. So a value from a library is
made legal here or left out, and nothing in this module can fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.units.ids import LONGEST_LABEL
from tangram.units.memory import GIB, Bytes
from tangram.units.na import Maybe, NotAvailable

TRUE: Final = "true"
FALSE: Final = "false"
DRIVER_PARTS: Final = ("major", "minor", "patch")

_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]+")
_VERSION = re.compile(r"[vV]?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?(?![0-9])")

_Fact = TypeVar("_Fact")


def physical_cards(devices: Sequence[Device], vendor: Vendor) -> list[Device]:
    """One vendor's cards by number; virtual functions only where their card is not among the devices."""
    present = {device.uuid for device in devices}
    mine = (each for each in devices if each.vendor is vendor and each.virtual_function_of not in present)
    return sorted(mine, key=lambda each: each.index)


def legal_value(text: str) -> str:
    """The text as a label's value, with what is illegal replaced by dashes; empty when nothing legal is left."""
    return _ILLEGAL.sub("-", text.strip()).strip("-_.")[:LONGEST_LABEL].strip("-_.")


def version_labels(prefix: str, version: str | None) -> dict[str, str]:
    """`PREFIX.major`, `.minor` and `.patch` of a version such as `3.8.30` or `3.3.5-server`, as far as it says them."""
    found = None if version is None else _VERSION.match(version.strip())
    if found is None:
        return {}
    # Read as a number, because people compare these with Gt and Lt, and "08" is none.
    parts = zip(DRIVER_PARTS, found.groups(), strict=True)
    return {f"{prefix}.{name}": str(int(part)) for name, part in parts if part is not None}


def memory_value(memory: Bytes | None) -> str:
    """`64GB`: the vendor writes GB and means GiB. A card that keeps a little for itself is sold under the same size."""
    whole = 0 if memory is None else (memory + GIB // 2) // GIB
    return f"{whole}GB" if whole > 0 else ""


def commonest(facts: Iterable[Maybe[_Fact]]) -> _Fact | None:
    """What most of them say, those that say nothing aside; of equally many the first. None when nobody says any."""
    said = Counter(fact for fact in facts if not isinstance(fact, NotAvailable))
    return max(said, key=said.__getitem__, default=None)


def label_changes(
    present: Mapping[str, str], wanted: Mapping[str, str], is_ours: Callable[[str], bool]
) -> dict[str, str | None]:
    """The members of a merge patch, sorted: wanted labels that differ, and None for ours that are wanted no longer.

    Labels of others are in neither half, whatever they are called.
    """
    gone = {key: None for key in present if is_ours(key) and key not in wanted}
    new = {key: value for key, value in wanted.items() if present.get(key) != value}
    return dict(sorted({**gone, **new}.items()))
