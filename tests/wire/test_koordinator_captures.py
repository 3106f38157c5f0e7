"""What Koordinator 1.8.0 wrote, stored and told, held against what we write, read and tell of the same cards."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders.clusters import card, grouped
from tangram.engine.holdings import Holding
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import Request
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.vendors.names import KOORDINATOR_SHARED
from tangram.wire.binding import binding_writes, lock_value
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import decode_allocated
from tangram.wire.koordinator.device import device_object, read_device
from tangram.wire.koordinator.device_info import encode_device_infos
from tangram.wire.koordinator.hints import read_hints
from tangram.wire.koordinator.node_resources import node_labels, node_resources
from tangram.wire.koordinator.reporting import device_infos_of, device_of
from tangram.wire.koordinator.summaries import node_summary
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant
from wire import manifests

Json = dict[str, Any]

FILE = Path(__file__).parent.parent / "data" / "captures" / "koordinator-1.8.0.json"
CAPTURE: Json = json.loads(FILE.read_text("utf-8"))
DEVICES: dict[str, Json] = CAPTURE["devices"]
REQUESTS: dict[str, Json] = CAPTURE["requests"]
HINTS: dict[str, Json] = CAPTURE["hints"]
METAX_ALLOCATED = "metax-tech.com/gpu-devices-allocated"
BESIDE = {"metax": "metax-tech.com/sgpu", "mthreads": "mthreads.com/vgpu"}
NOW = "2026-11-16T00:00:00Z"
MOMENT = 1794787200 * 10**9

# ---- the cards of the run


def laid_out(
    name: str, count: int, topology: Topology | None, *, per_root: int, gib: int = 64, numas: int = 1
) -> Node:
    vendor = Vendor.MTHREADS if name.startswith("mt") else Vendor.METAX
    product = "MTT S4000" if vendor is Vendor.MTHREADS else "MXC500"
    cards = tuple(
        replace(
            card(
                name,
                at,
                vendor=vendor,
                memory=from_gib(gib),
                product=product,
                numa=at // 4 if numas > 1 else 0,
            ),
            bdf=f"0000:{at // per_root * 16 + 8 + at % per_root:02x}:00.0",
        )
        for at in range(count)
    )
    return Node(name=NodeName(name), cards=cards, topology=topology)


CROSSED = Topology(
    8,
    tuple(
        Link(
            a,
            b,
            LinkKind.METAXLINK if a % 2 == b % 2 else LinkKind.NONE,
            PcieLevel.SINGLE_SWITCH if a // 2 == b // 2 else PcieLevel.NUMA_NODE,
        )
        for a, b in combinations(range(8), 2)
    ),
)
"""The cards below one root are not linked: near and linked are two things here."""
ODD = Topology(
    6,
    tuple(Link(a, b, LinkKind.METAXLINK) for a, b in ((1, 2), (1, 4), (1, 5), (2, 3), (2, 5), (3, 4))),
)
"""A card alone, then a ring of four and a card that is linked with two of them."""
NODES = {
    node.name: node
    for node in (
        laid_out("mx64", 2, grouped(2, []), per_root=2),
        laid_out("mx48", 2, grouped(2, []), per_root=2, gib=48),
        laid_out("mt48", 2, grouped(2, []), per_root=2, gib=48),
        laid_out("mx8", 8, grouped(8, [(0, 1, 2, 3), (4, 5, 6, 7)]), per_root=4, numas=2),
        laid_out("mxp", 8, grouped(8, [(0, 1), (2, 3), (4, 5), (6, 7)]), per_root=2, numas=2),
        laid_out("mxx", 8, CROSSED, per_root=2, numas=2),
        laid_out("mx16", 16, grouped(16, [tuple(range(16))]), per_root=4, numas=4),
        laid_out("odd", 6, ODD, per_root=2),
        laid_out("bare", 2, None, per_root=2),
    )
}
EACH_NODE = pytest.mark.parametrize("name", list(NODES))


def with_sick(node: Node, *sick: int) -> Node:
    cards = tuple(
        replace(each, healthy=False, health_reason="ECC error") if each.index in sick else each
        for each in node.cards
    )
    return replace(node, cards=cards)


def our_device(node: Node) -> Json:
    return device_object(device_of(node, now=NOW), node_uid="node-uid")


def seen(name: str, *sick: int) -> Node:
    """The node as our scheduler reads it from the API server, but for the model of its cards.

    koord-scheduler counts all memory of a card. So do we, but for models that we know to slice less.
    """
    device, problems = read_device(our_device(with_sick(NODES[NodeName(name)], *sick)))
    assert problems == ()
    device = replace(device, labels={**device.labels, names.LABEL_MODEL: "unknown"})
    vendor = device.labels[names.LABEL_VENDOR]
    # What the vendors' plugins announce, of which a Device says nothing.
    capacity = {BESIDE[vendor]: str(16 * len(device.entries))}
    if vendor == "mthreads":
        capacity |= {"mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"}
    return read_node(manifests.node(name, capacity=capacity), device).node


# ---- Device objects and files


@EACH_NODE
def test_a_device_of_ours_is_one_that_the_real_definition_takes(name: str) -> None:
    assert our_device(NODES[NodeName(name)]) == DEVICES[name]


@pytest.mark.parametrize(
    "story", ["mx64", "mt48", "mx8", "mxp", "mx16", "odd", "bare", "mx64 card 0 unhealthy"]
)
def test_koordlet_makes_of_our_file_the_device_that_we_would_write(story: str) -> None:
    name, *sick = story.split()
    node = with_sick(NODES[NodeName(name)], *((0,) if sick else ()))
    theirs = CAPTURE["koordlet"][story]
    assert json.loads(encode_device_infos(device_infos_of(node))) == theirs["file"]
    ours = our_device(node)
    assert ours["metadata"] == theirs["stored"]["metadata"]
    assert ours["spec"] == theirs["stored"]["spec"]


def test_what_koordlet_cannot_store_is_what_our_file_never_says() -> None:
    told = CAPTURE["koordlet"]
    assert "reason in body should match" in told["an error code with a space"]["refused"]
    assert 'Invalid value: "MTT S4000"' in told["a model with a space"]["refused"]
    assert "failed to decode" in told["half-written file beside ours"]["read"]
    assert told["the same cards twice"]["entries"] == [0, 0, 1, 1]
    for node in NODES.values():
        for info in device_infos_of(with_sick(node, 0)):
            assert " " not in info.model + info.error_code


@pytest.mark.parametrize("gate", ["false", "true"])
@pytest.mark.parametrize("name", ["mx64", "mt48", "mx8"])
def test_our_amounts_are_koord_managers(gate: str, name: str) -> None:
    theirs = CAPTURE["amounts"][f"EnableSyncGPUSharedResource={gate}"][name]
    node = NODES[NodeName(name)]
    for story, sick in (("all healthy", ()), ("card 0 unhealthy", (0,)), ("none healthy", tuple(range(8)))):
        device = device_of(with_sick(node, *sick), now=NOW)
        assert node_resources(device, shares=gate == "true") == theirs[story]
        assert node_labels(device) == theirs["labels"]


def test_without_a_device_koord_manager_takes_our_amounts_away_and_else_it_leaves_them() -> None:
    """So the Device is written before them."""
    beside = CAPTURE["amounts_beside_ours"]
    ours = node_resources(device_of(NODES[NodeName("mx64")], now=NOW), shares=True)
    assert beside["Device first, then ours"] == beside["healthy again, ours written"] == ours
    assert beside["ours without a Device"] == beside["none healthy, ours silent"] == {}
    # With its gate off it never corrects the number of shares: that one is ours to keep true.
    assert beside["card 0 unhealthy, ours silent"][KOORDINATOR_SHARED] == "200"
    assert beside["card 0 unhealthy, ours written"][KOORDINATOR_SHARED] == "100"


# ---- what is written at bind, and read back

ROUNDED_TO_MIB = "core memory 5000k"
"""A slice has whole MiB; koord-scheduler counts the bytes that were asked for."""


def pod_of(case: Json, node: Node, annotations: Json | None = None, *, bound: bool = False) -> Pod:
    beside = {BESIDE[node.cards[0].vendor.value]: str(case["cards"])} if case["cards"] else {}
    # A bound pod is as it was stored, an unbound one as it was written.
    words = case.get("after_webhook", case["limits"]) if bound else case["limits"]
    container = manifests.container(limits={**words, **beside})
    name = node.name if bound else None
    return read_pod(manifests.pod(container, annotations=annotations or {}, nodeName=name))


def result(case: Json, node: str) -> Json:
    for part in ("results_after_webhook", "results"):
        found: Json = case.get(part, {})
        if (answer := found.get(node, found.get("any node"))) is not None:
            return answer
    return {}


def is_taken(case: Json, node: str) -> bool:
    return admit(pod_of(case, seen(node))).request is not None


PLACED = [
    pytest.param(name, node, id=f"{name} on {node}")
    for name, case in REQUESTS.items()
    for node in ("mx64", "mx48", "mt48")
    if result(case, node).get("written")
]
TAKEN = [
    pytest.param(name, node, id=f"{name} on {node}")
    for name, case in REQUESTS.items()
    for node in ("mx64", "mx48", "mt48")
    if result(case, node).get("written") and is_taken(case, node)
]
"""Why the others are refused is named with the tests of admission."""
EACH_PLACED = pytest.mark.parametrize(("name", "node_name"), PLACED)
EACH_TAKEN = pytest.mark.parametrize(("name", "node_name"), TAKEN)


def given_to(written: Json) -> list[tuple[int, Json]]:
    found = json.loads(written[names.DEVICE_ALLOCATED])["gpu"]
    return [(each["minor"], each["resources"]) for each in found]


def allocation_on(request: Request, node: Node, minors: list[int]) -> Allocation:
    cards = {each.index: each for each in node.cards}
    containers = tuple(
        ContainerShares(
            container.name,
            container.role,
            tuple(
                Share(
                    cards[minor].uuid,
                    minor,
                    ask.memory_on(cards[minor]),
                    ask.cores_on(cards[minor]),
                    ask.kind,
                )
                for ask, minor in zip(
                    [ask for ask in container.asks for _ in range(ask.count)], minors, strict=True
                )
            ),
        )
        for container in request.containers
    )
    return Allocation(node.name, containers)


@EACH_TAKEN
def test_a_bind_of_ours_is_koord_schedulers(name: str, node_name: str) -> None:
    case, node = REQUESTS[name], seen(node_name)
    theirs = result(case, node_name)
    request = admit(pod_of(case, node)).request
    assert request is not None
    allocation = allocation_on(request, node, [minor for minor, _ in given_to(theirs["written"])])
    writes = dict(binding_writes(request, allocation, node, MOMENT).annotations)
    assert writes.pop(names.BIND_TIMESTAMP) == str(MOMENT)
    lock = lock_value(request, allocation, node, MOMENT)
    assert lock == (theirs["lock"].replace("TIME", NOW) if "lock" in theirs else None)
    if node_name == "mt48":
        # What Moore Threads' own toolkit reads, which Koordinator does not know of.
        writes = {key: text for key, text in writes.items() if not key.startswith("mthreads.com/")}
    expected = dict(theirs["written"])
    if name == ROUNDED_TO_MIB:
        expected[names.DEVICE_ALLOCATED] = expected[names.DEVICE_ALLOCATED].replace("5000000", "4Mi")
    if node_name == "mt48" and case["limits"].get("koordinator.sh/gpu-core") == "10":
        # A tenth of such a card is two of its sixteenths, and so much is told to be taken.
        expected[names.DEVICE_ALLOCATED] = expected[names.DEVICE_ALLOCATED].replace(
            'core":"10"', 'core":"13"'
        )
    assert writes == expected


def in_their_units(tenant: Tenant, node: Node) -> list[tuple[int, int, int]]:
    """Minor, compute and bytes of each card."""
    cores = {each.uuid: each.cores for each in node.cards}
    return [
        (share.index, share.cores * 100 // cores[share.card], share.memory)
        for container in tenant.allocation.containers
        for share in container.shares
    ]


@EACH_PLACED
def test_a_pod_that_koord_scheduler_bound_holds_what_it_was_given(name: str, node_name: str) -> None:
    """Pods that we would not take included: they run."""
    case, node = REQUESTS[name], seen(node_name)
    written = result(case, node_name)["written"]
    tenant = read_tenant(pod_of(case, node, written, bound=True), node)
    assert isinstance(tenant, Tenant)
    held = in_their_units(tenant, node)
    wanted = decode_allocated(written[names.DEVICE_ALLOCATED])["gpu"]
    assert [minor for minor, _, _ in held] == [each.minor for each in wanted]
    for (_, core, memory), each in zip(held, wanted, strict=True):
        stated = int(each.resources.get("koordinator.sh/gpu-core", "0"))
        # Of Moore Threads' compute whole sixteenths are held, never less than was given.
        assert stated <= core < stated + (7 if node_name == "mt48" else 1)
        percent = int(each.resources["koordinator.sh/gpu-memory-ratio"])
        assert memory >= percent * node.cards[0].memory // 100


@EACH_TAKEN
def test_a_pod_that_we_bound_holds_what_we_gave(name: str, node_name: str) -> None:
    case, node = REQUESTS[name], seen(node_name)
    request = admit(pod_of(case, node)).request
    assert request is not None
    minors = [minor for minor, _ in given_to(result(case, node_name)["written"])]
    allocation = allocation_on(request, node, minors)
    writes = dict(binding_writes(request, allocation, node, MOMENT).annotations)
    tenant = read_tenant(pod_of(case, node, writes, bound=True), node)
    assert isinstance(tenant, Tenant)
    assert tenant.allocation == allocation


@pytest.mark.parametrize("story", list(CAPTURE["containers"]))
def test_what_several_containers_were_given_together_is_held(story: str) -> None:
    node, written = seen("mx64"), CAPTURE["containers"][story]
    containers = [manifests.container(name, {BESIDE["metax"]: "1"}) for name in ("one", "two")]
    tenant = read_tenant(read_pod(manifests.pod(*containers, annotations=written, nodeName="mx64")), node)
    assert isinstance(tenant, Tenant)
    (given,) = json.loads(written[METAX_ALLOCATED])
    held = in_their_units(tenant, node)
    assert sum(core for _, core, _ in held) >= sum(each["compute"] for each in given)
    assert {minor for minor, _, _ in held} == {int(each["uuid"][-1]) for each in given}


@pytest.mark.parametrize(
    ("story", "name"), [("metax", "mx64"), ("metax, no core", "mx64"), ("mthreads", "mt48")]
)
def test_what_is_written_without_the_adaption_names_the_cards_too(story: str, name: str) -> None:
    written = CAPTURE["without_adaption"][story]
    assert set(written) == {names.DEVICE_ALLOCATED}
    node = seen(name)
    tenant = read_tenant(pod_of(REQUESTS["shared core memory"], node, written, bound=True), node)
    assert isinstance(tenant, Tenant)
    ((minor, core, memory),) = in_their_units(tenant, node)
    assert (minor, memory) == (0, 2**30)
    assert core == {"metax": 10, "metax, no core": 0, "mthreads": 12}[story]


NOT_READ = {"no minor", "no resources", "number quantity"}
"""What koord-scheduler takes for card 0, for nothing and for a number; its own writer makes none of them."""


@pytest.mark.parametrize(
    ("story", "text"),
    [
        ("not json", "{"),
        ("empty object", "{}"),
        ("null", "null"),
        ("gpu null", '{"gpu":null}'),
        ("no minor", '{"gpu":[{"resources":{"koordinator.sh/gpu-core":"10"}}]}'),
        ("no resources", '{"gpu":[{"minor":0}]}'),
        ("only ratio", '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]}'),
        ("number quantity", '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":10}}]}'),
    ],
)
def test_an_annotation_is_read_as_koord_scheduler_reads_it_or_not_at_all(story: str, text: str) -> None:
    theirs = CAPTURE["odd_allocations"][story].get("gpu", {})
    try:
        ours = {str(each.minor): each.resources for each in decode_allocated(text).get("gpu", ())}
    except WireError:
        assert story in NOT_READ or theirs == {}
    else:
        assert ours == theirs


# ---- hints

STRICTER = {
    "scope unknown": "it is no scope, and koord-scheduler gathers cards anywhere then",
    "hint ApplyForAll": "it counts network cards, and means nothing for GPUs",
    "hint RequestsAsCount": "the same",
    "hint exclusive DeviceLevel": "it acts on other devices, and means nothing for GPUs",
    "hint exclusive PCIeLevel": "koord-scheduler works it out and drops the result",
    "hint for rdma": "we place no network cards",
    "joint gpu rdma": "we place no network cards",
    "joint gpu rdma SamePCIe": "we place no network cards",
    "partition unknown policy": "koord-scheduler takes any word for BestEffort",
    "isolation provider of a whole card": "no library is put into these containers",
}
"""Pods that koord-scheduler places on some node and we refuse, each with a sentence."""
LOOSER = {
    "hint empty": "an annotation without a text says nothing",
    "scope Device of a slice": "koord-scheduler has no such scope; one card is always within it",
}
"""Pods that koord-scheduler places nowhere and we read."""
REFUSED = {
    "hint malformed",
    "hint selector",
    "hint vfSelector",
    "joint malformed",
    "partition bandwidth",
    "partition malformed",
    "isolation provider",
}
"""Pods that neither takes."""


@pytest.mark.parametrize("story", list(HINTS))
def test_a_hint_is_read_or_refused_as_by_koord_scheduler_unless_it_is_named(story: str) -> None:
    case = HINTS[story]
    placed = any("minors" in each for each in case["results"].values())
    hints = read_hints(case["annotations"], case.get("labels", {}))
    assert placed is (story not in LOOSER and story not in REFUSED)
    assert bool(hints.refusals) is (story in STRICTER or story in REFUSED)


def test_a_scope_of_linked_cards_is_met_by_koord_scheduler_only_where_a_partition_is() -> None:
    results = HINTS["scope Device"]["results"]
    assert {node for node, each in results.items() if "minors" in each} == {"mx8", "mxp"}
    for policy in ("Restricted", "BestEffort"):
        two = HINTS[f"partition {policy}"]["results"]
        assert two["mxp"] == two["mx8"] == {"minors": "0,1"}
        assert two["mx64"]["message"] == "1 node(s) missing GPU Partition Table"


def is_linked(node: str, minors: str) -> bool:
    """Whether our scheduler takes these cards for pairwise linked, reading the Device that was there."""
    topology = seen(node).topology
    assert topology is not None
    linked = {(link.a, link.b) for link in topology.links if link.kind is LinkKind.METAXLINK}
    return linked.issuperset(combinations(sorted(map(int, minors.split(","))), 2))


@pytest.mark.parametrize(
    ("story", "node"),
    [
        ("groups of four", "mx8"),
        ("groups of four, a slice first", "mx8"),
        ("groups of four, one card busy", "mx8"),
        ("groups of four, one card busy, partitions required", "mx8"),
        ("groups of four, pairs", "mx8"),
        ("links across roots", "mxx"),
        ("links across roots, one card busy", "mxx"),
        ("links across roots, a slice first", "mxx"),
        ("links across roots, partitions required", "mxx"),
        ("sixteen linked", "mx16"),
        ("sixteen linked, partitions required", "mx16"),
        ("complete sets only", "odd"),
        ("complete sets only, three", "odd"),
    ],
)
def test_by_our_table_koord_scheduler_gives_linked_cards(story: str, node: str) -> None:
    for each in CAPTURE["order"][story]:
        if isinstance(each, str):
            assert is_linked(node, each)
        else:
            # The cards that are left are too few; none waits for a group.
            assert each["message"].startswith("1 Insufficient koordinator.sh/gpu-core")


def test_without_blocks_it_gives_cards_that_are_near_and_not_linked_or_none() -> None:
    preferred, required = CAPTURE["order"]["links across roots, fours alone listed"]
    assert preferred == "0,1"
    assert not is_linked("mxx", preferred)
    assert required["message"] == "1 node(s) Unsupported number of GPU requests"


def test_what_was_captured_is_what_is_named() -> None:
    assert set(STRICTER) | set(LOOSER) | REFUSED <= set(HINTS)
    assert ROUNDED_TO_MIB in REQUESTS
    # Four of those placed ask MetaX cards for less memory than one step.
    assert (len(PLACED), len(TAKEN)) == (95, 43)


# ---- the debug API


def held_on(node: Node, pods: list[Json]) -> list[Holding]:
    found: list[Holding] = []
    for each in pods:
        container = manifests.container("c0", each["limits"])
        metadata: manifests.Json = {"name": each["name"]}
        pod = read_pod(
            manifests.pod(
                container, annotations=each["annotations"], metadata=metadata, nodeName=str(node.name)
            )
        )
        tenant = read_tenant(pod, node)
        assert isinstance(tenant, Tenant)
        found.append(Holding(tenant, (), None, 0))
    return found


@pytest.mark.parametrize("story", list(CAPTURE["ours"]))
def test_our_books_of_pods_that_we_bound_are_koord_schedulers(story: str) -> None:
    told = CAPTURE["ours"][story]
    node = seen(told["node"])
    assert node_summary(node, held_on(node, told["pods"])) == told["summary"]


@pytest.mark.parametrize(
    ("story", "sick"),
    [
        ("card 0 unhealthy, a slice on it", (0,)),
        ("none healthy", (0, 1)),
        ("Device deleted", (0, 1)),
        ("two that overlap", ()),
        # We count the other one too; how it would be told of is the same.
        ("bound by another scheduler, one with device-allocated and one without", ()),
    ],
)
def test_our_summary_of_a_node_is_told_as_koord_schedulers(story: str, sick: tuple[int, ...]) -> None:
    theirs = CAPTURE["summaries"][story]
    node = seen("mx64", *sick)
    pods = [
        {
            "name": pod.removeprefix("default/"),
            "limits": {
                BESIDE["metax"]: "1",
                "koordinator.sh/gpu-core": "10",
                "koordinator.sh/gpu-memory": "1Gi",
            },
            "annotations": {
                names.DEVICE_ALLOCATED: json.dumps(
                    {"gpu": [{"minor": int(minor), "resources": part} for minor, part in parts.items()]}
                )
            },
        }
        for pod, parts in theirs["allocateSet"]["gpu"].items()
    ]
    assert node_summary(node, held_on(node, pods)) == theirs
