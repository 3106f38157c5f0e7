"""From a word to a driver, and from no word to the best there is."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from builders.fake_driver import FakeDriver, metax_card, mthreads_card
from builders.mxsml_twin import RULES, SYSFS, Twin, c500
from builders.sysfs_tree import S4000, Tree
from tangram.drivers import opening
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import FORMS, open_driver
from tangram.drivers.protocol import Driver
from tangram.drivers.unusable import limited
from tangram.drivers.ways import Conditions, Way
from tangram.model.cards import Vendor
from tangram.model.devices import Device, Health
from tangram.units.ids import CardUuid

Arrange = Callable[..., None]


def way(name: str, driver: FakeDriver | None) -> Way:
    def opened(_: str | None, __: Conditions) -> Driver:
        if driver is None:
            raise DriverError(Kind.NO_LIBRARY, f"no {name}")
        return driver

    return Way(name, opened, f"what {name} needs", (name,))


@pytest.fixture
def arrange(monkeypatch: pytest.MonkeyPatch) -> Arrange:
    def arranged(
        *,
        mxsml: FakeDriver | None = None,
        mxsmi: FakeDriver | None = None,
        mtml: FakeDriver | None = None,
        gmi: FakeDriver | None = None,
        sysfs: FakeDriver | None = None,
    ) -> None:
        monkeypatch.setattr(opening, "METAX_WAYS", (way("mxsml", mxsml), way("mx-smi", mxsmi)))
        monkeypatch.setattr(opening, "MTHREADS_WAYS", (way("mtml", mtml), way("gmi", gmi)))
        monkeypatch.setattr(opening, "SYSFS", way("sysfs", sysfs))

    return arranged


def failing(kind: Kind, name: str) -> FakeDriver:
    driver = FakeDriver(name=name)
    driver.errors["devices"] = DriverError(kind, f"{name} says no")
    return driver


def test_a_library_is_preferred_to_a_tool(arrange: Arrange) -> None:
    tool = FakeDriver(metax_card(0), name="mx-smi")
    arrange(mxsml=FakeDriver(metax_card(0), name="mxsml"), mxsmi=tool)
    assert open_driver("auto").name == "mxsml"


@pytest.mark.parametrize("library", [None, failing(Kind.NO_DRIVER, "mxsml"), FakeDriver(name="mxsml")])
def test_a_tool_is_taken_where_the_library_is_not_there_or_has_no_cards(
    arrange: Arrange, library: FakeDriver | None
) -> None:
    arrange(mxsml=library, mxsmi=FakeDriver(metax_card(0), name="mx-smi"))
    assert open_driver("auto").name == "mx-smi"
    assert library is None or library.closed


def test_two_vendors_on_one_node_are_joined(arrange: Arrange) -> None:
    arrange(mxsml=FakeDriver(metax_card(0), name="mxsml"), gmi=FakeDriver(mthreads_card(0), name="gmi"))
    joined = open_driver("auto")
    assert joined.name == "mxsml+gmi"
    assert len(joined.devices()) == 2


def test_sysfs_adds_the_cards_that_nobody_else_knows(arrange: Arrange) -> None:
    sysfs = FakeDriver(metax_card(0), mthreads_card(0), name="sysfs")
    arrange(mxsml=FakeDriver(metax_card(0), name="mxsml"), sysfs=sysfs)
    assert open_driver("auto").name == "mxsml+sysfs"


def test_sysfs_that_knows_nothing_more_is_left_out(arrange: Arrange) -> None:
    sysfs = FakeDriver(metax_card(0), name="sysfs")
    arrange(mxsml=FakeDriver(metax_card(0), name="mxsml"), sysfs=sysfs)
    assert open_driver("auto").name == "mxsml"
    assert sysfs.closed


def test_sysfs_alone_is_better_than_nothing(arrange: Arrange) -> None:
    arrange(sysfs=FakeDriver(metax_card(0), name="sysfs"))
    assert open_driver("auto").name == "sysfs"


@pytest.mark.parametrize("kind", [Kind.STUCK, Kind.FAILED, Kind.NOT_PERMITTED])
def test_a_library_in_trouble_is_not_passed_by(arrange: Arrange, kind: Kind) -> None:
    arrange(mxsml=failing(kind, "mxsml"), mxsmi=FakeDriver(metax_card(0), name="mx-smi"))
    assert open_driver("auto").name == "mxsml"


def test_nothing_at_all_is_told_with_what_was_looked_for_and_what_was_said(arrange: Arrange) -> None:
    arrange(mxsml=failing(Kind.NO_DRIVER, "mxsml"))
    with pytest.raises(DriverError) as caught:
        open_driver("auto")
    assert caught.value.kind is Kind.NO_LIBRARY
    assert "(mxsml: mxsml says no)" in caught.value.sentence
    for name in ("mxsml", "mx-smi", "mtml", "gmi", "sysfs"):
        assert f"what {name} needs" in caught.value.sentence


def test_cards_that_the_vendors_library_cannot_use_are_limited_and_not_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library lacks the list of limited cards, so all it says of a machine of such cards is that it has none."""
    monkeypatch.setenv(RULES, "")
    monkeypatch.setenv(SYSFS, "")
    machine = c500(2)
    for number in range(2):
        machine = machine.with_card(number, smi=False)
    twin = Twin(tmp_path, machine, left_out=("mxSmlGetAllLimitedDevices",))

    def library(_: str | None, __: Conditions) -> Driver:
        return twin.driver()

    monkeypatch.setattr(opening, "METAX_WAYS", (Way("mxsml", library, "", ("mxsml",)), way("mx-smi", None)))
    monkeypatch.setattr(opening, "MTHREADS_WAYS", (way("mtml", None),))
    driver = open_driver("auto", conditions=Conditions(root=tmp_path))
    try:
        cards = driver.devices()
        assert len(cards) == 2
        for found in driver.health().values():
            assert (found.healthy, found.code) == (False, "limited")
            assert "finds no MetaX card" in found.message
        twin.show(c500(2))
        assert {device.bdf for device in driver.devices()} == {device.bdf for device in cards}
        assert [driver.health()[device.uuid].healthy for device in driver.devices()] == [True, True]
        assert driver.devices()[0].product == "MXC500"
        assert driver.room(driver.devices()[0].uuid).slots == 16
    finally:
        driver.close()


def test_a_library_without_cards_makes_those_of_its_vendor_doubtful_only(arrange: Arrange) -> None:
    heard: list[Conditions] = []
    library, tool = failing(Kind.NO_DRIVER, "mxsml"), failing(Kind.NO_DRIVER, "mx-smi")
    arrange(mxsml=library, mxsmi=tool)

    def sysfs(_: str | None, conditions: Conditions) -> Driver:
        heard.append(conditions)
        return FakeDriver(metax_card(0), mthreads_card(0), name="sysfs")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SYSFS", Way("sysfs", sysfs, "", ("sysfs",)))
        driver = open_driver("auto")
    assert [each.doubts for each in heard] == [{Vendor.METAX: "mxsml says no"}]
    assert driver.name == "mxsml+sysfs"
    assert len(driver.devices()) == 2
    assert (library.closed, tool.closed) == (False, True)
    driver.close()
    assert library.closed


def doubting_sysfs(*cards: Device) -> Callable[[str | None, Conditions], Driver]:
    """The kernel's view, which calls a card healthy unless its vendor's software answers and does not list it."""

    def opened(_: str | None, conditions: Conditions) -> Driver:
        driver = FakeDriver(*cards, name="sysfs")
        for card in cards:
            if (doubt := conditions.doubts.get(card.vendor)) is not None:
                driver.health_of[card.uuid] = limited(doubt)
        return driver

    return opened


@pytest.mark.parametrize(
    ("ways", "unlisted", "said"),
    [
        pytest.param(
            {"mxsml": FakeDriver(metax_card(0), name="mxsml")}, metax_card(9), "mxsml", id="metax library"
        ),
        pytest.param(
            {"mxsmi": FakeDriver(metax_card(0), name="mx-smi")}, metax_card(9), "mx-smi", id="metax tool"
        ),
        pytest.param(
            {"mtml": FakeDriver(mthreads_card(0), name="mtml")},
            mthreads_card(9),
            "mtml",
            id="an S4000 of libmtml 1.5.0",
        ),
        pytest.param({"gmi": FakeDriver(mthreads_card(0), name="gmi")}, mthreads_card(9), "gmi", id="gmi"),
    ],
)
def test_one_card_that_the_vendors_software_does_not_list_beside_others_is_limited(
    arrange: Arrange, ways: dict[str, FakeDriver], unlisted: Device, said: str
) -> None:
    arrange(**ways)
    (listed,) = next(iter(ways.values())).found
    same = msgspec.structs.replace(listed, uuid=CardUuid(f"PCI-{listed.bdf}"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SYSFS", Way("sysfs", doubting_sysfs(same, unlisted), "", ("sysfs",)))
        driver = open_driver("auto")
    expected = {
        listed.uuid: Health(healthy=True),
        unlisted.uuid: limited(f"{said} does not list this card"),
    }
    assert driver.health() == expected, "also before the cards were listed"
    assert [device.uuid for device in driver.devices()] == [listed.uuid, unlisted.uuid]
    assert driver.health() == expected


def test_cards_of_a_vendor_without_software_are_not_doubted_for_the_other_vendors(arrange: Arrange) -> None:
    arrange(mxsml=FakeDriver(metax_card(0), name="mxsml"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SYSFS", Way("sysfs", doubting_sysfs(mthreads_card(0)), "", ("sysfs",)))
        driver = open_driver("auto")
    assert all(health.healthy for health in driver.health().values())


def test_cards_whose_library_goes_away_later_are_limited_in_the_kernels_view(arrange: Arrange) -> None:
    library = FakeDriver(metax_card(0), metax_card(1), name="mxsml")
    arrange(mxsml=library)
    cards = (metax_card(0), metax_card(1), mthreads_card(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SYSFS", Way("sysfs", doubting_sysfs(*cards), "", ("sysfs",)))
        driver = open_driver("auto")
    assert all(driver.health()[device.uuid].healthy for device in driver.devices())
    gone = DriverError(Kind.NO_DRIVER, "the kernel driver was unloaded")
    library.errors.update(devices=gone, health=gone)
    devices = driver.devices()
    assert [device.uuid for device in devices] == ["GPU-0", "GPU-1", "mt-0"]
    assert [driver.health()[device.uuid].healthy for device in devices] == [False, False, True]
    library.errors.clear()
    assert all(driver.health()[device.uuid].healthy for device in driver.devices())


def test_a_card_that_the_library_stops_listing_is_limited_and_not_healthy(arrange: Arrange) -> None:
    library = FakeDriver(metax_card(0), metax_card(1), name="mxsml")
    arrange(mxsml=library)
    with pytest.MonkeyPatch.context() as patch:
        cards = (metax_card(0), metax_card(1), metax_card(9))
        patch.setattr(opening, "SYSFS", Way("sysfs", doubting_sysfs(*cards), "", ("sysfs",)))
        driver = open_driver("auto")
    del library.found[1]
    assert [device.uuid for device in driver.devices()] == ["GPU-0", "GPU-1", "GPU-9"]
    assert driver.health()[CardUuid("GPU-1")] == limited("mxsml does not list this card")


def test_an_s4000_beside_cards_that_libmtml_knows_is_limited_in_the_kernels_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    for bdf in ("0001:10:00.0", "0001:11:00.0"):
        tree.card(f"pci0001:00/{bdf}", S4000, driver="mtgpu")
    library = FakeDriver(mthreads_card(0, product="MTT S3000"), name="mtml")
    monkeypatch.setattr(opening, "METAX_WAYS", (way("mxsml", None),))
    monkeypatch.setattr(opening, "MTHREADS_WAYS", (way("mtml", library),))
    driver = open_driver("auto", conditions=Conditions(root=tmp_path))
    try:
        known, unknown = driver.devices()
        assert (known.uuid, unknown.uuid) == ("mt-0", "PCI-0001:11:00.0")
        assert driver.health() == {
            known.uuid: Health(healthy=True),
            unknown.uuid: limited("mtml does not list this card"),
        }
    finally:
        driver.close()


def test_a_library_without_cards_is_closed_where_sysfs_has_none_either(arrange: Arrange) -> None:
    library = failing(Kind.NO_DRIVER, "mxsml")
    arrange(mxsml=library, sysfs=failing(Kind.NO_DRIVER, "sysfs"))
    with pytest.raises(DriverError):
        open_driver("auto")
    assert library.closed


def test_whoever_waits_hears_what_is_being_tried(arrange: Arrange) -> None:
    arrange(gmi=FakeDriver(mthreads_card(0), name="gmi"))
    tried: list[str] = []
    open_driver("auto", tried.append)
    assert tried == ["mxsml", "mx-smi", "mtml", "gmi", "sysfs"]


@pytest.mark.parametrize(
    "text", ["", "nvml", "AUTO", "mxsml :x", "auto:x", "\x1b[31m", ":", "simulated:", "sysfs: "]
)
def test_a_text_that_names_no_driver_is_refused_with_what_is_legal(text: str) -> None:
    with pytest.raises(DriverError) as caught:
        open_driver(text)
    assert caught.value.kind is Kind.INVALID
    assert any(form in caught.value.sentence for form in FORMS)


def test_no_vendors_code_is_loaded_before_it_is_wanted() -> None:
    code = (
        "import sys, tangram.drivers.opening; "
        "loaded = [name for name in sys.modules if name.startswith('tangram.drivers.')]; "
        "sys.exit(any(part in name for name in loaded for part in ('mxsml', 'mtml', 'mxsmi', 'gmi', 'simulated')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
