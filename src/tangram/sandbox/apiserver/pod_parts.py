"""What can be done with a pod besides reading and writing it: bind it to a node, or ask for its eviction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.admission import Admission, Occasion
from tangram.sandbox.apiserver.asking import JSON, Ask, Target
from tangram.sandbox.apiserver.bodies import read_body, read_options
from tangram.sandbox.apiserver.deleting import Deleter
from tangram.sandbox.apiserver.own_metadata import check_place
from tangram.sandbox.apiserver.refusals import Refused, bad_request, conflict, not_found, stale
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.rules.cluster import BINDING
from tangram.sandbox.apiserver.selecting import labels_test
from tangram.sandbox.apiserver.store import Spot, Store
from tangram.wire import loose
from tangram.wire.timestamps import to_second

PODS: Final = ("", "pods")
EVICTION: Final = "io.k8s.api.policy.v1.Eviction"
BUDGETS: Final = ("policy", "poddisruptionbudgets")
DONE: Final[Object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class PodParts:
    def __init__(
        self,
        store: Store,
        registry: Registry,
        admission: Admission,
        deleter: Deleter,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._deleter = deleter
        self._now = now

    async def bind(self, ask: Ask, body: bytes) -> Object:
        """Give a pod its node, and the annotations and labels the Binding carries, unchecked."""
        kind = self._registry.find("", "v1", "bindings")
        if kind is None:
            raise not_found("", "bindings", "")
        binding = read_body(ask, body, kind, self._registry.shape(kind)).thing
        metadata: Object = binding.setdefault("metadata", {})
        name = ask.target.name or loose.text(metadata.get("name"))
        check_place(ask, metadata, naming=False)
        if metadata.get("name") and metadata["name"] != name:
            raise bad_request("name in URL does not match name in Binding object")
        metadata["name"] = name
        _check_binding(binding)
        self._admission.still_open(ask.target.namespace, ask.target.kind)
        occasion = Occasion(ask=ask, operation="CREATE", thing=binding, old=None)
        await self._admission.mutate(occasion, None)
        binding = occasion.thing
        await self._admission.validate(occasion)
        spot = Spot(PODS, ask.target.namespace, name)
        pod = self._store.get(spot)
        if pod is None:
            raise not_found("", "pods", name)
        _check_bindable(pod, binding)
        if not ask.dry_run:
            self._store.put(spot, _bound(pod, binding, to_second(self._now())))
        return DONE

    async def evict(self, ask: Ask, body: bytes) -> Object:
        """Delete a pod if its disruption budget has room for it."""
        written = read_options(ask, body, EVICTION)
        said = loose.text(loose.members(written.get("metadata")).get("name"))
        name = ask.target.name
        if said and said != name:
            raise bad_request("name in URL does not match name in Eviction object")
        spot = Spot(PODS, ask.target.namespace, name)
        pod = self._store.get(spot)
        if pod is None:
            raise not_found("", "pods", name)
        options = dict(loose.members(written.get("deleteOptions")))
        dry = ask.dry_run or bool(options.get("dryRun"))
        if not self._goes_anyway(pod):
            self._spend(pod, dry=dry)
        target = Target(self._registry.find("", "v1", "pods") or ask.target.kind, ask.target.namespace, name)
        if not dry:
            marked = {**pod, "status": _disrupted(pod.get("status", {}), to_second(self._now()))}
            self._store.put(spot, marked)
            # It has just been marked, which is a newer version than the one asked about.
            options["preconditions"] = {"uid": loose.members(options.get("preconditions")).get("uid", "")}
        deleting = msgspec.structs.replace(ask, target=target, method="DELETE", content=JSON)
        await self._deleter.delete(deleting, msgspec.json.encode(options))
        return DONE

    @staticmethod
    def _goes_anyway(pod: Object) -> bool:
        phase = pod.get("status", {}).get("phase")
        return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))

    def _spend(self, pod: Object, *, dry: bool) -> None:
        """Take one disruption from the pod's budget. Raises `Refused` when there is none left."""
        namespace = pod["metadata"]["namespace"]
        budgets = [
            each for each in self._store.all(BUDGETS, namespace)
            if each.get("spec", {}).get("selector") is not None and labels_test(each["spec"]["selector"])(pod)
        ]  # fmt: skip
        if len(budgets) > 1:
            raise Refused(
                500, "InternalError",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )  # fmt: skip
        if not budgets:
            return
        budget = budgets[0]
        status, name = budget.get("status", {}), budget["metadata"]["name"]
        if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            raise _too_many("Cannot evict pod as it would violate the pod's disruption budget.",
                            f"The disruption budget {name} is still being processed by the server.", 10)  # fmt: skip
        if status.get("disruptionsAllowed", 0) < 1:
            raise _too_many(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
                f"{status.get('currentHealthy', 0)} currently",
            )
        if not dry:
            disrupted = {**status.get("disruptedPods", {}), pod["metadata"]["name"]: to_second(self._now())}
            left = status["disruptionsAllowed"] - 1
            spent = {**budget, "status": {**status, "disruptionsAllowed": left, "disruptedPods": disrupted}}
            self._store.put(Spot(BUDGETS, namespace, name), spent)


def _too_many(message: str, cause: str, retry_after: int | None = None) -> Refused:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return Refused(429, "TooManyRequests", message, details, retry_after=retry_after)


def _check_binding(binding: Object) -> None:
    faults = [f"{fault.field}: {fault.message}" for fault in BINDING.faults(binding, None)]
    if faults:
        # The real server fails here without a reason.
        raise Refused(500, "", faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _check_bindable(pod: Object, binding: Object) -> None:
    metadata, said = pod["metadata"], binding["metadata"]
    name = metadata["name"]
    for label, key in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        if said.get(key) and said[key] != metadata[key]:
            raise conflict(
                "", "pods", name,
                stale(f"pods/{metadata['namespace']}/{name}", label, said[key], metadata[key]),
            )  # fmt: skip
    if metadata.get("deletionTimestamp"):
        raise conflict("", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    node = pod.get("spec", {}).get("nodeName")
    if node:
        raise conflict("", "pods/binding", name, f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict("", "pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")


def _bound(pod: Object, binding: Object, now: str) -> Object:
    metadata = {**pod["metadata"]}
    for key in ("annotations", "labels"):
        added = binding["metadata"].get(key)
        if added:
            metadata[key] = {**metadata.get(key, {}), **added}
    status = {**pod.get("status", {})}
    conditions = [each for each in status.get("conditions", ()) if each.get("type") != "PodScheduled"]
    scheduled: Object = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    status["conditions"] = [*conditions, scheduled]
    status.pop("nominatedNodeName", None)
    return {
        **pod,
        "metadata": metadata,
        "spec": {**pod["spec"], "nodeName": binding["target"]["name"]},
        "status": status,
    }


def _disrupted(status: Object, now: str) -> Object:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    others = [each for each in status.get("conditions", ()) if each.get("type") != "DisruptionTarget"]
    return {**status, "conditions": [*others, condition]}
