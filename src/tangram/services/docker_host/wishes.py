"""What `--gpus` asks for, as written: all cards, some number of them, named ones, or slices.

A name may be a card's number, uuid, serial number or bus address; which it is, only the cards can tell. Brackets stand
around names as MetaX's manual has them; where a list cannot be taken for a number they may be left out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.services.docker_host.errors import HostError

FORMS: Final = (
    "--gpus is all, a number of cards, cards in brackets by number, uuid, serial number or bus address "
    "such as [0,1], or slices such as [sgpu:UUID]"
)
VENDORS: Final = (Vendor.METAX, Vendor.MTHREADS)

_SLICE: Final = "sgpu:"
_MOST: Final = 1024
_DOCKERS_OWN: Final = ("device=", "capabilities=", "driver=", "count=", "options=")


class Kind(StrEnum):
    ALL = "all"
    COUNT = "count"
    CARDS = "cards"
    SLICES = "slices"


class Wish(msgspec.Struct, frozen=True):
    kind: Kind
    count: int = 0
    names: tuple[str, ...] = ()
    vendor: Vendor | None = None
    """Where the value names one, as in `metax:all`."""
    text: str = ""
    """As it was written, without the vendor."""


def read_gpus(value: str) -> Wish:
    """The wish in a value of `--gpus`. Raises `HostError`."""
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
    if any(part.strip().startswith(_DOCKERS_OWN) for part in text.lower().split(",")):
        raise HostError(
            f"--gpus is {value!r:.80}, which is how Docker itself asks for NVIDIA's cards: {FORMS}; for NVIDIA's cards "
            "call docker."
        )
    vendor = next((each for each in VENDORS if text.lower().startswith(f"{each.value}:")), None)
    if vendor is not None:
        text = text[len(vendor.value) + 1 :].strip()
    if text.lower() == "all":
        return Wish(Kind.ALL, vendor=vendor, text=text)
    if text.isascii() and text.isdecimal():
        return _counted(text, vendor, value)
    return _named(text, vendor, value)


def _counted(text: str, vendor: Vendor | None, value: str) -> Wish:
    count = int(text[:_MOST])
    if not 1 <= count <= _MOST:
        raise HostError(
            f"--gpus is {value!r:.80}: so many cards are not to be had; a number is 1 or more, and a single card is "
            f"named in brackets, as in --gpus=[0]."
        )
    return Wish(Kind.COUNT, count=count, vendor=vendor, text=text)


def _named(text: str, vendor: Vendor | None, value: str) -> Wish:
    inner = text
    if text.startswith("[") or text.endswith("]"):
        if not (text.startswith("[") and text.endswith("]")):
            raise HostError(f"--gpus is {value!r:.80}, where a bracket is missing: write --gpus='[0,1]'.")
        inner = text[1:-1]
    names = tuple(dict.fromkeys(name.strip().strip("\"'") for name in inner.split(",")))
    if not all(names) or any("[" in name or "]" in name for name in names):
        raise HostError(
            f"--gpus is {value!r:.80}, which names no card between its commas: {FORMS}; write one of these."
        )
    slices = [name.lower().startswith(_SLICE) for name in names]
    if not any(slices):
        return Wish(Kind.CARDS, names=names, vendor=vendor, text=text)
    if not all(slices):
        raise HostError(
            f"--gpus is {value!r:.80}, cards and slices in one: a container has either; name cards or slices alone."
        )
    uuids = tuple(name[len(_SLICE) :].strip() for name in names)
    if not all(uuids):
        raise HostError(f"--gpus is {value!r:.80}, where a slice has no uuid: write --gpus='[sgpu:UUID]'.")
    if vendor is Vendor.MTHREADS:
        raise HostError(
            f"--gpus is {value!r:.80}: slices of Moore Threads cards are made by the vendor's runtime and have no "
            "uuid; name a card and pass MTHREADS_QOS_MEMORY_LIMIT with -e."
        )
    return Wish(Kind.SLICES, names=uuids, vendor=Vendor.METAX, text=text)
