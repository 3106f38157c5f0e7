"""The templates that a DaemonSet or StatefulSet has had: ControllerRevisions, which `kubectl rollout undo` reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.copies import Copy
from tangram.sandbox.controllers.hands import Hands, copied
from tangram.sandbox.controllers.pods import claimed, template_hash
from tangram.sandbox.controllers.reading import (
    annotations_of,
    controller_of,
    is_going,
    labels_of,
    part,
    spec_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import REVISIONS, Resource

HASH: Final = "controller-revision-hash"
REPLACE: Final = "$patch"


class Revisions:
    """The history of one kind of owner."""

    def __init__(self, hands: Hands, owners: Resource, label: str) -> None:
        self._hands = hands
        self._owners = owners
        self._label = label
        self.copy: Final[Copy] = hands.copies.of(REVISIONS)

    async def current(self, owner: Object) -> tuple[Object, list[Object]]:
        """The revision of the owner's template as it is now, with the highest number, and the others."""
        every = await claimed(self._hands, self._owners, owner, self.copy)
        equal = [each for each in every if template_in(each) == spec_of(owner)["template"]]
        if not equal:
            return await self._snapshot(owner, _next(every)), every
        now = max(equal, key=_number)
        others = [each for each in every if uid_of(each) != uid_of(now)]
        if _number(now) < _next(others):
            changed = copied(now)
            changed["revision"] = _next(others)
            now = await self._hands.replace(self.copy, changed)
        return now, others

    async def shorten(self, owner: Object, others: Sequence[Object], live: Collection[str]) -> None:
        """Forget the oldest beyond the limit; those that pods still run, by name or label, stay."""
        limit = spec_of(owner).get("revisionHistoryLimit", 10)
        spare = len(others) - limit
        for each in sorted(others, key=_number):
            if spare <= 0:
                return
            if each["metadata"]["name"] in live or labels_of(each).get(self._label) in live:
                continue
            await self._hands.delete(self.copy, each)
            spare -= 1

    async def _snapshot(self, owner: Object, number: int) -> Object:
        collisions = part(owner, "status").get("collisionCount")
        while True:
            body = self._body(owner, number, collisions)
            try:
                return await self._hands.create(self.copy, body, owner["metadata"]["namespace"])
            except ApiError as error:
                if error.status != CONFLICT:
                    raise
            there = await self._hands.read(REVISIONS, _key(body))
            if there is not None and _is_ours(there, owner):
                self.copy.note(there)
                return there
            collisions = (collisions or 0) + 1

    def _body(self, owner: Object, number: int, collisions: int | None) -> Object:
        template = spec_of(owner)["template"]
        digest = template_hash(template, collisions)
        name = f"{owner['metadata']['name'][:223]}-{digest}"
        labels = {**_labels(template), self._label: digest}
        return {
            "metadata": {
                "name": name,
                "namespace": owner["metadata"]["namespace"],
                "labels": labels,
                "annotations": dict(annotations_of(owner)),
                "ownerReferences": [self._owners.reference(owner)],
            },
            "data": {"spec": {"template": {**template, REPLACE: "replace"}}},
            "revision": number,
        }


def template_in(revision: Object) -> Object:
    """The template that a revision remembers."""
    kept = part(revision, "data", "spec", "template")
    return {key: value for key, value in kept.items() if key != REPLACE}


def _labels(template: Object) -> Mapping[str, str]:
    return part(template, "metadata", "labels")


def _number(revision: Object) -> int:
    return revision.get("revision") or 0


def _next(revisions: Sequence[Object]) -> int:
    return max(map(_number, revisions), default=0) + 1


def _key(body: Object) -> Key:
    return Key(body["metadata"]["namespace"], body["metadata"]["name"])


def _is_ours(there: Object, owner: Object) -> bool:
    controller = controller_of(there)
    mine = controller is not None and controller["uid"] == uid_of(owner)
    return mine and not is_going(there) and template_in(there) == spec_of(owner)["template"]
