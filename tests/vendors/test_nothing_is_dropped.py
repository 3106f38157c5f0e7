"""Whatever a manifest says, it ends in asks or in a refusal; nothing raises, and nothing becomes "no request"."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.units.refusal import quoted
from tangram.vendors.admission import admit
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.names import (
    CARD_POLICY,
    CARD_WEIGHTS,
    KOORDINATOR_CORE,
    KOORDINATOR_FORMER_NAMES,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_OTHER_DEVICES,
    KOORDINATOR_OTHER_VENDORS,
    KOORDINATOR_RATIO,
    KOORDINATOR_RESOURCES,
    KOORDINATOR_SHARED,
    NODE_POLICY,
    NUMA_BIND,
    REQUIRED_SCOPE,
)
from tangram.vendors.protocol import RemoveResource, SetAnnotation, SetLimit
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.koordinator import names as koordinator
from tangram.wire.koordinator.hints import read_hints

OURS = metax.RESOURCES | mthreads.RESOURCES | KOORDINATOR_RESOURCES
ANNOTATIONS = {
    NODE_POLICY: ["binpack", "spread", "frag"],
    CARD_POLICY: ["binpack", "numa,mutex", "spread,spread"],
    CARD_WEIGHTS: ["slot=1,core=2,memory=3", "slot=1"],
    NUMA_BIND: ["true", "0"],
    REQUIRED_SCOPE: ["link", "numa"],
    metax.QOS_POLICY: ["best-effort", "fixed-share"],
    metax.APP_CLASS: ["online", "offline"],
    metax.TOPOLOGY_AWARE: ["true", "F"],
    metax.USE_UUIDS: ["GPU-1", "GPU-1,GPU-2"],
    metax.AVOID_UUIDS: ["GPU-1"],
    metax.USE_PRODUCTS: ["C500", "MXC550"],
    metax.AVOID_PRODUCTS: ["C500"],
    mthreads.REQUEST_GPU_NUM: ["2"],
    mthreads.USE_UUIDS: ["MT-1"],
    mthreads.AVOID_UUIDS: ["MT-1, MT-2"],
    mthreads.USE_PRODUCTS: ["MTT S4000"],
    mthreads.AVOID_PRODUCTS: ["S5000"],
    koordinator.ALLOCATE_HINT: [
        '{"gpu":{"requiredTopologyScope":"PCIe"}}',
        '{"rdma":{"selector":{"a":"b"}}}',
    ],
    koordinator.JOINT_ALLOCATE: ['{"deviceTypes":["gpu"]}', '{"deviceTypes":["gpu","rdma"]}'],
    koordinator.PARTITION_SPEC: ["{}", '{"ringBusBandwidth":"200Gi"}'],
    koordinator.NUMA_TOPOLOGY_SPEC: ['{"numaTopologyPolicy":"SingleNUMANode"}', '{"numaTopologyPolicy":""}'],
}
WITHOUT_TEXT = {Code.NO_CONTAINERS, Code.PRIVILEGED, Code.ONE_CARD_PER_POD, Code.LIST_FOR_ONE_VENDOR}
"""Faults that lie in no single text."""

numbers = st.sampled_from(["0", "1", "2", "4", "10", "16", "25", "32", "96", "100", "192", "200"])
odd_numbers = st.sampled_from(["-1", "1.5", "500m", "2k", "1Gi", "512Ki", "1e30", "1e999", "Ki", "+1", "33"])
texts = st.one_of(numbers, odd_numbers, st.text(max_size=12))
BESIDE = KOORDINATOR_OTHER_DEVICES | KOORDINATOR_OTHER_VENDORS | frozenset(KOORDINATOR_FORMER_NAMES)
anything = st.dictionaries(
    st.sampled_from([*sorted(OURS), *sorted(BESIDE), "cpu", "memory"]), texts, max_size=5
)

counts = st.sampled_from(["1", "1", "1", "2", "3"])
percents = st.sampled_from(["0", "10", "50", "100", "200"])
units = st.sampled_from(["2", "16", "64", "96", "160", "192", "7"])
sizes = st.sampled_from(["1", "16", "16Gi", "1024Mi", "48Gi", "2000"])
host = st.fixed_dictionaries({}, optional={"cpu": st.just("500m"), "memory": st.just("1Gi")})
in_a_dialect = st.one_of(
    st.fixed_dictionaries({metax.GPU: counts}),
    st.fixed_dictionaries({metax.SGPU: counts}, optional={metax.VCORE: percents, metax.VMEMORY: sizes}),
    st.fixed_dictionaries({mthreads.GPU: counts}),
    st.fixed_dictionaries(
        {mthreads.VGPU: counts},
        optional={mthreads.SGPU_CORE: st.sampled_from(["0", "8", "16", "32"]), mthreads.SGPU_MEMORY: units},
    ),
    *(
        st.fixed_dictionaries({cards: counts, KOORDINATOR_CORE: percents, other: amount}, optional=more)
        for cards in (metax.SGPU, mthreads.VGPU)
        for other, amount in ((KOORDINATOR_MEMORY, sizes), (KOORDINATOR_RATIO, percents))
        for more in ({}, {KOORDINATOR_SHARED: counts})
    ),
    *(
        st.fixed_dictionaries({cards: counts, KOORDINATOR_GPU: percents})
        for cards in (metax.SGPU, mthreads.VGPU)
    ),
)


def with_host(cards: dict[str, str], rest: dict[str, str]) -> dict[str, str]:
    return {**cards, **rest}


likely = st.one_of(st.builds(with_host, in_a_dialect, host), host)


@st.composite
def containers(draw: st.DrawFn, name: str = "main") -> Container:
    """Mostly what somebody could write, now and then anything at all."""
    strange = draw(st.integers(0, 9)) == 9
    limits = draw(anything if strange else likely)
    nothing: dict[str, str] = {}
    same = st.sampled_from([nothing, limits])
    return Container(
        name,
        draw(st.sampled_from([Role.APP, Role.APP, Role.INIT, Role.SIDECAR])),
        limits,
        draw(st.one_of(same, anything) if strange else same),
        strange and draw(st.booleans()),
    )


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    strange = draw(st.integers(0, 4)) == 4
    keys = draw(st.lists(st.sampled_from(sorted(ANNOTATIONS)), max_size=4, unique=True))
    first = tuple(draw(containers(f"c{number}")) for number in range(draw(st.integers(0, 2))))
    last = msgspec.structs.replace(draw(containers("last")), role=Role.APP)
    annotations = {
        key: draw(st.text(max_size=12) if strange else st.sampled_from(ANNOTATIONS[key])) for key in keys
    }
    labels = {koordinator.ISOLATION_PROVIDER: draw(st.text(max_size=12))} if strange else {}
    return Pod(
        ref=PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1")),
        containers=first if strange else (*first, last),
        annotations=annotations,
        labels=labels,
        node_name=draw(st.sampled_from([None, None, None, NodeName("n1")])),
        hints=read_hints(annotations, labels),
    )


all_settings = st.builds(
    AdmissionSettings,
    mthreads_memory_per_card=st.sampled_from([(96,), (160,), (96, 160)]),
    largest_memory=st.sampled_from([{}, {Vendor.METAX: from_gib(64), Vendor.MTHREADS: from_gib(48)}]),
)


def names_ours(container: Container) -> bool:
    return not OURS.isdisjoint({*container.limits, *container.requests})


def as_admitted(pod: Pod, mutations: tuple[object, ...]) -> Pod:
    """The pod as the API server stores it once the mutations are applied."""
    notes = dict(pod.annotations)
    limits = {container.name: dict(container.limits) for container in pod.containers}
    requests = {container.name: dict(container.requests) for container in pod.containers}
    for mutation in mutations:
        match mutation:
            case SetAnnotation(key, value):
                notes[key] = value
            case SetLimit(container, resource, value):
                limits[container][resource] = requests[container][resource] = value
            case RemoveResource(container, resource):
                limits[container].pop(resource, None)
                requests[container].pop(resource, None)
            case _:
                raise AssertionError(mutation)
    replaced = tuple(
        msgspec.structs.replace(each, limits=limits[each.name], requests=requests[each.name])
        for each in pod.containers
    )
    return msgspec.structs.replace(pod, annotations=notes, containers=replaced)


@given(pods(), all_settings)
def test_a_pod_that_names_our_resources_has_asks_or_refusals(pod: Pod, settings: AdmissionSettings) -> None:
    answer = admit(pod, settings)
    naming = {container.name for container in pod.containers if names_ours(container)}
    assert answer.ours == bool(naming)
    if answer.refusals:
        assert answer.request is None
        assert answer.mutations == ()
    elif naming:
        assert answer.request is not None
        assert {container.name for container in answer.request.containers if container.asks} == naming
    else:
        assert answer.request is None


@given(containers(), all_settings)
def test_a_container_that_names_our_resources_is_asked_for_or_blamed(
    container: Container, settings: AdmissionSettings
) -> None:
    ref = PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1"))
    answer = admit(Pod(ref=ref, containers=(container, Container("idle"))), settings)
    asking = answer.request is not None and bool(answer.request.containers[0].asks)
    blamed = any(refusal.container == container.name for refusal in answer.refusals)
    assert names_ours(container) == (asking or blamed)
    assert not (asking and blamed)


@given(pods(), all_settings)
def test_every_refusal_has_a_known_code_and_a_whole_sentence(pod: Pod, settings: AdmissionSettings) -> None:
    answer = admit(pod, settings)
    sources = [pod.annotations, pod.labels]
    sources += [source for each in pod.containers for source in (each.limits, each.requests)]
    read = {quoted(text) for source in sources for text in source.values()}
    for refusal in answer.refusals:
        assert refusal.code in tuple(Code)
        assert refusal.sentence.endswith(".")
        assert refusal.sentence.count("; ") >= 2
        assert refusal.sentence.isprintable()
        assert refusal.code in WITHOUT_TEXT or any(text in refusal.sentence for text in read)
    for caution in answer.cautions:
        assert caution.code in tuple(CautionCode)
        assert caution.sentence.endswith(".")


@given(pods(), all_settings)
def test_a_pod_reads_the_same_after_its_own_mutations(pod: Pod, settings: AdmissionSettings) -> None:
    """The webhook sees a pod before it was changed, the scheduler after; both must mean the same cards."""
    pod = msgspec.structs.replace(pod, node_name=None)
    first = admit(pod, settings)
    again = admit(as_admitted(pod, first.mutations), settings)
    assert again.request == first.request
    assert again.refusals == first.refusals
    assert again.mutations == ()


@given(pods(), all_settings)
def test_an_answer_can_be_sent_over_the_wire(pod: Pod, settings: AdmissionSettings) -> None:
    """Annotations may hold any character; the answer must still be text that JSON can carry."""
    msgspec.json.encode(admit(pod, settings).refusals)
