"""The text files that MetaX's kernel driver keeps per card, and the slices it shows there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import LayoutNode
from tangram.model.cards import QosPolicy
from tangram.model.devices import Figures, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import KIB, MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.metax.products import MOST_SLICES, whole_steps

_POLICIES: Final = (QosPolicy.BEST_EFFORT, QosPolicy.FIXED_SHARE, QosPolicy.BURST_SHARE)
_NUMBER = re.compile(r"-?[0-9]{1,15}")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-fA-F]{1,4})\b")
_VRAM_LINE: Final = 1
"""Visible memory, memory, memory of the host: in that order."""


def figures_in(files: Files, folder: Path) -> Figures:
    """What can be read without the vendor's library. Of two dies: memory together, the mean of use, the hotter one."""
    dies = _dies(files, folder)
    return Figures(
        utilisation_percent=_mean([_percent(files.text(die / "showxcuse")) for die in dies]),
        memory_used=_sum([_vram(files.text(die / "showmemuse")) for die in dies]),
        memory_total=memory_in(files, folder),
        temperature_celsius=_highest([_hotspot(files.text(die / "showtemp")) for die in dies]),
    )


def memory_in(files: Files, folder: Path) -> Maybe[Bytes]:
    """The card's memory, of all its dies."""
    return _sum([_vram(files.text(die / "showmeminfo")) for die in _dies(files, folder)])


def sliceable_in(files: Files, folder: Path) -> Maybe[Bytes]:
    """What all slices together can have."""
    quota = files.whole(folder / "sgpu/total_vram_quota")
    if isinstance(quota, NotAvailable) or quota <= 0 or sliced_in(files, folder) is not True:
        return NA
    return whole_steps(quota * MIB)


def sliced_in(files: Files, folder: Path) -> Maybe[bool]:
    """Whether the card is switched to slices."""
    word = files.text(folder / "model")
    return word == "sgpu" if word in ("sgpu", "native") else NA


def slices_in(
    files: Files, folder: Path, card: CardUuid, layout: Mapping[int, LayoutNode]
) -> tuple[Slice, ...]:
    """The card's slices; one whose quotas cannot be read is not reported, because half of it would mislead."""
    found: list[Slice] = []
    for number in range(MOST_SLICES):
        path = folder / f"sgpu/sgpu{number}"
        memory = files.whole(path / "vram_quota")
        cores = files.whole(path / "sched_quota")
        if isinstance(memory, NotAvailable) or isinstance(cores, NotAvailable):
            continue
        node = files.whole(path / "node_id")
        known = layout.get(node) if isinstance(node, int) else None
        unique = NA if known is None else known.unique_id
        online = files.whole(path / "online")
        found.append(
            Slice(
                card=card,
                id=number,
                memory=Bytes(memory * MIB),
                cores=cores,
                uuid="" if isinstance(unique, NotAvailable) else f"GPU-{unique}",
                name=files.label(path / "alias"),
                minor=files.whole(path / "minor"),
                online=online == 1 if isinstance(online, int) else NA,
            )
        )
    return tuple(found)


def room_in(files: Files, folder: Path) -> SliceRoom | None:
    """What is left to be sliced off, if the kernel says."""
    slots = files.whole(folder / "sgpu/available_devcnt")
    memory = files.whole(folder / "sgpu/available_vram_quota")
    cores = files.whole(folder / "sgpu/available_sched_quota")
    policy = files.whole(folder / "sgpu/sched_class")
    if isinstance(slots, NotAvailable) or isinstance(memory, NotAvailable) or isinstance(cores, NotAvailable):
        return None
    named = dict(enumerate(_POLICIES)).get(policy, NA) if isinstance(policy, int) else NA
    return SliceRoom(slots, Bytes(memory * MIB), cores, named)


def _dies(files: Files, folder: Path) -> list[Path]:
    second = folder / "smi1"
    return [folder / "smi", *([second] if files.names(second) else [])]


def _percent(text: Maybe[str]) -> Maybe[float]:
    """In hexadecimal digits, with or without a label and a unit."""
    first = "" if isinstance(text, NotAvailable) else text.splitlines()[0]
    number = _HEXADECIMAL.match(first.rpartition(":")[2].strip())
    used = None if number is None else int(number[1], 16)
    return NA if used is None or used > 100 else float(used)


def _mean(values: Sequence[Maybe[float]]) -> Maybe[float]:
    known = [value for value in values if not isinstance(value, NotAvailable)]
    return sum(known) / len(known) if known and len(known) == len(values) else NA


def _sum(values: Sequence[Maybe[Bytes]]) -> Maybe[Bytes]:
    known = [value for value in values if not isinstance(value, NotAvailable)]
    return Bytes(sum(known)) if known and len(known) == len(values) else NA


def _highest(values: Sequence[Maybe[float]]) -> Maybe[float]:
    return max((value for value in values if not isinstance(value, NotAvailable)), default=NA)


def _vram(text: Maybe[str]) -> Maybe[Bytes]:
    lines = [] if isinstance(text, NotAvailable) else text.splitlines()
    number = _NUMBER.search(lines[_VRAM_LINE].rpartition(":")[2]) if len(lines) > _VRAM_LINE else None
    return NA if number is None or int(number[0]) < 0 else Bytes(int(number[0]) * KIB)


def _hotspot(text: Maybe[str]) -> Maybe[float]:
    for line in [] if isinstance(text, NotAvailable) else text.splitlines():
        label, _, value = line.partition(":")
        number = _NUMBER.fullmatch(value.strip())
        if label.strip() == "hotspot" and number is not None:
            # Hundredths of a degree.
            return int(number[0]) / 100
    return NA
