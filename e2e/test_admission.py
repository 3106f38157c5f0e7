"""New pods before a real API server and our own webhook: what a person types, what comes back, and what is made."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from e2e.admission_kit import Court, own_court
from e2e.scheduling_kit import poll_until
from e2e.trust_kit import NEW_PODS, Hooks, serving
from tangram.model.requests import Request
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.quota_use import Quota
from tangram.services.scheduler.quotas import Quotas
from tangram.services.scheduler.reviewing import ReviewRules, review
from tangram.units.memory import from_gib
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod
from testbed.webhook import ScriptedWebhook

pytestmark = pytest.mark.xdist_group("fleet")
MUTATING = "MutatingWebhookConfiguration"
SLICE = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 25, "metax-tech.com/vmemory": "16Gi"}
TOO_MUCH = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 150}
SENTENCE = (
    "container main asks for metax-tech.com/vcore '150'; compute is a whole percentage of one card, from 0 to 100; "
    "write for example 50 for half a card, or leave it out for a card of its own."
)


@pytest_asyncio.fixture(scope="module")
async def hooks(fleet: Cluster) -> AsyncGenerator[Hooks]:
    async with serving(fleet) as served:
        yield served


@pytest_asyncio.fixture
async def court(fleet: Cluster, unique: Callable[[str], str]) -> AsyncGenerator[Court]:
    async with own_court(fleet, ScriptedWebhook(fleet.credentials.authority), unique("admitted")) as opened:
        yield opened


@asynccontextmanager
async def reviewed(
    hooks: Hooks, court: Court, rules: ReviewRules | None = None, **more: object
) -> AsyncGenerator[None]:
    """Our webhook in force in the court's namespace."""
    followed = rules or ReviewRules()
    asked: list[bytes] = []

    def answer(body: bytes) -> Reply:
        asked.append(body)
        return review(body, followed)

    async def in_force() -> bool:
        await court.api.create(asking(court, {}, name="probe"), dryRun="All")
        return bool(asked)

    async with hooks.registered(MUTATING, court.namespace, NEW_PODS, answer, **more):
        await poll_until(in_force, what="the webhook's being asked")
        yield


def asking(
    court: Court,
    limits: Mapping[str, str | int],
    *,
    name: str = "demo",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: object,
) -> Object:
    made = pod(name, container(limits=limits), annotations=annotations, labels=labels)
    made["metadata"]["namespace"] = court.namespace
    made["spec"] |= spec
    return made


async def refusal_of(court: Court, thing: Object) -> ApiRefused:
    try:
        await court.api.create(thing)
    except ApiRefused as refused:
        return refused
    raise AssertionError("it was let through")


@pytest.mark.smoke
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_applied_pod_is_completed_and_its_new_limits_are_requested_too(
    hooks: Hooks, court: Court, version: str
) -> None:
    """HAMi registers for v1beta1, which API servers still speak."""
    async with reviewed(hooks, court, admissionReviewVersions=[version]):
        thing = asking(court, {"mthreads.com/vgpu": 1})
        done = await court.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(thing))
        assert done.status == 0, done.errors
        made = await court.api.get(court.path("demo"))
    amounts = {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "96"}
    assert made["spec"]["containers"][0]["resources"] == {"limits": amounts, "requests": amounts}
    assert made["spec"]["schedulerName"] == "tangram-scheduler"


async def test_what_other_words_replace_is_gone_from_limits_and_requests(hooks: Hooks, court: Court) -> None:
    async with reviewed(hooks, court):
        asked = {"metax-tech.com/sgpu": 1, "koordinator.sh/gpu": 50}
        made = await court.api.create(asking(court, asked))
        init = [container("warm", limits=asked)]
        early = await court.api.create(asking(court, {}, name="warm", initContainers=init))
    amounts = {
        "metax-tech.com/sgpu": "1",
        "koordinator.sh/gpu-core": "50",
        "koordinator.sh/gpu-memory-ratio": "50",
        "koordinator.sh/gpu.shared": "1",
    }
    for each in (*early["spec"]["initContainers"], *made["spec"]["containers"]):
        assert each["resources"] == {"limits": amounts, "requests": amounts}
    assert made["metadata"]["annotations"] == {"metax-tech.com/sgpu-qos-policy": "best-effort"}


@pytest.mark.smoke
async def test_a_person_reads_every_fault_of_a_pod_in_the_terminal(hooks: Hooks, court: Court) -> None:
    thing = asking(court, TOO_MUCH, annotations={"metax-tech.com/sgpu-qos-policy": "fast"})
    async with reviewed(hooks, court):
        done = await court.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(thing))
        assert not await court.api.exists(court.path("demo"))
    assert done.status == 1
    assert SENTENCE in done.errors
    assert (
        "metax-tech.com/sgpu-qos-policy must be set one of [best-effort, fixed-share, burst-share]"
        in done.errors
    )
    assert f'admission webhook "{court.namespace}.tangram.dev" denied the request: ' in done.errors


async def test_a_program_finds_the_codes_of_the_faults_beside_the_sentence(
    hooks: Hooks, court: Court
) -> None:
    async with reviewed(hooks, court):
        refused = await refusal_of(court, asking(court, TOO_MUCH))
        done = await court.cluster.kubectl(
            "create", "-f", "-", "-v=8", stdin=json.dumps(asking(court, TOO_MUCH))
        )
    assert (refused.status, refused.reason) == (400, "BadRequest")
    assert '"reason":"cores-out-of-range"' in done.errors.replace('\\"', '"').replace(": ", ":")


async def test_kubectl_prints_what_is_legal_but_rarely_meant_as_a_warning(hooks: Hooks, court: Court) -> None:
    thing = asking(court, {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": 4})
    async with reviewed(hooks, court):
        done = await court.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(thing))
    assert done.status == 0, done.errors
    assert (
        "Warning: container main asks for metax-tech.com/vmemory '4'; without metax-tech.com/vcore"
        in done.errors
    )


@pytest.mark.parametrize(
    ("kind", "version", "described"),
    [
        pytest.param("Job", "batch/v1", "job", id="job"),
        pytest.param("Deployment", "apps/v1", "replicaset", id="deployment"),
    ],
)
async def test_the_refusal_of_a_controllers_pod_stands_on_its_events(
    hooks: Hooks, court: Court, kind: str, version: str, described: str
) -> None:
    template: Object = {
        "metadata": {"labels": {"app": "demo"}},
        "spec": {"containers": [container(limits=TOO_MUCH)]},
    }
    spec: Object = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": {"app": "demo"}}
    metadata = {"name": "demo", "namespace": court.namespace}
    seen: list[str] = []

    async def told() -> bool:
        done = await court.cluster.kubectl("describe", described, "-n", court.namespace)
        seen[:] = [done.output]
        return "FailedCreate" in done.output

    async with reviewed(hooks, court):
        await court.api.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
        try:
            await poll_until(told, what="the event")
        finally:
            await court.api.delete(path_of(kind, "demo", namespace=court.namespace, version=version))
    assert SENTENCE in seen[0]


async def test_a_pod_without_cards_is_made_as_if_there_were_no_webhook(hooks: Hooks, court: Court) -> None:
    thing = asking(court, {"cpu": "1"}, name="plain", automountServiceAccountToken=False)
    without = await court.api.create(thing, dryRun="All")
    async with reviewed(hooks, court):
        reviewed_too = await court.api.create(thing, dryRun="All")
    assert reviewed_too["spec"] == without["spec"]
    for made in (without, reviewed_too):
        for changing in ("uid", "creationTimestamp", "managedFields"):
            made["metadata"].pop(changing, None)
    assert reviewed_too["metadata"] == without["metadata"]


async def test_a_pod_that_names_another_scheduler_or_opts_out_is_left_alone(
    hooks: Hooks, court: Court
) -> None:
    async with reviewed(hooks, court):
        elsewhere = await court.api.create(
            asking(court, TOO_MUCH, name="elsewhere", schedulerName="koord-scheduler"), dryRun="All"
        )
        ignored = await court.api.create(
            asking(court, TOO_MUCH, name="ignored", labels={"hami.io/webhook": "ignore"}), dryRun="All"
        )
        of_hami = await court.api.create(
            asking(court, SLICE, name="of-hami", schedulerName="hami-scheduler"), dryRun="All"
        )
    assert elsewhere["spec"]["schedulerName"] == "koord-scheduler"
    assert ignored["spec"]["schedulerName"] == "default-scheduler"
    assert of_hami["spec"]["schedulerName"] == "hami-scheduler"
    assert of_hami["metadata"]["annotations"]["metax-tech.com/sgpu-qos-policy"] == "best-effort"


async def test_a_node_of_ones_own_choice_and_privilege_are_refused_beside_cards(
    hooks: Hooks, court: Court
) -> None:
    privileged = asking(court, SLICE, nodeName="kwok-00001")
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    async with reviewed(hooks, court):
        refused = await refusal_of(court, privileged)
    assert "container main is privileged" in refused.message
    assert "pod has node assigned" in refused.message


async def test_a_quota_in_hamis_words_is_taken_by_kubernetes_and_enforced_by_us(
    hooks: Hooks, court: Court
) -> None:
    quotas = Quotas()
    held = {Quota.METAX_MEMORY: from_gib(8)}

    def over(request: Request) -> str | None:
        return quotas.exceeded_at_admission(request, held, {})

    path = f"/api/v1/namespaces/{court.namespace}/resourcequotas"
    made = await court.api.call(
        "POST",
        path,
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "gpus"},
            "spec": {"hard": {"limits.metax-tech.com/vmemory": "20", "limits.metax-tech.com/vcore": "1000"}},
        },
    )
    quotas.put(court.namespace, "gpus", made)
    async with reviewed(hooks, court, ReviewRules(over_quota=over)):
        refused = await refusal_of(court, asking(court, SLICE))
        smaller = {**SLICE, "metax-tech.com/vmemory": "12Gi"}
        await court.api.create(asking(court, smaller, name="smaller"))
    assert (refused.status, refused.reason) == (403, "Forbidden")
    assert f"exceeding resource quota: pod {court.namespace}/demo asks for 16 GiB" in refused.message
    assert "holds 8 GiB; quota gpus allows 20 GiB in all" in refused.message


async def test_a_pod_that_was_admitted_is_admitted_again_as_it_is(hooks: Hooks, court: Court) -> None:
    """As when another webhook changes it afterwards, or when its manifest is saved and applied once more."""
    async with reviewed(hooks, court):
        once = await court.api.create(asking(court, {"mthreads.com/vgpu": 2}, name="once"))
        metadata = {"name": "again", "namespace": court.namespace}
        metadata["annotations"] = once["metadata"]["annotations"]
        again = await court.api.create({**once, "metadata": metadata})
    assert again["spec"]["containers"][0]["resources"] == once["spec"]["containers"][0]["resources"]
    assert again["metadata"]["annotations"] == once["metadata"]["annotations"]
    assert again["spec"]["schedulerName"] == once["spec"]["schedulerName"] == "tangram-scheduler"
