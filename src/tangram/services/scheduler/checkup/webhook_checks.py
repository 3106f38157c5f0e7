"""Webhooks about pods: that ours is there and whole, and that no other rewrites the same pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.naming import (
    HAMI,
    KOORDINATOR,
    OURS,
    belongs_to,
    name_of,
    webhooks_of,
)
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.wire import loose

_MTHREADS: Final = ("mt-gpu-webhook", "mt-mutating-webhook")


def own_webhook(scene: Scene) -> Findings:
    """Ours, entry by entry."""
    check = "webhook"
    if scene.mutating.unknown:
        yield skip(check, f"webhooks may not be listed ({scene.mutating.unknown})", "ask with more rights")
        return
    ours = [each for each in scene.mutating.items if belongs_to(each, OURS)]
    if not ours:
        yield fail(
            check,
            "there is no MutatingWebhookConfiguration of Tangram: pods with faults are not refused when they are made, "
            "and pods that name no scheduler are not brought to this one",
            "install the webhook that comes with the scheduler",
        )
    guards = [each for each in scene.validating.items if belongs_to(each, OURS)]
    found = [finding for each in (*ours, *guards) for finding in _faults(each)]
    yield from found
    if ours and not found:
        yield ok(check, f"every webhook of {', '.join(map(name_of, (*ours, *guards)))} is complete")


def other_webhooks(scene: Scene) -> Findings:
    """Peers that change the same pods."""
    if scene.mutating.unknown:
        return
    for configuration in scene.mutating.items:
        if belongs_to(configuration, OURS):
            continue
        if belongs_to(configuration, HAMI):
            yield fail(
                "peer-webhooks",
                f"HAMi's MutatingWebhookConfiguration {name_of(configuration)} is active beside Tangram's: both set "
                "scheduler names and defaults of the same pods, and the last one wins",
                "uninstall HAMi's scheduler, or keep the two apart with a namespaceSelector in each",
            )
        elif belongs_to(configuration, KOORDINATOR) and any(map(_about_pods, webhooks_of(configuration))):
            yield warn(
                "peer-webhooks",
                f"Koordinator's MutatingWebhookConfiguration {name_of(configuration)} is active beside Tangram's: both "
                "write koordinator.sh/gpu as gpu-core and gpu-memory-ratio, in the same way and in any order",
                "nothing must be done; where koord-scheduler places nothing any more, uninstall Koordinator",
            )
        elif any(belongs_to(configuration, word) for word in _MTHREADS):
            yield warn(
                "peer-webhooks",
                f"Moore Threads' MutatingWebhookConfiguration {name_of(configuration)} is active: it rewrites the same "
                "pods that Tangram's webhook does",
                "set spec.gpuWebhook.enabled to false in the vendor's ClusterPolicy",
            )


def _about_pods(hook: Mapping[str, object]) -> bool:
    """Whether the entry is called for pods; one without rules is called for nothing, but says nothing either."""
    rules = [loose.members(rule) for rule in loose.elements(hook.get("rules"))]
    named = {loose.text(each) for rule in rules for each in loose.elements(rule.get("resources"))}
    return not rules or bool(named & {"pods", "*", "*/*"})


def _faults(configuration: Mapping[str, Any]) -> list[Finding]:
    name, found = name_of(configuration), list[Finding]()
    for hook in webhooks_of(configuration):
        entry = loose.text(hook.get("name"))
        if hook.get("failurePolicy") == "Ignore":
            found.append(
                warn(
                    "webhook",
                    f"{name}: {entry} has failurePolicy: Ignore, so pods made while the webhook is away are not looked "
                    "at",
                    "write failurePolicy: Fail, and leave kube-system out with a namespaceSelector",
                )
            )
        if not loose.members(hook.get("clientConfig")).get("caBundle"):
            found.append(
                fail(
                    "webhook",
                    f"{name}: {entry} has no caBundle, so the API server trusts no certificate of the webhook",
                    "start the scheduler, which writes it; with cert-manager, annotate the configuration for its "
                    "injector",
                )
            )
    return found
