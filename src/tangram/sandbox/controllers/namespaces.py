"""The end of a namespace: its pods first, then everything else in it, then the namespace itself.

A namespace goes when nothing is left in it. What is left is written into its conditions, so that whoever waits sees for
what. Leftovers are looked at again when one of them goes, and from time to time for those of kinds that nobody follows.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.hands import BACKGROUND, Hands, copied
from tangram.sandbox.controllers.reading import (
    Now,
    conditions_of,
    finalizers_of,
    find_condition,
    is_going,
    items,
    key_of,
    part,
    spec_of,
)
from tangram.sandbox.controllers.resources import NAMESPACES, PODS, Resource
from tangram.sandbox.controllers.served import Served
from tangram.sandbox.controllers.work import WorkQueue
from tangram.wire.timestamps import to_second

FINALIZER: Final = "kubernetes"
METHOD_NOT_ALLOWED: Final = 405
AGAIN_S: Final = 15.0
DISCOVERY, PARSING, FAILURE = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
)
REMAINING, FINALIZERS = "NamespaceContentRemaining", "NamespaceFinalizersRemaining"
_WELL: Final = {
    DISCOVERY: ("ResourcesDiscovered", "All resources successfully discovered"),
    PARSING: ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    REMAINING: ("ContentRemoved", "All content successfully removed"),
    FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Namespaces:
    def __init__(self, hands: Hands, served: Served) -> None:
        self._hands = hands
        self._served = served
        self._copy = hands.copies.of(NAMESPACES)
        self.queue: Final = WorkQueue[str]("namespace-controller", self.look)
        self._copy.listeners.append(self._changed)

    def _changed(self, before: Object | None, after: Object | None) -> None:
        if after is None:
            self.queue.forget(key_of(before).name if before else "")
        elif is_going(after):
            self.queue.add(key_of(after).name)

    def thing_gone(self, thing: Object) -> None:
        """Something is gone; if its namespace is going, that may have been the last in it."""
        name = key_of(thing).namespace
        namespace = self._copy.get(Key("", name)) if name else None
        if namespace is not None and is_going(namespace):
            self.queue.add(name)

    async def look(self, name: str) -> None:
        namespace = self._copy.get(Key("", name))
        if (
            namespace is None
            or not is_going(namespace)
            or FINALIZER not in (spec_of(namespace).get("finalizers") or [])
        ):
            return
        await self._served.read()
        left: dict[Resource, list[Object]] = {}
        failures: list[str] = []
        for resource in self._in_order():
            if resource != PODS and left.get(PODS):
                # Pods may need what else is in the namespace until their very end.
                break
            try:
                left[resource] = await self._empty(resource, name)
            except ApiError as error:
                failures.append(error.message)
        left = {resource: things for resource, things in left.items() if things}
        namespace = await self._tell(namespace, left, failures)
        if left or failures:
            self.queue.add_after(name, AGAIN_S)
            return
        namespace["spec"]["finalizers"] = [
            each for each in namespace["spec"]["finalizers"] if each != FINALIZER
        ]
        await self._hands.replace(self._copy, namespace, "/finalize")

    def _in_order(self) -> list[Resource]:
        found = [
            kind.resource
            for kind in self._served.kinds
            if kind.resource.namespaced and kind.verbs >= {"delete", "list"} and kind.resource != PODS
        ]
        return [PODS, *found]

    async def _empty(self, resource: Resource, namespace: str) -> list[Object]:
        """Delete everything of a kind. What is still there afterwards."""
        path = resource.collection(namespace)
        if not await self._listed(path):
            return []
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": BACKGROUND}
        try:
            await self._hands.api.delete(path, options)
        except ApiError as error:
            if error.status != METHOD_NOT_ALLOWED:
                raise
            for thing in await self._listed(path):
                await self._delete(f"{path}/{thing['metadata']['name']}", options)
        return await self._listed(path)

    async def _listed(self, path: str) -> list[Object]:
        return items(await self._hands.api.get(path), "items")

    async def _delete(self, path: str, options: Object) -> None:
        try:
            await self._hands.api.delete(path, options)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise

    async def _tell(
        self, namespace: Object, left: dict[Resource, list[Object]], failures: list[str]
    ) -> Object:
        bad: dict[str, tuple[str, str]] = {}
        if failures:
            told = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(sorted(failures))}"
            bad[FAILURE] = ("ContentDeletionFailed", told)
        if left:
            counts = sorted(
                f"{one.plural}.{one.group} has {len(them)} resource instances" for one, them in left.items()
            )
            bad[REMAINING] = ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(counts)}")
        held = Counter(each for things in left.values() for thing in things for each in finalizers_of(thing))
        if held:
            counts = sorted(f"{name} in {count} resource instances" for name, count in held.items())
            told = f"Some content in the namespace has finalizers remaining: {', '.join(counts)}"
            bad[FINALIZERS] = ("SomeFinalizersRemain", told)
        conditions = conditions_after(namespace, bad, self._hands.clock())
        if conditions == conditions_of(namespace):
            return copied(namespace)
        status = {**part(namespace, "status"), "conditions": conditions}
        return copied(await self._hands.write_status(self._copy, namespace, status))


def conditions_after(namespace: Object, bad: dict[str, tuple[str, str]], now: Now) -> list[Object]:
    """All five conditions of a namespace that is going: what is wrong, and that the rest is not."""
    others = [each for each in conditions_of(namespace) if each["type"] not in _WELL]
    made: list[Object] = []
    for kind, well in _WELL.items():
        reason, message = bad.get(kind, well)
        status = "True" if kind in bad else "False"
        before = find_condition(conditions_of(namespace), kind)
        since = before["lastTransitionTime"] if before and before["status"] == status else to_second(now)
        made.append(
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            }
        )
    return [*others, *made]
