"""A running pod is read by what its kubelet counted; where admission would take it, both readings are one."""

from collections.abc import Callable, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card
from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.model.requests import Ask, AskKind, Request
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.vendors.completed import completed
from tangram.vendors.running import running_request
from tangram.vendors.settings import AdmissionSettings

PodOf = Callable[..., Pod]

GPU, SGPU = "metax-tech.com/gpu", "metax-tech.com/sgpu"
VCORE, VMEMORY = "metax-tech.com/vcore", "metax-tech.com/vmemory"
MT_GPU, VGPU = "mthreads.com/gpu", "mthreads.com/vgpu"
MT_CORE, MT_MEMORY = "mthreads.com/sgpu-core", "mthreads.com/sgpu-memory"
SHARED, CORE = "koordinator.sh/gpu.shared", "koordinator.sh/gpu-core"
MEMORY, RATIO = "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
CARD = {
    Vendor.METAX: card("n", 0),
    Vendor.MTHREADS: card("n", 1, vendor=Vendor.MTHREADS, memory=from_gib(48)),
}


def pod(
    *limits: Mapping[str, str], annotations: Mapping[str, str] | None = None, privileged: bool = False
) -> Pod:
    return Pod(
        ref=PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1")),
        containers=tuple(
            Container(f"c{at}", Role.APP, limits=dict(each), privileged=privileged)
            for at, each in enumerate(limits)
        ),
        annotations=dict(annotations or {}),
        node_name=NodeName("n1"),
    )


def on_cards(request: Request) -> list[list[tuple[Vendor, AskKind, int, int, int]]]:
    """What each container takes of a card, whatever words say it."""

    def taken(ask: Ask) -> tuple[Vendor, AskKind, int, int, int]:
        of = CARD[ask.vendor]
        whole = ask.kind is AskKind.WHOLE
        memory, cores = (0, 0) if whole else (ask.memory_on(of), ask.cores_on(of))
        return ask.vendor, ask.kind, ask.count, memory, cores

    return [[taken(ask) for ask in container.asks] for container in request.containers]


def sharing(request: Request) -> tuple[Vendor | None, list[list[bool]]]:
    """Whose slices share a card, and which of them share it with no other container."""
    return request.one_card, [[ask.undivided for ask in container.asks] for container in request.containers]


def numbers(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


LIMITS = st.one_of(
    st.fixed_dictionaries({GPU: numbers("1", "2")}),
    st.fixed_dictionaries(
        {SGPU: numbers("1", "2")},
        optional={VCORE: numbers("0", "10", "100"), VMEMORY: numbers("4", "8Gi", "512Mi")},
    ),
    st.fixed_dictionaries({MT_GPU: numbers("1", "2")}),
    st.fixed_dictionaries(
        {VGPU: numbers("1", "2")},
        optional={MT_CORE: numbers("0", "4", "16", "32"), MT_MEMORY: numbers("2", "32", "96", "192")},
    ),
    st.fixed_dictionaries(
        {CORE: numbers("10", "50", "100", "200"), SGPU: numbers("1", "2")},
        optional={
            MEMORY: numbers("4Gi", "500000k"),
            RATIO: numbers("25", "100", "200"),
            SHARED: numbers("1", "2"),
        },
    ),
    st.fixed_dictionaries(
        {CORE: numbers("10", "50", "100", "200"), VGPU: numbers("1", "2")},
        optional={MEMORY: numbers("4Gi", "16Gi"), RATIO: numbers("100", "200"), SHARED: numbers("1", "2")},
    ),
    st.just({"cpu": "2"}),
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "metax-tech.com/sgpu-qos-policy": numbers("fixed-share", "best-effort"),
        "metax-tech.com/sgpu-app-class": numbers("online", "offline"),
    },
)


@given(st.lists(LIMITS, min_size=1, max_size=3), ANNOTATIONS)
def test_both_readings_of_a_pod_that_admission_takes_are_one(
    limits: list[dict[str, str]], annotations: dict[str, str]
) -> None:
    asked = msgspec.structs.replace(pod(*limits, annotations=annotations), node_name=None)
    admission = admit(asked)
    if admission.request is None:
        return
    stored = msgspec.structs.replace(completed(asked, admission.mutations), node_name=NodeName("n1"))
    for each in (asked, stored):
        found = running_request(each)
        assert on_cards(found) == on_cards(admission.request)
        assert sharing(found) == sharing(admission.request)
        assert (found.qos, found.app_class) == (admission.request.qos, admission.request.app_class)
        assert found.host == admission.request.host or each is asked


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({GPU: "two"}, [(Vendor.METAX, AskKind.WHOLE, 1, 0, 0)], id="no number of cards"),
        pytest.param({GPU: "0"}, [], id="none"),
        pytest.param(
            {GPU: "1", SGPU: "1", VCORE: "10", VMEMORY: "4"},
            [(Vendor.METAX, AskKind.WHOLE, 1, 0, 0), (Vendor.METAX, AskKind.SLICE, 1, from_gib(4), 10)],
            id="whole cards beside slices, and the kubelet gave both",
        ),
        pytest.param(
            {SGPU: "1", VCORE: "400", VMEMORY: "2k"},
            [(Vendor.METAX, AskKind.SLICE, 1, from_gib(64), 100)],
            id="amounts without meaning are all of a card",
        ),
        pytest.param({VCORE: "10", VMEMORY: "4"}, [], id="the size of a slice of no card"),
        pytest.param(
            {SGPU: "2", CORE: "30", MEMORY: "8Gi"},
            [(Vendor.METAX, AskKind.SLICE, 2, from_gib(4), 15)],
            id="a part of each of two cards",
        ),
        pytest.param(
            {SGPU: "1", MEMORY: "8Gi"},
            [(Vendor.METAX, AskKind.SLICE, 1, from_gib(8), 100)],
            id="Koordinator's words without compute",
        ),
        pytest.param(
            {VGPU: "1", MT_CORE: "99", MT_MEMORY: "7"},
            [(Vendor.MTHREADS, AskKind.SLICE, 1, 7 << 29, 16)],
            id="more sixteenths than a card has",
        ),
        pytest.param(
            {MT_CORE: "4", MT_MEMORY: "32"},
            [(Vendor.MTHREADS, AskKind.SLICE, 1, from_gib(16), 4)],
            id="what the plugin counts without a number of cards",
        ),
        pytest.param(
            {MT_CORE: "32", MT_MEMORY: "192"},
            [(Vendor.MTHREADS, AskKind.SLICE, 2, from_gib(48), 16)],
            id="the same of two cards",
        ),
        pytest.param({CORE: "50", RATIO: "50"}, [], id="cards of no vendor"),
    ],
)
def test_what_admission_would_refuse_is_read_by_what_the_kubelet_counted(
    limits: dict[str, str], expected: list[tuple[Vendor, AskKind, int, int, int]]
) -> None:
    running = pod(limits)
    assert on_cards(running_request(running)) == [expected]
    if expected:
        assert admit(running).request is None


def test_a_policy_that_does_not_exist_pins_no_card() -> None:
    keys = ("metax-tech.com/sgpu-qos-policy", "metax-tech.com/sgpu-app-class")
    odd = running_request(pod({SGPU: "1"}, annotations=dict.fromkeys(keys, "odd")))
    assert (odd.qos, odd.app_class) == (None, None)
    usual = running_request(pod({SGPU: "1"}, privileged=True))
    assert usual.qos is QosPolicy.BEST_EFFORT
    online = running_request(pod({SGPU: "1"}, annotations={keys[1]: "online"}, privileged=True))
    assert (online.qos, online.app_class) == (None, AppClass.ONLINE)


def test_names_of_before_a_renaming_are_still_what_the_kubelet_counted() -> None:
    renamed = AdmissionSettings(renamed={"example.com/card": GPU})
    for name in ("example.com/card", GPU):
        assert on_cards(running_request(pod({name: "2"}), renamed)) == [
            [(Vendor.METAX, AskKind.WHOLE, 2, 0, 0)]
        ]
    both = pod({"example.com/card": "2", GPU: "1"})
    assert on_cards(running_request(both, renamed)) == [[(Vendor.METAX, AskKind.WHOLE, 2, 0, 0)]]


METAX_SLICE = {SGPU: "1", VCORE: "10", VMEMORY: "4"}
MT_SLICE, MT_CARD = {VGPU: "1", MT_CORE: "4", MT_MEMORY: "32"}, {VGPU: "1"}


@pytest.mark.parametrize(
    ("limits", "vendor", "alone"),
    [
        pytest.param(
            [METAX_SLICE, MT_SLICE, MT_SLICE],
            Vendor.MTHREADS,
            [False] * 3,
            id="two slices beside one of MetaX",
        ),
        pytest.param([METAX_SLICE, MT_SLICE], None, [False] * 2, id="one slice beside one of MetaX"),
        pytest.param([MT_SLICE], Vendor.MTHREADS, [False], id="one slice"),
        pytest.param(
            [METAX_SLICE, MT_CARD, MT_CARD],
            Vendor.MTHREADS,
            [False, True, True],
            id="two that take all of a card beside a slice of MetaX",
        ),
        pytest.param(
            [MT_CARD, MT_SLICE, MT_SLICE],
            Vendor.MTHREADS,
            [True, False, False],
            id="two slices beside all of a card",
        ),
    ],
)
def test_slices_of_a_running_pod_share_a_card_by_the_rule_of_admission(
    limits: list[dict[str, str]], vendor: Vendor | None, alone: list[bool]
) -> None:
    found = running_request(pod(*limits))
    assert sharing(found) == (vendor, [[each] for each in alone])
    admitted = admit(pod(*limits)).request
    assert admitted is not None
    assert sharing(found) == sharing(admitted)
