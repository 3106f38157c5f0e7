"""Who uses a card that no slices divide, by functions that are in no header."""

from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from builders.hanging import LONG
from builders.mtml_twin import GIB, MakeDriver, Show, eight_s4000, twin_library, uuid_of
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml import processes
from tangram.drivers.mtml.driver import MtmlDriver
from tangram.drivers.mtml.processes import COUNT, LIST
from tangram.units.ids import CardUuid
from tangram.units.na import NA, known

FIRST, SECOND = CardUuid(uuid_of(0)), CardUuid(uuid_of(1))
USED = eight_s4000().having(f"process 0 4711 {GIB}", "process 0 4712 4096", "process 2 9 1")


def test_processes_come_with_the_memory_they_hold(show: Show, make_driver: MakeDriver) -> None:
    driver = make_driver(show(USED).library)
    driver.devices()
    found = driver.figures(FIRST).processes
    assert isinstance(found, tuple)
    assert [(each.pid, each.memory, each.slice_id) for each in found] == [
        (4711, GIB, None),
        (4712, 4096, None),
    ]


def seeing(library: str, tmp_path: Path, all_seen: bool | None) -> AbstractContextManager[MtmlDriver]:  # noqa: FBT001 - the one thing that differs
    """A driver that runs where the host's processes have numbers, or not, or nobody asked."""
    return closing(
        MtmlDriver(
            library, limit=LONG, sysfs=tmp_path / "sys", sgpu_km=tmp_path / "sgpu_km", all_seen=all_seen
        )
    )


@pytest.mark.parametrize(
    ("all_seen", "used", "idle"),
    [
        pytest.param(True, [4711, 4712], [], id="the-hosts-namespace"),
        pytest.param(False, NA, NA, id="another-namespace"),
        pytest.param(None, [4711, 4712], NA, id="not-asked"),
    ],
)
def test_a_list_is_complete_only_where_every_process_has_a_number(
    show: Show, tmp_path: Path, *, all_seen: bool | None, used: object, idle: object
) -> None:
    """Processes without a number in the namespace of the one that asks are left out without a word."""
    library = show(USED.having("process 1 0 4096") if all_seen is not True else USED).library
    with seeing(library, tmp_path, all_seen) as driver:
        driver.devices()
        for card, expected in ((FIRST, used), (SECOND, idle)):
            found = driver.figures(card).processes
            assert ([each.pid for each in found] if isinstance(found, tuple) else found) == expected


def test_a_list_as_long_as_the_library_makes_them_may_have_been_cut(
    show: Show, make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_TOLD", 2)
    driver = make_driver(show(USED).library)
    driver.devices()
    assert driver.figures(FIRST).processes is NA
    assert len(known(driver.figures(CardUuid(uuid_of(2))).processes, ())) == 1


def test_the_list_ends_where_the_library_was_measured_to_end() -> None:
    assert processes.MOST_TOLD == 80


@pytest.mark.parametrize(
    ("left_out", "flags"),
    [
        pytest.param((COUNT, LIST), (), id="a library without them"),
        pytest.param((LIST,), (), id="a library with the count alone"),
        pytest.param((), ("-DRECORD_WORDS=4",), id="longer records"),
        pytest.param((), ("-DRECORD_WORDS=1",), id="shorter records"),
    ],
)
def test_what_was_not_measured_is_not_read(
    show: Show, make_driver: MakeDriver, left_out: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    show(USED)
    driver = make_driver(twin_library(left_out=left_out, flags=flags))
    driver.devices()
    assert driver.figures(FIRST).processes is NA


@pytest.mark.parametrize("answer", [2, 4, 6, 999])
@pytest.mark.parametrize("function", [COUNT, LIST])
def test_an_error_makes_the_list_unknown(
    show: Show, make_driver: MakeDriver, function: str, answer: int
) -> None:
    driver = make_driver(show(USED.having(f"fault {function} {answer}")).library)
    driver.devices()
    assert driver.figures(FIRST).processes is NA


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The slicing module, which holds no card."""
    root = tmp_path / "sgpu_km"
    root.mkdir()
    (root / "cores").write_text("\n")
    return root


def test_a_card_in_use_is_not_handed_to_the_module(show: Show, make_driver: MakeDriver, module: Path) -> None:
    driver = make_driver(show(USED).library)
    with pytest.raises(DriverError, match="in use by process 4711, 4712") as caught:
        driver.set_sliced(FIRST, on=True)
    assert caught.value.kind is Kind.BUSY
    driver.set_sliced(SECOND, on=True)
    assert (module / "cores").read_text() == "1\n"


@pytest.mark.parametrize("all_seen", [False, None])
def test_a_card_that_cannot_be_shown_to_be_idle_is_not_handed_to_the_module(
    show: Show, module: Path, tmp_path: Path, *, all_seen: bool | None
) -> None:
    with seeing(show(USED).library, tmp_path, all_seen) as driver:
        with pytest.raises(DriverError, match=r"counts as in use: .*hostPID: true") as caught:
            driver.set_sliced(SECOND, on=True)
        assert caught.value.kind is Kind.BUSY
        with pytest.raises(DriverError, match="in use by process 4711, 4712"):
            driver.set_sliced(FIRST, on=True)
    assert (module / "cores").read_text() == "\n"


def test_a_library_that_lists_no_processes_leaves_the_change_to_a_person(
    show: Show, make_driver: MakeDriver, module: Path
) -> None:
    show(USED)
    driver = make_driver(twin_library(left_out=(COUNT, LIST)))
    with pytest.raises(
        DriverError, match="this libmtml lists no processes; or, when nothing uses it"
    ) as caught:
        driver.set_sliced(SECOND, on=True)
    assert caught.value.kind is Kind.BUSY
    (module / "cores").write_text("1\n")
    driver.set_sliced(SECOND, on=False)
    assert (module / "cores").read_text() == "\n", "taking a card back asks for slices and not for processes"
