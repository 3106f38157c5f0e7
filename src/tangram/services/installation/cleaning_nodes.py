"""Taking our marks off nodes, a few at a time, each against whatever others write to it meanwhile.

Every patch names the version it was made from. Where somebody else was faster the node is read and judged again, so
a label that was taken over in between stays. A right that is missing for one node is missing for all, and an API
server that is gone is gone for all: either ends the round instead of being asked once for every node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from tangram.kube.api import MERGE_PATCH, STRATEGIC_PATCH, Api
from tangram.kube.backoff import Backoff
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.services.installation.asking import FORBIDDEN, listed
from tangram.services.installation.cleaning_marks import Marks, metadata_patch, status_patch
from tangram.services.installation.cleaning_reading import named
from tangram.services.installation.wording import cut, some_of

Object = dict[str, Any]
Judge = Callable[[Object], Marks]

NODES: Final = "/api/v1/nodes"
MANAGER: Final = "tangram-cleanup"
MOST_AT_ONCE: Final = 16
_WHICH: Final = " is forbidden: "
"""Before it stands of which node it was said, which is true of all."""
MOST_CONFLICTS: Final = 12
MOST_FAILURES: Final = 4
TELL_EVERY: Final = 500
"""So many nodes between two words about how far it is."""


class Outcome(msgspec.Struct, frozen=True):
    """What happened to a node."""

    removed: Marks
    problems: tuple[str, ...] = ()


class _Part(NamedTuple):
    """The labels and annotations of a node, or what is in its status: the API server keeps them apart."""

    of: Callable[[Marks], Marks]
    patch: Callable[[Marks], Object]
    content: str
    below: str
    """Where the patch goes, below the node."""


class _Stop(Exception):  # noqa: N818 - says what is the case
    """Why this part of this node stays."""

    def __init__(self, sentence: str, *, everywhere: bool = False) -> None:
        super().__init__(sentence)
        self.everywhere = everywhere


def _in_metadata(marks: Marks) -> Marks:
    return replace(marks, conditions=(), capacity=(), allocatable=())


def _in_status(marks: Marks) -> Marks:
    return replace(marks, labels=(), annotations=())


_PARTS: Final = (
    # By the labels it is known whose a kubelet's zeros are, so they go last.
    _Part(_in_status, status_patch, STRATEGIC_PATCH, "/status"),
    _Part(_in_metadata, metadata_patch, MERGE_PATCH, ""),
)


class NodeCleaner:
    """Cleans as many nodes as it is given. `judge` says what of a node has to go."""

    def __init__(self, api: Api, judge: Judge, *, dry: bool, tell: Callable[[str], None]) -> None:
        self._api = api
        self._judge = judge
        self._query = {"fieldManager": MANAGER} | ({"dryRun": "All"} if dry else {})
        self._dry = dry
        self._tell = tell
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._ended: dict[_Part, str] = {}
        """Why a part is tried on no further node."""

    async def clean(self, found: Iterable[Marks]) -> list[Outcome]:
        """What became of each, in their order."""
        waiting = list(found)
        done = 0

        async def one(marks: Marks) -> Outcome:
            nonlocal done
            async with self._turn:
                outcome = await self._one(marks)
            done += 1
            if done % TELL_EVERY == 0:
                self._tell(f"{done} of {len(waiting)} nodes are done")
            return outcome

        return list(await asyncio.gather(*map(one, waiting)))

    async def _one(self, marks: Marks) -> Outcome:
        removed = _nothing(marks)
        problems: list[str] = []
        for part in _PARTS:
            if part in self._ended:
                problems += [self._ended[part]] if part.of(marks) else []
                continue
            try:
                gone, marks = await self._without(part, marks)
                removed = _sum(removed, gone)
            except _Stop as stop:
                # Those that were under way at the same time say the same of their own node.
                problems.append(self._ended.setdefault(part, str(stop)) if stop.everywhere else str(stop))
        return Outcome(removed, tuple(problems))

    async def _without(self, part: _Part, marks: Marks) -> tuple[Marks, Marks]:
        """What was removed, and what the node carries then. Raises `_Stop`."""
        path, pauses, perhaps = f"{NODES}/{marks.node}", Backoff(0.1, 5.0), _nothing(marks)
        conflicts = failures = 0
        while chosen := part.of(marks):
            try:
                node = await self._api.call(
                    "PATCH",
                    f"{path}{part.below}",
                    part.patch(chosen),
                    content=part.content,
                    query=self._query,
                )
                # A trial changes nothing, so what comes next is judged from what was read.
                return _sum(perhaps, chosen), marks if self._dry else self._judge(node)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return perhaps, _nothing(marks)
                conflicts, failures = _counted(error, marks.node, conflicts, failures)
                await asyncio.sleep(pauses.pause(error.retry_after))
            except ApiUnreachable as error:
                failures += 1
                if failures > MOST_FAILURES:
                    raise _Stop(f"nodes: {cut(str(error))}", everywhere=True) from None
                # It may have arrived, and only its answer was lost.
                perhaps = _sum(perhaps, chosen)
                await asyncio.sleep(pauses.pause())
            if part in self._ended:
                raise _Stop(self._ended[part])
            marks = await self._again(marks)
        return perhaps, marks

    async def _again(self, marks: Marks) -> Marks:
        """What the node carries now; what it carried before, where nobody answers."""
        told = await listed(self._api, NODES, named((marks.node,))[0])
        if not told.known:
            return marks
        return self._judge(told.first) if told.first else _nothing(marks)


def _counted(error: ApiError, node: str, conflicts: int, failures: int) -> tuple[int, int]:
    """One refusal more. Raises `_Stop` where asking again is of no use."""
    if error.status == FORBIDDEN:
        raise _Stop(
            f"nodes: {cut(error.message.partition(_WHICH)[2] or error.message)}", everywhere=True
        ) from None
    if error.status == CONFLICT:
        if conflicts >= MOST_CONFLICTS:
            raise _Stop(f"node {node}: somebody else keeps changing it; ask again") from None
        return conflicts + 1, failures
    if not error.may_pass:
        raise _Stop(f"node {node}: {cut(str(error))}") from None
    if failures >= MOST_FAILURES:
        raise _Stop(f"nodes: {cut(str(error))}", everywhere=True) from None
    return conflicts, failures + 1


def problems_in(outcomes: Iterable[Outcome]) -> list[str]:
    """Each problem once, with the nodes that have it where it is not about a single one."""
    nodes: dict[str, list[str]] = {}
    for outcome in outcomes:
        for problem in outcome.problems:
            nodes.setdefault(problem, []).append(outcome.removed.node)
    return [
        f"{problem} ({some_of(list(dict.fromkeys(names)))})" if problem.startswith("nodes: ") else problem
        for problem, names in nodes.items()
    ]


def _nothing(marks: Marks) -> Marks:
    return Marks(node=marks.node, version=marks.version)


def _sum(one: Marks, other: Marks) -> Marks:
    joined = {
        field: tuple(sorted({*getattr(one, field), *getattr(other, field)}))
        for field in ("labels", "annotations", "conditions", "capacity", "allocatable")
    }
    return replace(one, **joined)
