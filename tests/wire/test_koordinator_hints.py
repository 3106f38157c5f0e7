"""What a Koordinator user may say about the choice of cards: honoured or refused with a sentence, never passed over."""

import pytest

from tangram.model.pods import NO_HINTS, Hints
from tangram.model.topology import TopologyScope
from tangram.vendors.admission import admit
from tangram.wire.koordinator.hints import read_hints
from tangram.wire.pods import read_pod
from wire.manifests import container, pod

ALLOCATE = "scheduling.koordinator.sh/device-allocate-hint"
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
PARTITION = "scheduling.koordinator.sh/gpu-partition-spec"
NUMA = "scheduling.koordinator.sh/numa-topology-spec"
ISOLATION = "koordinator.sh/gpu-isolation-provider"
LINK, PCIE, NUMA_NODE, NODE = TopologyScope

METAX = {"koordinator.sh/gpu-core": "10", "koordinator.sh/gpu-memory": "16Gi", "metax-tech.com/sgpu": "1"}
MTHREADS = {"koordinator.sh/gpu-core": "12", "koordinator.sh/gpu-memory": "16Gi", "mthreads.com/vgpu": "1"}


def hints(key: str, text: str) -> Hints:
    return read_hints({key: text, "other": "{"}, {"app": "x"})


def scopes(of: Hints) -> list[TopologyScope]:
    return [wish.scope for wish in of.scopes]


@pytest.mark.parametrize(
    ("key", "text", "scope"),
    [
        pytest.param(ALLOCATE, '{"gpu":{"requiredTopologyScope":"Device"}}', LINK, id="one device"),
        pytest.param(ALLOCATE, '{"gpu":{"requiredTopologyScope":"PCIe"}}', PCIE, id="one switch"),
        pytest.param(ALLOCATE, '{"gpu":{"requiredTopologyScope":"NUMANode"}}', NUMA_NODE, id="one NUMA node"),
        pytest.param(ALLOCATE, '{"gpu":{"requiredTopologyScope":"Node"}}', NODE, id="one node"),
        pytest.param(PARTITION, '{"allocatePolicy":"Restricted"}', LINK, id="a partition"),
        pytest.param(PARTITION, '{"allocatePolicy":"BestEffort"}', LINK, id="a partition, best effort"),
        pytest.param(PARTITION, '{"allocatePolicy":""}', LINK, id="a partition, policy empty"),
        pytest.param(PARTITION, "{}", LINK, id="a partition, policy left out"),
        pytest.param(PARTITION, "null", LINK, id="a partition, as null"),
        pytest.param(NUMA, '{"numaTopologyPolicy":"SingleNUMANode"}', NUMA_NODE, id="a single NUMA node"),
    ],
)
def test_a_hint_that_can_be_honoured_is_a_scope(key: str, text: str, scope: TopologyScope) -> None:
    read = hints(key, text)
    assert scopes(read) == [scope]
    assert (read.refusals, read.numa_first) == ((), False)
    assert key in read.scopes[0].said


def test_the_gentle_numa_policy_is_a_preference() -> None:
    assert hints(NUMA, '{"numaTopologyPolicy":"BestEffort"}') == Hints(numa_first=True)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *[pytest.param(key, "", id=f"{key} is empty") for key in (ALLOCATE, JOINT, PARTITION, NUMA)],
        *[pytest.param(key, " \n", id=f"{key} is blank") for key in (ALLOCATE, JOINT, PARTITION, NUMA)],
        pytest.param(ALLOCATE, "{}", id="no hint for any device"),
        pytest.param(ALLOCATE, "null", id="null"),
        pytest.param(ALLOCATE, '{"gpu":null}', id="null for cards"),
        pytest.param(ALLOCATE, '{"gpu":{}}', id="nothing for cards"),
        pytest.param(ALLOCATE, '{"gpu":{"requiredTopologyScope":""}}', id="an empty scope"),
        pytest.param(ALLOCATE, '{"gpu":{"selector":{}}}', id="a selector of everything"),
        pytest.param(
            ALLOCATE, '{"gpu":{"selector":{"matchLabels":{},"matchExpressions":null}}}', id="the same"
        ),
        pytest.param(ALLOCATE, '{"gpu":{"allocateStrategy":"","exclusivePolicy":""}}', id="empty policies"),
        pytest.param(ALLOCATE, '{"rdma":{}}', id="nothing for network cards"),
        pytest.param(JOINT, "{}", id="nothing joined"),
        pytest.param(JOINT, '{"deviceTypes":[]}', id="no types joined"),
        pytest.param(JOINT, '{"deviceTypes":["gpu"]}', id="cards alone"),
        pytest.param(JOINT, '{"deviceTypes":["gpu"],"requiredScope":"SamePCIe"}', id="cards alone, scope"),
        pytest.param(NUMA, "{}", id="no NUMA policy"),
        pytest.param(NUMA, '{"numaTopologyPolicy":""}', id="an empty NUMA policy"),
        pytest.param(NUMA, '{"numaTopologyPolicy":"None"}', id="none by name"),
    ],
)
def test_a_hint_that_says_nothing_changes_nothing(key: str, text: str) -> None:
    assert hints(key, text) == NO_HINTS


@pytest.mark.parametrize("text", ["{", "[]", "7", "PCIe", '"PCIe"', "[" * 100_000, '{"a":' * 5000 + "1"])
@pytest.mark.parametrize("key", [ALLOCATE, JOINT, PARTITION, NUMA])
def test_a_text_that_is_no_object_is_refused_with_an_example(key: str, text: str) -> None:
    read = hints(key, text)
    (refusal,) = read.refusals
    assert refusal.code == "hint-malformed"
    assert refusal.sentence.startswith(f"annotation {key} is ")
    assert "; write {" in refusal.sentence
    assert len(refusal.sentence) < 300
    assert scopes(read) == []


@pytest.mark.parametrize(
    ("key", "text", "code", "part"),
    [
        pytest.param(
            ALLOCATE,
            '{"gpu":{"requiredTopologyScope":"Rack"}}',
            "hint-scope-unknown",
            "may be Device, PCIe, NUMANode or Node",
            id="an unknown scope",
        ),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"requiredTopologyScope":["PCIe"]}}',
            "hint-scope-unknown",
            "something that is no text",
            id="a scope that is no text",
        ),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"requiredScope":"PCIe"}}',
            "hint-field-unknown",
            "'requiredScope'; its fields are requiredTopologyScope, selector,",
            id="a field of another annotation",
        ),
        pytest.param(ALLOCATE, '{"gpu":"PCIe"}', "hint-malformed", "write {", id="a word for a hint"),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"selector":{"matchLabels":{"type":"fast"}}}}',
            "hint-unsupported",
            "with selector; cards have no labels",
            id="a selector",
        ),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"vfSelector":{"matchLabels":{"a":"b"}}}}',
            "hint-unsupported",
            "with vfSelector; cards have no virtual functions",
            id="a selector of virtual functions",
        ),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"allocateStrategy":"ApplyForAll"}}',
            "hint-unsupported",
            "with allocateStrategy; ",
            id="an allocate strategy",
        ),
        pytest.param(
            ALLOCATE,
            '{"gpu":{"exclusivePolicy":"PCIeLevel"}}',
            "hint-unsupported",
            "with exclusivePolicy; ",
            id="an exclusive policy",
        ),
        pytest.param(
            ALLOCATE,
            '{"rdma":{"allocateStrategy":"ApplyForAll"}}',
            "hint-other-device",
            "the device type 'rdma'",
            id="a hint for network cards",
        ),
        pytest.param(
            JOINT,
            '{"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"}',
            "hint-other-device",
            "the device type 'rdma'",
            id="cards joined with network cards",
        ),
        pytest.param(JOINT, '{"deviceTypes":"gpu"}', "hint-malformed", "a list of deviceTypes", id="no list"),
        pytest.param(JOINT, '{"deviceTypes":[7]}', "hint-malformed", "a list of deviceTypes", id="a number"),
        pytest.param(
            JOINT,
            '{"deviceTypes":["gpu"],"requiredScope":"SameNode"}',
            "hint-word-unknown",
            "requiredScope may be SamePCIe",
            id="an unknown joint scope",
        ),
        pytest.param(
            JOINT, '{"devices":["gpu"]}', "hint-field-unknown", "'devices'; its fields are", id="a joint typo"
        ),
        pytest.param(
            PARTITION,
            '{"allocatePolicy":"Honor"}',
            "hint-word-unknown",
            "allocatePolicy may be Restricted or BestEffort",
            id="an unknown partition policy",
        ),
        pytest.param(
            PARTITION,
            '{"ringBusBandwidth":"200Gi"}',
            "hint-unsupported",
            "no card tells the bandwidth",
            id="a bandwidth",
        ),
        pytest.param(
            PARTITION, '{"policy":"Restricted"}', "hint-field-unknown", "'policy'", id="partition typo"
        ),
        pytest.param(
            NUMA,
            '{"numaTopologyPolicy":"Restricted"}',
            "hint-unsupported",
            "write SingleNUMANode or BestEffort",
            id="the NUMA policy between",
        ),
        pytest.param(
            NUMA,
            '{"numaTopologyPolicy":"single-numa-node"}',
            "hint-word-unknown",
            "may be SingleNUMANode or BestEffort",
            id="the kubelet's word",
        ),
        pytest.param(
            NUMA,
            '{"singleNUMANodeExclusive":"Required"}',
            "hint-unsupported",
            "with singleNUMANodeExclusive; ",
            id="a NUMA node for itself",
        ),
        pytest.param(NUMA, '{"policy":"BestEffort"}', "hint-field-unknown", "'policy'", id="a NUMA typo"),
    ],
)
@pytest.mark.parametrize("words", [METAX, MTHREADS], ids=["MetaX", "Moore Threads"])
def test_a_hint_that_cannot_be_honoured_is_refused_and_says_why(
    words: dict[str, str], key: str, text: str, code: str, part: str
) -> None:
    answer = admit(read_pod(pod(container(limits=words), annotations={key: text})))
    assert answer.request is None
    (refusal,) = answer.refusals
    assert refusal.code == code
    assert refusal.sentence.startswith(f"annotation {key} is ")
    assert part in refusal.sentence
    alone = admit(read_pod(pod(container(limits={"cpu": "1"}), annotations={key: text})))
    assert (alone.ours, alone.refusals) == (False, ()), "a pod without cards is none of our business"


@pytest.mark.parametrize("words", [METAX, MTHREADS], ids=["MetaX", "Moore Threads"])
def test_a_library_that_keeps_containers_apart_is_refused_because_the_driver_does(
    words: dict[str, str],
) -> None:
    labelled: dict[str, object] = {"labels": {ISOLATION: "HAMi-core"}}
    (refusal,) = admit(read_pod(pod(container(limits=words), metadata=labelled))).refusals
    assert refusal.code == "isolation-provider"
    assert refusal.sentence.startswith(f"label {ISOLATION} is 'HAMi-core'; ")
    assert read_hints({}, {ISOLATION: ""}) == NO_HINTS


def test_every_fault_of_every_hint_is_told_at_once() -> None:
    read = read_hints(
        {
            ALLOCATE: '{"gpu":{"selector":{"a":"b"},"requiredTopologyScope":"Rack"},"fpga":{"x":"y"}}',
            JOINT: '{"deviceTypes":["gpu","rdma","fpga"]}',
            PARTITION: "7",
            NUMA: '{"numaTopologyPolicy":"Restricted","singleNUMANodeExclusive":"Preferred"}',
        },
        {ISOLATION: "HAMi-core"},
    )
    assert [refusal.code for refusal in read.refusals] == [
        *["hint-other-device", "hint-unsupported", "hint-scope-unknown"],
        *["hint-other-device", "hint-other-device"],
        "hint-malformed",
        *["hint-unsupported", "hint-unsupported"],
        "isolation-provider",
    ]


@pytest.mark.parametrize(
    ("texts", "scope"),
    [
        pytest.param(
            {
                ALLOCATE: '{"gpu":{"requiredTopologyScope":"PCIe"}}',
                NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}',
            },
            PCIE,
            id="a switch lies on one NUMA node",
        ),
        pytest.param(
            {ALLOCATE: '{"gpu":{"requiredTopologyScope":"Device"}}', PARTITION: "{}"},
            LINK,
            id="two that agree",
        ),
        pytest.param(
            {ALLOCATE: '{"gpu":{"requiredTopologyScope":"NUMANode"}}', PARTITION: "{}"},
            None,
            id="linked cards of two NUMA nodes",
        ),
        pytest.param(
            {PARTITION: "{}", "tangram.dev/required-scope": "pcie"}, None, id="linked cards of two switches"
        ),
    ],
)
def test_several_hints_are_all_met_or_the_pod_is_refused(
    texts: dict[str, str], scope: TopologyScope | None
) -> None:
    answer = admit(read_pod(pod(container(limits=METAX), annotations=texts)))
    if scope is None:
        (refusal,) = answer.refusals
        assert refusal.code == "scope-conflict"
        assert all(key in refusal.sentence for key in texts)
    else:
        assert answer.request is not None
        assert answer.request.required_scope is scope
