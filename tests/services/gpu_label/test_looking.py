"""Two witnesses, and what is believed when one of them is silent."""

from pathlib import Path

import pytest

from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from builders.simulated import make_world
from builders.sysfs_tree import S4000, Tree
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.simulated.bus import SimulatedBus
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.sysfs.driver import Settings, SysfsDriver
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DriverMode, Health
from tangram.services.gpu_label.looking import PATIENCE, Looker, Sight, Unsure
from tangram.services.gpu_label.wanting import wanted_labels
from tangram.units.ids import CardUuid
from tangram.units.na import NA

LONG = 60.0
BOTH = frozenset({Vendor.METAX, Vendor.MTHREADS})


class Machine:
    """A driver and a bus, and how often the driver was opened."""

    def __init__(self, *cards: Device, on_bus: tuple[Device, ...] | None = None) -> None:
        self.driver: Driver = FakeDriver(*cards)
        self.bus = FakeDriver(*(cards if on_bus is None else on_bus))
        self.opened = 0
        self.missing: DriverError | None = None
        self.looker = Looker(self._open, self.bus, limit=LONG)

    def _open(self, _on_try: object) -> Driver:
        self.opened += 1
        if self.missing is not None:
            raise self.missing
        return self.driver

    @property
    def fake(self) -> FakeDriver:
        assert isinstance(self.driver, FakeDriver)
        return self.driver


def stuck() -> DriverError:
    return DriverError(Kind.STUCK, "mxSmlGetDeviceInfo has not returned")


def absent() -> DriverError:
    return DriverError(Kind.NO_LIBRARY, "no library")


def test_what_the_driver_lists_is_seen_and_the_driver_stays_open() -> None:
    machine = Machine(metax_card(0), metax_card(1))
    for _ in range(3):
        sight = machine.looker.look()
    assert sight.devices == (metax_card(0), metax_card(1))  # pyright: ignore[reportPossiblyUnboundVariable] - three looks
    assert machine.opened == 1


@pytest.mark.parametrize("kind", [Kind.NO_LIBRARY, Kind.NO_DRIVER])
def test_a_driver_that_is_not_there_is_an_answer_at_once(kind: Kind) -> None:
    machine = Machine(on_bus=(metax_card(0),))
    machine.missing = DriverError(kind, "nothing here")
    assert machine.looker.look() == Sight(on_bus=frozenset({Vendor.METAX}), remark="nothing here")


def test_a_driver_that_appears_is_found_and_one_that_goes_is_missed() -> None:
    machine = Machine(metax_card(0))
    machine.missing = absent()
    assert machine.looker.look().devices == ()
    machine.missing = None
    assert machine.looker.look().devices == (metax_card(0),)
    machine.fake.errors["devices"] = DriverError(Kind.NO_DRIVER, "unloaded")
    machine.missing = absent()
    assert machine.looker.look().devices == ()


def test_the_driver_is_opened_anew_while_a_vendor_on_the_bus_has_none() -> None:
    machine = Machine(metax_card(0), on_bus=(metax_card(0), mthreads_card(0)))
    sight = machine.looker.look()
    assert (sight.on_bus, sight.devices) == (BOTH, (metax_card(0),))
    machine.driver = FakeDriver(metax_card(0), mthreads_card(0))
    assert len(machine.looker.look().devices) == 2
    machine.looker.look()
    assert machine.opened == 2


def test_a_driver_that_stays_away_is_looked_for_less_and_less() -> None:
    machine = Machine()
    machine.missing = absent()
    for _ in range(1000):
        assert machine.looker.look() == Sight(remark="no library")
    assert machine.opened == 11


def test_anything_new_on_the_bus_is_reason_to_look_for_a_driver_at_once() -> None:
    machine = Machine(on_bus=(metax_card(0, mode=NA),))
    machine.missing = absent()
    for _ in range(100):
        machine.looker.look()
    machine.driver, machine.missing = FakeDriver(metax_card(0)), None
    machine.bus.found = [metax_card(0, mode=DriverMode.NATIVE)]
    assert machine.looker.look().devices == (metax_card(0),)


def test_one_reading_that_hangs_says_nothing_and_several_say_not_ready() -> None:
    machine = Machine(metax_card(0))
    before = machine.looker.look()
    machine.fake.errors["devices"] = stuck()
    for _ in range(PATIENCE - 1):
        with pytest.raises(Unsure, match="mxSmlGetDeviceInfo"):
            machine.looker.look()
    assert machine.looker.look() == Sight(
        on_bus=frozenset({Vendor.METAX}), remark="mxSmlGetDeviceInfo has not returned"
    )
    del machine.fake.errors["devices"]
    assert machine.looker.look() == before
    machine.fake.errors["devices"] = stuck()
    with pytest.raises(Unsure):
        machine.looker.look()


def test_cards_do_not_leave_the_machine_because_nothing_answers() -> None:
    machine = Machine(metax_card(0))
    machine.looker.look()
    machine.bus.errors["devices"] = stuck()
    for _ in range(PATIENCE - 1):
        with pytest.raises(Unsure):
            machine.looker.look()
    assert machine.looker.look().on_bus == {Vendor.METAX}


def test_a_driver_that_fails_is_waited_for_as_one_that_hangs() -> None:
    machine = Machine(metax_card(0))
    machine.fake.errors["devices"] = DriverError(Kind.FAILED, "error 5")
    with pytest.raises(Unsure, match="error 5"):
        machine.looker.look()


def test_a_driver_nobody_can_mean_is_said_at_once() -> None:
    machine = Machine()
    machine.missing = DriverError(Kind.INVALID, "the driver is 'x'")
    with pytest.raises(DriverError, match="the driver is"):
        machine.looker.look()


def test_health_that_hangs_after_the_list_takes_nothing_away() -> None:
    machine = Machine(metax_card(0))
    machine.fake.errors["health"] = stuck()
    assert machine.looker.look().devices == (metax_card(0),)


def test_unhealthy_cards_are_still_cards_of_the_node() -> None:
    machine = Machine(metax_card(0))
    machine.fake.health_of[CardUuid("GPU-0")] = Health(healthy=False, code="ecc")
    assert machine.looker.look().devices == (metax_card(0),)


def test_closing_gives_both_back() -> None:
    machine = Machine(metax_card(0))
    machine.looker.look()
    machine.looker.close()
    assert machine.fake.closed
    assert machine.bus.closed


@pytest.mark.parametrize(
    ("driver", "ready"), [("METAX", "true"), ("MXGVM", "true"), (None, "false"), ("vfio-pci", "false")]
)
def test_over_sysfs_alone_a_driver_is_ready_when_it_holds_the_card(
    tmp_path: Path, driver: str | None, ready: str
) -> None:
    tree = Tree(tmp_path)
    tree.card("pci0000:00/0000:01:00.0", driver=driver)
    labels = wanted_labels(sysfs_looker(tree).look())
    assert labels["metax-tech.com/gpu.installed"] == "true"
    assert labels["metax-tech.com/driver.ready"] == ready
    assert ("metax-tech.com/gpu.product" in labels) == (ready == "true")


def test_over_sysfs_alone_a_moore_threads_card_without_a_driver_is_installed(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    folder = tree.card("pci0000:00/0000:01:00.0", S4000, driver=None)
    looker = sysfs_looker(tree)
    assert wanted_labels(looker.look()) == {
        "metax-tech.com/gpu.installed": "false",
        "tangram.dev/mthreads.installed": "true",
        "tangram.dev/mthreads.driver.ready": "false",
    }
    (folder / "driver").symlink_to(tmp_path / "drivers" / "mtgpu")
    assert wanted_labels(looker.look())["tangram.dev/mthreads.driver.ready"] == "true"


def sysfs_looker(tree: Tree) -> Looker:
    def opened(_on_try: object) -> SysfsDriver:
        return SysfsDriver(Settings(sysfs_root=str(tree.sys), dev_root=str(tree.dev), limit=LONG))

    return Looker(opened, opened(None), limit=LONG)


def test_a_simulated_node_shows_its_cards_before_and_after_its_driver_is_loaded() -> None:
    world = make_world({"product": "C500"}, module="none")
    looker = Looker(lambda _on_try: SimulatedDriver(world), SimulatedBus(world), limit=LONG)
    sight = looker.look()
    assert (sight.devices, sight.on_bus) == ((), frozenset({Vendor.METAX}))
    carry_out(world, "module load 2.33.0")
    (card,) = looker.look().devices
    assert card.driver_version == "2.33.0"
    carry_out(world, "module none")
    assert wanted_labels(looker.look())["metax-tech.com/driver.ready"] == "false"
    looker.close()
