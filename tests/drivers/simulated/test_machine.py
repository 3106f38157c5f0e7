"""Whatever is done to simulated cards in whatever order: the rules hold, and the same calls give the same answers.

Every call is made twice, on a driver in this process and through the client's messages to another; they must agree in
every record and every refusal, so this is the proof that the wire changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from builders.simulated import ManualClock, client_of, make_driver
from tangram.drivers.errors import DriverError
from tangram.drivers.protocol import Driver
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.description import Fault
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.state import WHOLE
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import Device
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, from_gib, from_mib
from tangram.units.na import known

CARDS = (
    {"product": "C500", "count": 2, "sliced": True, "sriov": "off", "links": "full-mesh"},
    {"product": "S4000", "count": 1},
)
TIMELINE = [
    {"at": "40s", "card": 0, "fault": "vanish"},
    {"at": "60s", "card": 0, "fault": "recover"},
    {"at": "90s", "card": 1, "fault": "hang"},
]
_Answer = TypeVar("_Answer")

cards = st.integers(0, 2)
slice_ids = st.integers(0, 16)
memories = st.sampled_from(
    [from_mib(128), from_gib(1), from_gib(4), from_gib(20), from_gib(64), from_mib(100), Bytes(0)]
)
cores = st.sampled_from([1, 5, 25, 50, 100, 0, 101])
containers = st.sampled_from(["a" * 12, "b" * 12, "c" * 12])


def outcome(call: Callable[[], _Answer]) -> _Answer | tuple[str, str]:
    try:
        return call()
    except DriverError as error:
        return error.kind, error.sentence


class SimulatedCards(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.here: SimulatedDriver = make_driver(*CARDS, clock=self.clock, faults=TIMELINE)
        self.far: SimulatedDriver = make_driver(*CARDS, clock=self.clock, faults=TIMELINE)
        self.client = client_of(self.far)
        self.steps = 0
        self.uuids = [device.uuid for device in self.here.devices()]

    def both(self, call: Callable[[Driver], object]) -> None:
        here, there = outcome(lambda: call(self.here)), outcome(lambda: call(self.client))
        assert here == there

    def command(self, line: str) -> None:
        assert outcome(lambda: carry_out(self.here.world, line)) == outcome(lambda: self.client.control(line))

    @rule(
        card=cards,
        memory=memories,
        share=cores,
        name=st.sampled_from(["", "web", "bad name"]),
        online=st.booleans(),
    )
    def create(self, card: int, memory: Bytes, share: int, name: str, *, online: bool) -> None:
        self.both(
            lambda driver: driver.create_slice(
                self.uuids[card], memory=memory, cores=share, name=name, online=online
            )
        )

    @rule(card=cards, on=st.booleans())
    def set_sliced(self, card: int, *, on: bool) -> None:
        self.both(lambda driver: driver.set_sliced(self.uuids[card], on=on))

    @rule(card=cards, slice_id=slice_ids, memory=st.none() | memories, share=st.none() | cores)
    def resize(self, card: int, slice_id: int, memory: Bytes | None, share: int | None) -> None:
        self.both(lambda driver: driver.resize_slice(self.uuids[card], slice_id, memory=memory, cores=share))

    @rule(card=cards, slice_id=slice_ids)
    def remove(self, card: int, slice_id: int) -> None:
        was_busy = slice_id in self.here.world.state(card).holders
        self.both(lambda driver: driver.remove_slice(self.uuids[card], slice_id))
        if was_busy:
            assert self.here.world.state(card).slice(slice_id) is not None

    @rule(card=cards, policy=st.sampled_from(QosPolicy))
    def policy(self, card: int, policy: QosPolicy) -> None:
        self.both(lambda driver: driver.set_policy(self.uuids[card], policy))

    @rule(card=cards, count=st.sampled_from([0, 1, 2, 3, 4, 8]))
    def split(self, card: int, count: int) -> None:
        self.both(lambda driver: driver.set_virtual_functions(self.uuids[card], count))

    @rule(card=cards, switch=st.sampled_from(["on", "off"]))
    def switch(self, card: int, switch: str) -> None:
        self.command(f"set sliced GPU-{card} {switch}")

    @rule(card=cards, part=st.none() | slice_ids)
    def use(self, card: int, part: int | None) -> None:
        self.command(f"use GPU-{card}" if part is None else f"use GPU-{card}/{part}")

    @rule(card=cards, part=st.none() | slice_ids)
    def release(self, card: int, part: int | None) -> None:
        self.command(f"release GPU-{card}" if part is None else f"release GPU-{card}/{part}")

    @rule(card=cards, fault=st.sampled_from(["ecc", "overheat", "link", "vanish", "hang"]))
    def fail(self, card: int, fault: str) -> None:
        self.command(f"fail GPU-{card} {fault}")

    @rule(card=cards)
    def recover(self, card: int) -> None:
        self.command(f"recover GPU-{card}")

    @rule(container=containers, memory=st.sampled_from(["", "536870912", "17179869184", "51539607552"]))
    def run(self, container: str, memory: str) -> None:
        limit = f" MTHREADS_QOS_MEMORY_LIMIT={memory}" if memory else ""
        self.command(f"run {container} MTHREADS_VISIBLE_DEVICES=0{limit}")

    @rule(container=containers)
    def stop(self, container: str) -> None:
        self.command(f"stop {container}")

    @rule(seconds=st.integers(1, 20))
    def wait(self, seconds: int) -> None:
        self.clock.seconds += seconds

    @invariant()
    def both_tell_the_same(self) -> None:
        # One card and one long answer per step: in a sequence of steps every one gets its turn.
        self.steps += 1
        uuid = self.uuids[self.steps % 3]
        self.both(lambda driver: driver.figures(uuid))
        self.both(lambda driver: driver.slices(uuid))
        self.both(lambda driver: driver.room(uuid))
        match self.steps % 4:
            case 0:
                self.both(lambda driver: driver.devices())
            case 1:
                self.both(lambda driver: driver.links(driver.devices()))
            case 2:
                self.both(lambda driver: driver.health())
            case _:
                self.command("list")

    @invariant()
    def no_rule_is_broken(self) -> None:
        world = self.here.world
        for spec in world.description.cards:
            state = world.state(spec.position)
            ids = [each.id for each in state.slices]
            assert len(set(ids)) == len(ids) <= 16
            assert set(ids) <= set(range(16))
            assert sum(each.memory for each in state.slices) <= spec.memory
            assert not (state.virtual_functions and (state.sliced or state.slices))
            assert state.virtual_functions in (0, 1, 2, 4, 8)
            assert state.sliced or not state.slices
            assert not (WHOLE in state.holders and (state.slices or state.virtual_functions))
            if Fault.VANISH in world.faults(spec.position):
                assert (state.slices, state.holders) == ((), {})
            if spec.vendor is Vendor.METAX:
                assert sum(each.cores for each in state.slices) <= 100
                assert all(each.memory % (128 * MIB) == 0 and each.cores >= 1 for each in state.slices)
            for part, holder in state.holders.items():
                held = state.slice(part)
                assert held is None or holder.memory <= held.memory

    @invariant()
    def a_fault_takes_all_units_of_its_card(self) -> None:
        health = self.here.health()
        devices: dict[CardUuid, Device] = {device.uuid: device for device in self.here.devices()}
        for device in devices.values():
            if device.virtual_function_of is not None:
                assert health[device.uuid] == health[device.virtual_function_of]
        assert set(self.uuids) <= set(health)
        for uuid, device in devices.items():
            if device.virtual_function_of is None:
                functions = [each for each in devices.values() if each.virtual_function_of == uuid]
                assert len(functions) == known(device.virtual_functions, 0)


TestSimulatedCards = SimulatedCards.TestCase
