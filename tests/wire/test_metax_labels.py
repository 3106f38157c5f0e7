"""MetaX's labels, byte for byte as the manual and the vendor's public nodes show them."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.fake_driver import metax_card, mthreads_card
from builders.simulated import make_driver
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DriverMode, SriovState
from tangram.units.ids import CardUuid, is_label_value
from tangram.units.memory import Bytes, from_gib
from tangram.units.na import NA
from tangram.wire.metax_labels import OURS, Choices, is_ours, label_set

PREFIX = "metax-tech.com/"


def short(labels: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(PREFIX): value for key, value in labels.items()}


def c550(index: int = 0, **more: object) -> Device:
    facts: dict[str, object] = {"product": "MXC550", "family": "MXC", "driver_version": "2.0.0"}
    return metax_card(index, **{**facts, **more})


def test_the_manuals_sample_node() -> None:
    """Driver 2.0.0 on the host, C550, not virtualised, and no word about SR-IOV."""
    card = c550(mode=DriverMode.NATIVE, virtual_functions=0)
    manual = {
        "gpu.installed": "true",
        "driver.ready": "true",
        "gpu.driver.major": "2",
        "gpu.driver.minor": "0",
        "gpu.driver.patch": "0",
        "gpu.driver.mode": "native",
        "gpu.family": "MXC",
        "gpu.memory": "64GB",
        "gpu.product": "C550",
        "gpu.vfnum": "0",
    }
    assert short(label_set([card], on_bus=True, choices=Choices(short_products=True))) == manual
    assert short(label_set([card], on_bus=True)) == manual | {"gpu.product": "MXC550"}


def test_a_public_node_of_the_operator() -> None:
    card = c550(mode=DriverMode.CLOUD, sriov=SriovState.FORBIDDEN, driver_version="2.33.0")
    labels = label_set([card], on_bus=True, choices=Choices(driver_mode=DriverMode.CLOUD))
    assert short(labels) == {
        "gpu.installed": "true",
        "driver.ready": "true",
        "gpu.driver.major": "2",
        "gpu.driver.minor": "33",
        "gpu.driver.patch": "0",
        "gpu.driver.mode": "cloud",
        "gpu.family": "MXC",
        "gpu.memory": "64GB",
        "gpu.product": "MXC550",
        "gpu.sriov": "forbidden",
    }


def test_who_put_the_driver_there_is_what_the_administrator_says() -> None:
    """The public node had no virtual functions, and its driver came with the operator all the same."""
    card = c550(mode=DriverMode.NATIVE, sriov=SriovState.FORBIDDEN)
    said = label_set([card], on_bus=True, choices=Choices(driver_mode=DriverMode.CLOUD))
    assert short(said)["gpu.driver.mode"] == "cloud"
    assert short(label_set([card], on_bus=True))["gpu.driver.mode"] == "native"
    nothing = label_set(None, on_bus=True, choices=Choices(driver_mode=DriverMode.CLOUD))
    assert "gpu.driver.mode" not in short(nothing)


@pytest.mark.parametrize("kind", [DriverMode.NATIVE, DriverMode.CLOUD, NA])
def test_a_hosts_driver_is_native_whichever_kind_it_is(kind: DriverMode) -> None:
    """An administrator installs the driver that hands out virtual functions too."""
    assert short(label_set([c550(mode=kind)], on_bus=True))["gpu.driver.mode"] == "native"


def test_labels_of_a_vendor_that_is_off_are_left_to_its_own_labeller() -> None:
    choices = Choices(vendors=frozenset({Vendor.MTHREADS}))
    assert label_set([c550()], on_bus=True, choices=choices) == {}
    assert not is_ours(f"{PREFIX}gpu.installed", choices)


def test_a_job_of_the_manual_finds_a_c500_that_is_not_virtualised() -> None:
    labels = label_set(
        make_driver({"server": "c500-8-two-groups"}).devices(),
        on_bus=True,
        choices=Choices(short_products=True),
    )
    selector = {"metax-tech.com/gpu.vfnum": "0", "metax-tech.com/gpu.product": "C500"}
    assert selector.items() <= labels.items()


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_virtual_functions_are_counted_per_card_and_are_no_cards(count: int) -> None:
    devices = make_driver(
        {"product": "C500", "count": 2, "mode": "cloud", "sriov": "on", "virtual_functions": count}
    ).devices()
    labels = short(label_set(devices, on_bus=True))
    assert (labels["gpu.vfnum"], labels["gpu.sriov"], labels["gpu.product"]) == (str(count), "on", "MXC500")
    assert labels["gpu.memory"] == "64GB"


@pytest.mark.parametrize("devices", [None, ()])
def test_a_node_without_a_gpu_says_so_and_nothing_else(devices: tuple[()] | None) -> None:
    assert label_set(devices, on_bus=False) == {"metax-tech.com/gpu.installed": "false"}


def test_cards_of_another_vendor_are_no_gpu_here() -> None:
    assert label_set([mthreads_card(0)], on_bus=False) == {"metax-tech.com/gpu.installed": "false"}


@pytest.mark.parametrize("devices", [None, ()])
def test_a_card_on_the_bus_without_a_driver_has_no_driver_labels(devices: tuple[()] | None) -> None:
    assert short(label_set(devices, on_bus=True)) == {"gpu.installed": "true", "driver.ready": "false"}


def test_labels_speak_of_the_model_that_most_cards_are() -> None:
    cards = [
        metax_card(0, product="MXN260", family="MXN", memory=from_gib(32)),
        c550(1, sriov=SriovState.OFF),
        c550(2, sriov=SriovState.ON),
        c550(3, sriov=SriovState.ON),
    ]
    labels = short(label_set(cards, on_bus=True))
    assert (labels["gpu.product"], labels["gpu.family"], labels["gpu.memory"]) == ("MXC550", "MXC", "64GB")
    assert labels["gpu.sriov"] == "on"


def test_of_equally_many_the_lowest_card_speaks_whatever_the_order_of_the_list() -> None:
    cards = [c550(1), metax_card(0, product="MXN260")]
    assert short(label_set(cards, on_bus=True))["gpu.product"] == "MXN260"
    assert short(label_set(cards[::-1], on_bus=True))["gpu.product"] == "MXN260"


def test_what_nobody_can_say_is_left_out() -> None:
    bare = metax_card(0, product="", memory=NA, family="", sliced=NA)
    labels = short(label_set([bare], on_bus=True))
    assert labels == {"gpu.installed": "true", "driver.ready": "true", "gpu.driver.mode": "native"}


def test_a_function_whose_card_is_elsewhere_is_a_card_here() -> None:
    """Inside a virtual machine."""
    function = metax_card(0, product="MXC500 VF", virtual_function_of=CardUuid("GPU-of-the-host"))
    assert short(label_set([function], on_bus=True))["gpu.product"] == "MXC500-VF"


def test_the_operators_labels_are_not_ours() -> None:
    assert not any(is_ours(f"{PREFIX}{name}") for name in ("maca.ready", "runtime.ready", "gpu", "gpu.other"))
    assert len(OURS) == 11


@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.integers(0, 2**60)), max_size=4))
def test_labels_are_legal_whatever_a_library_says(facts: list[tuple[str, str, str, int]]) -> None:
    cards = [
        metax_card(index, product=product, family=family, driver_version=version, memory=Bytes(memory))
        for index, (product, family, version, memory) in enumerate(facts)
    ]
    labels = label_set(cards, on_bus=False)
    assert set(labels) <= OURS
    assert all(is_label_value(value) and value for value in labels.values())
