"""Whatever can be written is read back as it was, for every format with a writer of ours."""

import string

from hypothesis import given
from hypothesis import strategies as st

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName
from tangram.units.memory import Bytes
from tangram.wire import hami, metax_allocated, metax_listing, metax_topology, nodelock
from tangram.wire.hami import HeldCard
from tangram.wire.inventory import Inventory, decode_inventory, encode_inventory
from tangram.wire.koordinator.allocated import AllocatedDevice, decode_allocated, encode_allocated
from tangram.wire.koordinator.conditions import Condition
from tangram.wire.koordinator.device import (
    Device,
    DeviceEntry,
    DevicePlace,
    VirtualFunction,
    VirtualFunctionGroup,
    device_object,
    read_device,
)
from tangram.wire.koordinator.device_info import (
    DeviceInfo,
    PeerLinks,
    decode_device_infos,
    encode_device_infos,
)
from tangram.wire.koordinator.partitions import Partition, decode_partitions, encode_partitions
from tangram.wire.metax_allocated import GivenCard
from tangram.wire.metax_listing import ListedCard
from tangram.wire.nodelock import LockHolder, NodeLock

INT32 = st.integers(0, 2**31 - 1)
SMALL = st.integers(0, 2**15)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORD = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=12)
IDS = st.lists(WORD, unique=True, max_size=6)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=3)

HELD_CARDS = st.builds(HeldCard, WORD, WORD, INT32, INT32)
GIVEN_CARDS = st.builds(GivenCard, WORD, INT32, INT32)
LISTED_CARDS = st.builds(
    ListedCard,
    uuid=WORD,
    bdf=TEXT,
    model=TEXT,
    total_dev_count=INT32,
    total_compute=INT32,
    total_vram_mib=INT32,
    available_dev_count=INT32,
    available_compute=INT32,
    available_vram_mib=INT32,
    numa=st.integers(-1, 64),
    healthy=st.booleans(),
    qos_policy=TEXT,
    link_zone=INT32,
)
PLACES = st.builds(DevicePlace, st.integers(-1, 64), st.integers(-1, 64), TEXT, TEXT)
CONDITIONS = st.builds(
    Condition,
    kind=TEXT,
    status=st.sampled_from(["True", "False", "Unknown"]),
    reason=st.from_regex(r"[A-Za-z]([A-Za-z0-9_,:]{0,8}[A-Za-z0-9_])?", fullmatch=True),
    message=TEXT,
    since=TEXT,
)
ENTRIES = st.builds(
    DeviceEntry,
    id=WORD,
    minor=INT32,
    health=st.booleans(),
    kind=TEXT,
    resources=TEXTS,
    labels=TEXTS,
    module_id=st.none() | INT32,
    place=st.none() | PLACES,
    function_groups=st.lists(
        st.builds(
            VirtualFunctionGroup,
            TEXTS,
            st.lists(st.builds(VirtualFunction, INT32, TEXT), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    conditions=st.lists(CONDITIONS, max_size=2).map(tuple),
)
LINKS_OF_INFO = st.lists(
    st.builds(PeerLinks, st.lists(SMALL, min_size=1, max_size=4).map(tuple), TEXT), max_size=2
).map(tuple)
INFOS = st.builds(
    DeviceInfo,
    vendor=TEXT,
    model=TEXT,
    uuid=WORD,
    minor=SMALL,
    resources=TEXTS,
    place=PLACES,
    links=LINKS_OF_INFO,
    must_honor_partition=st.booleans(),
    healthy=st.none(),
) | st.builds(
    DeviceInfo,
    vendor=TEXT,
    model=TEXT,
    uuid=WORD,
    minor=SMALL,
    healthy=st.booleans(),
    error_code=TEXT,
    error_message=TEXT,
)
ALLOCATED = st.builds(
    AllocatedDevice,
    minor=INT32,
    resources=TEXTS,
    id=TEXT,
    extension=st.dictionaries(TEXT, TEXT | INT32 | st.lists(INT32, max_size=2), max_size=2),
)


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    cards = tuple(
        Card(
            uuid=CardUuid(identity),
            index=draw(SMALL),
            vendor=draw(st.sampled_from(Vendor)),
            memory=Bytes(draw(st.integers(0, 2**50))),
            product=draw(TEXT),
            cores=draw(SMALL),
            slots=draw(SMALL),
            mode=draw(st.sampled_from(CardMode)),
            numa=draw(st.integers(-1, 2**15)),
            healthy=draw(st.booleans()),
            health_reason=draw(TEXT),
            cordoned=draw(st.booleans()),
            announced_qos=draw(st.none() | st.sampled_from(QosPolicy)),
            memory_tiers=tuple(Bytes(size) for size in draw(st.lists(st.integers(0, 2**50), max_size=3))),
            bdf=draw(TEXT),
        )
        for identity in draw(IDS)
    )
    pairs = [(a, b) for a in range(len(cards)) for b in range(a + 1, len(cards))]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    links = tuple(
        Link(a, b, draw(st.sampled_from(LinkKind)), draw(st.sampled_from(PcieLevel)), draw(SMALL))
        for a, b in chosen
    )
    return Inventory(cards, draw(st.none() | st.just(Topology(len(cards), links))))


@st.composite
def partition_tables(draw: st.DrawFn) -> dict[int, tuple[Partition, ...]]:
    return {
        size: tuple(
            Partition(
                minors=tuple(draw(st.lists(SMALL, min_size=size, max_size=size))),
                link=draw(TEXT),
                bandwidth=draw(TEXT),
                score=draw(st.integers(-5, 5)),
            )
            for _ in range(draw(st.integers(0, 2)))
        )
        for size in draw(st.lists(st.integers(1, 4), unique=True))
    }


@given(st.lists(st.lists(HELD_CARDS, max_size=3).map(tuple), max_size=4).map(tuple))
def test_allocation_strings(containers: tuple[tuple[HeldCard, ...], ...]) -> None:
    assert hami.decode_allocation(hami.encode_allocation(containers)) == containers


@given(
    st.integers(-62135596800, 253402300799),
    st.none() | st.builds(LockHolder, WORD.map(Namespace), WORD.map(PodName)),
)
def test_node_locks(taken_at: int, holder: LockHolder | None) -> None:
    lock = NodeLock(taken_at, holder)
    assert nodelock.parse_lock(nodelock.format_lock(lock)) == lock


@given(st.lists(st.lists(GIVEN_CARDS, max_size=3).map(tuple), max_size=4).map(tuple))
def test_cards_given_per_container(containers: tuple[tuple[GivenCard, ...], ...]) -> None:
    assert metax_allocated.decode_given(metax_allocated.encode_given_per_container(containers)) == containers


@given(st.lists(GIVEN_CARDS, max_size=3).map(tuple))
def test_cards_given_per_pod(cards: tuple[GivenCard, ...]) -> None:
    assert metax_allocated.decode_given(metax_allocated.encode_given_per_pod(cards)) == (cards,)


@given(st.lists(LISTED_CARDS, max_size=4, unique_by=lambda card: card.uuid))
def test_node_listings(cards: list[ListedCard]) -> None:
    assert metax_listing.decode_listing(metax_listing.encode_listing(cards)) == (dict(enumerate(cards)), ())


@given(st.dictionaries(st.integers(1, 64), st.integers(-(10**6), 10**6)))
def test_published_figures(figures: dict[int, int]) -> None:
    written = metax_topology.encode_figures(figures.items())
    assert metax_topology.decode_figures(written, metax_topology.SCORES) == tuple(sorted(figures.items()))


@given(inventories())
def test_our_inventory(inventory: Inventory) -> None:
    assert decode_inventory(encode_inventory(inventory)) == inventory


@given(TEXTS, TEXTS, st.lists(ENTRIES, max_size=3))
def test_device_objects(
    labels: dict[str, str], annotations: dict[str, str], entries: list[DeviceEntry]
) -> None:
    ordered = tuple(sorted(entries, key=lambda entry: (entry.kind, entry.minor)))
    device = Device(node=NodeName("n1"), labels=labels, annotations=annotations, entries=ordered)
    assert read_device(device_object(device, node_uid="u")) == (device, ())


@given(st.lists(INFOS, max_size=3).map(tuple))
def test_device_info_files(infos: tuple[DeviceInfo, ...]) -> None:
    assert decode_device_infos(encode_device_infos(infos)) == (infos, ())


@given(st.dictionaries(TEXT, st.lists(ALLOCATED, max_size=2).map(tuple), max_size=2))
def test_allocated_devices(devices: dict[str, tuple[AllocatedDevice, ...]]) -> None:
    assert decode_allocated(encode_allocated(devices)) == devices


@given(partition_tables())
def test_partition_tables(table: dict[int, tuple[Partition, ...]]) -> None:
    assert decode_partitions(encode_partitions(table)) == table
