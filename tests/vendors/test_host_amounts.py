"""What a pod's kubelet counts of it in Koordinator's words: summed over containers as Kubernetes sums."""

import pytest

from tangram.model.counted import COUNTED, Counted
from tangram.model.pods import Container, Role
from tangram.units.ids import NodeName
from tangram.vendors.admission import admit
from tangram.vendors.host import counted_amounts
from tangram.wire.pods import read_pod
from tangram.wire.tenants import on_the_host_alone
from wire import manifests

CORE, MEMORY = Counted.CORE.value, Counted.MEMORY.value


def counted(*containers: Container) -> dict[str, int]:
    pod = read_pod(manifests.pod(manifests.container()))
    found = counted_amounts(type(pod)(ref=pod.ref, containers=containers))
    return {name.value: amount for name, amount in zip(COUNTED, found, strict=False) if amount}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([Container("a", limits={"cpu": "1"})], {}, id="no words"),
        pytest.param(
            [Container("a", limits={CORE: "10", MEMORY: "1Gi"})], {CORE: 10, MEMORY: 2**30}, id="one"
        ),
        pytest.param(
            [Container("a", requests={CORE: "10"}, limits={CORE: "10"})], {CORE: 10}, id="both sides"
        ),
        pytest.param(
            [Container("a", limits={CORE: "10"}), Container("b", limits={CORE: "20"})], {CORE: 30}, id="two"
        ),
        pytest.param(
            [Container("i", Role.INIT, {CORE: "50"}), Container("a", limits={CORE: "20"})],
            {CORE: 50},
            id="init",
        ),
        pytest.param([Container("a", limits={CORE: "much"})], {}, id="what no API server lets through"),
    ],
)
def test_koordinators_amounts_are_summed_as_the_kubelet_sums_them(
    containers: list[Container], expected: dict[str, int]
) -> None:
    assert counted(*containers) == expected


def test_a_pod_that_is_bound_counts_whether_or_not_it_could_be_placed_by_us() -> None:
    """`gpu-core` alone is refused, and a kubelet counts it all the same."""
    pod = read_pod(manifests.pod(manifests.container(limits={CORE: "30"}), nodeName="n1"))
    assert admit(pod).request is None
    assert on_the_host_alone(pod, NodeName("n1")).host.counted == (0, 0, 30, 0, 0)
