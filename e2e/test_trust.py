"""Who may say which cards a pod holds, on a real API server: as its own policy and as our webhook, side by side.

Every account has every right on pods, so that nothing but the rule can refuse; agents have tokens that are bound to a
pod of their node, as the kubelet hands them out.
"""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio

from e2e.admission_kit import own_court
from e2e.scheduling_kit import Load, bind, fleet_pod, poll_until, remove
from e2e.trust_kit import (
    CARDS,
    HELD,
    NODE,
    OTHER_NODE,
    PLACED,
    WAYS,
    Marks,
    People,
    hooked,
    objection,
    people,
    plain_pod,
    policed,
    serving,
    until_in_force,
)
from tangram.wire.allocation_keys import ANNOTATIONS
from tangram.wire.trust_policy import TrustedAccounts
from testbed.api import Api, Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_running, pod
from testbed.webhook import ScriptedWebhook

pytestmark = pytest.mark.xdist_group("fleet")
POLICY, WEBHOOK = "policed", "hooked"
FORMS = [pytest.param(POLICY, id="policy"), pytest.param(WEBHOOK, id="webhook")]
SEED = 20


@dataclass(frozen=True, slots=True)
class Ground:
    """Two namespaces under the two forms of the rule, and those who try."""

    cluster: Cluster
    people: People
    namespaces: dict[str, str]

    @property
    def api(self) -> Api:
        return self.cluster.api

    def who(self, name: str) -> Api:
        return self.people.by_name[name]

    async def seen(self, form: str, name: str) -> Object:
        return await self.api.get(path_of("Pod", name, namespace=self.namespaces[form]))


@pytest_asyncio.fixture(scope="module")
async def ground(fleet: Cluster) -> AsyncGenerator[Ground]:
    namespaces = {POLICY: "trust-policed", WEBHOOK: "trust-hooked"}
    async with AsyncExitStack() as stack:
        scripted = ScriptedWebhook(fleet.credentials.authority)
        for name in ("trust-home", *namespaces.values()):
            await stack.enter_async_context(own_court(fleet, scripted, name))
        everybody = await stack.enter_async_context(people(fleet, "trust-home"))
        hooks = await stack.enter_async_context(serving(fleet))
        await stack.enter_async_context(policed(fleet, namespaces[POLICY], everybody.accounts))
        await stack.enter_async_context(hooked(hooks, namespaces[WEBHOOK], everybody.accounts))
        standing = Ground(fleet, everybody, namespaces)
        for namespace in namespaces.values():
            await until_in_force(fleet.api, namespace)
            for name in ("free", "held", "held-there"):
                await fleet.api.create(plain_pod(name, namespace))
            scheduler, load = standing.who("scheduler"), Load(annotations=HELD, labels={PLACED: NODE})
            await bind(scheduler, "held", NODE, load, namespace=namespace)
            there = Load(annotations={**HELD, PLACED: OTHER_NODE})
            await bind(scheduler, "held-there", OTHER_NODE, there, namespace=namespace)
        yield standing


@pytest.mark.smoke
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WAYS)
async def test_a_forged_allocation_is_refused_with_the_sentence_whichever_way_it_is_written(
    ground: Ground, form: str, way: str
) -> None:
    namespace = ground.namespaces[form]
    for who in ("alice", "admin"):
        for marks in (Marks(HELD), Marks(labels={PLACED: NODE})):
            told = await objection(WAYS[way](ground.who(who), namespace, "free", marks))
            assert told is not None
            assert told.startswith(f"{who} writes ")
            assert PLACED in told
    left = await ground.seen(form, "free")
    assert "nodeName" not in left["spec"]
    assert not left["metadata"].get("annotations")
    assert not left["metadata"].get("labels")
    assert not await ground.api.exists(path_of("Pod", "forged", namespace=namespace))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "marks",
    [
        pytest.param(Marks({CARDS: "GPU-2,Metax-SGPU,65536,100:;"}), id="another tenant's card"),
        pytest.param(Marks({CARDS: None}), id="an annotation taken away"),
        pytest.param(Marks(labels={PLACED: None}), id="a label taken away"),
        pytest.param(Marks({"mthreads.com/gpu-index": "0"}), id="another vendor's words beside"),
    ],
)
async def test_the_allocation_of_a_bound_pod_cannot_be_changed_by_its_owner(
    ground: Ground, form: str, marks: Marks
) -> None:
    before = (await ground.seen(form, "held"))["metadata"]
    for way in ("update", "status"):
        told = await objection(WAYS[way](ground.who("alice"), ground.namespaces[form], "held", marks))
        assert told is not None
        assert told.endswith("; leave it as it is.")
    after = (await ground.seen(form, "held"))["metadata"]
    assert (after["annotations"], after["labels"]) == (before["annotations"], before["labels"])


@pytest.mark.parametrize("form", FORMS)
async def test_a_wish_for_cards_is_no_allocation_and_is_let_through(ground: Ground, form: str) -> None:
    wish = Marks({"metax-tech.com/use-gpuuuid": "GPU-1", "note": "x"}, {"app": "a"})
    namespace = ground.namespaces[form]
    await WAYS["create"](ground.who("alice"), namespace, "", wish)
    await remove(ground.cluster, ["forged"], namespace=namespace)
    assert await objection(WAYS["update"](ground.who("alice"), namespace, "held", wish)) is None


@pytest.mark.parametrize("form", FORMS)
async def test_schedulers_write_everywhere_and_an_agent_on_pods_of_its_own_node_alone(
    ground: Ground, form: str
) -> None:
    namespace, done = ground.namespaces[form], Marks({"hami.io/bind-phase": "success"})
    for who in ("agent of another node", "agent without a node"):
        told = await objection(WAYS["update"](ground.who(who), namespace, "held", done))
        assert told is not None
        assert told.startswith(f"{ground.people.accounts.agents[0]} writes annotation hami.io/bind-phase;")
    assert await objection(WAYS["update"](ground.who("agent"), namespace, "held-there", done)) is not None
    assert await objection(WAYS["update"](ground.who("agent"), namespace, "free", done)) is not None
    for who, way in (("agent", "update"), ("agent", "status"), ("peer", "update"), ("scheduler", "status")):
        for phase in ("allocating", "success"):
            marks = Marks({"hami.io/bind-phase": phase})
            await WAYS[way](ground.who(who), namespace, "held", marks)
            seen = await ground.seen(form, "held")
            assert seen["metadata"]["annotations"]["hami.io/bind-phase"] == phase


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "version"),
    [pytest.param("Deployment", "apps/v1", id="deployment"), pytest.param("Job", "batch/v1", id="job")],
)
async def test_a_controller_that_copies_an_allocation_from_its_template_is_told_what_to_remove_on_its_events(
    ground: Ground, form: str, kind: str, version: str
) -> None:
    namespace = ground.namespaces[form]
    template = fleet_pod("x")
    template["metadata"] = {"labels": {"app": "copy"}, "annotations": dict(HELD)}
    spec: Object = {"template": template}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    else:
        template["spec"].pop("restartPolicy", None)
        spec["selector"] = {"matchLabels": {"app": "copy"}}
    await ground.api.create(
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": "copy", "namespace": namespace},
            "spec": spec,
        }
    )
    try:
        told = await failed_create(ground.api, namespace, kind="Job" if kind == "Job" else "ReplicaSet")
    finally:
        await ground.api.delete(path_of(kind, "copy", namespace=namespace, version=version))
    assert "remove it from the manifest, or from the pod template that the pod is made from." in told
    assert f"annotation {CARDS}" in told


async def failed_create(api: Api, namespace: str, *, kind: str) -> str:
    """What a person finds on the controller's events."""
    found: list[str] = []

    async def told() -> bool:
        events = await api.list(path_of("Event", namespace=namespace))
        found[:] = [
            one["message"]
            for one in events
            if one["reason"] == "FailedCreate" and one["involvedObject"]["kind"] == kind
        ]
        return bool(found)

    await poll_until(told, what=f"the {kind}'s event")
    return found[-1]


@pytest.mark.parametrize("form", FORMS)
async def test_kube_scheduler_and_ordinary_updates_notice_nothing(ground: Ground, form: str) -> None:
    """kwok, which plays the kubelet here, writes statuses of all of them, with and without cards."""
    namespace = ground.namespaces[form]
    made = fleet_pod("ordinary")
    made["metadata"]["namespace"] = namespace
    await ground.who("alice").create(made)
    for name in ("ordinary", "held"):
        await ground.cluster.until_pod(name, is_running, namespace=namespace)
        await WAYS["update"](ground.who("alice"), namespace, name, Marks({"note": "mine"}, {"app": "a"}))
        seen = await ground.seen(form, name)
        assert seen["metadata"]["annotations"]["note"] == "mine"
    await remove(ground.cluster, ["ordinary"], namespace=namespace)


async def test_the_policy_and_the_webhook_answer_every_attempt_alike_to_the_letter(ground: Ground) -> None:
    """All doors, all accounts, pods that hold and pods that do not, keys that are guarded and keys that are not."""
    chance = random.Random(SEED)  # noqa: S311 - the same attempts every time
    values = (None, "x", "y", NODE)
    keys = [*ANNOTATIONS, "note", "metax-tech.com/use-gpuuuid"]
    refusals = 0
    for _ in range(250):
        who, way = chance.choice(list(ground.people.by_name)), chance.choice(list(WAYS))
        pod_name = chance.choice(["free", "held", "held-there"])
        marks = Marks(
            {key: chance.choice(values) for key in chance.sample(keys, chance.choice([0, 0, 1, 1, 2, 5]))},
            {PLACED: chance.choice(values)} if chance.random() < 0.2 else {},
        )
        answers = {
            form: await objection(WAYS[way](ground.who(who), namespace, pod_name, marks, dryRun="All"))
            for form, namespace in ground.namespaces.items()
        }
        assert answers[POLICY] == answers[WEBHOOK], (who, way, pod_name, marks)
        refusals += answers[POLICY] is not None
    assert 50 < refusals < 200, "neither form says yes or no to everything"


async def test_a_real_kubelet_runs_a_pod_that_holds_cards_under_the_policy(
    one_node: Cluster, unique: Callable[[str], str]
) -> None:
    name = unique("trusted")
    scripted = ScriptedWebhook(one_node.credentials.authority)
    async with (
        own_court(one_node, scripted, name) as court,
        policed(one_node, name, TrustedAccounts(scheduler="admin")),
    ):
        made = pod("runs", container(), scheduler="nobody")
        made["metadata"]["namespace"] = name
        await court.api.create(made)
        await bind(court.api, "runs", one_node.nodes[0].name, Load(annotations=HELD), namespace=name)
        seen = await one_node.until_pod("runs", is_running, namespace=name)
        assert seen["metadata"]["annotations"][CARDS] == HELD[CARDS]
