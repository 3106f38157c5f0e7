"""What concerns a pod as a whole: whose business it is, its host, and that all faults come at once."""

from collections.abc import Callable

import msgspec
import pytest

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Placing, Pod, Role, Toleration
from tangram.model.refusals import Refusal
from tangram.model.requests import HostAsk
from tangram.units.memory import Bytes, from_gib
from tangram.vendors.admission import Admission, admit
from tangram.vendors.codes import Code
from tangram.vendors.registry import rules_for, rules_for_all

Answer = Callable[..., Admission]
PodOf = Callable[..., Pod]

METAX = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "4"}
MTHREADS = {"mthreads.com/vgpu": "1"}


def codes(answer: Admission) -> list[str]:
    return [refusal.code for refusal in answer.refusals]


def test_a_pod_without_our_resources_is_none_of_our_business(admitted: Answer) -> None:
    answer = admitted({"cpu": "1", "nvidia.com/gpu": "1", "koordinator.sh/rdma": "1"})
    assert answer == Admission(ours=False)


def test_containers_keep_the_order_of_the_pod(pod_of: PodOf) -> None:
    answer = admit(
        pod_of(
            Container("fetch", Role.INIT, limits=METAX),
            Container("proxy", Role.SIDECAR),
            Container("main", limits=METAX),
            Container("log"),
        )
    )
    assert answer.request is not None
    assert [(each.name, each.role, len(each.asks)) for each in answer.request.containers] == [
        ("fetch", Role.INIT, 1),
        ("proxy", Role.SIDECAR, 0),
        ("main", Role.APP, 1),
        ("log", Role.APP, 0),
    ]


def test_priority_and_placing_travel_with_the_request(pod_of: PodOf) -> None:
    placing = Placing(node_selector=(("zone", "a"),), tolerations=(Toleration("gpu"),))
    pod = msgspec.structs.replace(pod_of(Container("main", limits=METAX)), priority=7, placing=placing)
    request = admit(pod).request
    assert request is not None
    assert (request.pod, request.priority, request.placing) == (pod.ref, 7, placing)


def test_what_could_not_be_read_of_the_pod_is_refused(pod_of: PodOf) -> None:
    problem = Refusal("hint-unreadable", "the hint is no JSON; write JSON.")
    pod = msgspec.structs.replace(pod_of(Container("main", limits=METAX)), problems=(problem,))
    answer = admit(pod)
    assert answer.refusals == (problem,)
    assert answer.request is None


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("role", Role)
def test_no_container_may_be_privileged_beside_cards(pod_of: PodOf, role: Role) -> None:
    side = Container("side", role, privileged=True)
    (refusal,) = admit(pod_of(side, Container("main", limits=METAX))).refusals
    assert (refusal.code, refusal.container) == (Code.PRIVILEGED, "side")
    assert refusal.sentence.startswith("container side is privileged")


def test_privileged_pods_without_cards_are_none_of_our_business(pod_of: PodOf) -> None:
    assert admit(pod_of(Container("main", privileged=True))) == Admission(ours=False)


@pytest.mark.parametrize(
    "containers",
    [
        pytest.param((), id="none at all"),
        pytest.param((Container("a", Role.INIT, limits=METAX),), id="init only"),
    ],
)
def test_a_pod_has_containers(pod_of: PodOf, containers: tuple[Container, ...]) -> None:
    answer = admit(pod_of(*containers))
    assert codes(answer) == [Code.NO_CONTAINERS]
    assert answer.refusals[0].sentence.startswith("pod has no containers: ")


def test_two_vendors_in_one_container_are_refused(admitted: Answer) -> None:
    answer = admitted({**METAX, **MTHREADS})
    assert codes(answer) == [Code.TWO_VENDORS]
    assert "mthreads.com/vgpu '1'" in answer.refusals[0].sentence


def test_two_vendors_in_two_containers_are_legal(admitted: Answer) -> None:
    answer = admitted(METAX, MTHREADS)
    assert answer.request is not None
    assert [each.asks[0].vendor for each in answer.request.containers] == [Vendor.METAX, Vendor.MTHREADS]
    assert not answer.request.one_card


@pytest.mark.parametrize(
    ("notes", "legal"),
    [
        pytest.param({"metax-tech.com/use-gpuuuid": "GPU-1"}, False, id="cards of one"),
        pytest.param({"mthreads.ai/use-gputype": "S4000"}, False, id="models of the other"),
        pytest.param(
            {"metax-tech.com/use-gpuuuid": "GPU-1", "mthreads.ai/use-gputype": "S4000"}, False, id="two kinds"
        ),
        pytest.param(
            {"metax-tech.com/use-gpuuuid": "GPU-1", "mthreads.ai/use-gpuuuid": "MT-1"},
            True,
            id="cards of both",
        ),
        pytest.param({"metax-tech.com/nouse-gpuuuid": "GPU-1"}, True, id="avoided cards of one"),
    ],
)
def test_an_allow_list_must_not_shut_out_the_other_vendor(
    admitted: Answer, notes: dict[str, str], *, legal: bool
) -> None:
    answer = admitted(METAX, MTHREADS, annotations=notes)
    assert codes(answer) == ([] if legal else [Code.LIST_FOR_ONE_VENDOR])


def test_all_faults_of_a_pod_come_in_one_answer(pod_of: PodOf) -> None:
    answer = admit(
        pod_of(
            Container("init", Role.INIT, limits={"metax-tech.com/vcore": "10"}),
            Container("main", limits={"mthreads.com/vgpu": "0"}, privileged=True),
            Container("rest", limits={"koordinator.sh/gpu": "100", "memory": "much"}),
            annotations={
                "hami.io/node-scheduler-policy": "x",
                "metax-tech.com/sgpu-qos-policy": "y",
                "mthreads.ai/use-gpuuuid": ",",
            },
        )
    )
    assert [(refusal.container, refusal.code) for refusal in answer.refusals] == [
        ("main", Code.PRIVILEGED),
        ("rest", Code.KOORDINATOR_WITHOUT_VENDOR),
        ("init", Code.KOORDINATOR_SEVERAL_CONTAINERS),
        ("main", Code.KOORDINATOR_SEVERAL_CONTAINERS),
        ("init", Code.SLICE_WITHOUT_COUNT),
        ("main", Code.AMOUNT_ZERO),
        ("", Code.QOS_UNKNOWN),
        ("", Code.LIST_WITH_GAP),
        ("", Code.NODE_POLICY_UNKNOWN),
        ("rest", Code.HOST_AMOUNT),
    ]
    assert answer.cautions == ()
    assert answer.mutations == ()


# ----------------------------------------------------------------------------------------------- host


def needs(name: str, role: Role, cpu: str, memory: str) -> Container:
    return Container(name, role, limits=METAX, requests={"cpu": cpu, "memory": memory})


@pytest.mark.parametrize(
    ("containers", "host"),
    [
        pytest.param(
            [needs("a", Role.APP, "500m", "1Gi"), needs("b", Role.APP, "1", "1Gi")],
            HostAsk(1500, from_gib(2)),
            id="apps add up",
        ),
        pytest.param(
            [needs("i", Role.INIT, "4", "1Gi"), needs("a", Role.APP, "1", "3Gi")],
            HostAsk(4000, from_gib(3)),
            id="init overlaps, each amount by itself",
        ),
        pytest.param(
            [
                needs("first", Role.INIT, "1", "1Gi"),
                needs("side", Role.SIDECAR, "1", "1Gi"),
                needs("second", Role.INIT, "2", "1Gi"),
                needs("a", Role.APP, "1", "1Gi"),
            ],
            HostAsk(3000, from_gib(2)),
            id="init runs on top of the sidecars before it",
        ),
        pytest.param(
            [
                needs("i", Role.INIT, "3", "1Gi"),
                needs("side", Role.SIDECAR, "1", "1Gi"),
                needs("a", Role.APP, "1", "1"),
            ],
            HostAsk(3000, Bytes(from_gib(1) + 1)),
            id="a later sidecar does not run beside it",
        ),
        pytest.param(
            [Container("a", limits={**METAX, "cpu": "2", "memory": "1Gi"})],
            HostAsk(2000, from_gib(1)),
            id="limits where there are no requests",
        ),
        pytest.param([Container("a", limits=METAX)], HostAsk(), id="nothing said"),
        pytest.param([needs("a", Role.APP, "0.1m", "1500m")], HostAsk(1, Bytes(2)), id="rounded up"),
    ],
)
def test_the_host_is_asked_for_what_kubernetes_counts(
    pod_of: PodOf, containers: list[Container], host: HostAsk
) -> None:
    request = admit(pod_of(*containers)).request
    assert request is not None
    assert request.host == host


@pytest.mark.parametrize("text", ["", "much", "-1", "1e30"])
def test_a_host_amount_that_cannot_be_is_refused(pod_of: PodOf, text: str) -> None:
    answer = admit(pod_of(needs("a", Role.APP, text, "1Gi")))
    assert codes(answer) == [Code.HOST_AMOUNT]
    assert f"cpu {text!r}" in answer.refusals[0].sentence


# ------------------------------------------------------------------------------------------- registry


@pytest.mark.parametrize("vendor", Vendor)
def test_every_vendor_has_rules(vendor: Vendor) -> None:
    assert rules_for(vendor).vendor is vendor


def test_vendors_share_no_resource() -> None:
    names = [name for rules in rules_for_all() for name in rules.resource_names]
    assert len(names) == len(set(names)) == 8


@pytest.mark.parametrize(("vendor", "tiers"), [(Vendor.METAX, 0), (Vendor.MTHREADS, 7), (Vendor.GENERIC, 0)])
def test_only_moore_threads_cards_have_fixed_sizes(vendor: Vendor, tiers: int) -> None:
    assert len(rules_for(vendor).memory_tiers(from_gib(48))) == tiers
