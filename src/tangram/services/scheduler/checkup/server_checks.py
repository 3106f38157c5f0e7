"""What the API server itself is and serves: its age, and features that decide about pods without asking an extender."""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.naming import name_of, some_of
from tangram.services.scheduler.checkup.parts import feature_gates, words_of
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.vendors.renaming import usual_names
from tangram.wire import loose
from tangram.wire.trust_policy import POLICY_NAME

NOMINATING: Final = (1, 35)
_GATES: Final = frozenset({"GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"})
"""Each makes kube-scheduler take back and repeat decisions that it asked an extender about only once."""


def version(scene: Scene) -> Findings:
    """Old servers are served too, only slower."""
    if scene.version is None:
        return
    spoken = ".".join(map(str, scene.version))
    if scene.version < NOMINATING:
        yield warn(
            "kubernetes-version",
            f"this is Kubernetes {spoken}: before 1.35 nobody but kube-scheduler may nominate a node, so bursts of "
            "pods are placed one by one",
            "nothing must be done; with 1.35 large clusters place bursts several times faster",
        )
    else:
        yield ok("kubernetes-version", f"this is Kubernetes {spoken}, where nodes can be nominated ahead")


def admission_policies(scene: Scene) -> Findings:
    """Who keeps people from writing allocations themselves."""
    check = "allocation-guard"
    if scene.policies.unknown:
        yield skip(check, f"policies may not be listed ({scene.policies.unknown})", "ask with more rights")
    elif not scene.policies.served:
        yield warn(
            check,
            "this API server has no ValidatingAdmissionPolicy, so allocations are guarded by Tangram's webhook alone",
            "keep failurePolicy: Fail on its ValidatingWebhookConfiguration",
        )
    elif any(POLICY_NAME in name_of(policy) for policy in scene.policies.items):
        yield ok(check, f"ValidatingAdmissionPolicy {POLICY_NAME} keeps allocations from being forged")
    else:
        yield fail(
            check,
            f"there is no ValidatingAdmissionPolicy {POLICY_NAME}: whoever may write a pod may give it any card",
            "install the policy that comes with the scheduler",
        )


def groups_of_pods(scene: Scene) -> Findings:
    """Kubernetes' own placing of whole groups goes around an extender."""
    check = "pod-groups"
    if scene.schedulers.unknown:
        yield skip(
            check,
            f"the arguments of kube-scheduler may not be read ({scene.schedulers.unknown})",
            "ask with more rights",
        )
    in_doubt = bool(scene.schedulers.unknown)
    for thing in scene.schedulers.items:
        gates = sorted(_switched_on(thing) & _GATES)
        if gates:
            in_doubt = True
            yield fail(
                check,
                f"{name_of(thing)} runs kube-scheduler with {', '.join(gates)}: it then places groups of pods in one "
                "go and binds what its extender was asked about before others were placed",
                f"remove {' and '.join(f'{gate}=true' for gate in gates)} from its --feature-gates; groups that name "
                "scheduling.x-k8s.io/pod-group are placed whole without it",
            )
    for kind, seen in scene.groups_of_pods.items():
        if seen.unknown:
            in_doubt = True
            yield skip(check, f"{kind} may not be listed ({seen.unknown})", "ask with more rights")
        elif seen.items:
            in_doubt = True
            yield warn(
                check,
                f"{len(seen.items)} objects of {kind} exist ({some_of(list(map(name_of, seen.items)))}), and only a "
                "kube-scheduler that goes around its extender acts on them",
                "leave cards out of pods of such groups, or use the label scheduling.x-k8s.io/pod-group",
            )
    if not in_doubt:
        yield ok(check, "nothing places groups of pods around the extender")


def device_classes(scene: Scene) -> Findings:
    """A class that answers for one of our names gives pods its own devices, unseen by any extender."""
    check = "device-classes"
    if scene.device_classes.unknown:
        yield skip(
            check,
            f"device classes may not be listed ({scene.device_classes.unknown})",
            "ask with more rights",
        )
        return
    claiming = {
        name_of(each): claimed
        for each in scene.device_classes.items
        if (claimed := loose.text(loose.members(each.get("spec")).get("extendedResourceName")))
        in usual_names()
    }
    for name, claimed in claiming.items():
        yield fail(
            check,
            f"DeviceClass {name} claims {claimed}: kube-scheduler then gives such pods devices of that class, and the "
            "same card may be given twice",
            f"remove extendedResourceName from DeviceClass {name}, or do not run Tangram's plugin for {claimed}",
        )
    if not claiming:
        yield ok(check, "no DeviceClass claims a resource of ours")


def _switched_on(thing: object) -> set[str]:
    """Feature gates on the command lines of a pod or a Deployment that runs kube-scheduler."""
    spec = loose.members(loose.members(thing).get("spec"))
    spec = loose.members(loose.members(spec.get("template")).get("spec")) or spec
    gates: set[str] = set()
    for each in loose.elements(spec.get("containers")):
        container = loose.members(each)
        words = words_of(container)
        if any("kube-scheduler" in word for word in [*words[:1], loose.text(container.get("image"))]):
            gates |= {gate for gate, on in feature_gates(words).items() if on}
    return gates
