"""The cards that were really given, in the words that schedulers read."""

import pytest
from msgspec.structs import replace

from builders.clusters import card
from builders.starts import GPU, HAMI_MTHREADS, HAMI_WHOLE, bound, inventory
from tangram.model.allocations import Tenant
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.errors import WireError
from tangram.wire.given_back import given_annotations
from tangram.wire.hami import NODE
from tangram.wire.tenants import read_tenant

CARDS = tuple(card("n", index, mode=CardMode.WHOLE) for index in range(4))


def pod_with(*limits: dict[str, str], annotations: dict[str, str] | None = None) -> Pod:
    return bound("p", *limits, annotations=annotations, on=inventory(*CARDS)).pod


def test_every_container_has_its_own_cards_and_those_without_are_empty() -> None:
    pod = pod_with({GPU: "2"}, {}, {GPU: "1"})
    assert given_annotations(pod, Vendor.METAX, {"c0": CARDS[:2], "c2": CARDS[3:]}) == {
        HAMI_WHOLE: "GPU-n-0,Metax-GPU,65536,100:GPU-n-1,Metax-GPU,65536,100:;;GPU-n-3,Metax-GPU,65536,100:;",
        NODE: "n",
    }


def test_what_is_written_is_read_back_as_held() -> None:
    pod = pod_with({GPU: "2"})
    written = given_annotations(pod, Vendor.METAX, {"c0": CARDS[1:3]})
    tenant = read_tenant(replace(pod, annotations=written), Node(name=NodeName("n"), cards=CARDS))
    assert isinstance(tenant, Tenant)
    assert tenant.allocation.cards == ("GPU-n-1", "GPU-n-2")


def test_a_pod_that_says_so_already_is_not_written_again() -> None:
    pod = pod_with({GPU: "1"})
    first = given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]})
    assert given_annotations(replace(pod, annotations=first), Vendor.METAX, {"c0": CARDS[:1]}) == {}
    assert given_annotations(replace(pod, annotations=first), Vendor.METAX, {"c0": CARDS[1:2]}).keys() == {
        HAMI_WHOLE
    }


def test_the_node_that_a_scheduler_wrote_is_left_alone() -> None:
    pod = pod_with({GPU: "1"}, annotations={NODE: "elsewhere"})
    assert NODE not in given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]})


def part(mode: CardMode) -> Card:
    return replace(CARDS[0], mode=mode, slots=4)


@pytest.mark.parametrize("mode", [CardMode.VIRTUAL, CardMode.SHARED])
def test_a_part_of_a_card_is_listed_as_that_part(mode: CardMode) -> None:
    written = given_annotations(pod_with({GPU: "2"}), Vendor.METAX, {"c0": [part(mode), part(mode)]})
    assert written[HAMI_WHOLE] == "GPU-n-0,Metax-GPU,16384,25:GPU-n-0,Metax-GPU,16384,25:;"


def test_cards_of_moore_threads_go_by_their_own_key_and_word() -> None:
    mine = card("n", 0, vendor=Vendor.MTHREADS, mode=CardMode.WHOLE)
    written = given_annotations(pod_with({"mthreads.com/gpu": "1"}), Vendor.MTHREADS, {"c0": [mine]})
    assert written[HAMI_MTHREADS] == "GPU-n-0,Mthreads,65536,16:;"


def test_an_id_that_no_string_can_hold_is_refused() -> None:
    odd = replace(CARDS[0], uuid=CardUuid("GPU,0"))
    with pytest.raises(WireError, match="cannot hold"):
        given_annotations(pod_with({GPU: "1"}), Vendor.METAX, {"c0": [odd]})


def test_ids_that_hami_made_up_stay_because_it_counts_no_others() -> None:
    made_up = {HAMI_WHOLE: "n-metax-3,Metax-GPU,65536,100:;", NODE: "n"}
    pod = pod_with({GPU: "1"}, annotations=made_up)
    assert given_annotations(pod, Vendor.METAX, {"c0": CARDS[:1]}) == {}
    elsewhere = pod_with({GPU: "1"}, annotations={**made_up, HAMI_WHOLE: "m-metax-3,Metax-GPU,65536,100:;"})
    assert given_annotations(elsewhere, Vendor.METAX, {"c0": CARDS[:1]})
