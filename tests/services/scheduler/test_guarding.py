"""Who may say which cards a pod holds, asked of the webhook in every way there is to write it."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reviews import asking_pod, response_in, review_of
from tangram.services.scheduler.guarding import guard
from tangram.wire import hami, metax_allocated, mthreads
from tangram.wire.allocation_keys import ANNOTATIONS, LABELS
from tangram.wire.koordinator import names
from tangram.wire.trust_policy import DOORS, TrustedAccounts, service_account

Object = dict[str, Any]
SCHEDULER = service_account("tangram", "tangram-scheduler")
PEER = service_account("kube-system", "hami-scheduler")
AGENT = service_account("tangram", "gpu-device")
ACCOUNTS = TrustedAccounts(scheduler=SCHEDULER, peers=(PEER,), agents=(AGENT,))
NODE = "hami.io/vgpu-node"
CARDS = "hami.io/metax-sgpu-devices-allocated"
HELD = {NODE: "n1", CARDS: "GPU-1,Metax-SGPU,1024,10:;"}
STRANGERS = (
    "alice",
    "admin",
    "system:kube-scheduler",
    "system:node:n1",
    "system:serviceaccount:a:tangram-scheduler",
)


def pod(annotations: Object | None = None, labels: Object | None = None, node: str = "") -> Object:
    made = asking_pod(annotations=annotations, labels=labels)
    if node:
        made["spec"]["nodeName"] = node
    return made


def binding(annotations: Object | None = None, labels: Object | None = None) -> Object:
    metadata = {"name": "demo", "annotations": annotations, "labels": labels}
    return {"kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": "n1"}}


def answered(thing: object, **more: Any) -> Object:  # noqa: ANN401 - whatever a review may have
    reply = guard(review_of(thing, **more), ACCOUNTS)
    assert reply.status == 200
    return response_in(reply.body)


def updated(before: Object, after: Object, user: str, *, node: str = "", door: str = "pods") -> Object:
    return answered(after, before=before, operation="UPDATE", user=user, node=node, door=door)


ATTACKS = [
    pytest.param({"thing": pod(HELD)}, id="at create"),
    pytest.param({"thing": pod(HELD, node="n1")}, id="at create with a node of its own"),
    pytest.param({"thing": pod(labels={NODE: "n1"})}, id="a label at create"),
    pytest.param({"thing": pod(HELD), "before": pod(), "operation": "UPDATE"}, id="by update"),
    pytest.param(
        {
            "thing": pod({**HELD, CARDS: "GPU-2,Metax-SGPU,65536,100:;"}, node="n1"),
            "before": pod(HELD, node="n1"),
        }
        | {"operation": "UPDATE"},
        id="another tenant's card",
    ),
    pytest.param(
        {"thing": pod(node="n1"), "before": pod(HELD, node="n1"), "operation": "UPDATE"}, id="by removal"
    ),
    pytest.param(
        {
            "thing": pod(HELD, node="n1"),
            "before": pod(node="n1"),
            "operation": "UPDATE",
            "door": "pods/status",
        },
        id="by status",
    ),
    pytest.param({"thing": binding(HELD), "door": "pods/binding"}, id="by binding"),
    pytest.param({"thing": binding(labels={NODE: "n1"}), "door": "bindings"}, id="by the old binding"),
]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("user", STRANGERS)
def test_nobody_but_those_who_place_pods_says_which_cards_a_pod_holds(attack: Object, user: str) -> None:
    response = answered(**attack, user=user)
    status = response["status"]
    assert (response["allowed"], status["code"], status["reason"]) == (False, 403, "Forbidden")
    assert status["message"].startswith(f"{user} writes ")
    assert NODE in status["message"] or CARDS in status["message"]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("user", [SCHEDULER, PEER])
def test_the_scheduler_and_its_peers_write_everywhere(attack: Object, user: str) -> None:
    assert answered(**attack, user=user)["allowed"]


def test_an_agent_writes_on_pods_of_its_own_node_and_nowhere_else() -> None:
    before, after = pod(HELD, node="n1"), pod({**HELD, "hami.io/bind-phase": "success"}, node="n1")
    assert updated(before, after, AGENT, node="n1")["allowed"]
    assert updated(before, after, AGENT, node="n1", door="pods/status")["allowed"]
    assert not updated(before, after, AGENT, node="n2")["allowed"], "another node"
    assert not updated(before, after, AGENT)["allowed"], "a token that names no node"
    assert not updated(pod(), pod(HELD), AGENT, node="n1")["allowed"], "a pod that is not bound"
    assert not updated(pod(), pod(HELD, node="n1"), AGENT, node="n1")["allowed"], "a node that comes with it"
    assert not answered(pod(HELD, node="n1"), user=AGENT, node="n1")["allowed"], "a pod that it makes"
    assert not answered(binding(HELD), user=AGENT, node="n1", door="pods/binding")["allowed"]
    assert not updated(before, after, "alice", node="n1")["allowed"], "not an agent"


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param({"thing": asking_pod({"metax-tech.com/sgpu": "1"})}, id="a pod that asks"),
        pytest.param(
            {"thing": pod({"metax-tech.com/use-gpuuuid": "GPU-1", "mthreads.com/request-gpu-num": "2"})},
            id="a list of cards to use",
        ),
        pytest.param({"thing": pod({"note": f'says "{NODE}": n1'})}, id="a key inside a text"),
        pytest.param({"thing": binding(), "door": "pods/binding"}, id="kube-scheduler's own binding"),
        pytest.param(
            {"thing": pod({**HELD, "note": "x"}, {"app": "a"}, "n1"), "before": pod(HELD, node="n1")}
            | {"operation": "UPDATE"},
            id="another annotation of a pod that holds cards",
        ),
        pytest.param(
            {
                "thing": {**pod(HELD, node="n1"), "status": {"phase": "Running"}},
                "before": pod(HELD, node="n1"),
            }
            | {"operation": "UPDATE", "door": "pods/status"},
            id="a kubelet's status",
        ),
        pytest.param({"thing": None, "before": pod(HELD, node="n1"), "operation": "DELETE"}, id="a delete"),
        pytest.param({"thing": pod(HELD), "door": "deployments"}, id="another kind"),
    ],
)
@pytest.mark.parametrize("user", STRANGERS)
def test_what_touches_no_allocation_is_let_through_for_everybody(harmless: Object, user: str) -> None:
    assert answered(**harmless, user=user) == {"uid": response_uid(), "allowed": True}


def response_uid() -> str:
    return answered(pod())["uid"]


@pytest.mark.parametrize("key", ANNOTATIONS)
def test_every_annotation_that_says_what_a_pod_holds_is_guarded(key: str) -> None:
    assert f"annotation {key}" in answered(pod({key: "1"}))["status"]["message"]


def test_every_key_that_a_bind_writes_is_guarded() -> None:
    """Read from the sources: a codec that begins to write a key must put it into the list."""
    not_on_pods = {hami.CORDONED_CARDS}
    asked_by_people = {
        *(names.ALLOCATE_HINT, names.JOINT_ALLOCATE, names.PARTITION_SPEC, names.NUMA_TOPOLOGY_SPEC),
        *(names.ISOLATION_PROVIDER, names.GPU_PARTITIONS),
    }
    written = {
        value
        for module in (hami, metax_allocated, mthreads, names)
        for value in vars(module).values()
        if isinstance(value, str) and "/" in value and "." in value.partition("/")[0] and " " not in value
        and not value.startswith(("/", "node.koordinator.sh/"))
    }  # fmt: skip
    assert written - not_on_pods - asked_by_people - set(ANNOTATIONS) == set()
    assert set(LABELS) <= set(ANNOTATIONS)


def test_each_way_in_is_told_what_to_do_instead() -> None:
    at_create = answered(pod(HELD), user="system:serviceaccount:kube-system:replicaset-controller")
    assert "remove it from the manifest, or from the pod template" in at_create["status"]["message"]
    by_update = updated(pod(), pod(HELD), "alice")
    assert by_update["status"]["message"].endswith("; leave it as it is.")
    by_binding = answered(binding(HELD), door="bindings")
    assert by_binding["status"]["message"].endswith("; bind without it.")


def test_a_key_that_is_spelled_with_escapes_is_found() -> None:
    body = review_of(pod({NODE: "n1"}))
    for spelled in (rb"hami.io\/vgpu-node", rb"h\u0061mi.io/vgpu-node"):
        assert not response_in(guard(body.replace(NODE.encode(), spelled), ACCOUNTS).body)["allowed"]


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(body: bytes) -> None:
    assert guard(body, ACCOUNTS).status == 400


@pytest.mark.parametrize(
    "things",
    [
        pytest.param({"thing": [NODE]}, id="a list"),
        pytest.param({"thing": pod(), "before": [NODE], "operation": "UPDATE"}, id="a list before"),
    ],
)
def test_an_object_that_cannot_be_read_is_no_reason_to_let_it_through(things: Object) -> None:
    assert not answered(**things)["allowed"]


@pytest.mark.parametrize("accounts", [{"scheduler": ""}, {"scheduler": "s", "agents": ("",)}])
def test_nobody_without_a_name_is_trusted(accounts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="write for example system:serviceaccount:"):
        TrustedAccounts(**accounts)


MARKS = st.none() | st.dictionaries(
    st.sampled_from([*ANNOTATIONS[:2], *LABELS, "note"]), st.sampled_from(["", "a", "b"])
)
NODES = st.sampled_from(["", "n1", "n2"])


class Attempt(NamedTuple):
    door: str
    update: bool
    user: str
    token_node: str
    pod_node: str
    annotations: tuple[Object | None, Object | None]
    """Before and after."""
    labels: tuple[Object | None, Object | None]


@given(
    st.builds(
        Attempt,
        door=st.sampled_from(DOORS),
        update=st.booleans(),
        user=st.sampled_from([SCHEDULER, PEER, AGENT, "alice"]),
        token_node=NODES,
        pod_node=NODES,
        annotations=st.tuples(MARKS, MARKS),
        labels=st.tuples(MARKS, MARKS),
    )
)
def test_the_rule_in_one_line_holds_for_every_request(attempt: Attempt) -> None:
    update = attempt.update and attempt.door in ("pods", "pods/status")
    before = pod(attempt.annotations[0], attempt.labels[0], attempt.pod_node) if update else None
    after = pod(attempt.annotations[1], attempt.labels[1], attempt.pod_node)
    response = answered(
        after,
        before=before,
        door=attempt.door,
        operation="UPDATE" if update else "CREATE",
        user=attempt.user,
        node=attempt.token_node,
    )

    def guarded(marks: Object | None, keys: tuple[str, ...]) -> Object:
        return {key: value for key, value in (marks or {}).items() if key in keys}

    untouched = all(
        guarded(was if update else None, keys) == guarded(now, keys)
        for (was, now), keys in ((attempt.annotations, ANNOTATIONS), (attempt.labels, LABELS))
    )
    own = (
        update and attempt.user == AGENT and attempt.pod_node != "" and attempt.token_node == attempt.pod_node
    )
    assert response["allowed"] == (untouched or attempt.user in (SCHEDULER, PEER) or own)
