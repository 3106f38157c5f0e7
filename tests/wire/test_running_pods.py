"""A pod that runs takes its cards off the free ones, whatever admission thinks of it and whatever is written on it."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import card
from builders.tenants import ledger_of
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.units.ids import NodeName
from tangram.vendors.admission import admit
from tangram.wire.assumed import assumed
from tangram.wire.pods import read_pod
from tangram.wire.tenants import Unnamed, read_tenant
from wire import manifests
from wire.manifests import Json

CARDS = 4
ON = NodeName("n1")
KINDS = {
    # The resource, and the cards of a node that offers it.
    "metax-tech.com/gpu": (Vendor.METAX, CardMode.WHOLE),
    "metax-tech.com/sgpu": (Vendor.METAX, CardMode.SLICED),
    "mthreads.com/gpu": (Vendor.MTHREADS, CardMode.WHOLE),
    "mthreads.com/vgpu": (Vendor.MTHREADS, CardMode.SLICED),
}
HAMI = ("hami.io/metax-gpu-devices-allocated", "hami.io/metax-sgpu-devices-allocated")
MTHREADS = "hami.io/mthreads-vgpu-devices-allocated"
METAX = "metax-tech.com/gpu-devices-allocated"
DEVICES = "scheduling.koordinator.sh/device-allocated"


def node_for(resource: str) -> Node:
    """Four cards that offer the resource, and one of the other vendor."""
    vendor, mode = KINDS[resource]
    other = Vendor.MTHREADS if vendor is Vendor.METAX else Vendor.METAX
    own = [card("n1", index, vendor=vendor, mode=mode) for index in range(CARDS)]
    return Node(name=ON, cards=(*own, card("n1", CARDS, vendor=other)))


def free_on(ledger: Ledger, resource: str) -> int:
    """Whole cards that are free, or slices that the cards could still give."""
    vendor, mode = KINDS[resource]
    view, node = ledger.view((ON,)), ledger.node(ON)
    assert node is not None
    free = [
        each.slots - int(view.use.slots[0, column])
        for column, each in enumerate(node.cards)
        if each.vendor is vendor
    ]
    return sum(each == 1 for each in free) if mode is CardMode.WHOLE else sum(free)


def taken_by(manifest: Json, resource: str) -> int:
    """By how much the free count falls when the pod is read from the API server."""
    node = node_for(resource)
    ledger = ledger_of(node)
    before = free_on(ledger, resource)
    held = read_tenant(read_pod(manifest), node)
    if isinstance(held, Unnamed):
        held = assumed(ledger, held)
    if held is not None:
        ledger.put_tenant(held)
    return before - free_on(ledger, resource)


IDS = st.sampled_from(
    [*[f"GPU-n1-{index}" for index in range(CARDS + 1)], "GPU-9", "n1-metax-0", "n1-mthreads-1"]
)
AMOUNTS = st.sampled_from([0, 1, 10, 100, 4096, 65536])


@st.composite
def hami_texts(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.lists(st.tuples(IDS, AMOUNTS, AMOUNTS), max_size=3), max_size=3))
    word = draw(st.sampled_from(["Metax-GPU", "Metax-SGPU", "Mthreads"]))
    return ";".join(
        "".join(f"{uuid},{word},{memory},{cores}:" for uuid, memory, cores in row) for row in rows
    )


@st.composite
def metax_texts(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.lists(st.tuples(IDS, AMOUNTS, AMOUNTS), max_size=3), max_size=3))
    return json.dumps(
        [[{"uuid": each[0], "compute": each[1], "vRam": each[2]} for each in row] for row in rows]
    )


@st.composite
def device_texts(draw: st.DrawFn) -> str:
    entries = draw(st.lists(st.tuples(IDS, st.integers(0, CARDS + 2), st.integers(1, 100)), max_size=3))
    return json.dumps(
        {
            "gpu": [
                {
                    "minor": minor,
                    "id": uuid,
                    "resources": {
                        "koordinator.sh/gpu-core": str(core),
                        "koordinator.sh/gpu-memory-ratio": str(core),
                    },
                }
                for uuid, minor, core in entries
            ]
        }
    )


SECURITY = st.sampled_from(["", "privileged"])
WORDS = st.sampled_from(["", "odd", "bin-pack", "online", "offline", "fixed-share", "GPU-n1-0", "[]", "{"])
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        **{key: hami_texts() | WORDS for key in (*HAMI, MTHREADS)},
        METAX: metax_texts() | WORDS,
        DEVICES: device_texts() | WORDS,
        "hami.io/vgpu-node": st.sampled_from(["n1", "n2"]),
        **dict.fromkeys(
            (
                "hami.io/node-scheduler-policy",
                "hami.io/gpu-scheduler-policy",
                "hami.io/device-scoring-weights",
                "nvidia.com/numa-bind",
                "tangram.dev/required-scope",
                "tangram.dev/maca",
                "metax-tech.com/sgpu-qos-policy",
                "metax-tech.com/use-gpuuuid",
                "metax-tech.com/nouse-gputype",
                "mthreads.ai/use-gputype",
                "scheduling.koordinator.sh/device-allocate-hint",
            ),
            WORDS,
        ),
    },
)


def running(
    resource: str,
    counts: list[int],
    annotations: dict[str, str],
    *,
    security: str = "",
    init: int | None = None,
    more: dict[str, str] | None = None,
) -> Json:
    def container(name: str, count: int) -> Json:
        limits = {resource: str(count), **(more or {})} if count else {}
        return manifests.container(name, limits, securityContext={"privileged": security == "privileged"})

    started = [container(f"c{at}", count) for at, count in enumerate(counts)]
    manifest = manifests.pod(*started, annotations=annotations, nodeName=str(ON))
    if init is not None:
        spec = cast("Json", manifest["spec"])
        manifest["spec"] = {**spec, "initContainers": [container("init", init)]}
    return {**manifest, "status": {"phase": "Running"}}


@given(
    st.sampled_from(["metax-tech.com/gpu", "mthreads.com/gpu"]),
    st.lists(st.integers(0, 2), min_size=1, max_size=2),
    ANNOTATIONS,
    SECURITY,
)
def test_whole_cards_that_a_running_pod_was_counted_for_are_not_free(
    resource: str, counts: list[int], annotations: dict[str, str], security: str
) -> None:
    if not any(counts):
        return
    assert taken_by(running(resource, counts, annotations, security=security), resource) == sum(counts)


@given(
    st.sampled_from(["metax-tech.com/sgpu", "mthreads.com/vgpu"]),
    st.integers(1, 3),
    ANNOTATIONS,
    st.sampled_from(
        [
            {},
            {"metax-tech.com/vcore": "150", "metax-tech.com/vmemory": "3"},
            {"mthreads.com/sgpu-core": "40", "mthreads.com/sgpu-memory": "7"},
            {"koordinator.sh/gpu-core": "150"},
            {"koordinator.sh/gpu.shared": "9", "koordinator.sh/gpu-memory": "1Ki"},
            {"cpu": "much"},
        ]
    ),
    SECURITY,
)
def test_slices_that_a_running_pod_was_counted_for_are_not_free(
    resource: str, count: int, annotations: dict[str, str], more: dict[str, str], security: str
) -> None:
    foreign = "mthreads" if resource.startswith("metax") else "metax-tech"
    words = {name: text for name, text in more.items() if not name.startswith(foreign)}
    pod = running(resource, [count], annotations, security=security, more=words)
    assert taken_by(pod, resource) == count


@given(
    st.sampled_from(["metax-tech.com/gpu", "mthreads.com/gpu"]),
    st.integers(0, 3),
    st.integers(1, 2),
    ANNOTATIONS,
    SECURITY,
)
def test_an_init_container_and_those_after_it_take_as_many_as_the_pod_has_at_once(
    resource: str, init: int, count: int, annotations: dict[str, str], security: str
) -> None:
    pod = running(resource, [count], annotations, security=security, init=init)
    # An allocation may name other cards for the init container; both may be held until it is over.
    assert max(init, count) <= taken_by(pod, resource) <= min(init + count, CARDS)
    assert taken_by(running(resource, [count], {}, security=security, init=init), resource) == max(
        init, count
    )


@pytest.mark.parametrize(
    ("annotations", "security"),
    [
        pytest.param({}, "privileged", id="privileged"),
        pytest.param({"hami.io/gpu-scheduler-policy": "bin-pack"}, "", id="an unknown policy"),
        pytest.param({HAMI[0]: "GPU-9,Metax-GPU,65536,100:;"}, "", id="a card that is not there"),
        pytest.param({HAMI[0]: "GPU-n1-4,Metax-GPU,65536,100:;"}, "", id="a card of the other vendor"),
        pytest.param({HAMI[0]: "GPU-n1-0,Metax"}, "", id="an allocation that cannot be read"),
        pytest.param({METAX: '[[{"uuid":"GPU-n1-0","compute":1,"vRam":1}]]'}, "", id="a part of a card"),
        pytest.param(
            {HAMI[0]: "GPU-n1-0,Metax-GPU,65536,100:GPU-n1-1,Metax-GPU,65536,100:;"}, "", id="too many"
        ),
        pytest.param({"hami.io/vgpu-node": "n2", HAMI[0]: "GPU-n1-0,Metax-GPU,1,1:;"}, "", id="elsewhere"),
    ],
)
def test_one_card_is_taken_by_a_pod_with(annotations: dict[str, str], security: str) -> None:
    pod = running("metax-tech.com/gpu", [1], annotations, security=security)
    assert taken_by(pod, "metax-tech.com/gpu") == 1


def test_a_card_named_twice_is_one_card_and_the_other_is_assumed() -> None:
    twice = {HAMI[0]: "GPU-n1-2,Metax-GPU,65536,100:GPU-n1-2,Metax-GPU,65536,100:;"}
    node = node_for("metax-tech.com/gpu")
    held = read_tenant(read_pod(running("metax-tech.com/gpu", [2], twice)), node)
    assert isinstance(held, Unnamed)
    guess = assumed(ledger_of(node), held)
    assert guess.guessed
    assert guess.allocation.cards[0] == "GPU-n1-2", "what is named and there is likelier than any other"
    assert len(guess.allocation.cards) == 2


def test_cards_of_which_one_is_gone_are_assumed_beside_those_that_are_there() -> None:
    text = {HAMI[0]: "GPU-n1-3,Metax-GPU,65536,100:GPU-9,Metax-GPU,65536,100:;"}
    node = node_for("metax-tech.com/gpu")
    held = read_tenant(read_pod(running("metax-tech.com/gpu", [2], text)), node)
    assert isinstance(held, Unnamed)
    assert held.reason == "its allocation names 'GPU-9', which its node does not have"
    assert "GPU-n1-3" in assumed(ledger_of(node), held).allocation.cards


def test_a_believable_allocation_is_no_guess_though_the_pod_would_be_refused_today() -> None:
    pod = read_pod(
        running("metax-tech.com/gpu", [1], {HAMI[0]: "GPU-n1-1,Metax-GPU,65536,100:;"}, security="privileged")
    )
    assert admit(pod).request is None
    held = read_tenant(pod, node_for("metax-tech.com/gpu"))
    assert isinstance(held, Tenant)
    assert held.allocation.cards == ("GPU-n1-1",)


def test_koordinators_words_without_a_vendors_resource_bring_no_card() -> None:
    pod = read_pod(
        running("koordinator.sh/gpu-core", [50], {}, more={"koordinator.sh/gpu-memory-ratio": "50"})
    )
    held = read_tenant(pod, node_for("metax-tech.com/gpu"))
    assert isinstance(held, Unnamed)
    assert not held.request.asks_for_cards
