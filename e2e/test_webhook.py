"""Admission: which rules see which requests, and what a webhook that is away, slow or untrusted does to them.

Every test has a namespace of its own, which its webhooks and policies are limited to: one that refuses everything
then refuses nothing of other tests.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
import pytest_asyncio

from e2e.admission_kit import ADMISSION, Court, own_court
from e2e.scheduling_kit import NOBODY, Load, bind, fleet_pod, poll_until, refusal
from testbed.api import ApiRefused, Object, path_of
from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.manifests import binding
from testbed.rooms import CONTROL_ADDRESS
from testbed.webhook import Opinion, Review, ScriptedWebhook, annotate, refuse

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00101"
DOORS = ("pods", "pods/status", "pods/binding", "bindings")
"""The requests through which a pod's annotations can be written."""


@pytest_asyncio.fixture(scope="module")
async def webhook(fleet: Cluster) -> AsyncGenerator[ScriptedWebhook]:
    async with ScriptedWebhook.serve(fleet.box, fleet.credentials.authority) as serving:
        yield serving


@pytest_asyncio.fixture
async def court(fleet: Cluster, webhook: ScriptedWebhook, unique: Unique) -> AsyncGenerator[Court]:
    async with own_court(fleet, webhook, unique("court")) as opened:
        yield opened


def nobody_there(court: Court, name: str) -> Object:
    """The client configuration of a webhook that nothing serves."""
    return {**court.webhook.client(name), "url": f"https://{CONTROL_ADDRESS}:1/away"}


@pytest.mark.smoke
async def test_a_webhook_by_address_with_its_own_authority_is_asked_and_its_patch_is_applied(
    court: Court,
) -> None:
    hook = f"{court.namespace}-patch"
    court.webhook.judge(hook, annotate("example.com/checked", "yes"))
    async with court.registered("MutatingWebhookConfiguration", court.hook(hook)):
        made = await court.create("patched")
    (review,) = court.webhook.reviews(hook, "patched")
    assert made["metadata"]["annotations"]["example.com/checked"] == "yes"
    assert (review.resource, review.request["operation"]) == ("pods", "CREATE")
    assert not review.request["dryRun"]
    assert review.request["userInfo"]["username"] == "admin"


async def test_a_webhook_whose_certificate_is_not_trusted_counts_as_away(
    court: Court,
) -> None:
    hook = f"{court.namespace}-untrusted"
    stranger = Authority(court.cluster.box.folder.certificates, f"{court.namespace}-stranger")
    client = court.webhook.client(hook, authority=stranger)
    untrusted = court.hook(hook, clientConfig=client, only="refused")
    async with court.registered("ValidatingWebhookConfiguration", untrusted):
        refused = await refusal(court.create("refused"))
    assert (refused.status, "certificate signed by unknown authority" in refused.message) == (500, True)
    assert not court.webhook.reviews(hook)


@pytest.mark.smoke
async def test_a_webhook_that_is_away_refuses_everything_with_fail_and_is_passed_over_with_ignore(
    court: Court,
) -> None:
    fail, ignore = f"{court.namespace}-fail", f"{court.namespace}-ignore"
    away = nobody_there(court, fail)
    hooks = (
        court.hook(fail, clientConfig=away, only="refused"),
        court.hook(ignore, clientConfig=away, only="accepted", failurePolicy="Ignore"),
    )
    async with court.registered("MutatingWebhookConfiguration", *hooks):
        refused = await refusal(court.create("refused"))
        await court.create("accepted")
        assert not await court.api.exists(court.path("refused"))
    assert (refused.status, refused.reason) == (500, "InternalError")
    assert f'failed calling webhook "{fail}.example.com"' in refused.message
    assert "connection refused" in refused.message


async def test_a_webhook_slower_than_its_limit_counts_as_away(court: Court) -> None:
    """What it would have said, even a no, is not waited for."""
    fail, ignore = f"{court.namespace}-fail", f"{court.namespace}-ignore"
    released = asyncio.Event()

    async def think_long(_review: Review) -> Opinion:
        await released.wait()
        return Opinion(allowed=False, reason="too late")

    for hook in (fail, ignore):
        court.webhook.judge(hook, think_long)
    hooks = (
        court.hook(fail, only="refused", timeoutSeconds=1),
        court.hook(ignore, only="accepted", timeoutSeconds=1, failurePolicy="Ignore"),
    )
    try:
        async with court.registered("ValidatingWebhookConfiguration", *hooks):
            began = time.monotonic()
            refused = await refusal(court.create("refused"))
            waited = time.monotonic() - began
            await court.create("accepted")
    finally:
        released.set()
    assert refused.status == 500
    assert "context deadline exceeded" in refused.message
    assert waited > 0.9
    assert len(court.webhook.reviews(fail)) == len(court.webhook.reviews(ignore)) == 1, (
        "asked once, not again"
    )


@pytest.mark.parametrize(
    ("policy", "times"),
    [pytest.param("Never", 1, id="never"), pytest.param("IfNeeded", 2, id="if needed")],
)
async def test_a_mutating_webhook_is_asked_again_after_a_later_one_changed_the_object_only_if_it_asks_for_that(
    court: Court, policy: str, times: int
) -> None:
    early, late = f"{court.namespace}-a-early", f"{court.namespace}-b-late"
    court.webhook.judge(early, annotate("example.com/early", "yes"))
    court.webhook.judge(late, annotate("example.com/late", "yes"))
    hooks = (court.hook(early, reinvocationPolicy=policy), court.hook(late))
    async with court.registered("MutatingWebhookConfiguration", *hooks):
        made = await court.create("twice")
    seen = court.webhook.reviews(early, "twice")
    assert len(seen) == times
    assert len(court.webhook.reviews(late, "twice")) == 1
    assert {"example.com/early", "example.com/late"} <= set(made["metadata"]["annotations"])
    if times == 2:
        assert set(seen[1].request["object"]["metadata"]["annotations"]) == {
            "example.com/early",
            "example.com/late",
        }, "the second time it sees what the later one wrote"


async def test_a_dry_run_asks_the_webhook_says_so_and_keeps_nothing(court: Court) -> None:
    hook = f"{court.namespace}-dry"
    court.webhook.judge(hook, annotate("example.com/checked", "yes"))
    async with court.registered("MutatingWebhookConfiguration", court.hook(hook)):
        answered = await court.create("dry", dryRun="All")
    (review,) = court.webhook.reviews(hook, "dry")
    assert review.request["dryRun"] is True
    assert answered["metadata"]["annotations"]["example.com/checked"] == "yes"
    assert not await court.api.exists(court.path("dry"))


@pytest.mark.smoke
async def test_a_rule_for_pods_sees_no_binding_and_no_status_each_needs_a_rule_of_its_own(
    court: Court,
) -> None:
    hooks = {door: f"{court.namespace}-{door.replace('/', '-')}" for door in DOORS}
    described = [court.hook(hook, door) for door, hook in hooks.items()]
    async with court.registered("ValidatingWebhookConfiguration", *described):
        for name in ("first", "second"):
            await court.create(name)
        await bind(court.api, "first", NODE, Load(annotations={"cards": "1"}), namespace=court.namespace)
        await court.api.call(
            "POST", f"/api/v1/namespaces/{court.namespace}/bindings", binding("second", NODE)
        )
        status = {"status": {"message": "changed"}}
        await court.api.patch(court.path("first") + "/status", status)
    seen = {
        door: {
            (review.name, review.request["operation"], review.request["kind"]["kind"])
            for review in court.webhook.reviews(hook)
            if review.name != "probe"
        }
        for door, hook in hooks.items()
    }
    assert seen["pods"] == {("first", "CREATE", "Pod"), ("second", "CREATE", "Pod")}
    assert seen["pods/binding"] == {("first", "CREATE", "Binding")}
    assert seen["bindings"] == {("second", "CREATE", "Binding")}
    # kwok, which plays the kubelet, writes statuses too.
    assert seen["pods/status"] <= {("first", "UPDATE", "Pod"), ("second", "UPDATE", "Pod")}
    messages = {
        review.request["object"]["status"].get("message")
        for review in court.webhook.reviews(hooks["pods/status"])
    }
    assert "changed" in messages
    for door, hook in hooks.items():
        assert {review.resource for review in court.webhook.reviews(hook)} == {door}


async def _by_creation(court: Court, pod: str, mark: dict[str, str]) -> None:
    made = fleet_pod(f"{pod}-made", scheduler=NOBODY)
    made["metadata"] |= {"namespace": court.namespace, "annotations": mark}
    await court.api.create(made)


async def _by_update(court: Court, pod: str, mark: dict[str, str]) -> None:
    await court.api.patch(court.path(pod), {"metadata": {"annotations": mark}})


async def _by_status(court: Court, pod: str, mark: dict[str, str]) -> None:
    await court.api.patch(court.path(pod) + "/status", {"metadata": {"annotations": mark}})


async def _by_binding(court: Court, pod: str, mark: dict[str, str]) -> None:
    await bind(court.api, pod, NODE, Load(annotations=mark), namespace=court.namespace)


async def _by_old_binding(court: Court, pod: str, mark: dict[str, str]) -> None:
    body = binding(pod, NODE, annotations=mark)
    await court.api.call("POST", f"/api/v1/namespaces/{court.namespace}/bindings", body)


WAYS: dict[str, Callable[[Court, str, dict[str, str]], Awaitable[None]]] = {
    "create": _by_creation,
    "update": _by_update,
    "status": _by_status,
    "binding": _by_binding,
    "bindings": _by_old_binding,
}


@pytest.mark.parametrize(
    ("resources", "guarded"),
    [
        pytest.param(("pods",), {"create", "update"}, id="pods only"),
        pytest.param(DOORS, set(WAYS), id="every way in"),
    ],
)
async def test_a_policy_on_pods_alone_leaves_three_other_ways_to_write_an_annotation(
    court: Court, resources: tuple[str, ...], guarded: set[str]
) -> None:
    """A ValidatingAdmissionPolicy that forbids one annotation, with rules for pods or for all four ways in."""
    name = court.namespace
    annotations = "object.metadata.?annotations.orValue({})"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [court.rule(*resources)]},
        "validations": [
            {"expression": f"!('example.com/cards' in {annotations})", "message": "ours to write"}
        ],
    }
    limits = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    use = {"policyName": name, "validationActions": ["Deny"], "matchResources": limits}
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    mark = {"example.com/cards": "0"}

    async def refused(way: str) -> bool:
        try:
            await WAYS[way](court, f"by-{way}", mark)
        except ApiRefused as told:
            if "ours to write" not in told.message:
                raise
            return True
        return False

    async def in_force() -> bool:
        body = fleet_pod("probe", scheduler=NOBODY)
        body["metadata"] |= {"namespace": name, "annotations": mark}
        try:
            await court.api.create(body, dryRun="All")
        except ApiRefused:
            return True
        return False

    for kind, spec in zip(kinds, (policy, use), strict=True):
        await court.api.create(
            {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )
    try:
        await poll_until(in_force, what="the policy's coming into force")
        outcome: dict[str, bool] = {}
        for way in WAYS:
            # A pod of its own for each: kwok deletes by name, also a pod that came in the place of one that ended.
            await court.create(f"by-{way}")
            outcome[way] = await refused(way)
    finally:
        for kind in kinds:
            await court.api.delete(path_of(kind, name, version=ADMISSION))
    assert {way for way, stopped in outcome.items() if stopped} == guarded


async def test_a_webhook_that_refuses_is_answered_with_its_own_status_or_400(court: Court) -> None:
    with_code, without = f"{court.namespace}-code", f"{court.namespace}-bare"
    court.webhook.judge(with_code, refuse("no such share", code=422))
    court.webhook.judge(without, refuse("no such card", code=0))
    hooks = (court.hook(with_code, only="share"), court.hook(without, only="card"))
    async with court.registered("ValidatingWebhookConfiguration", *hooks):
        share, card = await refusal(court.create("share")), await refusal(court.create("card"))
    assert (share.status, card.status) == (422, 400)
    assert share.message == f'admission webhook "{with_code}.example.com" denied the request: no such share'


async def test_a_webhook_on_bindings_can_refuse_a_bind_and_then_the_pod_stays_as_it_was(court: Court) -> None:
    hook = f"{court.namespace}-bind"
    court.webhook.judge(hook, refuse("not this card"))
    async with court.registered(
        "ValidatingWebhookConfiguration", court.hook(hook, "pods/binding", "bindings")
    ):
        await court.create("unbound")
        refused = await refusal(
            bind(court.api, "unbound", NODE, Load(annotations={"cards": "1"}), namespace=court.namespace)
        )
        seen = await court.api.get(court.path("unbound"))
    assert (refused.status, "not this card" in refused.message) == (403, True)
    assert "nodeName" not in seen["spec"]
    assert not seen["metadata"].get("annotations")
