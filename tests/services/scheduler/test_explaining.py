"""The scheduler's own answer to "why": from its state, bounded, and without other people's names."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.scheduling import World, metax_cards, node, pod
from tangram.model.pods import PodRef
from tangram.reports.shape import ExplainReport
from tangram.services.scheduler import explain_turns
from tangram.services.scheduler.desk import Caller, Reply
from tangram.services.scheduler.explaining import MOST_NODES, MOST_PODS, MOST_TOLD, Explaining
from tangram.services.scheduler.verdicts import Stage, Verdict, Verdicts
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.wire.inventory import INVENTORY

ADMIN = Caller("admin", may_see_all=True)
TENANT = Caller("ann", may_see_all=False, namespaces=frozenset({"mine"}))
BIG = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 60}


class Office:
    """A cluster in which every card is held, half by the tenant's own pods."""

    def __init__(self, nodes: int = 1) -> None:
        self.world = World(*(node(f"n{number}") for number in range(nodes)))
        self.verdicts = Verdicts()
        self.explaining = Explaining(self.world.state, self.verdicts)

    def bind(self, name: str, namespace: str, where: str, card: int) -> None:
        uuid = metax_cards(where)[card].uuid
        annotations = {
            "hami.io/vgpu-node": where,
            "hami.io/metax-sgpu-devices-allocated": f"{uuid},Metax-SGPU,16384,50:;",
        }
        self.world.create(
            pod(
                name,
                namespace=namespace,
                uid=f"uid-{namespace}-{name}",
                annotations=annotations,
                spec={"nodeName": where},
            )
        )


@pytest.fixture
def office() -> Office:
    made = Office()
    made.bind("a", "mine", "n0", 0)
    made.bind("secret", "theirs", "n0", 1)
    made.world.create(pod("waits", BIG, namespace="mine"))
    made.world.create(pod("hidden", BIG, namespace="theirs"))
    return made


def read(reply: Reply) -> ExplainReport:
    assert reply.status == 200, reply.body
    return msgspec.json.decode(reply.body, type=ExplainReport)


def refused(reply: Reply, status: int) -> str:
    assert reply.status == status, reply.body
    return json.loads(reply.body)["Error"]


async def test_a_pod_that_waits_is_explained_as_the_filter_would_decide(office: Office) -> None:
    report = read(await office.explaining.pod("mine", "waits", ADMIN))
    assert report.source == "scheduler"
    (only,) = report.pods
    assert only.verdict == "waits"
    assert only.sentence == (
        "mine/waits waits, because the only node does not fit: cards have too little free memory."
    )
    assert [card.holders for card in only.nodes[0].cards] == [["mine/a"], ["theirs/secret"]]
    assert "less-memory" in [advice.code for advice in only.suggestions]
    assert only.turn is not None
    assert (only.turn.place, only.turn.of) == (1, 2)


async def test_a_tenant_hears_of_no_pod_of_another_namespace(office: Office) -> None:
    victim = PodRef(Namespace("theirs"), PodName("secret"), PodUid("u"))
    office.verdicts.note(
        PodRef(Namespace("mine"), PodName("waits"), PodUid("uid-waits")),
        Verdict(at=0.0, stage=Stage.PREEMPT, sentence="theirs/secret is asked to go", pods=(victim,)),
    )
    reply = await office.explaining.pod("mine", "waits", TENANT)
    assert b"theirs" not in reply.body
    assert b"secret" not in reply.body
    assert b"hidden" not in reply.body
    (only,) = read(reply).pods
    assert only.nodes[0].cards[1].holders == ["a pod of another namespace"]
    assert only.last is not None
    assert only.last.sentence == "a pod of another namespace is asked to go"
    assert b"theirs/secret" in (await office.explaining.pod("mine", "waits", ADMIN)).body


async def test_whether_a_pod_of_another_namespace_exists_is_not_told(office: Office) -> None:
    there = await office.explaining.pod("theirs", "hidden", TENANT)
    nowhere = await office.explaining.pod("theirs", "nothing", TENANT)
    assert refused(there, 403) == "'ann' may not read pods in namespace 'theirs'"
    assert (there.status, there.body) == (nowhere.status, nowhere.body)


async def test_a_pod_that_is_not_known_gets_a_sentence(office: Office) -> None:
    assert "no pod mine/nothing is here" in refused(
        await office.explaining.pod("mine", "nothing", TENANT), 404
    )


async def test_a_pod_that_runs_is_told_where(office: Office) -> None:
    (only,) = read(await office.explaining.pod("mine", "a", TENANT)).pods
    assert (only.verdict, only.node) == ("runs", "n0")
    assert only.sentence == "mine/a has its place already: node n0, card 0 (16 GiB, 50% compute)."
    assert only.turn is None


async def test_a_bind_of_ours_counts_before_the_pods_own_event(office: Office) -> None:
    office.bind("b", "mine", "n0", 0)
    tenant = office.world.state.ledger.holding(PodUid("uid-mine-b"))
    assert tenant is not None
    office.world.delete("b", "mine")
    office.world.create(pod("b", namespace="mine", uid="uid-mine-b"))
    office.world.state.hold_bound(tenant.tenant)
    (only,) = read(await office.explaining.pod("mine", "b", TENANT)).pods
    assert (only.verdict, only.node) == ("runs", "n0")


async def test_a_pod_for_another_scheduler_is_said_to_be_none_of_ours(office: Office) -> None:
    office.world.create(pod("other", namespace="mine", scheduler="default-scheduler"))
    (only,) = read(await office.explaining.pod("mine", "other", TENANT)).pods
    assert only.verdict == "no-cards"
    assert "its schedulerName is none of hami-scheduler, tangram-scheduler" in only.sentence


async def test_a_refused_pod_gets_its_refusals(office: Office) -> None:
    office.world.create(pod("wrong", {"metax-tech.com/sgpu": 0}, namespace="mine"))
    (only,) = read(await office.explaining.pod("mine", "wrong", TENANT)).pods
    assert (only.verdict, [each.code for each in only.refusals]) == ("refused", ["amount-zero"])


async def test_the_last_verdict_comes_with_its_time_and_words(office: Office) -> None:
    office.verdicts.note(
        PodRef(Namespace("mine"), PodName("waits"), PodUid("uid-waits")),
        Verdict(at=1_700_000_000.9, stage=Stage.FILTER, sentence="none fits", word="X", words={"X": 1}),
    )
    (only,) = read(await office.explaining.pod("mine", "waits", TENANT)).pods
    assert only.last is not None
    assert (only.last.at, only.last.stage, only.last.words) == ("2023-11-14T22:13:20Z", "filter", {"X": 1})


async def test_the_queue_goes_by_priority_and_then_by_age(office: Office) -> None:
    office.world.create(pod("later", BIG, namespace="mine"))
    office.world.create(pod("urgent", BIG, namespace="mine", priority=10))
    places: dict[str, Any] = {}
    for name in ("waits", "later", "urgent"):
        (only,) = read(await office.explaining.pod("mine", name, TENANT)).pods
        places[name] = only.turn and (only.turn.place, only.turn.of)
    assert places == {"urgent": (1, 4), "waits": (2, 4), "later": (4, 4)}


async def test_a_large_cluster_is_told_in_few_nodes_and_counted_in_full() -> None:
    office = Office(nodes=MOST_NODES * 2)
    office.world.create(pod("waits", {**BIG, "metax-tech.com/vmemory": 70}, namespace="mine"))
    (only,) = read(await office.explaining.pod("mine", "waits", TENANT, nodes=["n127"])).pods
    assert (len(only.nodes), only.nodes_left_out) == (MOST_NODES, MOST_NODES)
    assert "n127" in [each.node for each in only.nodes]
    assert sum(reason.nodes for reason in only.reasons) == MOST_NODES * 2


async def test_what_cannot_be_read_of_nodes_is_told_up_to_a_bound(office: Office) -> None:
    for number in range(MOST_TOLD + 5):
        office.world.put_node(node(f"bad-{number}", None, **{INVENTORY: "{"}))
    problems = read(await office.explaining.pod("mine", "waits", TENANT)).cluster.problems
    assert len(problems) == MOST_TOLD
    assert problems[0].sentence.startswith("node bad-0: ")


# --- manifests --------------------------------------------------------------------------------------------------------


def body(*pods: Any) -> bytes:  # noqa: ANN401 - anything may come
    return msgspec.json.encode({"kind": "List", "items": [{"kind": "Pod", **each} for each in pods]})


async def test_a_manifest_is_a_dry_run(office: Office) -> None:
    before = office.world.state.ledger.reservations()
    made = body(pod("new", namespace="mine"), pod("big", BIG, namespace="mine"))
    first, second = read(await office.explaining.manifest(made, TENANT)).pods
    assert (first.pod, first.verdict, first.node) == ("mine/new", "fits", "n0")
    assert (second.pod, second.verdict) == ("mine/big", "waits")
    assert office.world.state.ledger.reservations() == before
    assert (first.last, first.turn) == (None, None)


async def test_a_copied_uid_does_not_free_somebody_elses_cards(office: Office) -> None:
    stolen = pod("new", BIG, namespace="mine", uid="uid-theirs-secret")
    (only,) = read(await office.explaining.manifest(body(stolen), TENANT)).pods
    assert only.verdict == "waits"
    own = pod("a", BIG, namespace="mine", uid="uid-mine-a")
    (only,) = read(await office.explaining.manifest(body(own), TENANT)).pods
    assert (only.verdict, only.node) == ("fits", "n0")


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        pytest.param(b"", 400, "the manifest is no JSON", id="empty"),
        pytest.param(b"kind: Pod", 400, "the manifest is no JSON", id="yaml"),
        pytest.param(b"\xff{", 400, "the manifest is no JSON", id="bytes"),
        pytest.param(b"[" * 100_000, 400, "the manifest is no JSON", id="nested"),
        pytest.param(b"[]", 400, "makes no pods", id="list"),
        pytest.param(b'{"kind": "Service"}', 400, "kind 'Service' makes no pods", id="service"),
        pytest.param(
            body(*(pod(f"p{number}", namespace="mine") for number in range(MOST_PODS + 1))),
            400,
            f"makes {MOST_PODS + 1} pods: at most {MOST_PODS} are looked at",
            id="too many",
        ),
        pytest.param(
            body(pod("x", namespace="theirs")), 403, "name its namespace in the question", id="not asked for"
        ),
    ],
)
async def test_manifests_that_are_not_answered(
    office: Office, content: bytes, status: int, sentence: str
) -> None:
    assert sentence in refused(await office.explaining.manifest(content, TENANT), status)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "metadata", "spec", "items", "containers", "name"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
async def test_whatever_is_sent_gets_a_well_formed_answer(document: object) -> None:
    reply = await Office().explaining.manifest(msgspec.json.encode(document), ADMIN)
    assert reply.status in (200, 400)
    assert isinstance(json.loads(reply.body), dict)


async def test_who_asks_more_than_can_be_answered_gets_a_sentence(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_turns, "MOST_OF_ONE", 1)
    asked = [office.explaining.pod("mine", "waits", TENANT) for _ in range(2)]
    manifest = office.explaining.manifest(body(pod("a", BIG, namespace="mine")), TENANT)
    first, second, third = await asyncio.gather(*asked, manifest)
    assert read(first).pods
    for reply in (second, third):
        assert "which is the most; wait for some of the answers" in refused(reply, 429)
    assert read(await office.explaining.pod("mine", "waits", TENANT)).pods
