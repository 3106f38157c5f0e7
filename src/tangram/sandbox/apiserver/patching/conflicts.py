"""Fields that an applier wants to change and somebody else owns, told as kubectl prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tangram.sandbox.apiserver.patching.elements import Element, path_text
from tangram.sandbox.apiserver.patching.fields import Fields
from tangram.sandbox.apiserver.patching.managers import Owner
from tangram.sandbox.apiserver.refusals import CONFLICT, Refused


class Conflict(NamedTuple):
    owner: Owner
    path: tuple[Element, ...]


def listed(contested: Mapping[Owner, Fields]) -> list[Conflict]:
    """One for each field, by owner."""
    return [
        Conflict(owner, path)
        for owner in sorted(contested, key=lambda owner: owner.identity)
        for path in contested[owner].paths()
    ]


def conflict_refusal(conflicts: Sequence[Conflict]) -> Refused:
    """The answer, with every one of them."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {conflict.owner}",
            "field": path_text(conflict.path),
        }
        for conflict in conflicts
    ]
    return Refused(CONFLICT, "Conflict", _message(conflicts), {"causes": causes})


def _message(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"Apply failed with 1 conflict: conflict with {conflicts[0].owner}: {path_text(conflicts[0].path)}"
    lines: list[str] = []
    for owner in dict.fromkeys(conflict.owner for conflict in conflicts):
        lines.append(f"conflicts with {owner}:")
        lines += [f"- {path_text(conflict.path)}" for conflict in conflicts if conflict.owner == owner]
    joined = "\n".join(lines)
    return f"Apply failed with {len(conflicts)} conflicts: {joined}"
