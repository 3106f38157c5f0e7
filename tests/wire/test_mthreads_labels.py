"""Labels of Moore Threads nodes, under our own prefix."""

import pytest

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.devices import Device
from tangram.wire.mthreads_labels import is_ours, label_set


def test_eight_s4000() -> None:
    cards = [mthreads_card(index, driver_version="3.3.5-server") for index in range(8)]
    assert label_set(cards, on_bus=True) == {
        "tangram.dev/mthreads.installed": "true",
        "tangram.dev/mthreads.driver.ready": "true",
        "tangram.dev/mthreads.driver.major": "3",
        "tangram.dev/mthreads.driver.minor": "3",
        "tangram.dev/mthreads.driver.patch": "5",
        "tangram.dev/mthreads.product": "MTT-S4000",
        "tangram.dev/mthreads.memory": "48GB",
        "tangram.dev/mthreads.count": "8",
    }


@pytest.mark.parametrize("others", [(), (metax_card(0),)])
def test_a_node_without_such_cards_has_none_of_the_labels(others: tuple[Device, ...]) -> None:
    assert label_set(others, on_bus=False) == {}


def test_a_card_without_a_driver_is_installed_and_no_more() -> None:
    assert label_set(None, on_bus=True) == {
        "tangram.dev/mthreads.installed": "true",
        "tangram.dev/mthreads.driver.ready": "false",
    }


def test_what_the_agent_and_administrators_write_is_not_ours() -> None:
    others = (
        "mthreads.com/sgpu.cores",
        "mthreads.com/gpu.count",
        "mthreads.com/gpu12.memory",
        "mthreads.com/gpu-node",
        "mthreads.com/gpu",
        "mthreads.com/gpu.present",
    )
    assert not any(is_ours(key) for key in (*others, "tangram.dev/other"))
    assert is_ours("tangram.dev/mthreads.count")
