"""Sets of completion indexes, as an Indexed Job writes them: `0-3,5,7-9`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import annotations_of

INDEX: Final = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Object) -> int | None:
    """A pod's number within its Job."""
    text = annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def read_indexes(text: str, completions: int) -> set[int]:
    """The indexes below the number of completions; what cannot be read counts as none."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """In order, with runs of three and more (and of two) as ranges."""
    runs: list[str] = []
    for _, run in groupby(enumerate(sorted(indexes)), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        runs.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ",".join(runs)


def first_free(count: int, completions: int, taken: Collection[int]) -> list[int]:
    """The lowest indexes that are neither done nor being worked on."""
    free = (index for index in range(completions) if index not in taken)
    return [index for _, index in zip(range(count), free, strict=False)]
