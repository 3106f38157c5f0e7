"""Whose affair a change is: the owner's own changes, those of what it owns, and those of orphans it could take."""

from __future__ import annotations

from collections.abc import Callable

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copy
from tangram.sandbox.controllers.reading import controller_of, is_going, key_of, labels_of, spec_of, uid_of
from tangram.sandbox.controllers.selecting import selects
from tangram.sandbox.controllers.work import WorkQueue


def follow(copy: Copy, queue: WorkQueue[Key]) -> None:
    """Every change of an object is a reason to look at it; one that is gone is forgotten."""

    def told(before: Object | None, after: Object | None) -> None:
        if after is not None:
            queue.add(key_of(after))
        elif before is not None:
            queue.forget(key_of(before))

    copy.listeners.append(told)


def follow_children(
    children: Copy,
    owners: Copy,
    queue: WorkQueue[Key],
    *,
    seen: Callable[[Object], None] = lambda _owner: None,
) -> None:
    """A change of a child is a reason to look at its owner, before and after; of an orphan, at all that select it."""

    def told(before: Object | None, after: Object | None) -> None:
        for child in (before, after):
            owner = None if child is None else owner_in(owners, child)
            if owner is not None:
                seen(owner)
                queue.add(key_of(owner))
        if after is None or is_going(after) or controller_of(after) is not None:
            return
        if before is not None and controller_of(before) is None and labels_of(before) == labels_of(after):
            return
        for owner in owners.in_namespace(after["metadata"].get("namespace") or ""):
            if selects(spec_of(owner).get("selector"), labels_of(after)):
                queue.add(key_of(owner))

    children.listeners.append(told)


def owner_in(owners: Copy, child: Object) -> Object | None:
    """The controller of a child, if it is of this kind and still the same object."""
    reference = controller_of(child)
    if reference is None or reference["kind"] != owners.resource.kind:
        return None
    owner = owners.get(Key(child["metadata"].get("namespace") or "", reference["name"]))
    return owner if owner is not None and uid_of(owner) == reference["uid"] else None
