"""Nothing that another program can put into an object takes one of our daemons down."""

from collections.abc import Callable
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.nodes import Node
from tangram.units.memory import Bytes
from tangram.wire import hami, loose, metax_allocated, metax_listing, metax_topology, nodelock
from tangram.wire.errors import WireError
from tangram.wire.inventory import INVENTORY, decode_inventory
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import decode_allocated, gpu_share
from tangram.wire.koordinator.cards import cards_of
from tangram.wire.koordinator.device import device_object, read_device
from tangram.wire.koordinator.device_info import decode_device_infos
from tangram.wire.koordinator.hints import read_hints
from tangram.wire.koordinator.node_resources import node_resources
from tangram.wire.koordinator.partitions import decode_partitions
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import Unnamed, read_tenant
from tangram.wire.workloads import read_workload
from wire.manifests import Json

# Words that lead the readers deeper than random text would.
NAMES = st.sampled_from(
    [
        *["metadata", "spec", "status", "name", "namespace", "uid", "labels", "annotations", "kind", "items"],
        *[
            "containers",
            "initContainers",
            "resources",
            "limits",
            "requests",
            "template",
            "jobTemplate",
            "nodeName",
        ],
        *[
            "capacity",
            "allocatable",
            "taints",
            "tolerations",
            "affinity",
            "nodeAffinity",
            "nodeSelector",
            "phase",
        ],
        *[
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
            "matchExpressions",
            "values",
        ],
        *[
            "devices",
            "id",
            "minor",
            "health",
            "topology",
            "conditions",
            "gpu",
            "zones",
            "cards",
            "links",
            "v",
            "uuid",
        ],
        *[
            "requiredTopologyScope",
            "minors",
            "compute",
            "vRam",
            "totalVRam",
            "vfGroups",
            "vfs",
            "p2pLinks",
            "peerMinor",
        ],
        *[
            "metax-tech.com/gpu",
            "metax-tech.com/sgpu",
            "metax-tech.com/vcore",
            "metax-tech.com/vmemory",
            "cpu",
            "memory",
        ],
        *["mthreads.com/gpu", "mthreads.com/vgpu", "mthreads.com/sgpu-core", "mthreads.com/sgpu-memory"],
        *[
            "mthreads.com/sgpu.cores",
            "mthreads.com/gpu.count",
            "mthreads.com/gpu0.memory",
            "metax-tech.com/gpu.memory",
        ],
        *["koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"],
        *["koordinator.sh/gpu.shared", "node.koordinator.sh/gpu-vendor"],
    ]
)
HINT_KEYS = [names.ALLOCATE_HINT, names.JOINT_ALLOCATE, names.PARTITION_SPEC, names.NUMA_TOPOLOGY_SPEC]
ANNOTATIONS = [
    INVENTORY,
    metax_listing.NODE_DEVICES,
    metax_allocated.ALLOCATED,
    metax_topology.SCORES,
    metax_topology.LOSSES,
    hami.CORDONED_CARDS,
    hami.METAX_WHOLE_ALLOCATED,
    hami.METAX_SLICE_ALLOCATED,
    hami.MTHREADS_ALLOCATED,
    hami.NODE,
    "scheduling.koordinator.sh/device-allocated",
    *HINT_KEYS,
    "scheduling.koordinator.sh/gpu-partitions",
    "metax-tech.com/sgpu-qos-policy",
    "metax-tech.com/sgpu-app-class",
]
TEXTS = (
    st.text(max_size=8)
    | NAMES
    | st.sampled_from(
        ["1", "-1", "1.5", "16", "1e400", "4Gi", "2k", "n1", "metax", "mthreads", "native", "\ud800", "٣"]
    )
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**4000, -(10**4000), 2**31, 2**63, 1e308])
    | st.floats()
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | TEXTS, inner, max_size=4)
        | st.dictionaries(st.integers() | st.none(), inner, max_size=1)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES | TEXTS, VALUES, max_size=4)


def as_json(value: object) -> str:
    """JSON where the value can be JSON, and something worse where it cannot."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        return "{"


JSON_TEXTS = st.text(max_size=20) | VALUES.map(as_json) | OBJECTS.map(as_json) | st.just("[" * 10_000)
STRINGS = JSON_TEXTS | st.text("GPU-0,:;.TZ+129 ", max_size=30) | TEXTS

READERS: dict[str, Callable[[str], object]] = {
    "allocation string": hami.decode_allocation,
    "card ids": hami.card_ids,
    "lock": nodelock.parse_lock,
    "time": nodelock.parse_rfc3339,
    "given cards": metax_allocated.decode_given,
    "listing": metax_listing.decode_listing,
    "figures": lambda text: metax_topology.decode_figures(text, metax_topology.SCORES),
    "inventory": decode_inventory,
    "device-info": decode_device_infos,
    "device-allocated": decode_allocated,
    "partitions": decode_partitions,
    "hints": lambda text: read_hints(dict.fromkeys(HINT_KEYS, text), {names.ISOLATION_PROVIDER: text}),
}


def refused(read: Callable[[], object]) -> WireError | None:
    """The one kind of error a reader may raise; any other fails the test by escaping."""
    try:
        read()
    except WireError as error:
        return error
    return None


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(text=STRINGS)
def test_readers_of_text_raise_nothing_but_wire_errors(reader: Callable[[str], object], text: str) -> None:
    error = refused(lambda: reader(text))
    assert error is None or (error.code and 0 < len(error.sentence) < 1000)


@st.composite
def annotated(draw: st.DrawFn, base: Json) -> Json:
    """A plausible object with odd values grafted onto it at random, so that the deeper readers are reached."""
    annotations = draw(st.dictionaries(st.sampled_from(ANNOTATIONS), STRINGS, max_size=4))
    metadata = {**cast("Json", base["metadata"]), "annotations": annotations, **draw(OBJECTS)}
    return {**base, "metadata": metadata, **draw(OBJECTS)}


@st.composite
def pods(draw: st.DrawFn) -> Json:
    limits = draw(st.dictionaries(NAMES, SCALARS, max_size=4) | VALUES)
    container = {"name": "main", "resources": {"limits": limits, **draw(OBJECTS)}, **draw(OBJECTS)}
    spec = {"nodeName": "n1", "containers": [container], **draw(OBJECTS)}
    return draw(annotated({"kind": "Pod", "metadata": {"name": "demo"}, "spec": spec}))


@st.composite
def nodes(draw: st.DrawFn) -> Json:
    status = {
        "capacity": draw(st.dictionaries(NAMES, SCALARS, max_size=5) | VALUES),
        "allocatable": draw(st.dictionaries(NAMES, SCALARS, max_size=5) | VALUES),
    }
    labels = draw(st.dictionaries(NAMES, SCALARS, max_size=4))
    return draw(
        annotated({"metadata": {"name": "n1", "labels": labels}, "spec": draw(VALUES), "status": status})
    )


@st.composite
def devices(draw: st.DrawFn) -> Json:
    resources = {"koordinator.sh/gpu-memory": draw(st.just("64Gi") | SCALARS), **draw(OBJECTS)}
    entries = [
        {"type": "gpu", "id": f"GPU-{minor}", "minor": minor, "resources": resources, **draw(OBJECTS)}
        for minor in range(draw(st.integers(0, 3)))
    ]
    labels = {"node.koordinator.sh/gpu-vendor": draw(st.sampled_from(["metax", "mthreads", "other"]))}
    base: Json = {"metadata": {"name": "n1", "labels": labels}, "spec": {"devices": entries}}
    return draw(annotated(base) | st.just(base))


@given(OBJECTS | pods())
def test_any_object_is_read_as_some_pod(manifest: Json) -> None:
    read_pod(manifest)


@given(OBJECTS | pods())
def test_any_object_is_a_workload_or_a_wire_error(manifest: Json) -> None:
    error = refused(lambda: read_workload(manifest))
    assert error is None or error.code == "kind-unknown"


def read_node_with(manifest: Json, device: Json | None) -> Node:
    try:
        read = None if device is None else read_device(device)[0]
    except WireError:
        read = None
    return read_node(manifest, read).node


@given(OBJECTS | nodes(), st.none() | devices())
def test_any_object_is_read_as_some_node_with_sound_cards(manifest: Json, device: Json | None) -> None:
    node = read_node_with(manifest, device)
    assert len({card.uuid for card in node.cards}) == len(node.cards) <= 300
    for card in node.cards:
        assert card.uuid
        assert 0 <= card.memory <= 2**50
        assert 0 <= card.cores <= 2**15
        assert 0 <= card.slots <= 2**15
        assert -1 <= card.numa <= 2**31
    for link in node.topology.links if node.topology is not None else ():
        assert 0 <= link.a < link.b < len(node.cards)


@given(OBJECTS | devices())
def test_any_object_is_a_device_or_a_wire_error(manifest: Json) -> None:
    try:
        device, _ = read_device(manifest)
    except WireError:
        return
    cards_of(device)
    node_resources(device, shares=True)
    device_object(device, node_uid="u")


@given(pods(), st.none() | nodes(), st.none() | devices())
def test_any_pod_is_a_tenant_unnamed_or_nothing(
    manifest: Json, node: Json | None, device: Json | None
) -> None:
    pod = read_pod(manifest)
    holder = read_tenant(pod, None if node is None else read_node_with(node, device))
    if holder is None or isinstance(holder, Unnamed):
        return
    assert holder.allocation.cards
    assert len(holder.allocation.containers) == len(pod.containers)


@given(JSON_TEXTS, st.none() | st.integers(0, 2**40))
def test_any_allocated_device_says_how_much_or_is_a_wire_error(text: str, memory: int | None) -> None:
    try:
        for given_devices in decode_allocated(text).values():
            for device in given_devices:
                share = gpu_share(device, None if memory is None else Bytes(memory))
                assert share.memory >= 0
    except WireError:
        pass


@given(VALUES)
def test_loose_readers_never_raise(value: object) -> None:
    loose.members(value)
    loose.elements(value)
    loose.text(value)
    loose.scalar_text(value)
    loose.integer(value)
    loose.flag(value)
    loose.text_map(value)


def test_numbers_too_long_to_print_are_nothing_special() -> None:
    endless = 10**5000
    limits = {"metax-tech.com/gpu": endless, "cpu": -endless}
    pod = read_pod({"spec": {"containers": [{"resources": {"limits": limits}}], "priority": endless}})
    assert len(pod.problems) == 2
    node = read_node({"metadata": {"name": "n1", "labels": {"a": endless}}, "status": {"capacity": limits}})
    assert node.node.cards == ()
    assert len(node.problems) == 2
