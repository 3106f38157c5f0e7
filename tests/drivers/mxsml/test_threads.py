from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from builders.mxsml_twin import Twin, c500
from tangram.drivers.errors import DriverError, Kind


def test_the_library_never_sees_two_threads_at_once(eight: Twin) -> None:
    driver = eight.driver()
    devices = driver.devices()
    health = driver.health()
    links = driver.links(devices)
    figures = {device.uuid: driver.figures(device.uuid) for device in devices}

    def ask(at: int) -> bool:
        device = devices[at % 8]
        return (
            driver.figures(device.uuid) == figures[device.uuid]
            and driver.health() == health
            and driver.devices() == devices
            and driver.links(devices) == links
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(64)))
    assert eight.most_inside() == 1


def test_cards_come_and_go_under_many_threads(twin_of: Callable[..., Twin]) -> None:
    twin = twin_of(c500(4))
    driver = twin.driver()
    devices = driver.devices()

    def ask(at: int) -> bool:
        if at % 8 == 0:
            twin.show(c500(4).without(at // 8 % 4))
        try:
            found = driver.figures(devices[at % 4].uuid)
        except DriverError as error:
            return error.kind is Kind.CARD_GONE
        return found.power_cap_watts == 350.0 and len(driver.health()) == 4

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(96)))
