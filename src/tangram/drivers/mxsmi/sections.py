"""The sectioned commands (`--show-hwinfo`, `--show-memory` ...): one block per card, titles, and rows of key and value.

    GPU#0  MXC500  0000:37:00.0
        Hardware Info
            Model Name                    : MetaX C500

A command that fails for one card prints a line about it in place of its block.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tangram.drivers.mxsmi.text import (
    PRODUCT,
    ParseError,
    address,
    amount_with,
    count_with,
    lines_of,
    whole,
)
from tangram.units.memory import GIB, KIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable

HARDWARE: Final = "--show-hwinfo"
MEMORY: Final = "--show-memory"
VERSION: Final = "--show-version"
ECC: Final = "--count-ecc"
_UNCORRECTED: Final = ("SRAM Uncorrectable", "DRAM Uncorrectable")
SYSTEM: Final = "--show-sysinfo"
POWER: Final = "--show-board-power"

_BLOCK = re.compile(rf"GPU#([0-9]{{1,4}})\s+{PRODUCT}\s+([0-9a-fA-F:.]{{7,20}})\s*")
_FAILURE = re.compile(r"GPU#([0-9]{1,4})\s+\S+\s+(.*\berror\b.*)", re.IGNORECASE)
_CAPACITY = re.compile(r"([0-9]{1,6})\s*GB", re.IGNORECASE)


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """What a command says of one card."""

    index: int
    product: str = ""
    bdf: str = ""
    rows: dict[str, str] = {}
    """Values by `Title/Key`."""
    failure: str = ""

    def value(self, title: str, key: str) -> Maybe[str]:
        return self.rows.get(f"{title}/{key}") or NA


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    model: Maybe[str] = NA
    serial: Maybe[str] = NA
    memory: Maybe[Bytes] = NA


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    total: Maybe[Bytes] = NA
    used: Maybe[Bytes] = NA


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    driver: Maybe[str] = NA
    firmware: Maybe[str] = NA


class EccCounts(msgspec.Struct, frozen=True, kw_only=True):
    corrected: Maybe[int] = NA
    uncorrected: Maybe[int] = NA
    known_uncorrected: int = 0
    """Of the kinds of memory that could be read."""
    retired_pages: Maybe[int] = NA


class Power(msgspec.Struct, frozen=True, kw_only=True):
    watts: Maybe[float] = NA
    cap_watts: Maybe[float] = NA


class SystemNodes(msgspec.Struct, frozen=True, kw_only=True):
    card: str = ""
    render: str = ""


def parse_blocks(text: str, command: str) -> dict[str, Block]:
    """The blocks by bus address. Raises `ParseError` when there is neither a block nor a line about a failure."""
    blocks: list[Block] = []
    failures: list[str] = []
    title = ""
    for line in lines_of(text, command):
        begin = _BLOCK.fullmatch(line)
        if begin is not None:
            bdf = address(begin[3])
            if bdf is None:
                raise ParseError(command, f"{begin[3]!r} is no bus address")
            blocks.append(Block(index=int(begin[1]), product=begin[2], bdf=bdf, rows={}))
            title = ""
            continue
        failed = _FAILURE.fullmatch(line.strip())
        if failed is not None:
            failures.append(failed[2].strip())
            continue
        key, colon, value = line.partition(":")
        if line.startswith("    ") and blocks:
            if not colon:
                title = line.strip()
            else:
                blocks[-1].rows[f"{title}/{key.strip()}"] = value.strip()
    if not blocks:
        why = f"it failed ({failures[0]:.100})" if failures else "it printed nothing about any card"
        raise ParseError(command, why)
    found = {block.bdf: block for block in blocks}
    if len(found) < len(blocks):
        raise ParseError(command, "it prints one card twice")
    return found


def hardware_in(block: Block) -> Hardware:
    """Of `--show-hwinfo`."""
    size = block.value("Hardware Info", "Memory Capacity")
    capacity = None if isinstance(size, NotAvailable) else _CAPACITY.fullmatch(size)
    return Hardware(
        model=block.value("Hardware Info", "Model Name"),
        serial=block.value("Hardware Info", "Board Serial Number"),
        memory=NA if capacity is None else Bytes(int(capacity[1]) * GIB),
    )


def memory_in(block: Block) -> Memory:
    """Of `--show-memory`."""
    return Memory(
        total=_kilobytes(block.value("Memory", "vram total")),
        used=_kilobytes(block.value("Memory", "vram used")),
    )


def versions_in(block: Block) -> Versions:
    """Of `--show-version`."""
    return Versions(driver=block.value("Version", "KMD"), firmware=block.value("Version", "BIOS"))


def ecc_in(block: Block) -> EccCounts:
    """Of `--count-ecc`. Two kinds of memory are added; what one of them hides, the sum does not make up."""
    return EccCounts(
        corrected=_sum(block, "SRAM Correctable", "DRAM Correctable"),
        uncorrected=_sum(block, *_UNCORRECTED),
        known_uncorrected=sum(_known(block, *_UNCORRECTED)),
        retired_pages=_count(block.value("Retired Pages", "Double Bit ECC")),
    )


def power_in(block: Block) -> Power:
    """Of `--show-board-power`."""
    return Power(
        watts=_watts(block.value("Board Power", "Total")),
        cap_watts=_watts(block.value("Board Power", "Limit")),
    )


def nodes_in(block: Block) -> SystemNodes:
    """Of `--show-sysinfo`; empty inside a slice's container."""
    card, render = block.value("Sys info", "card id"), block.value("Sys info", "render id")
    return SystemNodes(card=_node(card, "card"), render=_node(render, "renderD"))


def _node(word: Maybe[str], prefix: str) -> str:
    if isinstance(word, NotAvailable) or not word.startswith(prefix):
        return ""
    number = word.removeprefix(prefix)
    return word if number.isascii() and number.isdigit() and len(number) < 6 else ""


def _sum(block: Block, *keys: str) -> Maybe[int]:
    known = _known(block, *keys)
    return sum(known) if len(known) == len(keys) else NA


def _known(block: Block, *keys: str) -> list[int]:
    counts = (_count(block.value("ECC Errors", key)) for key in keys)
    return [count for count in counts if isinstance(count, int)]


def _count(text: Maybe[str]) -> Maybe[int]:
    number = NA if isinstance(text, NotAvailable) else whole(text)
    return number if isinstance(number, int) and number >= 0 else NA


def _watts(text: Maybe[str]) -> Maybe[float]:
    return NA if isinstance(text, NotAvailable) else amount_with("W", text)


def _kilobytes(text: Maybe[str]) -> Maybe[Bytes]:
    number = NA if isinstance(text, NotAvailable) else count_with("KB", text)
    return Bytes(number * KIB) if isinstance(number, int) and number >= 0 else NA
