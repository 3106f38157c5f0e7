import json

import pytest

from tangram.model.allocations import Allocation, ContainerShares, Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, ContainerAsk, Request, Vocabulary
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.wire.binding import binding_writes, lock_value
from tangram.wire.errors import WireError

NOW = 1794777310152921103


def card(index: int, vendor: Vendor = Vendor.METAX, mode: CardMode = CardMode.SLICED) -> Card:
    return Card(
        uuid=CardUuid(f"GPU-{index}"),
        index=index,
        vendor=vendor,
        memory=from_gib(64),
        cores=16 if vendor is Vendor.MTHREADS else 100,
        mode=mode,
    )


def node(*cards: Card, name: str = "n1", managed: bool = False) -> Node:
    return Node(name=NodeName(name), cards=cards, managed=managed)


def share(index: int, gib: int = 4, cores: int = 10, kind: AskKind = AskKind.SLICE) -> Share:
    return Share(CardUuid(f"GPU-{index}"), index, from_gib(gib), cores, kind)


def allocation(*containers: tuple[Role, tuple[Share, ...]], name: str = "n1") -> Allocation:
    return Allocation(
        NodeName(name),
        tuple(ContainerShares(f"c{at}", role, shares) for at, (role, shares) in enumerate(containers)),
    )


def app(*shares: Share) -> tuple[Role, tuple[Share, ...]]:
    return (Role.APP, shares)


def ask(
    vocabulary: Vocabulary = Vocabulary.METAX,
    *,
    count: int = 1,
    memory: Bytes | None = None,
    percent: int = 100,
    vendor: Vendor = Vendor.METAX,
) -> Ask:
    return Ask(
        vendor=vendor,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        memory_percent=percent,
        vocabulary=vocabulary,
    )


def request(*asks: Ask, name: str = "demo") -> Request:
    containers = tuple(ContainerAsk(f"c{at}", Role.APP, (each,)) for at, each in enumerate(asks))
    return Request(pod=PodRef(Namespace("default"), PodName(name), PodUid("uid-1")), containers=containers)


def test_a_container_without_cards_keeps_its_place() -> None:
    given = allocation((Role.INIT, ()), app(share(0)), app())
    written = binding_writes(request(ask()), given, node(card(0)), NOW).annotations
    assert written["hami.io/metax-sgpu-devices-allocated"] == ";GPU-0,Metax-SGPU,4096,10:;;"
    assert (
        written["metax-tech.com/gpu-devices-allocated"]
        == '[[],[{"uuid":"GPU-0","compute":10,"vRam":4096}],[]]'
    )


def test_an_online_slice_holds_no_compute_and_says_nothing_of_it() -> None:
    written = binding_writes(
        request(ask()), allocation(app(share(0, cores=0))), node(card(0)), NOW
    ).annotations
    assert written["hami.io/metax-sgpu-devices-allocated"] == "GPU-0,Metax-SGPU,4096,0:;"
    assert written["metax-tech.com/gpu-devices-allocated"] == '[[{"uuid":"GPU-0","vRam":4096}]]'


def test_every_kind_of_card_on_the_node_gets_its_keys_even_if_none_is_given() -> None:
    mixed = node(card(0), card(1, mode=CardMode.WHOLE), card(2, Vendor.MTHREADS))
    written = binding_writes(request(ask()), allocation(app(share(0))), mixed, NOW).annotations
    assert written["hami.io/metax-gpu-devices-allocated"] == ";"
    assert written["hami.io/metax-gpu-devices-to-allocate"] == ";"
    assert written["hami.io/mthreads-vgpu-devices-allocated"] == ";"
    assert "mthreads.com/gpu-index" not in written


def test_an_undecided_card_is_written_under_what_it_was_given_as() -> None:
    given = allocation(app(share(0, kind=AskKind.WHOLE)))
    written = binding_writes(request(ask()), given, node(card(0, mode=CardMode.UNDECIDED)), NOW).annotations
    assert written["hami.io/metax-gpu-devices-allocated"] == "n1-metax-0,Metax-GPU,4096,10:;"
    assert written["hami.io/metax-gpu-devices-to-allocate"] == "GPU-0,Metax-GPU,4096,10:;"
    assert written["hami.io/metax-sgpu-devices-allocated"] == ";"
    assert written["metax-tech.com/gpu-devices-allocated"] == "[[]]"


def test_the_one_list_of_moore_threads_cards_has_those_of_every_container_once() -> None:
    # B32: HAMi writes the last container's cards alone.
    cards = [card(index, Vendor.MTHREADS) for index in range(3)]
    given = allocation(app(share(0)), app(share(2), share(1)), app(), app(share(0)))
    written = binding_writes(request(ask(Vocabulary.MTHREADS)), given, node(*cards), NOW).annotations
    assert written["mthreads.com/gpu-index"] == "0,2,1"


@pytest.mark.parametrize("name", ["n" * 64, "a." * 100 + "a"])
def test_a_long_node_name_is_annotated_but_not_put_into_a_label(name: str) -> None:
    writes = binding_writes(
        request(ask()), allocation(app(share(0)), name=name), node(card(0), name=name), NOW
    )
    assert writes.labels == {}
    assert writes.annotations["hami.io/vgpu-node"] == name


def test_what_the_pod_carries_already_counts_towards_the_limit() -> None:
    arguments = (request(ask()), allocation(app(share(0))), node(card(0)), NOW)
    binding_writes(*arguments, present={"note": "x" * 200_000})
    with pytest.raises(WireError) as caught:
        binding_writes(*arguments, present={"note": "x" * 262_144})
    assert caught.value.code == "annotations-too-large"


def test_an_annotation_that_is_replaced_does_not_count_twice() -> None:
    present = {"hami.io/vgpu-node": "x" * 262_000}
    binding_writes(request(ask()), allocation(app(share(0))), node(card(0)), NOW, present=present)


def test_a_card_of_another_node_is_refused() -> None:
    with pytest.raises(WireError) as caught:
        binding_writes(request(ask()), allocation(app(share(9))), node(card(0)), NOW)
    assert caught.value.code == "card-foreign"


def test_cards_of_a_replayed_trace_cannot_be_bound() -> None:
    with pytest.raises(WireError):
        binding_writes(request(ask()), allocation(app(share(0))), node(card(0, Vendor.GENERIC)), NOW)


def test_a_pod_in_two_vocabularies_is_refused_because_their_keys_collide() -> None:
    with pytest.raises(WireError) as caught:
        binding_writes(
            request(ask(), ask(Vocabulary.KOORDINATOR)),
            allocation(app(share(0)), app(share(0))),
            node(card(0)),
            NOW,
        )
    assert caught.value.code == "words-mixed"


# --- Koordinator's words ------------------------------------------------------------------------------------------


def koordinator(*containers: tuple[Role, tuple[Share, ...]], asks: tuple[Ask, ...] = ()) -> dict[str, str]:
    cards = [card(index) for index in range(4)]
    asked = request(*(asks or (ask(Vocabulary.KOORDINATOR, memory=from_gib(4)),)))
    writes = binding_writes(asked, allocation(*containers), node(*cards), NOW)
    assert writes.labels == {}
    return writes.annotations


def test_whole_cards_are_listed_by_minor_with_their_full_memory() -> None:
    written = koordinator(
        app(share(2, 64, 100), share(1, 64, 100)), asks=(ask(Vocabulary.KOORDINATOR, count=2),)
    )
    assert written["scheduling.koordinator.sh/gpu-minors"] == "1,2"
    assert written["metax-tech.com/gpu-devices-allocated"] == (
        '[[{"uuid":"GPU-1","compute":100,"vRam":65536},{"uuid":"GPU-2","compute":100,"vRam":65536}]]'
    )


def test_a_share_asked_for_in_percent_keeps_its_percentage() -> None:
    memory = Bytes(from_gib(64) * 30 // 100)
    share = Share(CardUuid("GPU-0"), 0, memory, 30)
    asked = ask(Vocabulary.KOORDINATOR, percent=30)
    written = koordinator(app(share), asks=(asked,))
    allocated = json.loads(written["scheduling.koordinator.sh/device-allocated"])
    assert allocated["gpu"][0]["resources"] == {
        "koordinator.sh/gpu-core": "30",
        "koordinator.sh/gpu-memory": "20615843020",
        "koordinator.sh/gpu-memory-ratio": "30",
    }


def test_containers_that_share_a_card_are_one_entry_of_what_they_hold_at_most() -> None:
    written = koordinator((Role.INIT, (share(0, 16, 5),)), app(share(0, 4, 10)), app(share(0, 2, 20)))
    assert written["metax-tech.com/gpu-devices-allocated"] == '[[{"uuid":"GPU-0","compute":30,"vRam":16384}]]'


def test_in_koordinators_words_the_plugins_key_has_one_inner_list_whatever_the_containers() -> None:
    written = koordinator(app(), app(share(0, 4, 10)), app())
    assert written["metax-tech.com/gpu-devices-allocated"] == '[[{"uuid":"GPU-0","compute":10,"vRam":4096}]]'


def test_a_share_the_plugin_cannot_make_is_refused_in_koordinators_words() -> None:
    tiny = Share(CardUuid("GPU-0"), 0, Bytes(1000), 10)
    with pytest.raises(WireError, match="gpu memory must not be less than 1048576 bytes"):
        koordinator(app(tiny))


def test_moore_threads_cards_get_their_toolkits_keys_too() -> None:
    asked = request(ask(Vocabulary.KOORDINATOR, memory=from_gib(16), vendor=Vendor.MTHREADS))
    sliced = Share(CardUuid("GPU-3"), 3, from_gib(16), 4)
    written = binding_writes(asked, allocation(app(sliced)), node(card(3, Vendor.MTHREADS)), NOW).annotations
    assert written["mthreads.com/gpu-index"] == "3"
    assert "metax-tech.com/gpu-devices-allocated" not in written
    assert '"koordinator.sh/gpu-core":"25"' in written["scheduling.koordinator.sh/device-allocated"]


# --- node lock ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vocabulary", "kind", "role", "locked"),
    [
        (Vocabulary.METAX, AskKind.SLICE, Role.APP, True),
        (Vocabulary.METAX, AskKind.SLICE, Role.INIT, True),
        (Vocabulary.METAX, AskKind.WHOLE, Role.APP, False),
        (Vocabulary.KOORDINATOR, AskKind.WHOLE, Role.APP, True),
        (Vocabulary.KOORDINATOR, AskKind.SLICE, Role.APP, True),
    ],
)
def test_the_lock_is_taken_for_what_the_closed_plugin_finds_by_it(
    vocabulary: Vocabulary, kind: AskKind, role: Role, *, locked: bool
) -> None:
    given = allocation((role, (share(0, kind=kind),)))
    expected = "2026-11-15T21:15:10Z,default,demo" if locked else None
    assert lock_value(request(ask(vocabulary)), given, node(card(0)), NOW) == expected
    assert lock_value(request(ask(vocabulary)), given, node(card(0), managed=True), NOW) is None


def test_moore_threads_needs_no_lock() -> None:
    given = allocation(app(share(0)))
    assert lock_value(request(ask(Vocabulary.MTHREADS)), given, node(card(0, Vendor.MTHREADS)), NOW) is None


def test_fractions_of_a_mib_are_not_promised() -> None:
    odd = Share(CardUuid("GPU-0"), 0, Bytes(from_mib(5) + 7), 1)
    written = binding_writes(request(ask()), allocation(app(odd)), node(card(0)), NOW).annotations
    assert written["hami.io/metax-sgpu-devices-allocated"] == "GPU-0,Metax-SGPU,5,1:;"


def test_what_hami_counts_by_is_written_where_it_reads_and_the_real_ids_beside_it() -> None:
    whole = [card(index, mode=CardMode.WHOLE) for index in range(3)]
    moore = [card(index, Vendor.MTHREADS) for index in range(3, 5)]
    given = allocation(app(share(2, kind=AskKind.WHOLE)), app(share(4)))
    written = binding_writes(request(ask()), given, node(*whole, *moore), NOW).annotations
    assert written["hami.io/metax-gpu-devices-allocated"] == "n1-metax-2,Metax-GPU,4096,10:;;"
    assert written["hami.io/metax-gpu-devices-to-allocate"] == "GPU-2,Metax-GPU,4096,10:;;"
    assert written["hami.io/mthreads-vgpu-devices-allocated"] == ";n1-mthreads-4,Mthreads,4096,10:;"
    assert written["hami.io/mthreads-vgpu-devices-to-allocate"] == ";GPU-4,Mthreads,4096,10:;"
