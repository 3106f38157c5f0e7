"""How `real_libraries.poison` calls the functions of MetaX's library: on which machine, and with which numbers.

A wrong count of arguments shows only in a call that has something to answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_uint, c_void_p
from dataclasses import replace
from typing import Final

from builders.metax_tree import MetaxTree, TreeProcess, TreeSlice
from real_libraries.scenes import FOUR, MESH

_SLICED, _SECOND, _THIRD, _LIMITED = FOUR
TREE: Final = MetaxTree(
    (
        replace(
            _SLICED,
            slices=tuple(TreeSlice(at, memory=1024, alias=f"pod-{at}", uuid=f"s{at}") for at in (0, 1)),
        ),
        _SECOND,
        _THIRD,
        replace(_LIMITED, smi=False, active=0, reason=(3, "gone")),
    ),
    (TreeProcess(777, 0, memory=4096),),
    MESH,
)
"""Two slices without work, a process on their card, and last a card that the library cannot use."""

_NUMBERS: Final[Mapping[str, tuple[int, ...]]] = {
    "GetLimitedDeviceInfo": (3,),
    "GetDeviceUnavailableReason": (3,),
    "GetDeviceTopology": (0, 1),
    "GetNodeAffinity": (0, 8),
    "GetClocks": (0, 11),
    "GetProcessInfo_v3": (8,),
    "GetMetaXLinkRemoteInfo": (0, 4),
    "CreateSgpu": (0, 1024, 5),
}
"""The first numbers of functions that do nothing for 0."""
_FIRST: Final = ("Init", "InitWithFlags")
_LAST: Final = ("RemoveSgpu", "SetSgpuToggle")
"""After which there is less to ask about."""

UNSEEN: Final = frozenset({"InitWithFlags", "SetSgpuDeviceQueuePriority"})
"""Functions that take any number for their last one and answer alike."""


def calls_of(signatures: Mapping[str, Sequence[type[c_uint | c_void_p]]]) -> list[str]:
    """The functions with these arguments, in an order in which every one has something to answer."""
    between = sorted(set(signatures) - {*_FIRST, *_LAST})
    return [f"{name}:{','.join(_words(name, signatures[name]))}" for name in (*_FIRST, *between, *_LAST)]


def _words(name: str, arguments: Sequence[type[c_uint | c_void_p]]) -> list[str]:
    numbers = [*_NUMBERS.get(name, ()), *[0] * len(arguments)]
    return [str(numbers[at]) if kind is c_uint else "p" for at, kind in enumerate(arguments)]
