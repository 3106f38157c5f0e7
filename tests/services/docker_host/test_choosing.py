"""Which cards a wish gets (M106-M109): the named ones, or idle ones that are best connected."""

from collections.abc import Mapping

import msgspec
import pytest

from builders.docker_hosts import GROUPS, read_all, snapshot_of
from builders.simulated import make_driver
from tangram.drivers.snapshot import Snapshot
from tangram.model.devices import Figures, Slice
from tangram.services.docker_host.choosing import choose
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.using import Holder, users_of
from tangram.services.docker_host.wishes import read_gpus
from tangram.units.memory import from_gib
from tangram.units.na import NA, Maybe

MIXED = ({"product": "C500", "count": 2}, {"product": "S4000", "count": 2})


def chosen(value: str, snapshot: Snapshot, used: Mapping[int, str] | None = None) -> list[int]:
    busy = {snapshot.cards[at].device.uuid: (who,) for at, who in (used or {}).items()}
    return [device.index for device in choose(read_gpus(value), snapshot, busy).devices]


def refusal(value: str, snapshot: Snapshot, used: Mapping[int, str] | None = None) -> str:
    with pytest.raises(HostError) as refused:
        chosen(value, snapshot, used)
    return str(refused.value)


def test_all_is_every_card() -> None:
    assert chosen("all", snapshot_of(GROUPS)) == list(range(8))


def test_a_number_of_cards_comes_from_one_group() -> None:
    assert chosen("4", snapshot_of(GROUPS)) == [4, 5, 6, 7]
    assert chosen("4", snapshot_of(GROUPS), {7: "x"}) == [0, 1, 2, 3]
    assert chosen("3", snapshot_of(GROUPS), {7: "x"}) == [4, 5, 6]


def test_one_card_is_taken_from_the_group_that_is_broken_already() -> None:
    assert chosen("1", snapshot_of(GROUPS), {0: "x", 1: "x", 2: "x"}) == [3]


def test_a_name_is_a_number_a_uuid_a_serial_number_or_a_bus_address() -> None:
    snapshot = snapshot_of(GROUPS)
    one, two, three = (snapshot.cards[at].device for at in (1, 2, 3))
    value = f"[{one.uuid.lower()},{two.serial},{three.bdf.removeprefix('0000:')},0]"
    assert chosen(value, snapshot) == [1, 2, 3, 0]


def test_a_card_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert "this host has no card '8': it has 0 (GPU-" in refusal("[8]", snapshot_of(GROUPS))


def test_not_enough_idle_cards_are_answered_with_who_uses_which() -> None:
    said = refusal("7", snapshot_of(GROUPS), {2: "python3 (pid 42)", 5: "container web"})
    assert "--gpus=7 asks for 7 cards, and 6 of 8 are idle" in said
    assert "card 2 is used by python3 (pid 42); card 5 is used by container web" in said


def test_a_broken_card_is_never_picked_and_said_when_named() -> None:
    snapshot = snapshot_of(GROUPS, faults=[{"card": 7, "fault": "ecc"}])
    assert chosen("4", snapshot) == [0, 1, 2, 3]
    assert "card 7 is not healthy" in refusal("8", snapshot)
    notes = choose(read_gpus("[7]"), snapshot, {}).notes
    assert len(notes) == 1
    assert notes[0].startswith("card 7 is not healthy: ")


def test_a_named_card_that_is_in_use_is_shared_and_that_is_said() -> None:
    snapshot = snapshot_of(GROUPS)
    found = choose(read_gpus("[0]"), snapshot, {snapshot.cards[0].device.uuid: ("python3 (pid 42)",)})
    assert found.notes == ("card 0 is used by python3 (pid 42); the container shares it.",)


def test_with_cards_of_two_vendors_one_has_to_say_whose() -> None:
    snapshot = snapshot_of(*MIXED)
    said = refusal("all", snapshot)
    assert "this host has 2 MetaX and 2 Moore Threads cards" in said
    assert "write --gpus=metax:all or --gpus=mthreads:all" in said
    assert chosen("metax:all", snapshot) == [0, 1]
    assert chosen("mthreads:1", snapshot) in ([2], [3])
    assert chosen("[2,3]", snapshot) == [2, 3]
    assert "names cards of two vendors" in refusal("[0,2]", snapshot)
    assert "another vendor's" in refusal("metax:[2]", snapshot)


def test_a_vendor_that_the_host_has_no_card_of_is_a_sentence() -> None:
    assert "this host has no Moore Threads card" in refusal("mthreads:all", snapshot_of(GROUPS))


def test_numbers_that_two_vendors_use_are_ambiguous() -> None:
    snapshot = snapshot_of(*MIXED)
    cards = [
        msgspec.structs.replace(card, device=msgspec.structs.replace(card.device, index=at % 2))
        for at, card in enumerate(snapshot.cards)
    ]
    both = msgspec.structs.replace(snapshot, cards=tuple(cards))
    assert "card '0' may be GPU-" in refusal("[0]", both)
    assert chosen("mthreads:[0]", both) == [0]


def test_virtual_functions_are_given_in_place_of_their_split_card() -> None:
    driver = make_driver({"product": "C500", "count": 1, "sriov": "on", "virtual_functions": 2})
    snapshot = read_all(driver)
    functions = [card.device for card in snapshot.cards if card.device.virtual_function_of]
    assert len(functions) == 2
    every = choose(read_gpus("all"), snapshot, {}).devices
    assert list(every) == functions
    assert choose(read_gpus("1"), snapshot, {}).devices == (functions[0],)
    parent = next(card.device for card in snapshot.cards if not card.device.virtual_function_of)
    assert "is split into virtual functions" in refusal(f"[{parent.uuid}]", snapshot)


def test_a_slice_goes_by_its_uuid_and_brings_its_card() -> None:
    driver = make_driver({"product": "C500", "count": 2, "sliced": True})
    made = driver.create_slice(driver.devices()[1].uuid, memory=from_gib(8), cores=25, name="notebook")
    found = choose(read_gpus(f"[sgpu:{made.uuid}]"), read_all(driver), {})
    assert [device.index for device in found.devices] == [1]
    assert [part.uuid for part in found.slices] == [made.uuid]
    said = refusal("[sgpu:nobody]", read_all(driver))
    assert f"this host has no slice 'nobody': it has sgpu:{made.uuid} (card 1)" in said
    assert "it has none; make one first" in refusal("[sgpu:nobody]", snapshot_of(GROUPS))


@pytest.mark.parametrize(("busy", "note"), [(True, "is in use"), (NA, "may be in use"), (False, None)])
def test_a_slice_that_is_not_known_to_be_idle_is_given_with_a_note(
    busy: Maybe[bool], note: str | None
) -> None:
    snapshot = snapshot_of({"product": "C500", "count": 1})
    card = snapshot.cards[0]
    part = Slice(card=card.device.uuid, id=0, memory=from_gib(1), cores=1, uuid="sgpu-1", busy=busy)
    with_slice = msgspec.structs.replace(
        snapshot, cards=(msgspec.structs.replace(card, slices=(part,)), *snapshot.cards[1:])
    )
    notes = choose(read_gpus("[sgpu:sgpu-1]"), with_slice, {}).notes
    assert [f"slice sgpu-1 {note}" in each for each in notes] == ([] if note is None else [True])


def test_processes_slices_and_containers_are_users_of_a_card() -> None:
    driver = make_driver({"product": "C500", "count": 4, "sliced": True})
    cards = driver.devices()
    driver.create_slice(cards[1].uuid, memory=from_gib(8), cores=25, name="notebook")
    pid = driver.world.use(2, name="python3").pid
    snapshot = read_all(driver)
    holders = [
        Holder("web", frozenset({cards[3].nodes.render})),
        Holder("other", frozenset({"/dev/fuse"}), {"MTHREADS_VISIBLE_DEVICES": "0"}),
    ]
    users = users_of(snapshot.cards, holders, {})
    assert users[cards[1].uuid] == ("slice notebook",)
    assert users[cards[2].uuid] == (f"python3 (pid {pid})",)
    assert users[cards[3].uuid] == ("container web",)
    assert cards[0].uuid not in users


UNKNOWN = "somebody or nobody, as its processes cannot be listed here"


def with_figures(snapshot: Snapshot, *figures: Figures | None) -> Snapshot:
    cards = [
        msgspec.structs.replace(card, figures=figure)
        for card, figure in zip(snapshot.cards, figures, strict=True)
    ]
    return msgspec.structs.replace(snapshot, cards=tuple(cards))


def test_a_card_whose_processes_cannot_be_listed_is_not_idle_whatever_its_load() -> None:
    snapshot = with_figures(
        snapshot_of({"product": "C500", "count": 5}),
        Figures(processes=NA, utilisation_percent=0.0),
        Figures(processes=NA, utilisation_percent=40.0),
        Figures(processes=NA),
        None,
        Figures(processes=()),
    )
    found = [users_of([card], [], {}).get(card.device.uuid, ()) for card in snapshot.cards]
    assert found == [(UNKNOWN,), ("a load of 40 %",), (UNKNOWN,), (UNKNOWN,), ()]


def test_no_card_is_picked_that_nobody_knows_to_be_idle_but_it_may_be_named() -> None:
    unlisted = Figures(processes=NA, utilisation_percent=0.0)
    snapshot = with_figures(
        snapshot_of({"product": "C500", "count": 3}), unlisted, Figures(processes=()), unlisted
    )
    users = users_of(snapshot.cards, [], {})
    assert [device.index for device in choose(read_gpus("1"), snapshot, users).devices] == [1]
    with pytest.raises(HostError) as caught:
        choose(read_gpus("2"), snapshot, users)
    assert f"card 0 is used by {UNKNOWN}" in str(caught.value)
    assert "share cards by naming them, as in --gpus=[0]" in str(caught.value)
    named = choose(read_gpus("[0]"), snapshot, users)
    assert [device.index for device in named.devices] == [0]
    assert named.notes == (f"card 0 is used by {UNKNOWN}; the container shares it.",)


def test_a_moore_threads_container_holds_what_its_variable_names() -> None:
    snapshot = snapshot_of({"product": "S4000", "count": 3})
    users = users_of(snapshot.cards, [Holder("a", env={"MTHREADS_VISIBLE_DEVICES": "0, 2"})], {})
    assert [card.device.index for card in snapshot.cards if card.device.uuid in users] == [0, 2]


def test_many_users_of_one_card_are_counted_after_the_first_few() -> None:
    snapshot = snapshot_of({"product": "C500", "count": 1})
    card = snapshot.cards[0]
    parts = tuple(
        Slice(card=card.device.uuid, id=at, memory=from_gib(1), cores=1, name=f"s{at}") for at in range(9)
    )
    users = users_of([msgspec.structs.replace(card, slices=parts)], [], {})
    assert users[card.device.uuid] == ("slice s0", "slice s1", "slice s2", "slice s3", "5 more")
