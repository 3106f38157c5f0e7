"""The rules that simulated cards are held to: those of the real ones."""

from __future__ import annotations

import re

import pytest

from builders.simulated import ManualClock, make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import Fault
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.model.cards import QosPolicy
from tangram.model.devices import SriovState
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, from_gib, from_mib

SLICED = {"product": "C500", "sliced": True}
SPLITTABLE = {"product": "C500", "sriov": "off"}
CONTAINER = "0123456789abcdef"


def first(driver: SimulatedDriver) -> CardUuid:
    return driver.devices()[0].uuid


def refusal(kind: Kind, says: str) -> pytest.RaisesExc[DriverError]:
    return pytest.RaisesExc(DriverError, match=says, check=lambda error: error.kind is kind)


@pytest.mark.parametrize(
    ("memory", "cores", "name", "kind"),
    [
        pytest.param(from_mib(100), 10, "", Kind.INVALID, id="not-a-multiple-of-128"),
        pytest.param(Bytes(128 * MIB + 1), 10, "", Kind.INVALID, id="odd-bytes"),
        pytest.param(Bytes(0), 10, "", Kind.INVALID, id="no-memory"),
        pytest.param(Bytes(-128 * MIB), 10, "", Kind.INVALID, id="negative-memory"),
        pytest.param(from_gib(1), 0, "", Kind.INVALID, id="no-compute"),
        pytest.param(from_gib(1), 101, "", Kind.INVALID, id="too-much-compute"),
        pytest.param(from_gib(1), 1, "x" * 32, Kind.INVALID, id="long-name"),
        pytest.param(from_gib(1), 1, "a b", Kind.INVALID, id="blank-in-name"),
        pytest.param(from_gib(65), 1, "", Kind.FULL, id="more-than-the-card"),
    ],
)
def test_a_slice_that_cannot_be_is_refused(memory: Bytes, cores: int, name: str, kind: Kind) -> None:
    driver = make_driver(SLICED)
    with refusal(kind, "GPU-0: .*; "):
        driver.create_slice(first(driver), memory=memory, cores=cores, name=name)
    assert driver.slices(first(driver)) == ()


def test_an_online_slice_needs_no_compute_on_a_card_sold_to_the_last_percent() -> None:
    driver = make_driver(SLICED)
    card = first(driver)
    driver.create_slice(card, memory=from_gib(8), cores=100)
    made = driver.create_slice(card, memory=from_gib(8), cores=0, online=True)
    assert (made.cores, made.online) == (0, True)
    assert driver.resize_slice(card, made.id, memory=from_gib(4)).cores == 0
    with refusal(Kind.INVALID, "ask for 0 to 100"):
        driver.create_slice(card, memory=from_gib(8), cores=-1, online=True)
    with refusal(Kind.INVALID, "ask for 1 to 100"):
        driver.resize_slice(card, 0, cores=0)


def test_a_card_has_sixteen_slices_and_no_more() -> None:
    driver = make_driver(SLICED)
    for number in range(16):
        assert driver.create_slice(first(driver), memory=from_gib(1), cores=1).id == number
    assert driver.room(first(driver)).slots == 0
    with refusal(Kind.FULL, "16 slices"):
        driver.create_slice(first(driver), memory=from_gib(1), cores=1)


@pytest.mark.parametrize("policy", list(QosPolicy))
def test_compute_never_adds_up_to_more_than_the_card_under_any_policy(policy: QosPolicy) -> None:
    driver = make_driver({**SLICED, "policy": policy})
    driver.create_slice(first(driver), memory=from_gib(1), cores=70)
    with refusal(Kind.FULL, "40 % .* 30 % is left"):
        driver.create_slice(first(driver), memory=from_gib(1), cores=40)


def test_the_lowest_free_id_is_taken_and_a_later_slice_has_another_uuid() -> None:
    driver = make_driver(SLICED)
    slices = [driver.create_slice(first(driver), memory=from_gib(1), cores=1) for _ in range(3)]
    driver.remove_slice(first(driver), 1)
    again = driver.create_slice(first(driver), memory=from_gib(1), cores=1)
    assert again.id == 1
    assert again.uuid not in {each.uuid for each in slices}


def test_a_busy_slice_is_not_removed_until_it_is_released() -> None:
    driver = make_driver(SLICED)
    made = driver.create_slice(first(driver), memory=from_gib(8), cores=10)
    driver.world.use(0, made.id)
    assert driver.slices(first(driver))[0].busy is True
    with refusal(Kind.BUSY, "in use"):
        driver.remove_slice(first(driver), made.id)
    driver.world.release(0, made.id)
    driver.remove_slice(first(driver), made.id)
    assert driver.slices(first(driver)) == ()


def test_a_slice_never_shrinks_below_what_its_process_holds() -> None:
    driver = make_driver(SLICED)
    driver.create_slice(first(driver), memory=from_gib(8), cores=10)
    driver.world.use(0, 0, from_gib(5))
    with refusal(Kind.BUSY, "uses 5 GiB"):
        driver.resize_slice(first(driver), 0, memory=from_gib(4))
    assert driver.resize_slice(first(driver), 0, memory=from_gib(5)).memory == from_gib(5)


def test_slices_have_less_in_all_than_the_memory_of_the_card() -> None:
    driver = make_driver(SLICED)
    (device,) = driver.devices()[:1]
    assert (device.memory, device.sliceable) == (from_gib(64), from_gib(63))
    assert driver.room(device.uuid).memory == from_gib(63)
    with refusal(Kind.FULL, "64 GiB was asked for and 63 GiB is left"):
        driver.create_slice(device.uuid, memory=from_gib(64), cores=1)
    for _ in range(3):
        driver.create_slice(device.uuid, memory=from_gib(16), cores=1)
    with refusal(Kind.FULL, "16 GiB was asked for and 15 GiB is left"):
        driver.create_slice(device.uuid, memory=from_gib(16), cores=1)


def test_resizing_counts_what_the_slice_has_as_free() -> None:
    driver = make_driver(SLICED)
    driver.create_slice(first(driver), memory=from_gib(63), cores=100)
    assert driver.resize_slice(first(driver), 0, memory=from_gib(63), cores=100).cores == 100
    assert driver.resize_slice(first(driver), 0, cores=40).memory == from_gib(63)
    with refusal(Kind.INVALID, "no slice 5"):
        driver.resize_slice(first(driver), 5, cores=10)


def test_a_card_has_one_policy_while_it_has_slices() -> None:
    driver = make_driver(SLICED)
    driver.set_policy(first(driver), QosPolicy.FIXED_SHARE)
    driver.create_slice(first(driver), memory=from_gib(1), cores=1)
    driver.set_policy(first(driver), QosPolicy.FIXED_SHARE)
    with refusal(Kind.BUSY, "one policy"):
        driver.set_policy(first(driver), QosPolicy.BURST_SHARE)
    assert driver.room(first(driver)).policy is QosPolicy.FIXED_SHARE


def test_a_card_that_is_used_whole_has_no_slices() -> None:
    driver = make_driver(SLICED)
    driver.world.use(0)
    with refusal(Kind.BUSY, "has all of it"):
        driver.create_slice(first(driver), memory=from_gib(1), cores=1)


def test_a_native_card_has_no_slices() -> None:
    driver = make_driver({"product": "C500"})
    assert driver.room(first(driver)).slots == 0
    with refusal(Kind.INVALID, "native mode"):
        driver.create_slice(first(driver), memory=from_gib(1), cores=1)


@pytest.mark.parametrize("product", ["C500", "S4000"])
def test_an_idle_card_is_switched_between_whole_and_slices(product: str) -> None:
    driver = make_driver({"product": product, "sliced": False})
    for on in (True, True, False, False):
        driver.set_sliced(first(driver), on=on)
        assert driver.devices()[0].sliced is on


@pytest.mark.parametrize("product", ["C500", "S4000"])
def test_a_card_that_is_used_whole_is_not_switched(product: str) -> None:
    driver = make_driver({"product": product, "sliced": False})
    driver.world.use(0)
    with refusal(Kind.BUSY, "in use"):
        driver.set_sliced(first(driver), on=True)
    driver.set_sliced(first(driver), on=False)
    driver.world.release(0)
    driver.set_sliced(first(driver), on=True)
    assert driver.devices()[0].sliced is True


def test_a_card_with_slices_is_not_switched_back() -> None:
    driver = make_driver(SLICED)
    made = driver.create_slice(first(driver), memory=from_gib(1), cores=1)
    with refusal(Kind.BUSY, "has slices"):
        driver.set_sliced(first(driver), on=False)
    driver.remove_slice(first(driver), made.id)
    driver.set_sliced(first(driver), on=False)
    assert driver.devices()[0].sliced is False


def test_a_virtual_function_is_not_switched() -> None:
    driver = make_driver({"product": "C500", "virtual_functions": 2})
    with refusal(Kind.NOT_SUPPORTED, "virtual function"):
        driver.set_sliced(driver.devices()[1].uuid, on=True)


def test_a_slice_is_online_if_it_was_made_so_and_stays_so() -> None:
    driver = make_driver(SLICED)
    assert driver.create_slice(first(driver), memory=from_gib(1), cores=1, online=True).online is True
    assert driver.create_slice(first(driver), memory=from_gib(1), cores=1).online is False
    assert driver.resize_slice(first(driver), 0, cores=5).online is True
    assert [each.online for each in driver.slices(first(driver))] == [True, False]


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a_card_is_split_and_joined_again(count: int) -> None:
    driver = make_driver(SPLITTABLE)
    card = first(driver)
    driver.set_virtual_functions(card, count)
    parent, *functions = driver.devices()
    assert (parent.virtual_functions, parent.sriov) == (count, SriovState.ON)
    assert [each.virtual_function_of for each in functions] == [card] * count
    assert len({each.bdf for each in functions}) == count
    driver.set_virtual_functions(card, 0)
    assert len(driver.devices()) == 1


def test_virtual_functions_and_slices_exclude_each_other() -> None:
    driver = make_driver({**SPLITTABLE, "sliced": True})
    with refusal(Kind.BUSY, "excludes virtual functions"):
        driver.set_virtual_functions(first(driver), 2)
    driver.set_sliced(first(driver), on=False)
    driver.set_virtual_functions(first(driver), 2)
    with refusal(Kind.INVALID, "excludes slices"):
        driver.create_slice(first(driver), memory=from_gib(1), cores=1)
    with refusal(Kind.BUSY, "excludes slices"):
        driver.set_sliced(first(driver), on=True)


def test_a_split_ends_before_another_begins_and_only_when_idle() -> None:
    driver = make_driver(SPLITTABLE)
    driver.set_virtual_functions(first(driver), 2)
    with refusal(Kind.BUSY, "split into 2 already"):
        driver.set_virtual_functions(first(driver), 4)
    driver.world.use(0, 1)
    with refusal(Kind.BUSY, "in use"):
        driver.set_virtual_functions(first(driver), 0)


def test_counts_that_no_firmware_offers_are_refused() -> None:
    driver = make_driver(SPLITTABLE)
    with refusal(Kind.INVALID, "ask for 0, 1, 2, 4 or 8"):
        driver.set_virtual_functions(first(driver), 3)
    plain = make_driver({"product": "C500"})
    with refusal(Kind.NOT_SUPPORTED, "firmware"):
        plain.set_virtual_functions(first(plain), 2)


def test_a_fault_takes_every_unit_of_its_card_and_of_no_other() -> None:
    driver = make_driver({"product": "C500", "count": 2, "virtual_functions": 4})
    driver.world.strike(1, Fault.ECC)
    devices = driver.devices()
    health = driver.health()
    broken = {device.uuid for device in devices if not health[device.uuid].healthy}
    card = devices[1].uuid
    assert broken == {card, *(each.uuid for each in devices if each.virtual_function_of == card)}
    assert len(broken) == 5


# ------------------------------------------------------------------------------------------------ Moore Threads


def start(driver: SimulatedDriver, container: str = CONTAINER, **environment: str) -> None:
    driver.world.start_container(
        container, {f"MTHREADS_{name}": value for name, value in environment.items()}
    )


def test_the_runtime_makes_the_slice_of_the_worked_example() -> None:
    driver = make_driver({"server": "s4000-8"})
    start(driver, VISIBLE_DEVICES="2", QOS_MEMORY_LIMIT="17179869184", QOS_COMPUTING_POWER_WEIGHT="8")
    (made,) = driver.slices(driver.devices()[2].uuid)
    assert (made.memory, made.cores, made.name) == (from_gib(16), 8, CONTAINER[:12])
    assert made.minor == 2 << 4
    room = driver.room(driver.devices()[2].uuid)
    assert (room.slots, room.memory, room.cores) == (15, from_gib(32), 8)


def test_memory_is_rounded_up_to_a_tier_without_a_word() -> None:
    driver = make_driver({"product": "S5000", "count": 1})
    start(driver, VISIBLE_DEVICES="0", QOS_MEMORY_LIMIT=str(33 * 2**30))
    (made,) = driver.slices(first(driver))
    assert (made.memory, made.cores) == (from_gib(48), 1)


def test_a_container_on_several_cards_gets_all_or_none() -> None:
    driver = make_driver({"product": "S4000", "count": 2})
    start(driver, "a" * 12, VISIBLE_DEVICES="1", QOS_MEMORY_LIMIT=str(from_gib(48)))
    with refusal(Kind.FULL, "GPU-1: .* 0 bytes is left"):
        start(driver, "b" * 12, VISIBLE_DEVICES="all", QOS_MEMORY_LIMIT=str(from_gib(1)))
    assert driver.slices(first(driver)) == ()


def test_stopping_a_container_frees_its_slices_even_in_use() -> None:
    driver = make_driver({"product": "S4000"})
    start(driver, VISIBLE_DEVICES="0", QOS_MEMORY_LIMIT=str(from_gib(1)))
    driver.world.use(0, 0)
    driver.world.stop_container(CONTAINER)
    assert driver.slices(first(driver)) == ()
    assert driver.figures(first(driver)).processes == ()


def test_a_container_without_a_limit_takes_the_card() -> None:
    driver = make_driver({"product": "S4000"})
    start(driver, "a" * 12, VISIBLE_DEVICES="0")
    with refusal(Kind.BUSY, "holds all of it"):
        start(driver, "b" * 12, VISIBLE_DEVICES="0", QOS_MEMORY_LIMIT=str(from_gib(1)))
    assert driver.room(first(driver)).slots == 0


def test_an_environment_that_names_no_device_changes_nothing() -> None:
    driver = make_driver({"product": "S4000"})
    for visible in ("", "none", "void"):
        assert driver.world.start_container(CONTAINER, {"MTHREADS_VISIBLE_DEVICES": visible}) == ()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        pytest.param({"VISIBLE_DEVICES": "1"}, "from 0 to 0", id="no-such-card"),
        pytest.param({"VISIBLE_DEVICES": "0,0"}, "different cards", id="twice"),
        pytest.param({"VISIBLE_DEVICES": "GPU-1"}, "comma list", id="words"),
        pytest.param({"VISIBLE_DEVICES": "0", "QOS_MEMORY_LIMIT": "16G"}, "it is bytes", id="unit"),
        pytest.param({"VISIBLE_DEVICES": "0", "QOS_MEMORY_LIMIT": "0"}, "it is bytes", id="zero"),
        pytest.param(
            {"VISIBLE_DEVICES": "0", "QOS_MEMORY_LIMIT": "1", "QOS_COMPUTING_POWER_WEIGHT": "100000"},
            "a weight, from 1 to 99999",
            id="weight",
        ),
        pytest.param(
            {"VISIBLE_DEVICES": "0", "QOS_MEMORY_LIMIT": str(2**40)}, "up to 48 GiB", id="too-large"
        ),
    ],
)
def test_an_environment_that_cannot_be_is_refused(environment: dict[str, str], says: str) -> None:
    driver = make_driver({"product": "S4000"})
    with refusal(Kind.INVALID, says):
        start(driver, **environment)


def test_slices_of_moore_threads_are_made_by_nobody_else() -> None:
    driver = make_driver({"product": "S4000"})
    card = first(driver)
    for call in (
        lambda: driver.create_slice(card, memory=from_gib(1), cores=1),
        lambda: driver.resize_slice(card, 0, cores=1),
        lambda: driver.remove_slice(card, 0),
        lambda: driver.set_virtual_functions(card, 2),
    ):
        with refusal(Kind.NOT_SUPPORTED, "container runtime"):
            call()


# ------------------------------------------------------------------------------------- faults, errors, patience


def test_faults_come_and_go_with_the_timeline() -> None:
    clock = ManualClock()
    driver = make_driver(
        {"product": "C500", "count": 2},
        clock=clock,
        faults=[
            {"at": "60s", "card": 1, "fault": "recover"},
            {"at": "30s", "card": 1, "fault": "ecc"},
        ],
    )
    card = driver.devices()[1].uuid
    seen: list[str] = []
    for moment in (0, 29.9, 30, 59, 60):
        clock.seconds = 100 + moment
        seen.append(driver.health()[card].code)
    assert seen == ["", "", "ecc-uncorrected", "ecc-uncorrected", ""]


def test_advancing_is_the_same_as_waiting() -> None:
    driver = make_driver({"product": "C500"}, faults=[{"at": "30s", "card": 0, "fault": "overheat"}])
    assert driver.world.advance(30) == 30
    assert driver.health()[first(driver)].code == "overheat"
    assert driver.figures(first(driver)).throttled_by


def test_a_card_that_vanished_is_reported_and_comes_back_empty() -> None:
    driver = make_driver({**SLICED, "count": 2})
    card = first(driver)
    driver.create_slice(card, memory=from_gib(1), cores=1)
    driver.world.strike(0, Fault.VANISH)
    assert [device.index for device in driver.devices()] == [1]
    assert driver.health()[card].code == "card-gone"
    with refusal(Kind.CARD_GONE, "no longer on the bus"):
        driver.figures(card)
    driver.world.strike(0, Fault.RECOVER)
    assert driver.slices(card) == ()
    assert driver.health()[card].healthy


def test_links_of_a_card_with_a_link_fault_are_down() -> None:
    driver = make_driver({"server": "c500-4"})
    driver.world.strike(2, Fault.LINK)
    report = driver.links(driver.devices())
    assert {(link.a, link.b) for link in report.links if link.kind} == {(0, 1), (0, 3), (1, 3)}
    assert sum(port.up is False for port in report.ports) == 6


def test_a_hanging_card_is_given_up_by_the_name_of_the_call() -> None:
    waited: list[float] = []
    driver = make_driver({"product": "C500"}, stuck_after="5s")
    driver = SimulatedDriver(driver.world, sleep=waited.append)
    driver.world.strike(0, Fault.HANG)
    with refusal(Kind.STUCK, "figures of GPU-0") as caught:
        driver.figures(first(driver))
    assert caught is not None
    assert waited == [5]
    assert driver.health()[first(driver)].code == "stuck"


def test_every_call_takes_the_described_time() -> None:
    waited: list[float] = []
    driver = SimulatedDriver(make_driver({"product": "C500"}, latency="2ms").world, sleep=waited.append)
    driver.figures(first(driver))
    assert waited == [0.002, 0.002]


def test_a_described_error_strikes_its_call_and_card_and_ends() -> None:
    driver = make_driver(
        {"product": "C500", "count": 2},
        errors=[
            {
                "call": "figures",
                "card": 1,
                "kind": "not-permitted",
                "at": "1s",
                "until": "2s",
                "code": 7,
                "text": "no",
            }
        ],
    )
    one, other = (device.uuid for device in driver.devices())
    driver.figures(other)
    driver.world.advance(1)
    driver.figures(one)
    with pytest.raises(DriverError) as caught:
        driver.figures(other)
    assert (caught.value.kind, caught.value.vendor_code, caught.value.call) == (
        Kind.NOT_PERMITTED,
        7,
        "figures",
    )
    driver.world.advance(1)
    driver.figures(other)


def test_a_driver_that_is_gone_says_so_when_asked_for_devices() -> None:
    driver = make_driver({"product": "C500"}, errors=[{"call": "devices", "kind": "no-driver"}])
    with refusal(Kind.NO_DRIVER, re.escape("as the description of the cards says")):
        driver.devices()


def test_an_unknown_card_is_gone() -> None:
    driver = make_driver({"product": "C500"})
    with refusal(Kind.CARD_GONE, "no card 'GPU-x'"):
        driver.figures(CardUuid("GPU-x"))


def test_figures_follow_who_holds_what() -> None:
    driver = make_driver(SLICED)
    card = first(driver)
    idle = driver.figures(card)
    driver.create_slice(card, memory=from_gib(8), cores=50)
    driver.world.use(0, 0, from_gib(4))
    busy = driver.figures(card)
    assert idle.utilisation_percent == 0
    assert isinstance(busy.utilisation_percent, float)
    assert 30 < busy.utilisation_percent <= 50
    assert isinstance(busy.memory_used, int)
    assert isinstance(idle.memory_used, int)
    assert busy.memory_used - idle.memory_used == from_gib(4)
    assert isinstance(busy.processes, tuple)
    assert [each.slice_id for each in busy.processes] == [0]
    assert busy == driver.figures(card)
