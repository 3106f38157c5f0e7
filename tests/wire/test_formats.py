"""Every example the peers' own texts give, byte for byte, and what each reader forgives and refuses."""

import pytest

from tangram.units.ids import Namespace, PodName
from tangram.wire import (
    card_numbers,
    hami,
    metax_allocated,
    metax_listing,
    metax_topology,
    mthreads,
    nodelock,
)
from tangram.wire.errors import WireError
from tangram.wire.hami import HeldCard
from tangram.wire.metax_allocated import GivenCard
from tangram.wire.metax_listing import ListedCard
from tangram.wire.metax_topology import LinkZone
from tangram.wire.nodelock import LockHolder, NodeLock

# --- HAMi's allocation string -------------------------------------------------------------------------------------

ALLOCATION = ";GPU-aaaa,Metax-SGPU,16384,60:GPU-bbbb,Metax-SGPU,16384,60:;GPU-aaaa,Metax-SGPU,4096,20:;"
HELD = (
    (),
    (HeldCard("GPU-aaaa", "Metax-SGPU", 16384, 60), HeldCard("GPU-bbbb", "Metax-SGPU", 16384, 60)),
    (HeldCard("GPU-aaaa", "Metax-SGPU", 4096, 20),),
)


def test_the_documented_allocation_string_is_written_and_read() -> None:
    assert hami.encode_allocation(HELD) == ALLOCATION
    assert hami.decode_allocation(ALLOCATION) == HELD


@pytest.mark.parametrize(
    ("written", "cards"),
    [
        ("", []),
        (";", [0]),
        (";;", [0, 0]),
        ("a,b,1,2", [1]),
        ("a,b,1,2:", [1]),
        ("a,b,1,2:;", [1]),
        ("a,b,1,2::;;", [1, 0]),
        (" a , b , 1 , 2 : ;\n", [1]),
        ("a,b,1,2,extra:;", [1]),
    ],
)
def test_separators_at_the_end_are_forgiven(written: str, cards: list[int]) -> None:
    assert [len(held) for held in hami.decode_allocation(written)] == cards


@pytest.mark.parametrize(
    "written",
    [
        "a",
        "a,b,1",
        "a,b,x,2",
        "a,b,1,",
        "a,b,-1,2",
        "a,b,1,2147483648",
        ",b,1,2",
        "a,b,1.5,2",
        "a,b,٣,2",
        "a,b,1_0,2",
    ],
)
def test_a_string_that_does_not_say_how_much_is_held_is_an_error(written: str) -> None:
    with pytest.raises(WireError) as caught:
        hami.decode_allocation(written)
    assert caught.value.code == "allocation-malformed"


@pytest.mark.parametrize(
    "card",
    [
        HeldCard("", "w", 1, 1),
        HeldCard("a,b", "w", 1, 1),
        HeldCard("a;b", "w", 1, 1),
        HeldCard(" a", "w", 1, 1),
        HeldCard("a", "w:", 1, 1),
        HeldCard("a", "w", -1, 1),
        HeldCard("a", "w", 1, 2**31),
    ],
)
def test_what_could_not_be_read_back_is_not_written(card: HeldCard) -> None:
    with pytest.raises(WireError) as caught:
        hami.encode_allocation([[card]])
    assert caught.value.code == "allocation-unwritable"


def test_seconds_are_whole() -> None:
    assert hami.seconds_text(1794777310_999_999_999) == "1794777310"


# --- node lock ----------------------------------------------------------------------------------------------------

LOCK = NodeLock(1781449503, LockHolder(Namespace("default"), PodName("gang-pod-1")))


def test_the_documented_lock_is_written_and_read() -> None:
    assert nodelock.format_lock(LOCK) == "2026-06-14T15:05:03Z,default,gang-pod-1"
    assert nodelock.parse_lock("2026-06-14T15:05:03Z,default,gang-pod-1") == LOCK


@pytest.mark.parametrize(
    "written",
    [
        "2026-06-14T23:05:03+08:00,default,gang-pod-1",
        "2026-06-14T15:05:03.999Z,default,gang-pod-1",
        "2026-06-14t15:05:03z, default ,gang-pod-1",
        "2026-06-14T15:05:03+00:00,default,gang-pod-1",
    ],
)
def test_a_lock_written_in_another_zone_or_case_is_the_same_lock(written: str) -> None:
    assert nodelock.parse_lock(written) == LOCK


def test_the_legacy_lock_has_no_holder() -> None:
    assert nodelock.parse_lock("2026-06-14T15:05:03Z") == NodeLock(1781449503)
    assert nodelock.format_lock(NodeLock(1781449503)) == "2026-06-14T15:05:03Z"


def test_a_reservation_of_koordinator_has_an_empty_namespace() -> None:
    assert nodelock.parse_lock("2026-06-14T15:05:03Z,,r1").holder == LockHolder(Namespace(""), PodName("r1"))


@pytest.mark.parametrize(
    "written",
    [
        "",
        "now",
        "2026-06-14",
        "2026-06-14T15:05:03",
        "2026-13-14T15:05:03Z",
        "2026-06-14T15:05:60Z",
        "2026-06-14T15:05:03Z,default",
        "2026-06-14T15:05:03Z,a,b,c",
        "20260614T150503Z,a,b",
        "0000-01-01T00:00:00Z",
    ],
)
def test_any_other_lock_is_an_error(written: str) -> None:
    with pytest.raises(WireError):
        nodelock.parse_lock(written)


@pytest.mark.parametrize("lock", [NodeLock(10**15), NodeLock(0, LockHolder(Namespace("a,b"), PodName("c")))])
def test_a_lock_that_could_not_be_read_back_is_not_written(lock: NodeLock) -> None:
    with pytest.raises(WireError):
        nodelock.format_lock(lock)


# --- MetaX: cards given -------------------------------------------------------------------------------------------

GIVEN = (
    (),
    (GivenCard("GPU-aaaa", 60, 16384), GivenCard("GPU-bbbb", 60, 16384)),
    (GivenCard("GPU-aaaa", 20, 4096),),
)


def test_hamis_documented_form_is_written_and_read() -> None:
    text = (
        '[[],[{"uuid":"GPU-aaaa","compute":60,"vRam":16384},{"uuid":"GPU-bbbb","compute":60,"vRam":16384}],'
        '[{"uuid":"GPU-aaaa","compute":20,"vRam":4096}]]'
    )
    assert metax_allocated.encode_given_per_container(GIVEN) == text
    assert metax_allocated.decode_given(text) == GIVEN


def test_koordinators_documented_form_is_written_and_read() -> None:
    text = '[[{"uuid":"GPU-0","compute":5,"vRam":1024}]]'
    assert metax_allocated.encode_given_per_pod([GivenCard("GPU-0", 5, 1024)]) == text
    assert metax_allocated.decode_given(text) == ((GivenCard("GPU-0", 5, 1024),),)


def test_hami_leaves_zeros_out_and_koordinator_writes_them() -> None:
    online = GivenCard("GPU-0", 0, 1024)
    assert metax_allocated.encode_given_per_container([[online]]) == '[[{"uuid":"GPU-0","vRam":1024}]]'
    assert metax_allocated.encode_given_per_pod([online]) == '[[{"uuid":"GPU-0","compute":0,"vRam":1024}]]'


@pytest.mark.parametrize(
    ("written", "cards"),
    [
        ("[]", []),
        ("null", []),
        ("[null,[]]", [0, 0]),
        ('[{"uuid":"a"}]', [1]),
        ('[[{"uuid":"a","compute":"5","vRam":1024.0,"more":[]}]]', [1]),
    ],
)
def test_other_shapes_that_say_enough_are_read(written: str, cards: list[int]) -> None:
    assert [len(row) for row in metax_allocated.decode_given(written)] == cards


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{}",
        "7",
        "[7]",
        "[[7]]",
        '[[{"compute":5}]]',
        '[[{"uuid":"a","vRam":-1}]]',
        '[[{"uuid":"a","vRam":"x"}]]',
    ],
)
def test_a_list_that_does_not_say_which_or_how_much_is_an_error(written: str) -> None:
    with pytest.raises(WireError):
        metax_allocated.decode_given(written)


@pytest.mark.parametrize("card", [GivenCard("", 1, 1), GivenCard("a", -1, 1), GivenCard("a", 1, 2**31)])
def test_the_plugin_is_never_told_what_it_cannot_read(card: GivenCard) -> None:
    with pytest.raises(WireError):
        metax_allocated.encode_given_per_container([[card]])
    with pytest.raises(WireError):
        metax_allocated.encode_given_per_pod([card])


# --- MetaX: the node's listing ------------------------------------------------------------------------------------


def test_the_documented_listing_is_written_and_read() -> None:
    text = (
        '[{"uuid":"GPU-aaaa","bdf":"0000:0a:00.0","model":"sgpu","totalDevCount":16,"totalCompute":100,'
        '"totalVRam":65536,"numa":0,"healthy":true,"qosPolicy":"best-effort","linkZone":1}]'
    )
    card = ListedCard(
        uuid="GPU-aaaa",
        bdf="0000:0a:00.0",
        model="sgpu",
        total_dev_count=16,
        total_compute=100,
        total_vram_mib=65536,
        numa=0,
        healthy=True,
        qos_policy="best-effort",
        link_zone=1,
    )
    assert metax_listing.encode_listing([card]) == text
    assert metax_listing.decode_listing(text) == ({0: card}, ())


def test_what_is_left_is_announced_in_the_vendors_words() -> None:
    card = ListedCard(
        uuid="a", available_dev_count=15, available_compute=40, available_vram_mib=1024, numa=-1
    )
    assert metax_listing.encode_listing([card]) == (
        '[{"uuid":"a","availableDevCount":15,"availableCompute":40,"availableVRam":1024,"numa":-1}]'
    )


# --- MetaX: topology ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"1":0,"2":110,"3":330,"4":660,"5":700,"6":850}',
        '{"1":150,"2":80,"3":390,"4":80,"5":150,"6":0}',
        '{"1":0,"2":110,"3":270,"4":540,"5":580,"6":730,"7":930,"8":1240}',
        '{"1":100,"2":200}',
        "{}",
    ],
)
def test_published_figures_come_out_as_they_went_in(text: str) -> None:
    assert metax_topology.encode_figures(metax_topology.decode_figures(text, metax_topology.SCORES)) == text


def test_figures_are_ordered_by_number_not_by_text() -> None:
    assert metax_topology.encode_figures([(10, 1), (9, 2)]) == '{"9":2,"10":1}'


def test_figures_that_no_reader_takes_are_not_written() -> None:
    for figures in ([(0, 1)], [(1, 2**31)]):
        with pytest.raises(WireError):
            metax_topology.encode_figures(figures)


def test_zones_are_written_as_described() -> None:
    text = (
        '{"zones":[{"name":"gpu-group-0","type":"DirectLink",'
        '"attributes":[{"name":"topologyLinkWeight","value":"60"}],'
        '"resources":[{"name":"metax-tech.com/gpu","capacity":"4","allocatable":"4","available":"2"}]}]}'
    )
    zones = (LinkZone(name="gpu-group-0", weight=60, capacity=4, allocatable=4, available=2),)
    assert metax_topology.encode_zones(zones) == text


# --- card numbers and times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [(0,), (3, 2), (5, 4), (0, 1)])
def test_card_numbers_keep_the_order_they_were_given_in(numbers: tuple[int, ...]) -> None:
    text = ",".join(map(str, numbers))
    assert card_numbers.encode_numbers(numbers, mthreads.GPU_INDEX) == text


@pytest.mark.parametrize("numbers", [(), (-1,), (0, -1)])
def test_a_card_without_a_number_cannot_be_named(numbers: tuple[int, ...]) -> None:
    with pytest.raises(WireError):
        card_numbers.encode_numbers(numbers, mthreads.GPU_INDEX)
