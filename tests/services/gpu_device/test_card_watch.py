"""The cards as they are read again and again: what vanishes stays in the books, silence is not believed for long."""

import pytest

from builders.fake_driver import FakeDriver, metax_card
from tangram.drivers.errors import DriverError, Kind
from tangram.model.devices import Health, LinkReport
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.services.gpu_device.card_watch import GONE, SILENT_TICKS, CardWatch
from tangram.services.gpu_device.hardware import Hardware
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.device_config import DeviceConfig


def watching(driver: FakeDriver) -> CardWatch:
    return CardWatch(NodeName("n"), Hardware(lambda: driver), DeviceConfig)


def health(watch: CardWatch) -> dict[str, str]:
    """By card, why it is broken; empty where it is not."""
    return {
        str(card.uuid): "" if card.healthy else card.health_reason for card in watch.arrange({}, ()).cards
    }


async def test_before_the_first_answer_nothing_is_known() -> None:
    driver = FakeDriver(metax_card(0))
    driver.errors["devices"] = DriverError(Kind.NO_DRIVER, "no driver is loaded")
    watch = watching(driver)
    await watch.look()
    assert watch.arrange({}, ()).cards == ()
    assert not watch.known
    assert watch.trouble == "no driver is loaded"
    driver.errors.clear()
    await watch.look()
    assert not watch.known
    watch.arrange({}, ())
    assert watch.known
    assert watch.trouble == ""


async def test_a_card_that_vanishes_stays_and_is_broken_until_it_is_back() -> None:
    driver = FakeDriver(metax_card(0), metax_card(1))
    watch = watching(driver)
    await watch.look()
    gone = driver.found.pop(0)
    before = watch.fingerprint
    await watch.look()
    assert watch.fingerprint != before
    found = health(watch)
    assert list(found) == ["GPU-0", "GPU-1"]
    assert found["GPU-0"]
    assert not found["GPU-1"]
    assert GONE == "card-gone"
    driver.found.insert(0, gone)
    await watch.look()
    assert health(watch) == {"GPU-0": "", "GPU-1": ""}


async def test_virtual_functions_go_with_whoever_split_the_card() -> None:
    function = metax_card(1, uuid=CardUuid("VF-0"), virtual_function_of=CardUuid("GPU-0"))
    driver = FakeDriver(metax_card(0, virtual_functions=1), function)
    watch = watching(driver)
    await watch.look()
    assert len(watch.arrange({}, ()).devices) == 2
    driver.found[:] = [metax_card(0)]
    await watch.look()
    assert [str(each.uuid) for each in watch.arrange({}, ()).devices] == ["GPU-0"]


async def test_a_driver_may_be_silent_twice_but_not_thrice() -> None:
    driver = FakeDriver(metax_card(0))
    watch = watching(driver)
    await watch.look()
    driver.errors["health"] = DriverError(Kind.FAILED, "it will not say")
    for _ in range(SILENT_TICKS - 1):
        await watch.look()
        assert health(watch) == {"GPU-0": ""}
        assert watch.trouble
    await watch.look()
    assert health(watch) == {"GPU-0": "it will not say"}
    driver.errors.clear()
    await watch.look()
    assert health(watch) == {"GPU-0": ""}


async def test_a_driver_that_was_unloaded_is_believed_at_once() -> None:
    driver = FakeDriver(metax_card(0))
    watch = watching(driver)
    await watch.look()
    driver.errors["devices"] = DriverError(Kind.NO_DRIVER, "the driver was unloaded")
    await watch.look()
    assert health(watch) == {"GPU-0": "the driver was unloaded"}


async def test_a_driver_that_only_a_new_process_can_ask_ends_the_look() -> None:
    """The look is a vital task, so the process ends and Kubernetes starts one that sees the cards."""
    driver = FakeDriver(metax_card(0))
    watch = watching(driver)
    await watch.look()
    driver.errors["devices"] = DriverError(Kind.OUTDATED, "start this program again")
    with pytest.raises(DriverError, match="start this program again"):
        await watch.look()
    assert health(watch) == {"GPU-0": ""}


async def test_a_look_that_finds_the_same_is_no_news() -> None:
    driver = FakeDriver(metax_card(0))
    watch = watching(driver)
    await watch.look()
    before = watch.fingerprint
    await watch.look()
    assert watch.fingerprint == before
    driver.health_of[CardUuid("GPU-0")] = Health(healthy=False, message="a memory error")
    await watch.look()
    assert watch.fingerprint != before


async def test_where_health_is_not_asked_for_a_failing_card_stays() -> None:
    driver = FakeDriver(metax_card(0))
    driver.health_of[CardUuid("GPU-0")] = Health(healthy=False, message="a memory error")
    watch = watching(driver)
    await watch.look(health=False)
    assert health(watch) == {"GPU-0": ""}


async def test_links_follow_the_cards_when_one_of_them_vanishes() -> None:
    links = (
        Link(0, 1, LinkKind.NONE, PcieLevel.NUMA_NODE),
        Link(0, 2, LinkKind.NONE, PcieLevel.NUMA_NODE),
        Link(1, 2, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH),
    )
    driver = FakeDriver(
        metax_card(0), metax_card(1), metax_card(2), links=LinkReport(known=True, links=links)
    )
    watch = watching(driver)
    await watch.look()
    del driver.found[0]
    driver.link_report = LinkReport(
        known=True, links=(Link(0, 1, LinkKind.METAXLINK, PcieLevel.SINGLE_SWITCH),)
    )
    await watch.look()
    topology = watch.arrange({}, ()).topology
    assert topology is not None
    assert [(link.a, link.b) for link in topology.links if link.kind is LinkKind.METAXLINK] == [(1, 2)]
