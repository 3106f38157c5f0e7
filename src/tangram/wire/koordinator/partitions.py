"""The partition table on a `Device`: which groups of cards belong together.

Koordinator never probes MetaXLink, so a stock cluster has no table for MetaX. Ours gives one, because its link type is
free text and its scheduler then keeps linked groups whole without knowing what links them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown
from tangram.wire.koordinator import names


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """One group of cards, by minor."""

    minors: tuple[int, ...]
    link: str = ""
    bandwidth: str = ""
    score: int = 0


def encode_partitions(table: Mapping[int, Sequence[Partition]]) -> str:
    """`gpu-partitions`, in koordlet's order of sizes. Raises `WireError` for a group of another size than its key."""
    written: dict[str, object] = {}
    # Keys are sorted as text, so that 16 comes before 2: two writers of one table write one text.
    for size, groups in sorted(table.items(), key=lambda entry: str(entry[0])):
        if size < 1 or any(len(group.minors) != size for group in groups):
            raise WireError(
                "partitions-unwritable", f"a partition of {shown(size)} cards has another number of minors"
            )
        written[str(size)] = [_group_object(group) for group in groups]
    return jsontext.compact(written, names.GPU_PARTITIONS)


def decode_partitions(written: str) -> dict[int, tuple[Partition, ...]]:
    """The groups of each size. Raises `WireError` when any of them cannot be read."""
    found = jsontext.parse(written, names.GPU_PARTITIONS)
    if found is not None and not loose.is_object(found):
        raise _malformed(found)
    table: dict[int, tuple[Partition, ...]] = {}
    for key, groups in loose.members(found).items():
        size = loose.integer(key)
        if size is None or size < 1 or (groups is not None and not loose.is_list(groups)):
            raise _malformed(groups)
        table[size] = tuple(_read_group(group) for group in loose.elements(groups))
    return table


def _group_object(group: Partition) -> dict[str, object]:
    written: dict[str, object] = {"minors": list(group.minors)}
    if group.link:
        written["gpuLinkType"] = group.link
    if group.bandwidth:
        written["ringBusBandwidth"] = group.bandwidth
    if group.score:
        written["allocationScore"] = group.score
    return written


def _read_group(written: object) -> Partition:
    group = loose.members(written)
    minors = tuple(loose.integer(minor) for minor in loose.elements(group.get("minors")))
    known = tuple(minor for minor in minors if minor is not None and minor >= 0)
    if not known or len(known) != len(minors):
        raise _malformed(written)
    return Partition(
        minors=known,
        link=loose.text(group.get("gpuLinkType")),
        bandwidth=loose.scalar_text(group.get("ringBusBandwidth")) or "",
        score=loose.integer(group.get("allocationScore")) or 0,
    )


def _malformed(found: object) -> WireError:
    return WireError(
        "partitions-malformed",
        f"{names.GPU_PARTITIONS} holds {shown(found)}: it is an object from group size to a list of groups with minors",
    )
