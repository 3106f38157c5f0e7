"""From shares to slices and to what a container is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.allocations import ContainerShares, Share
from tangram.model.devices import DeviceNodes
from tangram.model.grants import GrantedSlice
from tangram.model.pods import Role
from tangram.services.gpu_device.grants import (
    SLICE_PREFIX,
    Injection,
    metax_slice_edits,
    mthreads_slice_edits,
    own_part,
    slice_name,
    slice_wishes,
    whole_edits,
)
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import GIB, Bytes, from_gib
from tangram.wire.errors import WireError
from tangram.wire.mthreads_container import card_number

UID = PodUid("0f5f8a1e-4f0e-4f3e-9a43-0d8f6c1f2b11")
A, B = CardUuid("GPU-0"), CardUuid("GPU-1")


def shares(name: str, *parts: tuple[CardUuid, int, int], role: Role = Role.APP) -> ContainerShares:
    return ContainerShares(
        name, role, tuple(Share(card, 0, from_gib(gib), cores) for card, gib, cores in parts)
    )


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_slices_name_fits_the_vendors_field_and_is_always_the_same(uid: str, container: str) -> None:
    name = slice_name(PodUid(uid), container)
    assert name.startswith(SLICE_PREFIX)
    assert len(name.encode()) <= 31
    assert name == slice_name(PodUid(uid), container)
    assert not set(name) & set(";,#= ")


@given(st.sets(st.tuples(st.uuids(), st.sampled_from(["a", "b", "main", "init"])), min_size=2, max_size=50))
def test_different_containers_have_different_names(who: set[tuple[object, str]]) -> None:
    assert len({slice_name(PodUid(str(uid)), container) for uid, container in who}) == len(who)


def test_the_name_of_a_slice_is_a_contract_with_every_later_version() -> None:
    assert slice_name(PodUid("uid-1"), "main") == "tangram-e3eb8d6c35c6e513ae8951"


def test_containers_that_share_ids_share_one_slice_per_card_of_the_most_that_any_may_have() -> None:
    wishes = slice_wishes(UID, [shares("warm", (A, 8, 10), (B, 1, 1)), shares("main", (A, 4, 30))])
    assert {(each.card, each.memory // GIB, each.cores) for each in wishes} == {(A, 8, 30), (B, 1, 1)}
    assert {each.name for each in wishes} == {slice_name(UID, "main")}


def test_two_shares_of_one_card_are_one_slice_of_both() -> None:
    (wish,) = slice_wishes(UID, [shares("main", (A, 4, 10), (A, 2, 5))])
    assert (wish.memory, wish.cores) == (from_gib(6), 15)


@pytest.mark.parametrize(
    ("cores", "online", "made_with"), [(0, False, 1), (30, False, 30), (0, True, 0), (30, True, 0)]
)
def test_a_slice_has_one_percent_at_least_but_an_online_one_reserves_none(
    cores: int,
    online: bool,  # noqa: FBT001 - a column of the table
    made_with: int,
) -> None:
    (wish,) = slice_wishes(UID, [shares("main", (A, 4, cores))], online=online)
    assert (wish.cores, wish.online) == (made_with, online)


@pytest.mark.parametrize("made_with", [0, 1])
def test_an_online_container_learns_of_the_compute_its_slice_was_made_with(made_with: int) -> None:
    made = GrantedSlice(card=A, id=2, name="tangram-a", memory=from_gib(8), cores=made_with)
    (own,) = own_part(shares("main", (A, 4, 30)), [made], online=True)
    assert (own.memory, own.cores) == (from_gib(4), made_with)


def test_no_shares_are_no_slices() -> None:
    assert slice_wishes(UID, []) == ()


NODES = DeviceNodes(control="/dev/mxcd", card="/dev/dri/card1", render="/dev/dri/renderD129")


def test_nodes_are_given_once_and_from_where_the_host_has_them() -> None:
    devices = [
        metax_card(0, nodes=NODES),
        metax_card(1, nodes=DeviceNodes("/dev/mxcd", "/dev/dri/card2", "/dev/dri/renderD130")),
    ]
    edits = whole_edits(devices, device_root="/dev", injection=Injection.ENV)
    assert [node.path for node in edits.nodes] == [
        "/dev/mxcd",
        "/dev/dri/card1",
        "/dev/dri/renderD129",
        "/dev/dri/card2",
        "/dev/dri/renderD130",
    ]
    assert {node.host_path for node in edits.nodes} == {""}
    elsewhere = whole_edits(devices[:1], device_root="/sim/dev/", injection=Injection.ENV)
    assert [node.host_path for node in elsewhere.nodes] == [
        "/sim/dev/mxcd",
        "/sim/dev/dri/card1",
        "/sim/dev/dri/renderD129",
    ]


@pytest.mark.parametrize("injection", list(Injection))
def test_moore_threads_cards_come_by_variable_or_as_nodes(injection: Injection) -> None:
    nodes = DeviceNodes(control="/dev/mtgpu.3", render="/dev/dri/renderD131")
    edits = whole_edits([mthreads_card(7, nodes=nodes)], device_root="/dev", injection=injection)
    if injection is Injection.ENV:
        assert (edits.env, edits.nodes) == ({"MTHREADS_VISIBLE_DEVICES": "3"}, ())
    else:
        assert not edits.env
        assert [node.path for node in edits.nodes] == ["/dev/mtgpu.3", "/dev/dri/renderD131"]


def test_a_moore_threads_card_without_a_node_goes_by_its_index() -> None:
    assert card_number(mthreads_card(5)) == 5
    assert card_number(mthreads_card(5, nodes=DeviceNodes(control="/dev/mtgpu.x"))) == 5


def granted(name: str = "tangram-a", card: CardUuid = A) -> GrantedSlice:
    return GrantedSlice(card=card, id=2, name=name, memory=from_gib(4), cores=25)


def test_a_metax_slice_is_named_beside_the_nodes_of_its_card() -> None:
    edits = metax_slice_edits([granted()], {A: metax_card(0, nodes=NODES)}, device_root="/dev")
    assert edits.env == {"METAX_SGPUS": "sgpu=0000:10:00.0#2;compute=25;vram=4096;alias=tangram-a"}
    assert [node.path for node in edits.nodes] == list(NODES.all)


def test_a_name_that_no_variable_can_carry_is_refused() -> None:
    with pytest.raises(WireError, match="cannot name"):
        metax_slice_edits([granted("a;b")], {A: metax_card(0)}, device_root="/dev")


def test_a_moore_threads_slice_of_two_cards_has_the_limit_of_one_and_the_units_of_both() -> None:
    container = shares("main", (A, 16, 8), (B, 16, 8))
    edits = mthreads_slice_edits(container, {A: mthreads_card(0), B: mthreads_card(1)})
    assert edits.env["MTHREADS_VISIBLE_DEVICES"] == "0,1"
    assert Bytes(int(edits.env["MTHREADS_QOS_MEMORY_LIMIT"])) == from_gib(16)
    assert edits.env["MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES"] == "64"
    assert edits.env["MTHREADS_ALLOCATED_SGPU_CORE_DEVICES"] == "16"
