"""A simulated kernel: what it loads, what it refuses, and what becomes of its cards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.modules import KERNEL, loader_of, module_file, module_text
from builders.simulated import BackgroundServer, client_of, make_driver
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.opening import open_loader
from tangram.drivers.modules.protocol import LoaderCode, LoaderError
from tangram.drivers.modules.simulated import SimulatedLoader
from tangram.drivers.opening import open_driver
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.kernel import ModuleFile
from tangram.drivers.simulated.loading import WorldLoader
from tangram.drivers.simulated.opening import open_simulated_bus
from tangram.drivers.simulated.reading import read_description
from tangram.model.devices import SriovState
from tangram.units.na import NA
from tangram.wire.errors import WireError

C500 = {"product": "C500", "count": 2, "sriov": "off"}


@pytest.fixture
def driver() -> SimulatedDriver:
    return make_driver(C500, module="none")


@pytest.fixture
def loader(driver: SimulatedDriver) -> SimulatedLoader:
    return loader_of(driver)


def refused(code: LoaderCode, loader: SimulatedLoader, *files: Path, **parameters: str) -> str:
    with pytest.raises(LoaderError) as caught:
        loader.load(files, parameters=parameters)
    assert caught.value.code is code
    return str(caught.value)


def test_a_bare_node_has_cards_on_its_bus_and_no_driver(
    driver: SimulatedDriver, loader: SimulatedLoader
) -> None:
    assert loader.kernel() == KERNEL
    assert loader.loaded() is None
    assert loader.of_host() is None
    assert len(loader.cards()) == 2
    assert loader.functions() == ()
    with pytest.raises(DriverError) as caught:
        driver.devices()
    assert caught.value.kind is Kind.NO_DRIVER
    with pytest.raises(DriverError, match="no kernel driver"):
        driver.health()
    listed = carry_out(driver.world, "list")
    assert "no-driver" in str(listed)


def test_a_node_that_says_nothing_about_it_has_the_driver_of_its_cards() -> None:
    driver = make_driver({"product": "C500", "driver_version": "2.31.0"}, {"product": "S4000"})
    loader = loader_of(driver)
    module = loader.loaded()
    assert module is not None
    assert (module.name, module.version, loader.of_host()) == ("metax", "2.31.0", "2.31.0")


def test_a_node_with_cards_of_the_other_vendor_keeps_them_without_a_module() -> None:
    driver = make_driver(C500, {"product": "S4000"}, module="none")
    assert [device.product for device in driver.devices()] == ["MTT S4000"]
    assert len(driver.health()) == 1
    assert len(loader_of(driver).cards()) == 2


def test_the_version_of_the_module_is_the_version_of_the_cards(
    driver: SimulatedDriver, loader: SimulatedLoader, tmp_path: Path
) -> None:
    loader.load([module_file(tmp_path, "2.33.0", parameters=["a", "b"])], parameters={"a": "1"})
    assert {device.driver_version for device in driver.devices()} == {"2.33.0"}
    module = loader.loaded()
    assert module is not None
    assert (module.name, module.version, module.parameters, module.users) == (
        "metax",
        "2.33.0",
        {"a": "1"},
        0,
    )
    assert all(health.healthy for health in driver.health().values())
    assert loader.of_host() is None
    loader.unload()
    assert loader.loaded() is None
    loader.unload()


def test_what_the_kernel_refuses_changes_nothing(loader: SimulatedLoader, tmp_path: Path) -> None:
    wrong = module_file(tmp_path, "1.0", kernel="6.8.0")
    assert "6.8.0" in refused(LoaderCode.WRONG_KERNEL, loader, wrong)
    assert "'a'" in refused(LoaderCode.REFUSED, loader, module_file(tmp_path, "2.0", parameters=["b"]), a="1")
    real = tmp_path / "metax.ko"
    real.write_bytes(b"\x7fELF\x02\x01\x01\0")
    assert "first line" in refused(LoaderCode.REFUSED, loader, real)
    real.write_text("tangram simulated module\ncolour: red\n")
    assert "colour" in refused(LoaderCode.REFUSED, loader, real)
    real.write_text("tangram simulated module\nversion: 1\n")
    assert "kernel" in refused(LoaderCode.REFUSED, loader, real)
    assert "cannot be read" in refused(LoaderCode.MISSING, loader, tmp_path / "none.ko")
    refused(LoaderCode.MISSING, loader)
    refused(LoaderCode.WRONG_KERNEL, loader, module_file(tmp_path, "3.0"), wrong)
    assert loader.loaded() is None
    good = module_file(tmp_path, "4.0")
    loader.load([good], parameters={})
    assert "File exists" in refused(LoaderCode.BUSY, loader, good)


def test_a_card_in_use_keeps_its_driver(
    driver: SimulatedDriver, loader: SimulatedLoader, tmp_path: Path
) -> None:
    loader.load([module_file(tmp_path, "2.33.0")], parameters={})
    carry_out(driver.world, "use GPU-1")
    module = loader.loaded()
    assert module is not None
    assert module.users == 1
    with pytest.raises(LoaderError) as caught:
        loader.unload()
    assert caught.value.code is LoaderCode.BUSY
    carry_out(driver.world, "release GPU-1")
    loader.unload()


def test_the_driver_of_the_host_is_loaded_as_booting_would() -> None:
    driver = make_driver(C500, module="none", host_driver="2.30.1")
    loader = loader_of(driver)
    assert loader.of_host() == "2.30.1"
    loader.load_of_host()
    assert {device.driver_version for device in driver.devices()} == {"2.30.1"}
    with pytest.raises(LoaderError) as caught:
        loader_of(make_driver(C500, module="none")).load_of_host()
    assert caught.value.code is LoaderCode.MISSING


def test_cards_are_split_and_joined(driver: SimulatedDriver, loader: SimulatedLoader, tmp_path: Path) -> None:
    first, second = loader.cards()
    with pytest.raises(LoaderError) as caught:
        loader.set_functions(first, 2)
    assert caught.value.code is LoaderCode.MISSING
    loader.load([module_file(tmp_path, "2.33.0")], parameters={})
    for count in (2, 4, 4, 0):
        loader.set_functions(first, count)
        assert [(each.bdf, each.now, each.most) for each in loader.functions()] == [
            (first, count, 8),
            (second, 0, 8),
        ]
        assert len(driver.devices()) == 2 + count
    loader.set_functions(first, 2)
    with pytest.raises(LoaderError) as caught:
        loader.set_functions(first, 3)
    assert caught.value.code is LoaderCode.NO_FUNCTIONS
    carry_out(driver.world, "use GPU-0/1")
    assert loader.functions()[0].in_use
    for count in (0, 4):
        with pytest.raises(LoaderError) as caught:
            loader.set_functions(first, count)
        assert caught.value.code is LoaderCode.BUSY
    assert loader.functions()[0].now == 2
    carry_out(driver.world, "release GPU-0/1")
    loader.unload()
    loader.load([module_file(tmp_path, "2.33.0")], parameters={})
    assert [each.now for each in loader.functions()] == [0, 0], "a new driver finds the cards whole"


def test_a_card_that_forbids_it_is_not_split() -> None:
    driver = make_driver({"product": "C500"})
    loader = loader_of(driver)
    assert driver.devices()[0].sriov is SriovState.FORBIDDEN
    assert loader.functions()[0].most == 0
    with pytest.raises(LoaderError) as caught:
        loader.set_functions(loader.cards()[0], 2)
    assert caught.value.code is LoaderCode.NO_FUNCTIONS


def test_failures_happen_once_always_or_to_one_version(
    driver: SimulatedDriver, loader: SimulatedLoader, tmp_path: Path
) -> None:
    old, new = module_file(tmp_path, "1.0"), module_file(tmp_path, "2.0")
    carry_out(driver.world, "module fail load")
    refused(LoaderCode.FAILED, loader, old)
    loader.load([old], parameters={})
    carry_out(driver.world, "module fail unload always")
    for _ in range(2):
        with pytest.raises(LoaderError) as caught:
            loader.unload()
        assert caught.value.code is LoaderCode.BUSY
    assert carry_out(driver.world, "module heal")["fails"] == {}
    loader.unload()
    carry_out(driver.world, "module fail verify 2.0")
    loader.load([new], parameters={})
    assert len(driver.devices()) == 1
    assert sorted(health.healthy for health in driver.health().values()) == [False, True]
    loader.unload()
    loader.load([old], parameters={})
    assert len(driver.devices()) == 2
    loader.unload()
    carry_out(driver.world, "module fail require")
    with pytest.raises(LoaderError) as caught:
        loader.load([old], requires=["ttm"], parameters={})
    assert caught.value.code is LoaderCode.MISSING
    assert "ttm" in str(caught.value)


def test_an_administrator_loads_and_a_boot_unloads_without_a_question(driver: SimulatedDriver) -> None:
    carry_out(driver.world, "module load 2.9.9")
    assert {device.driver_version for device in driver.devices()} == {"2.9.9"}
    carry_out(driver.world, "use GPU-0")
    shown = carry_out(driver.world, "module none")
    assert shown["module"] is None
    assert not driver.world.state(0).holders


@pytest.mark.parametrize(
    "line",
    [
        "module fly",
        "module load",
        "module load x",
        "module fail",
        "module fail all",
        "module fail load never",
        "module slow",
        "module slow 2h",
        "module slow x",
    ],
)
def test_a_command_that_means_nothing_is_answered_with_what_would(driver: SimulatedDriver, line: str) -> None:
    with pytest.raises(DriverError, match="write"):
        carry_out(driver.world, line)


def test_loading_takes_as_long_as_told(tmp_path: Path) -> None:
    slept: list[float] = []
    driver = SimulatedDriver(make_driver(C500, module="none").world, sleep=slept.append)
    carry_out(driver.world, "module slow 3s")
    loader_of(driver).load([module_file(tmp_path, "1.0")], parameters={})
    assert slept == [3.0]


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="tg-") as name:
        yield Path(name)


def test_the_module_outlives_whoever_loaded_it(driver: SimulatedDriver, folder: Path, tmp_path: Path) -> None:
    server = BackgroundServer(driver, folder / "s")
    server.start()
    try:
        loader = open_loader(f"simulated:unix:{folder / 's'}", Path("/"))
        loader.load([module_file(tmp_path, "2.33.0")], requires=["drm"], parameters={})
        later = open_loader(f"simulated:unix:{folder / 's'}", Path("/"))
        module = later.loaded()
        assert module is not None
        assert (later.name, module.version, len(later.functions())) == ("simulated", "2.33.0", 2)
        cards = open_driver(f"simulated:unix:{folder / 's'}")
        assert [device.bdf for device in cards.devices()] == list(later.cards())
        cards.close()
        bus = open_simulated_bus(f"unix:{folder / 's'}")
        assert [device.driver_version for device in bus.devices()] == ["2.33.0"] * 2
        later.unload()
        assert [device.driver_version for device in bus.devices()] == [NA] * 2
        bus.close()
    finally:
        server.close()
    with pytest.raises(LoaderError) as caught:
        open_loader(f"simulated:unix:{folder / 'gone'}", Path("/")).loaded()
    assert caught.value.code is LoaderCode.FAILED
    assert "simulate-cards serve" in str(caught.value)


def test_a_client_hears_that_there_is_no_driver(driver: SimulatedDriver) -> None:
    with pytest.raises(DriverError) as caught:
        client_of(driver).devices()
    assert caught.value.kind is Kind.NO_DRIVER


@pytest.mark.parametrize(
    "text", ["", "insmod", "simulated", "simulated:cards.yaml", "simulated:unix:", "kmod:/x"]
)
def test_a_loader_that_nobody_can_mean_is_refused_with_what_can_be_written(text: str) -> None:
    with pytest.raises(DriverError, match="write") as caught:
        open_loader(text, Path("/"))
    assert caught.value.kind is Kind.INVALID


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"module": "loded"}, "module: it is 'loded'; it is loaded or none; write loaded"),
        ({"modul": "none"}, "write module"),
        ({"host_driver": []}, "host_driver: it is a list; it is a text"),
    ],
)
def test_a_description_of_a_kernel_that_means_nothing_is_refused(
    keys: dict[str, object], sentence: str
) -> None:
    with pytest.raises(WireError) as refusal:
        read_description({"tangram": "cards/v1", "cards": [C500], **keys})
    assert sentence in refusal.value.sentence


ACTIONS = (
    "load 1.0",
    "load 2.0",
    "host",
    "unload",
    "use",
    "release",
    "split 2",
    "split 4",
    "split 0",
    "break",
    "heal",
)


@given(actions=st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_whatever_is_done_cards_and_kernel_agree_and_nothing_in_use_is_unloaded(actions: list[str]) -> None:
    driver = make_driver(C500, module="none", host_driver="0.9")
    kernel = WorldLoader(driver.world, lambda _: None)
    loader = loader_of(driver)
    for action in actions:
        word, _, value = action.partition(" ")
        before, used = loader.loaded(), bool(driver.world.state(0).holders)
        try:
            if word == "load":
                kernel.load([ModuleFile("metax", module_text(value))], (), {})
            elif word == "host":
                loader.load_of_host()
            elif word == "unload":
                loader.unload()
            elif word == "split":
                loader.set_functions(loader.cards()[0], int(value))
            elif word == "break":
                carry_out(driver.world, "module fail verify 2.0")
            elif word == "heal":
                carry_out(driver.world, "module heal")
            else:
                carry_out(driver.world, f"{word} GPU-0")
        except (LoaderError, DriverError):
            assert (loader.loaded() is None) == (before is None), "what was refused changed nothing"
        after = loader.loaded()
        assert not (used and word == "unload" and after is None)
        assert len(loader.cards()) == 2
        if after is None:
            with pytest.raises(DriverError):
                driver.devices()
        else:
            assert {device.driver_version for device in driver.devices()} == {after.version}
