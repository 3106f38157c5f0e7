"""`mx-smi sgpu --show-...`: what a card can slice and has left, whether it is switched to slices, and its policy.

    GPU#0  MXC500  0000:37:00.0
            total vram quota              : 64581 MB

Rows have no title. Older tools may lack these commands, so nothing here is needed to list cards or slices. The time
slice (`--show-timeslice`) is not asked for: no record has a place for it.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tangram.drivers.mxsmi.sections import Block
from tangram.drivers.mxsmi.text import amount_with, count_with
from tangram.model.cards import QosPolicy
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.metax.products import whole_steps

REMAIN: Final = "sgpu --show-remain"
MODE: Final = "sgpu --show-mode"
POLICY: Final = "sgpu --show-sched-class"
USAGE: Final = "sgpu --show-usage"

_UNTITLED: Final = ""
_MODES: Final = {"enable": True, "enabled": True, "disable": False, "disabled": False, "native": False}
_POLICIES: Final = {policy.value: policy for policy in QosPolicy}
_USAGE = re.compile(r"/sgpu([0-9]{1,4}) usage")


class Remaining(msgspec.Struct, frozen=True, kw_only=True):
    sliceable: Maybe[Bytes] = NA
    """What all slices together can have, in whole steps."""
    memory: Maybe[Bytes] = NA
    cores: Maybe[int] = NA


def remaining_in(block: Block) -> Remaining:
    """Of `--show-remain`."""
    total = _megabytes(block.value(_UNTITLED, "total vram quota"))
    cores = block.value(_UNTITLED, "available compute quota")
    percent = NA if isinstance(cores, NotAvailable) else count_with("%", cores)
    return Remaining(
        sliceable=NA if isinstance(total, NotAvailable) or not total else whole_steps(total),
        memory=_megabytes(block.value(_UNTITLED, "available vram quota")),
        cores=percent if isinstance(percent, int) and 0 <= percent <= 100 else NA,
    )


def sliced_in(block: Block) -> Maybe[bool]:
    """Of `--show-mode`."""
    word = block.value(_UNTITLED, "sgpu mode")
    return NA if isinstance(word, NotAvailable) else _MODES.get(word.lower(), NA)


def policy_in(block: Block) -> Maybe[QosPolicy]:
    """Of `--show-sched-class`."""
    words = block.value(_UNTITLED, "sched class")
    return NA if isinstance(words, NotAvailable) else _POLICIES.get("-".join(words.lower().split()), NA)


def usage_in(block: Block) -> dict[int, float]:
    """Of `--show-usage`: percent by slice, of the slices that tell."""
    found = ((_USAGE.fullmatch(key), amount_with("%", value)) for key, value in block.rows.items())
    return {
        int(slice_id[1]): percent
        for slice_id, percent in found
        if slice_id is not None and not isinstance(percent, NotAvailable) and percent >= 0
    }


def _megabytes(text: Maybe[str]) -> Maybe[Bytes]:
    number = NA if isinstance(text, NotAvailable) else count_with("MB", text)
    return Bytes(number * MIB) if isinstance(number, int) and number >= 0 else NA
