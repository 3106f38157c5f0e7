"""The scale subresource: one number of a workload, under the same name for every kind."""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import JSON_PATCH, MERGE_PATCH, Ask, Target
from tangram.sandbox.apiserver.bodies import read_options, read_patch
from tangram.sandbox.apiserver.changing import MODIFIED_MEANWHILE
from tangram.sandbox.apiserver.definitions import DEFINITIONS
from tangram.sandbox.apiserver.patching import apply_json_patch, apply_merge_patch
from tangram.sandbox.apiserver.printing.selectors import selector_text
from tangram.sandbox.apiserver.refusals import conflict, invalid, not_found
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.rules.faulting import NOT_NEGATIVE, unsaid
from tangram.sandbox.apiserver.showing import spot_of
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.sandbox.apiserver.writing import Writer
from tangram.wire import loose

SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_BUILT_IN: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


class Scaling:
    def __init__(self, store: Store, registry: Registry, writer: Writer) -> None:
        self._store = store
        self._registry = registry
        self._writer = writer

    def get(self, ask: Ask) -> Object:
        return self._scale(ask, self._thing(ask))

    async def put(self, ask: Ask, body: bytes) -> Object:
        """Replace or patch the number."""
        thing = self._thing(ask)
        scale = self._scale(ask, thing)
        if ask.method == "PATCH":
            change, _ = read_patch(ask, body)
            written = (apply_json_patch if ask.content == JSON_PATCH else apply_merge_patch)(scale, change)
        else:
            written = read_options(ask, body, SCALE)
        wanted = loose.members(loose.members(written).get("spec")).get("replicas") or 0
        number = loose.integer(wanted)
        kind, name = ask.target.kind, ask.target.name
        if number is None or number < 0:
            fault = unsaid("spec.replicas", f"{wanted!r:.40}: {NOT_NEGATIVE}")
            raise invalid("autoscaling", "Scale", name, [fault])
        version = loose.text(loose.members(loose.members(written).get("metadata")).get("resourceVersion"))
        if version and version != thing["metadata"]["resourceVersion"]:
            raise conflict(kind.group, kind.plural, name, MODIFIED_MEANWHILE)
        field = self._paths(ask)["specReplicasPath"].lstrip(".").split(".")
        change: Object = {field[-1]: number}
        for step in reversed(field[:-1]):
            change = {step: change}
        target = Target(kind, ask.target.namespace, name)
        asked = msgspec.structs.replace(ask, method="PATCH", target=target, content=MERGE_PATCH, part="scale")
        done = await self._writer.patch(asked, msgspec.json.encode(change))
        return self._scale(ask, done.thing)

    def _thing(self, ask: Ask) -> Object:
        target = ask.target
        thing = self._store.get(spot_of(ask))
        if thing is None:
            raise not_found(target.kind.group, target.kind.plural, target.name)
        return thing

    def _paths(self, ask: Ask) -> Object:
        kind = ask.target.kind
        if kind.definition:
            return _BUILT_IN
        definition = self._store.get(Spot(DEFINITIONS, "", f"{kind.plural}.{kind.group}"))
        versions = (definition or {}).get("spec", {}).get("versions", ())
        return next(each["subresources"]["scale"] for each in versions if each["name"] == kind.version)

    def _scale(self, ask: Ask, thing: Object) -> Object:
        paths, metadata = self._paths(ask), thing["metadata"]
        status: Object = {"replicas": _at(thing, paths["statusReplicasPath"]) or 0}
        selector = thing.get("spec", {}).get("selector") if ask.target.kind.definition else None
        if selector:
            status["selector"] = _selector_text(selector)
        elif paths.get("labelSelectorPath") and _at(thing, paths["labelSelectorPath"]):
            status["selector"] = _at(thing, paths["labelSelectorPath"])
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: metadata[key] for key in kept if key in metadata},
            "spec": {"replicas": number} if (number := _at(thing, paths["specReplicasPath"])) else {},
            "status": status,
        }


def _at(thing: Object, path: str) -> object:
    at: object = thing
    for step in path.lstrip(".").split("."):
        at = loose.members(at).get(step)
    return at


def _selector_text(selector: Object) -> str:
    # Of a ReplicationController it is labels and nothing else.
    whole = "matchLabels" in selector or "matchExpressions" in selector
    return selector_text(selector if whole else {"matchLabels": selector})
