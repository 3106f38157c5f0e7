"""The pods of a node as they are told: each known by the UID the kubelet writes down, and read against its cards."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.agent_api import pod
from builders.agent_runs import allocated, slice_limits
from builders.starts import TWO_METAX, inventory, metax, uuid
from tangram.kube.informer import Change, Key
from tangram.model.allocations import Tenant
from tangram.model.cards import CardMode
from tangram.services.gpu_device.bound_pods import BoundPods, bound_part, read_bound_pod
from tangram.services.gpu_device.records import Inventory

SECOND = 10**9
NEW_YEAR = 1_767_225_600 * SECOND


def thing(
    name: str = "p",
    uid: str = "u",
    *,
    bound: str = "2026-01-01T00:00:05Z",
    created: str = "2026-01-01T00:00:00Z",
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    made = pod(name, slice_limits(4, 10), annotations=annotations or allocated([(uuid(0), 4096, 10)]))
    made["metadata"] |= {"uid": uid, "creationTimestamp": created}
    made["spec"]["nodeName"] = "n"
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": bound}] if bound else []
    made["status"] = {"phase": "Pending", "conditions": conditions}
    return made


def told(pods: BoundPods, old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
    pods.told(Change(Key("default", "p"), old, new))


@pytest.mark.parametrize(
    ("bound", "stamp", "at"),
    [
        pytest.param("2026-01-01T00:00:05Z", "", 5 * SECOND, id="the condition that binding sets"),
        pytest.param("", "", 0, id="made, where nobody says when it was bound"),
        pytest.param(
            "2026-01-01T00:00:05Z", str(NEW_YEAR + 5 * SECOND + 7), 5 * SECOND + 7, id="within the second"
        ),
        pytest.param("2026-01-01T00:00:05Z", str(NEW_YEAR + 1), 5 * SECOND, id="a forged earlier time"),
        pytest.param("2026-01-01T00:00:05Z", "garbage", 5 * SECOND, id="garbage"),
        pytest.param("yesterday", "", 0, id="a condition nobody can read"),
    ],
)
def test_when_a_pod_was_bound_is_the_word_of_the_api_server(bound: str, stamp: str, at: int) -> None:
    made = thing(bound=bound, annotations={"metax-tech.com/predicate-time": stamp} if stamp else None)
    assert read_bound_pod(made, TWO_METAX).bound_at == NEW_YEAR + at


HASH = "0123456789abcdef0123456789abcdef"


def test_a_static_pod_goes_by_the_hash_of_its_file() -> None:
    made = thing(annotations={"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH})
    read = read_bound_pod(made, TWO_METAX)
    assert (read.kubelet_uid, read.pod.ref.uid) == (HASH, "u")


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"kubernetes.io/config.hash": HASH}, id="no mirror"),
        pytest.param(
            {
                "kubernetes.io/config.hash": "0f5f8a1e-4f0e-4f3e-9a43-0d8f6c1f2b11",
                "kubernetes.io/config.mirror": "yes",
            },
            id="the UID of another pod",
        ),
        pytest.param({"kubernetes.io/config.hash": "", "kubernetes.io/config.mirror": ""}, id="nothing"),
    ],
)
def test_nobody_writes_himself_the_uid_of_another_pod(annotations: dict[str, str]) -> None:
    assert read_bound_pod(thing(annotations=annotations), TWO_METAX).kubelet_uid == "u"


@pytest.mark.parametrize("odd", [{}, {"metadata": 3}, {"metadata": {"uid": 7}, "spec": [], "status": "x"}])
def test_an_object_of_any_shape_is_read(odd: dict[str, Any]) -> None:
    assert read_bound_pod(odd, TWO_METAX).holds is None


def test_pods_come_change_and_go() -> None:
    changes: list[None] = []
    pods = BoundPods(lambda: TWO_METAX, lambda: changes.append(None))
    first, second = thing(), thing(annotations=allocated([(uuid(1), 4096, 10)]))
    told(pods, None, first)
    assert isinstance(pods.all()[0].holds, Tenant)
    told(pods, first, second)
    (now,) = pods.all()
    assert isinstance(now.holds, Tenant)
    assert now.holds.allocation.cards == (uuid(1),)
    told(pods, second, None)
    assert pods.all() == ()
    assert pods.by_name == {}
    assert len(changes) == 3


def test_the_end_of_an_old_pod_does_not_hide_the_new_one_of_its_name() -> None:
    pods = BoundPods(lambda: TWO_METAX, lambda: None)
    old, new = thing(uid="old"), thing(uid="new")
    told(pods, None, old)
    told(pods, None, new)
    told(pods, old, None)
    assert pods.by_name["default", "p"].kubelet_uid == "new"
    assert set(pods.by_kubelet_uid) == {"new"}


def test_other_cards_mean_another_reading() -> None:
    stock = [Inventory(node=TWO_METAX.node)]
    pods = BoundPods(lambda: stock[0], lambda: None)
    told(pods, None, thing())
    stock[0] = TWO_METAX
    (now,) = pods.all()
    assert isinstance(now.holds, Tenant)
    assert now.holds.allocation.containers[0].shares[0].index == 0
    stock[0] = replace(inventory(metax(5, CardMode.WHOLE)), node=TWO_METAX.node)
    assert len(pods.all()) == 1


def test_what_was_given_stays_what_a_pod_holds_whatever_is_written_on_it_later() -> None:
    pods = BoundPods(lambda: TWO_METAX, lambda: None)
    first = thing()
    told(pods, None, first)
    pods.keep(pods.by_kubelet_uid[pods.all()[0].kubelet_uid])
    forged = thing(annotations=allocated([(uuid(1), 60 * 1024, 90)]))
    told(pods, first, forged)
    (now,) = pods.all()
    assert isinstance(now.holds, Tenant)
    assert now.holds.allocation.cards == (uuid(0),)
    told(pods, forged, None)
    told(pods, None, thing(uid="next", annotations=allocated([(uuid(1), 4096, 10)])))
    (after,) = pods.all()
    assert isinstance(after.holds, Tenant)
    assert after.holds.allocation.cards == (uuid(1),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_the_part_of_a_pod_that_is_kept_reads_as_the_whole(odd: object) -> None:
    made = thing()
    made["spec"] |= {"nodeSelector": {"a": "b"}, "volumes": [{"hostPath": {"path": "/"}}, {"emptyDir": {}}]}
    made["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "b"}], "odd": odd}
    strange = [{**made, key: odd} for key in ("metadata", "spec", "status")]
    strange += [
        {**made, "spec": {**made["spec"], key: odd}} for key in ("containers", "initContainers", "volumes")
    ]
    strange += [{**made, "spec": {**made["spec"], "initContainers": [odd]}}]
    for each in (made, *strange):
        assert read_bound_pod(bound_part(each), TWO_METAX) == read_bound_pod(each, TWO_METAX)
