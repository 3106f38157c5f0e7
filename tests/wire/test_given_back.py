"""The cards that were really given, in the words that schedulers read."""

import json

import pytest
from msgspec.structs import replace

from builders.clusters import card
from builders.starts import (
    GPU,
    HAMI_MTHREADS,
    HAMI_MTHREADS_NAMED,
    HAMI_SLICE,
    HAMI_WHOLE,
    HAMI_WHOLE_NAMED,
    bound,
    inventory,
)
from tangram.model.allocations import Tenant
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.errors import WireError
from tangram.wire.given_back import given_annotations, untold_annotations
from tangram.wire.hami import NODE
from tangram.wire.koordinator.names import DEVICE_ALLOCATED
from tangram.wire.tenants import read_tenant

CARDS = tuple(card("n", index, mode=CardMode.WHOLE) for index in range(4))
HOST = Node(name=NodeName("n"), cards=CARDS)


def pod_with(*limits: dict[str, str], annotations: dict[str, str] | None = None) -> Pod:
    return bound("p", *limits, annotations=annotations, on=inventory(*CARDS)).pod


def test_every_container_has_its_own_cards_and_those_without_are_empty() -> None:
    pod = pod_with({GPU: "2"}, {}, {GPU: "1"})
    assert given_annotations(pod, Vendor.METAX, {"c0": CARDS[:2], "c2": CARDS[3:]}, HOST) == {
        HAMI_WHOLE: "n-metax-0,Metax-GPU,65536,100:n-metax-1,Metax-GPU,65536,100:;;n-metax-3,Metax-GPU,65536,100:;",
        HAMI_WHOLE_NAMED: (
            "GPU-n-0,Metax-GPU,65536,100:GPU-n-1,Metax-GPU,65536,100:;;GPU-n-3,Metax-GPU,65536,100:;"
        ),
        NODE: "n",
    }


def test_what_is_written_is_read_back_as_held() -> None:
    pod = pod_with({GPU: "2"})
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[1:3]}, HOST)
    tenant = read_tenant(replace(pod, annotations=written), Node(name=NodeName("n"), cards=CARDS))
    assert isinstance(tenant, Tenant)
    assert tenant.allocation.cards == ("GPU-n-1", "GPU-n-2")


def test_a_pod_that_says_so_already_is_not_written_again() -> None:
    pod = pod_with({GPU: "1"})
    first = given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]}, HOST)
    assert given_annotations(replace(pod, annotations=first), Vendor.METAX, {"c0": CARDS[:1]}, HOST) == {}
    assert given_annotations(
        replace(pod, annotations=first), Vendor.METAX, {"c0": CARDS[1:2]}, HOST
    ).keys() == {HAMI_WHOLE, HAMI_WHOLE_NAMED}


def test_the_node_that_a_scheduler_wrote_is_left_alone() -> None:
    pod = pod_with({GPU: "1"}, annotations={NODE: "elsewhere"})
    assert NODE not in given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]}, HOST)


def part(mode: CardMode) -> Card:
    return replace(CARDS[0], mode=mode, slots=4)


@pytest.mark.parametrize("mode", [CardMode.VIRTUAL, CardMode.SHARED])
def test_a_part_of_a_card_is_listed_as_that_part(mode: CardMode) -> None:
    host = replace(HOST, cards=(part(mode), *CARDS[1:]))
    written = given_annotations(pod_with({GPU: "2"}), Vendor.METAX, {"c0": [part(mode), part(mode)]}, host)
    # HAMi makes up an id for each part, and nobody knows which of them this is.
    assert written == {
        HAMI_WHOLE: "GPU-n-0,Metax-GPU,16384,25:GPU-n-0,Metax-GPU,16384,25:;",
        NODE: "n",
    }


def test_cards_of_moore_threads_go_by_their_own_key_and_word() -> None:
    mine = card("n", 0, vendor=Vendor.MTHREADS, mode=CardMode.WHOLE)
    written = given_annotations(pod_with({"mthreads.com/gpu": "1"}), Vendor.MTHREADS, {"c0": [mine]}, HOST)
    assert written[HAMI_MTHREADS] == "n-mthreads-0,Mthreads,65536,16:;"
    assert written[HAMI_MTHREADS_NAMED] == "GPU-n-0,Mthreads,65536,16:;"


def test_an_id_that_no_string_can_hold_is_refused() -> None:
    odd = replace(CARDS[0], uuid=CardUuid("GPU,0"))
    with pytest.raises(WireError, match="cannot hold"):
        given_annotations(pod_with({GPU: "1"}), Vendor.METAX, {"c0": [odd]}, HOST)


def test_what_hami_promised_is_written_over_in_the_ids_by_which_it_counts() -> None:
    promised = dict.fromkeys((HAMI_WHOLE, HAMI_WHOLE_NAMED), "n-metax-3,Metax-GPU,65536,100:;")
    pod = pod_with({GPU: "1"}, annotations={**promised, NODE: "n"})
    assert given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]}, HOST) == {
        HAMI_WHOLE: "n-metax-0,Metax-GPU,65536,100:;",
        HAMI_WHOLE_NAMED: "GPU-n-0,Metax-GPU,65536,100:;",
    }


def test_hami_numbers_whole_cards_by_their_turn_among_those_that_are_not_sliced() -> None:
    host = replace(HOST, cards=(card("n", 0), *CARDS[1:]))
    written = given_annotations(pod_with({GPU: "1"}), Vendor.METAX, {"c0": CARDS[2:3]}, host)
    assert written[HAMI_WHOLE] == "n-metax-1,Metax-GPU,65536,100:;"
    tenant = read_tenant(replace(pod_with({GPU: "1"}), annotations=written), host)
    assert isinstance(tenant, Tenant)
    assert tenant.allocation.cards == ("GPU-n-2",)


def told(*numbered: tuple[int, int]) -> str:
    """What koord-scheduler reads of whole cards, each with the number it goes by there."""
    resources = (
        '{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"64Gi",'
        '"koordinator.sh/gpu-memory-ratio":"100"}'
    )
    entries = (
        f'{{"minor":{minor},"resources":{resources},"id":"GPU-n-{index}"}}' for minor, index in numbered
    )
    return f'{{"gpu":[{",".join(entries)}]}}'


def test_what_was_told_to_koord_scheduler_follows_the_kubelets_choice() -> None:
    pod = pod_with({GPU: "1"}, annotations={DEVICE_ALLOCATED: told((0, 0))})
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[2:3]}, HOST)
    assert written[DEVICE_ALLOCATED] == told((2, 2))
    kept = replace(pod, annotations={**pod.annotations, **written})
    assert given_annotations(kept, Vendor.METAX, {"c0": CARDS[2:3]}, HOST) == {}


def test_koord_scheduler_is_told_the_numbers_of_its_own_device() -> None:
    pod = pod_with({GPU: "1"}, annotations={DEVICE_ALLOCATED: told((0, 0))})
    renumbered = replace(HOST, minors={CardUuid("GPU-n-2"): 7})
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[2:3]}, renumbered)
    assert written[DEVICE_ALLOCATED] == told((7, 2))


def test_koord_scheduler_is_told_nothing_of_a_pod_that_nobody_told_it_of() -> None:
    pod = pod_with({GPU: "1"})
    assert DEVICE_ALLOCATED not in given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]}, HOST)


def test_slices_beside_whole_cards_are_told_with_them() -> None:
    sliced = card("n", 3)
    host = replace(HOST, cards=(*CARDS[:3], sliced))
    text = {HAMI_SLICE: ";GPU-n-3,Metax-SGPU,16384,25:;", DEVICE_ALLOCATED: told((0, 0))}
    pod = pod_with({GPU: "1"}, {}, annotations=text)
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[1:2]}, host)
    entries = json.loads(written[DEVICE_ALLOCATED])["gpu"]
    assert [(each["minor"], each["resources"]["koordinator.sh/gpu-core"]) for each in entries] == [
        (1, "100"),
        (3, "25"),
    ]


def test_what_cannot_be_told_for_certain_stays_as_it_was_told() -> None:
    text = {HAMI_SLICE: ";GPU-elsewhere,Metax-SGPU,16384,25:;", DEVICE_ALLOCATED: told((0, 0))}
    pod = pod_with({GPU: "1"}, {}, annotations=text)
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[1:2]}, HOST)
    assert written.keys() == {HAMI_WHOLE, HAMI_WHOLE_NAMED, NODE}


def test_what_was_bound_before_there_was_a_device_is_told_to_koord_scheduler_under_its_numbers() -> None:
    held = bound(
        "p", {GPU: "1"}, annotations={HAMI_WHOLE: "GPU-n-2,Metax-GPU,65536,100:;"}, on=inventory(*CARDS)
    )
    numbered = replace(HOST, minors={CardUuid("GPU-n-2"): 7})
    (told,) = json.loads(untold_annotations(held.pod, held.holds, numbered)[DEVICE_ALLOCATED])["gpu"]
    assert (told["minor"], told["id"]) == (7, "GPU-n-2")
    assert told["resources"]["koordinator.sh/gpu-core"] == "100"


def test_what_koord_scheduler_knows_or_nobody_can_say_is_left_alone() -> None:
    on = inventory(*CARDS)
    knows = bound("p", {GPU: "1"}, annotations={DEVICE_ALLOCATED: "{}"}, on=on)
    unnamed = bound("p", {GPU: "1"}, on=on)
    elsewhere = bound("p", {GPU: "1"}, annotations={HAMI_WHOLE: "GPU-x,Metax-GPU,65536,100:;"}, on=on)
    nothing = bound("p", {}, on=on)
    for each in (knows, unnamed, elsewhere, nothing):
        assert untold_annotations(each.pod, each.holds, HOST) == {}
