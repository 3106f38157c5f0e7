"""Calls of MetaX's library that change a card, in orders that reach each of their refusals.

Each story begins on a fresh tree, once with the library and once with its twin, and each change is followed by what can
be read of the card. What the kernel does with a write is the stand-in's part for both (`tests/native/mxsml/kernel.c`);
which writes are made, in which order, and what becomes of an errno, is what is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from builders.metax_tree import MetaxTree, TreeProcess
from real_libraries.mxsml_calls import TEXT
from real_libraries.questions import Argument, Call, InOut, Nothing, Out, Text
from real_libraries.scenes import FOUR, MESH, PROCESSES

HUGE: Final = 2**32 - 1
SLICED, EMPTY, NATIVE, LIMITED, ABSENT = range(5)
"""Cards: with slices 3 (in use) and 15, switched and empty, not switched and in use, not usable, not there."""
IN_USE, FREE = 3, 15
_SEEN: Final = (0, 1, 2, IN_USE, FREE, 16)

TREE: Final = MetaxTree(
    tuple(replace(card, smi=card.number != LIMITED) for card in FOUR),
    (*(each for each in PROCESSES if each.card == SLICED), TreeProcess(900, NATIVE, memory=5)),
    MESH,
)


class Story(NamedTuple):
    """Changes in order, and the tree they begin on."""

    calls: tuple[Call, ...]
    tree: MetaxTree = TREE


def _switching() -> Iterator[Call]:
    for card in (SLICED, EMPTY, NATIVE, LIMITED, ABSENT, 100):
        for on in (1, 0, 0, 2, 1, HUGE, 0):
            yield from _changed("SetSgpuToggle", card, on)


def _switching_an_idle_card() -> Iterator[Call]:
    for on in (0, 1, 1, 0, 2, 0, HUGE):
        yield from _changed("SetSgpuToggle", NATIVE, on)
    yield from _created(NATIVE, 128, 1)
    yield from _changed("SetSgpuToggle", NATIVE, 1)
    yield from _created(NATIVE, 128, 1)
    yield from _changed("SetSgpuToggle", NATIVE, 0)


def _creating() -> Iterator[Call]:
    for megabytes in (0, 1, 100, 127, 129, 64581, 64640, 65536, 2**31, HUGE):
        yield from _created(EMPTY, megabytes, 5)
    for compute in (0, 1, 60, 101, HUGE, 40, 39):
        yield from _created(EMPTY, 128, compute)
    yield from _created(EMPTY, 64512, 0)
    yield from _created(EMPTY, 64512 - 5 * 128, 0)
    yield from _created(EMPTY, 128, 0)
    for card in (NATIVE, LIMITED, ABSENT, 100):
        yield from _created(card, 128, 1)
    yield from _changed("CreateSgpu", EMPTY, 128, 1, Nothing())


def _creating_too_many() -> Iterator[Call]:
    for _ in range(18):
        yield from _created(EMPTY, 128, 1)
    yield from _changed("RemoveSgpu", EMPTY, 7)
    yield from _created(EMPTY, 256, 2)


def _resizing() -> Iterator[Call]:
    for card, number in ((SLICED, IN_USE), (SLICED, FREE)):
        for megabytes in (0, 100, 128, 256, 384, 48512, 48640, 64512, 64640, HUGE, 16000):
            yield from _changed("SetSgpuVramQuota", card, number, megabytes)
        for compute in (0, 5, 74, 75, 99, 100, 101, HUGE, 10):
            yield from _changed("SetSgpuComputeQuota", card, number, compute)
    for name in ("SetSgpuVramQuota", "SetSgpuComputeQuota"):
        for card, number in _NOT_THERE:
            yield from _changed(name, card, number, 128)


def _letting_first() -> Iterator[Call]:
    for number in (IN_USE, FREE):
        for online in (1, 1, 0, 2, 99, HUGE, 0):
            yield from _changed("SetSgpuDeviceQueuePriority", SLICED, number, online)
    for card, number in _NOT_THERE:
        yield from _changed("SetSgpuDeviceQueuePriority", card, number, 1)
    # A slice without compute, on a card whose compute is sold.
    yield from _created(SLICED, 128, 74)
    yield from _created(SLICED, 128, 0)
    yield from _changed("SetSgpuDeviceQueuePriority", SLICED, 1, 1)


def _scheduling() -> Iterator[Call]:
    for card in (SLICED, EMPTY, NATIVE, LIMITED, ABSENT, 100):
        for policy in (1, 2, 0, 3, 99, HUGE):
            yield from _changed("SetDeviceSchedClass", card, policy)


def _naming() -> Iterator[Call]:
    names = (
        b"web-0",
        b"",
        b"two words",
        b"a\nb",
        b"\n",
        b"\xff\xfe",
        "云".encode(),
        b"n" * 30,
        b"n" * 31,
        b"n" * 32,
    )
    for name in (*names, b"n" * 33, b"n" * 63, b"n" * 64, b"n" * 97, b"n" * 300):
        yield from _changed("SetSgpuAlias", SLICED, FREE, Text(name))
    yield from _changed("SetSgpuAlias", SLICED, IN_USE, Text(b"other"))
    for card, number in _NOT_THERE:
        yield from _changed("SetSgpuAlias", card, number, Text(b"x"))
    yield from _changed("SetSgpuAlias", SLICED, FREE, Nothing())


def _removing() -> Iterator[Call]:
    for card, number in _NOT_THERE:
        yield from _changed("RemoveSgpu", card, number)
    for number in (IN_USE, FREE, FREE, IN_USE):
        yield from _changed("RemoveSgpu", SLICED, number)
    yield from _created(SLICED, 128, 1)
    yield from _changed("RemoveSgpu", SLICED, 0)


_NOT_THERE: Final = (
    (SLICED, 0),
    (SLICED, 16),
    (SLICED, HUGE),
    (EMPTY, 0),
    (NATIVE, 0),
    (LIMITED, 0),
    (ABSENT, 0),
    (100, 0),
)


def _created(card: int, megabytes: int, compute: int) -> Iterator[Call]:
    return _changed("CreateSgpu", card, megabytes, compute, Out("u32"))


def _changed(name: str, card: int, *arguments: Argument) -> Iterator[Call]:
    """The change, and what is read of the card behind it."""
    yield Call(name, (card, *arguments))
    for function, record in (
        ("GetSgpuToggle", "u32"),
        ("GetSgpuAvailableQuota", "SliceQuota"),
        ("GetDeviceSchedClass", "u32"),
    ):
        yield Call(function, (card, Out(record)))
    yield Call("GetSgpuCount", (card,))
    for number in _SEEN:
        yield Call("GetSgpuInfo", (card, number, Out("SliceInfo")))
        yield Call("GetSgpuAlias", (card, number, Out("text", TEXT), InOut(96)))
        yield Call("GetSgpuMemory", (card, number, Out("SliceMemory")))


_IDLE: Final = replace(TREE, processes=())
STORIES: Final[Mapping[str, Story]] = {
    "switching": Story(tuple(_switching())),
    "switching-an-idle-card": Story(tuple(_switching_an_idle_card()), _IDLE),
    "creating": Story(tuple(_creating())),
    "creating-too-many": Story(tuple(_creating_too_many())),
    "resizing": Story(tuple(_resizing())),
    "letting-first": Story(tuple(_letting_first())),
    "scheduling": Story(tuple(_scheduling())),
    "naming": Story(tuple(_naming())),
    "removing": Story(tuple(_removing())),
    "removing-from-an-idle-card": Story(tuple(_removing()), _IDLE),
}
