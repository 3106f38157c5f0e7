"""Changing a card's mode: closed first, told second, switched third, and only while it is idle throughout."""

from builders.fake_driver import FakeDriver, metax_card
from builders.simulated import ManualClock, make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.switching import REST_S, TOLD_S, Switching
from tangram.units.ids import CardUuid

CARD = CardUuid("GPU-0")
DUE = {CARD: True}


class Refusing(FakeDriver):
    refuses = True

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        if self.refuses:
            raise DriverError(Kind.BUSY, "a process runs on it")
        super().set_sliced(uuid, on=on)


class Switched:
    def __init__(self, driver: FakeDriver | None = None) -> None:
        self.driver = driver or FakeDriver(metax_card(0))
        self.clock = ManualClock()
        self.done: list[str] = []
        self.switching = Switching(Hardware(lambda: self.driver), self.done.append, self.clock)

    @property
    def sliced(self) -> bool:
        return self.driver.found[0].sliced is True


async def test_a_card_is_closed_told_of_and_switched_after_a_moment() -> None:
    run = Switched()
    assert await run.switching.step(DUE, published=True)
    assert run.switching.closed == {CARD}
    assert not await run.switching.step(DUE, published=True)
    run.clock.seconds += TOLD_S - 0.1
    await run.switching.step(DUE, published=True)
    assert not run.sliced
    run.clock.seconds += 0.1
    assert await run.switching.step(DUE, published=True)
    assert run.sliced
    assert run.switching.closed == frozenset()
    assert run.done == ["mode-switched"]


async def test_the_moment_begins_when_the_cluster_has_been_told() -> None:
    run = Switched()
    for _ in range(5):
        await run.switching.step(DUE, published=False)
        run.clock.seconds += TOLD_S
    assert not run.sliced
    await run.switching.step(DUE, published=True)
    assert not run.sliced
    run.clock.seconds += TOLD_S
    await run.switching.step(DUE, published=True)
    assert run.sliced


async def test_a_card_that_somebody_took_meanwhile_is_opened_and_begins_anew() -> None:
    run = Switched()
    await run.switching.step(DUE, published=True)
    await run.switching.step(DUE, published=True)
    run.clock.seconds += TOLD_S
    assert await run.switching.step({}, published=True)
    assert run.switching.closed == frozenset()
    assert not run.sliced
    await run.switching.step(DUE, published=True)
    await run.switching.step(DUE, published=True)
    assert not run.sliced


async def test_a_card_that_turns_out_to_be_in_use_is_left_alone_for_a_while() -> None:
    driver = Refusing(metax_card(0))
    run = Switched(driver)
    for _ in range(3):
        await run.switching.step(DUE, published=True)
        run.clock.seconds += TOLD_S
    assert run.switching.closed == frozenset()
    await run.switching.step(DUE, published=True)
    assert run.switching.closed == frozenset()
    assert run.switching.refused == {CARD: "a process runs on it"}
    driver.refuses = False
    run.clock.seconds += REST_S
    for _ in range(3):
        await run.switching.step(DUE, published=True)
        run.clock.seconds += TOLD_S
    assert run.sliced
    assert run.switching.refused == {}


async def test_what_the_driver_said_is_forgotten_with_the_wish() -> None:
    run = Switched(Refusing(metax_card(0)))
    for _ in range(3):
        await run.switching.step(DUE, published=True)
        run.clock.seconds += TOLD_S
    assert run.switching.refused
    await run.switching.step({}, published=True)
    assert run.switching.refused == {}


async def test_nothing_due_is_nothing_done() -> None:
    run = Switched()
    assert not await run.switching.step({}, published=True)
    assert run.switching.closed == frozenset()


async def test_a_real_card_with_a_process_on_it_refuses_and_keeps_its_mode() -> None:
    driver = make_driver({"product": "C500"})
    driver.world.use(0)
    uuid = driver.world.devices()[0].uuid
    clock = ManualClock()
    switching = Switching(Hardware(lambda: driver), clock=clock)
    for _ in range(3):
        await switching.step({uuid: True}, published=True)
        clock.seconds += TOLD_S
    assert driver.world.devices()[0].sliced is False
