"""A tenant's question tells nothing of another tenant's pods, whatever the cluster looks like and however it is asked.

Pods of the other tenant have names and UIDs that occur nowhere else, so one of them anywhere in an answer is a leak.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from builders.desks import ask
from builders.scheduling import Object, metax_cards, node, pod
from builders.whole_scheduler import WholeScheduler
from tangram.daemon.endpoints import Address
from tangram.daemon.web_serving import serving_app
from tangram.kube.rights import User
from tangram.services.scheduler.desk import Caller
from tangram.services.scheduler.outside import outside_app

MINE, THEIRS = "mine", "theirs"
HIDDEN = "zq7x"
ANN = Caller("ann", may_see_all=False, namespaces=frozenset({MINE}))
SIZES = (
    {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 60},
    {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 4},
    {"metax-tech.com/sgpu": 2},
    {"metax-tech.com/gpu": 1},
    {"metax-tech.com/sgpu": "many"},
)


class Given(NamedTuple):
    theirs: bool
    size: int
    priority: int
    fate: str
    gang: bool


pods = st.lists(
    st.builds(
        Given,
        st.booleans(),
        st.integers(0, len(SIZES) - 1),
        st.integers(0, 3),
        st.sampled_from(["waits", "asked", "promised", "bound", "bound elsewhere"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


async def made(cluster: list[Given]) -> WholeScheduler:
    whole = WholeScheduler(node("a", metax_cards("a", 2)), node("b", metax_cards("b", 1)))
    for number, each in enumerate(cluster):
        namespace = THEIRS if each.theirs else MINE
        name = f"{HIDDEN}-{number}" if each.theirs else f"own-{number}"
        gang = (
            {"pod-group.scheduling.sigs.k8s.io/name": f"{HIDDEN}-gang"} if each.gang and each.theirs else {}
        )
        more = {"priority": each.priority, "labels": gang}
        whole.world.create(pod(name, SIZES[each.size], namespace=namespace, uid=f"uid-{name}", **more))
        if each.fate == "waits":
            continue
        answer = await whole.filter(name, ["a", "b"], namespace)
        if answer["NodeNames"] and each.fate.startswith("bound"):
            await whole.bind(
                name, "nowhere" if "elsewhere" in each.fate else answer["NodeNames"][0], namespace
            )
            whole.world.hear(namespace, name)
    return whole


def manifest(size: int) -> Object:
    return {**pod("wish", SIZES[size], namespace=MINE, priority=2), "apiVersion": "v1", "kind": "Pod"}


@given(cluster=pods, wish=st.integers(0, len(SIZES) - 1))
async def test_no_name_of_another_tenants_pod_is_in_any_answer(cluster: list[Given], wish: int) -> None:
    whole = await made(cluster)
    desk = whole.desk
    own = [name for namespace, name in whole.world.pods if namespace == MINE]
    replies = [await desk.explain_pod(MINE, name, ANN) for name in own]
    replies.append(await desk.explain_manifest(msgspec.json.encode(manifest(wish)), ANN))
    assert all(reply.status == 200 for reply in replies)
    replies += [await desk.explain_pod(THEIRS, f"{HIDDEN}-{number}", ANN) for number in range(len(cluster))]
    # What they asked for by name they know the name of; that it exists is what they must not learn.
    theirs = replies[-len(cluster) :]
    told = {reply.body.replace(f"{HIDDEN}-{number}".encode(), b"") for number, reply in enumerate(theirs)}
    assert len(told) == 1
    assert all(reply.status == 403 for reply in theirs)
    for reply in replies[: -len(cluster)]:
        assert HIDDEN.encode() not in reply.body
        assert THEIRS.encode() not in reply.body


class OfOneNamespace:
    """Kubernetes' answers about somebody who may read the pods of one namespace and nothing else."""

    async def who(self, token: str) -> User | None:
        return User(token)

    async def may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool:  # noqa: ARG002
        return verb == "get" and namespace == MINE

    async def may_reach(self, user: User, path: str, verb: str = "get") -> bool:  # noqa: ARG002
        return False


async def test_through_the_door_a_tenant_reads_of_its_own_pods_alone_and_no_metrics() -> None:
    whole = await made([Given(each % 2 == 0, each % 4, each, "bound", gang=False) for each in range(8)])
    app = outside_app(whole.desk, OfOneNamespace(), verbs_by_certificate=False)
    who = "Authorization: Bearer ann\r\n"
    async with serving_app(app, Address("127.0.0.1", 0), option="--a") as address:
        for name in [name for namespace, name in whole.world.pods if namespace == MINE]:
            status, answer = await ask(address, f"/explain?namespace={MINE}&pod={name}", headers=who)
            assert status == 200
            assert HIDDEN.encode() not in answer
        for path in (f"/explain?namespace={THEIRS}&pod={HIDDEN}-0", f"/explain?namespace={THEIRS}&pod=none"):
            status, answer = await ask(address, path, headers=who)
            assert status == 403
            assert json.loads(answer)["Error"].startswith("'ann' may not get pods in namespace 'theirs', ")
        wish = msgspec.json.encode({**manifest(0), "metadata": {"name": "wish", "namespace": THEIRS}})
        status, answer = await ask(address, f"/explain?namespace={MINE}", wish, headers=who)
        assert status == 403
        assert "is for a namespace that was not asked for" in json.loads(answer)["Error"]
        assert (await ask(address, "/metrics", headers=who))[0] == 403
        assert (await ask(address, "/metrics"))[0] == 401
