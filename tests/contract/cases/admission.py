"""Admission webhooks: who is asked about what, and what their answers do."""

from __future__ import annotations

import asyncio
import time

from contract.case import case
from contract.hooks import Judge, Verdict, allow, patch, patched, refuse, say
from contract.normal import pick
from contract.things import config, pod, thing
from contract.world import PATIENCE, Answer, Json, Object, World

VERSION = "admissionregistration.k8s.io/v1"
PROBE = "probe"
"""Config maps of this name are refused by a hook of their own, which shows that the registration is in force."""
CONFIG_MAPS: Object = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps"],
}
PODS: Object = CONFIG_MAPS | {
    "resources": ["pods", "pods/binding", "pods/status", "pods/eviction"],
    "operations": ["*"],
}


def _hook(world: World, name: str = "main", *, rules: Object = CONFIG_MAPS, **more: Json) -> Object:
    return {
        "name": f"{name}.{world.group}",
        "clientConfig": world.server.hooks.client(_place(world, name)),
        "rules": [rules],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
        **more,
    }


def _place(world: World, name: str = "main") -> str:
    return f"{world.tag}-{name}"


def _judge(world: World, by: Judge, name: str = "main") -> None:
    world.server.hooks.judge(_place(world, name), by)


def _reviews(world: World, name: str = "main") -> list[Object]:
    return [each for each in world.server.hooks.reviews(_place(world, name)) if each.get("name") != PROBE]


async def _register(world: World, kind: str, *hooks: Object) -> None:
    """Register webhooks, and return when the server has begun to ask them."""
    gate = _hook(world, PROBE)
    _judge(world, refuse("the probe is refused"), PROBE)
    wanted = thing(f"{kind}WebhookConfiguration", world.named("hooks"), VERSION, webhooks=[*hooks, gate])
    # The probe's own hook must not stand in the way of what the case does.
    gate["matchPolicy"] = "Exact"
    gate["objectSelector"] = {"matchLabels": {"probe": "yes"}}
    await world.have(world.top(f"{kind.lower()}webhookconfigurations", VERSION), wanted)
    last = time.monotonic() + PATIENCE
    while (await world.post(world.at("configmaps"), config(PROBE, probe="yes"), dryRun="All")).code == 201:
        if time.monotonic() > last:
            raise AssertionError("the server asks no webhook")
        await asyncio.sleep(0.05)


async def _mutating(world: World, *hooks: Object) -> None:
    await _register(world, "Mutating", *hooks)


async def _validating(world: World, *hooks: Object) -> None:
    await _register(world, "Validating", *hooks)


def _label(key: str, value: str) -> Object:
    return {"op": "add", "path": f"/metadata/labels/{key}", "value": value}


async def _make(world: World, name: str = "a", **query: str) -> Answer:
    return await world.post(world.at("configmaps"), config(name, color="red"), **query)


@case
async def a_registration_is_completed(world: World) -> object:
    hook = _hook(world)
    hook.pop("namespaceSelector")
    hook["rules"] = [CONFIG_MAPS | {"resources": ["nothings"]}]
    wanted = thing("MutatingWebhookConfiguration", world.named("hooks"), VERSION, webhooks=[hook])
    made = await world.post(world.top("mutatingwebhookconfigurations", VERSION), wanted, dryRun="All")
    return pick(made, "webhooks", "metadata.generation")


@case
async def a_registration_is_checked(world: World) -> object:
    hook = _hook(world)
    broken: dict[str, Object] = {
        "name": hook | {"name": "short"},
        "side effects": hook | {"sideEffects": "Some"},
        "versions": hook | {"admissionReviewVersions": ["v1alpha1"]},
        "seconds": hook | {"timeoutSeconds": 31},
        "policy": hook | {"failurePolicy": "Odd"},
        "address": hook | {"clientConfig": {"url": "http://127.0.0.1/x"}},
        "operation": hook | {"rules": [CONFIG_MAPS | {"operations": ["LOOK"]}]},
    }
    answers: Object = {}
    for why, one in broken.items():
        wanted = thing("ValidatingWebhookConfiguration", world.named("hooks"), VERSION, webhooks=[one])
        answer = await world.post(world.top("validatingwebhookconfigurations", VERSION), wanted, dryRun="All")
        answers[why] = [answer.code, [each["field"] for each in answer["details"]["causes"]]]
    return answers


@case
async def a_mutating_webhook_changes_what_is_stored(world: World) -> object:
    _judge(world, patch(_label("added", "yes"), {"op": "replace", "path": "/data/key", "value": "changed"}))
    await _mutating(world, _hook(world))
    return pick(await _make(world), "metadata.labels", "data")


@case
async def a_webhook_is_told_everything_about_a_creation(world: World) -> object:
    await _mutating(world, _hook(world))
    await _make(world, fieldManager="someone")
    [review] = _reviews(world)
    return review | {"userInfo": sorted(review["userInfo"]["groups"])}


@case
async def a_webhook_is_told_old_and_new_of_an_update(world: World) -> object:
    await _make(world)
    await _validating(world, _hook(world))
    await world.must(world.merge(world.at("configmaps/a"), {"data": {"key": "new"}}))
    [review] = _reviews(world)
    return {
        "operation": review["operation"],
        "options": review["options"],
        "old": review["oldObject"]["data"],
        "new": review["object"]["data"],
        "name": review["name"],
    }


@case
async def a_webhook_is_told_what_is_deleted(world: World) -> object:
    await _make(world)
    await _validating(world, _hook(world))
    await world.must(world.delete(world.at("configmaps/a"), gracePeriodSeconds="0"))
    [review] = _reviews(world)
    return {
        "operation": review["operation"],
        "options": review["options"],
        "old": review["oldObject"]["data"],
        "new": review["object"],
    }


@case
async def a_webhook_is_told_of_every_object_of_a_collection(world: World) -> object:
    await _make(world, "a")
    await _make(world, "b")
    await _validating(world, _hook(world))
    await world.must(world.delete(world.at("configmaps"), labelSelector="color=red"))
    return sorted([each["operation"], each["oldObject"]["metadata"]["name"]] for each in _reviews(world))


@case
async def a_validating_webhook_refuses_with_its_words(world: World) -> object:
    _judge(world, refuse("because it is monday", 403))
    await _validating(world, _hook(world))
    return [await _make(world), (await world.get(world.at("configmaps/a"))).code]


@case
async def a_refusal_keeps_its_code_reason_and_details(world: World) -> object:
    details = {"causes": [{"reason": "Odd", "message": "odd", "field": "data.key"}]}
    _judge(world, refuse("no such luck", 422, reason="Invalid", details=details))
    await _validating(world, _hook(world))
    return await _make(world)


@case
async def a_refusal_without_words_is_told_without(world: World) -> object:
    _judge(world, say({"allowed": False}))
    await _validating(world, _hook(world))
    return await _make(world)


@case
async def a_mutating_webhook_may_refuse_too(world: World) -> object:
    _judge(world, refuse("not today", 400))
    await _mutating(world, _hook(world))
    return await _make(world)


@case
async def a_webhooks_warnings_reach_the_client(world: World) -> object:
    _judge(world, say({"allowed": True, "warnings": ["this is old", "and odd"]}))
    await _validating(world, _hook(world))
    answer = await _make(world)
    return [answer.code, answer.warnings]


@case
async def a_dry_run_is_told_to_webhooks(world: World) -> object:
    await _validating(world, _hook(world))
    await _make(world, dryRun="All")
    await _make(world)
    return [each["dryRun"] for each in _reviews(world)]


@case
async def a_webhook_without_effects_in_a_dry_run_is_asked(world: World) -> object:
    await _validating(world, _hook(world, sideEffects="NoneOnDryRun"))
    return [(await _make(world, dryRun="All")).code, len(_reviews(world))]


@case
async def a_webhook_that_fails_refuses_or_is_left_out(world: World) -> object:
    _judge(world, say(b"nonsense"), "strict")
    _judge(world, say(b"nonsense"), "lax")
    await _validating(
        world,
        _hook(world, "lax", failurePolicy="Ignore", objectSelector={"matchLabels": {"which": "lax"}}),
        _hook(world, "strict", failurePolicy="Fail", objectSelector={"matchLabels": {"which": "strict"}}),
    )
    strict = await world.post(world.at("configmaps"), config("a", which="strict"))
    lax = await world.post(world.at("configmaps"), config("b", which="lax"))
    return [strict.code, strict["reason"], strict["message"].partition(": ")[0], lax.code]


@case
async def a_webhook_that_is_not_there_refuses(world: World) -> object:
    hook = _hook(world)
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/nobody"
    await _validating(world, hook)
    answer = await _make(world)
    return [answer.code, answer["reason"], answer["message"].partition(": failed to call")[0]]


@case
async def a_slow_webhook_is_not_waited_for(world: World) -> object:
    async def slow(_request: Object) -> Object:
        await asyncio.sleep(1.5)
        return {"allowed": True}

    _judge(world, slow)
    await _validating(world, _hook(world, timeoutSeconds=1))
    answer = await _make(world)
    return [answer.code, answer["reason"], "deadline exceeded" in answer["message"]]


@case
async def a_webhook_is_asked_only_about_the_objects_it_selects(world: World) -> object:
    await _validating(world, _hook(world, objectSelector={"matchLabels": {"color": "blue"}}))
    await _make(world)
    await world.have(world.at("configmaps"), config("b", color="blue"))
    await world.must(world.merge(world.at("configmaps/b"), {"metadata": {"labels": {"color": "red"}}}))
    await world.must(world.merge(world.at("configmaps/b"), {"data": {"x": "y"}}))
    return [[each["operation"], each["name"]] for each in _reviews(world)]


@case
async def a_webhook_is_asked_only_about_the_namespaces_it_selects(world: World) -> object:
    await _validating(world, _hook(world, namespaceSelector={"matchLabels": {"none": "such"}}))
    await _make(world)
    return len(_reviews(world))


@case
async def a_webhook_is_asked_only_about_its_operations_and_resources(world: World) -> object:
    await _validating(world, _hook(world, rules=CONFIG_MAPS | {"operations": ["DELETE"]}))
    await _make(world)
    await world.must(world.merge(world.at("configmaps/a"), {"data": {"x": "y"}}))
    await world.have(world.at("secrets"), thing("Secret", "a"))
    await world.must(world.delete(world.at("configmaps/a")))
    return [each["operation"] for each in _reviews(world)]


@case
async def a_rule_may_be_about_a_part(world: World) -> object:
    await _validating(world, _hook(world, rules=PODS))
    await world.have(world.at("pods"), pod())
    path = world.at("pods/a")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "annotations": {"x": "y"}},
        "target": {"kind": "Node", "name": world.named("node")},
    }
    await world.must(world.post(f"{path}/binding", binding))
    await world.must(world.merge(f"{path}/status", {"status": {"phase": "Running"}}))
    return [
        [
            each["operation"],
            each["resource"]["resource"],
            each.get("subResource", ""),
            each["kind"]["kind"],
            each["name"],
            each["object"]["kind"],
        ]
        for each in _reviews(world)
    ]


@case
async def a_binding_can_be_refused(world: World) -> object:
    _judge(world, refuse("not on this node"))
    await _validating(world, _hook(world, rules=PODS | {"resources": ["pods/binding"]}))
    await world.have(world.at("pods"), pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": world.named("node")},
    }
    return [
        await world.post(world.at("pods/a/binding"), binding),
        pick(await world.get(world.at("pods/a")), "spec.nodeName"),
    ]


@case
async def a_binding_can_be_changed(world: World) -> object:
    _judge(world, patch({"op": "add", "path": "/metadata/annotations", "value": {"by": "hook"}}))
    await _mutating(world, _hook(world, rules=PODS | {"resources": ["pods/binding"]}))
    await world.have(world.at("pods"), pod())
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": world.named("node")},
    }
    await world.must(world.post(world.at("pods/a/binding"), binding))
    return pick(await world.get(world.at("pods/a")), "spec.nodeName", "metadata.annotations")


@case
async def webhooks_change_in_the_order_of_their_names(world: World) -> object:
    def sees(key: str) -> Judge:
        async def judge(request: Object) -> Verdict:
            seen = ",".join(sorted(request["object"]["metadata"]["labels"]))
            path = "/metadata/annotations"
            value = {**request["object"]["metadata"].get("annotations", {}), key: seen}
            return patched({"op": "add", "path": path, "value": value}, _label(key, "x"))

        return judge

    _judge(world, sees("first"), "first")
    _judge(world, sees("second"), "second")
    await _mutating(world, _hook(world, "first"), _hook(world, "second"))
    return pick(await _make(world), "metadata.annotations", "metadata.labels")


@case
async def a_webhook_that_asked_for_it_sees_what_later_ones_did(world: World) -> object:
    _judge(world, allow, "early")
    _judge(world, patch(_label("late", "yes")), "late")
    await _mutating(world, _hook(world, "early", reinvocationPolicy="IfNeeded"), _hook(world, "late"))
    await _make(world)
    return [sorted(each["object"]["metadata"]["labels"]) for each in _reviews(world, "early")]


@case
async def a_webhook_is_otherwise_asked_once(world: World) -> object:
    _judge(world, allow, "early")
    _judge(world, patch(_label("late", "yes")), "late")
    await _mutating(world, _hook(world, "early"), _hook(world, "late"))
    await _make(world)
    return [sorted(each["object"]["metadata"]["labels"]) for each in _reviews(world, "early")]


@case
async def validating_webhooks_see_what_mutating_ones_made(world: World) -> object:
    _judge(world, patch(_label("made", "yes")), "maker")
    wanted = thing(
        "MutatingWebhookConfiguration", world.named("makers"), VERSION, webhooks=[_hook(world, "maker")]
    )
    await world.have(world.top("mutatingwebhookconfigurations", VERSION), wanted)
    await _validating(world, _hook(world))
    last = time.monotonic() + PATIENCE
    while not world.server.hooks.reviews(_place(world, "maker")) and time.monotonic() < last:
        await _make(world, "b", dryRun="All")
    world.server.hooks.forget(_place(world))
    await _make(world)
    return [sorted(each["object"]["metadata"]["labels"]) for each in _reviews(world)]


@case
async def what_a_webhook_makes_is_validated(world: World) -> object:
    _judge(world, patch(_label("made", "not valid!")))
    await _mutating(world, _hook(world))
    return await _make(world)


@case
async def what_a_webhook_makes_gets_defaults(world: World) -> object:
    container = {"name": "side", "image": "s"}
    _judge(world, patch({"op": "add", "path": "/spec/containers/-", "value": container}))
    await _mutating(world, _hook(world, rules=PODS | {"resources": ["pods"], "operations": ["CREATE"]}))
    made = await world.post(world.at("pods"), pod(spec={"automountServiceAccountToken": False}))
    return pick(made, "spec.containers")


@case
async def a_patch_that_cannot_be_applied_refuses(world: World) -> object:
    _judge(world, patch({"op": "remove", "path": "/data/nothing"}))
    await _mutating(world, _hook(world))
    answer = await _make(world)
    return [answer.code, answer.body.get("reason")]


@case
async def an_answer_to_another_question_refuses(world: World) -> object:
    _judge(world, say({"uid": "other", "allowed": True}))
    await _validating(world, _hook(world))
    answer = await _make(world)
    return [answer.code, answer["reason"], answer["message"].partition(": ")[0]]


@case
async def webhooks_are_not_asked_about_their_own_registration(world: World) -> object:
    rules = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
    }
    await _validating(world, _hook(world, rules=rules, namespaceSelector={}))
    path = world.top(f"validatingwebhookconfigurations/{world.named('hooks')}", VERSION)
    await world.must(world.merge(path, {"metadata": {"labels": {"x": "y"}}}))
    return len(_reviews(world))


@case
async def an_apply_is_told_as_a_creation(world: World) -> object:
    await _validating(world, _hook(world))
    await world.must(world.apply(world.at("configmaps/a"), config()))
    await world.must(world.apply(world.at("configmaps/a"), config(data={"key": "other"})))
    return [[each["operation"], each["options"]] for each in _reviews(world)]


@case
async def an_unchanged_object_is_still_asked_about(world: World) -> object:
    await _make(world)
    await _validating(world, _hook(world))
    await world.must(world.merge(world.at("configmaps/a"), {"data": {"key": "value"}}))
    return [each["operation"] for each in _reviews(world)]


@case
async def match_conditions_narrow_what_is_asked(world: World) -> object:
    condition = {"name": "blue", "expression": "object.metadata.name == 'blue'"}
    await _validating(world, _hook(world, matchConditions=[condition]))
    await _make(world, "red")
    await _make(world, "blue")
    return [each["name"] for each in _reviews(world)]
