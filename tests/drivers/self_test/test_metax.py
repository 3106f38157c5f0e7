"""The self-test over the twin of MetaX's library: well cards, every fault that the twin knows, the tree after it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders.hanging import Fifo, all_threads_home, time_is_up_while
from builders.mxsml_twin import Machine, Twin, c500
from builders.self_tests import FAILED, LIFE, NOT_AVAILABLE, OK, self_test, self_test_of, tree_of
from tangram.drivers.self_test.journal import CardEntry, SelfTestJournal, SliceIntent
from tangram.drivers.self_test.reading import CHECKS
from tangram.drivers.self_test.slice_life import FIRST_CORES, FIRST_MEMORY
from tangram.model.cards import QosPolicy
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, from_gib

Make = Callable[[Machine], Twin]

FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")
LOST = "MetaX Sysfs File Unaccessible"


def idle(cards: int = 2) -> Machine:
    return c500(cards, usage=0)


def without_processes(machine: Machine) -> Machine:
    """Whose library cannot tell who uses a card."""
    for name in ("GetNumberOfProcess", *(f"GetSingleGpuProcess{form}" for form in ("", "_v2", "_v3"))):
        machine = machine.failing(name, 3)
    return machine


def killed_with(name: str, **more: object) -> Machine:
    """A card on which a self-test was killed."""
    usual: dict[str, object] = {"memory": 1152, "compute": 7, "alias": name, "uuid": "left"}
    return idle().with_slice(0, 0, **(usual | more))


def test_cards_that_are_well_pass_every_check(twin_of: Make) -> None:
    twin = twin_of(idle(8))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin)
    assert [row.check for row in told.rows] == list(CHECKS)
    assert [row for row in told.rows if row.result is not OK] == []
    assert tree_of(twin.sysfs) == before


def test_reading_leaves_no_trace_beside_the_cards_either(twin_of: Make) -> None:
    twin = twin_of(idle())
    self_test_of(twin)
    assert not (twin.root / "run").exists()


def test_the_life_of_slices_passes_and_leaves_every_file_as_it_was(twin_of: Make) -> None:
    twin = twin_of(idle().with_card(0, policy=2))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True)
    assert told.failed == set()
    assert {check: told.result(check) for check in (*LIFE, "restored")} == dict.fromkeys(
        (*LIFE, "restored"), OK
    )
    assert "16 slices" in told.of("slice-many")[0].why
    assert tree_of(twin.sysfs) == before


def test_a_card_that_can_slice_little_gets_as_many_as_it_has_memory_for(twin_of: Make) -> None:
    twin = twin_of(idle().with_card(0, quota_mb=1700))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True, card="0")
    assert told.failed == set()
    assert "3 slices" in told.of("slice-many")[0].why
    assert tree_of(twin.sysfs) == before


@pytest.mark.parametrize(
    ("machine", "failing"),
    [
        pytest.param(idle(1).failing("CreateSgpu", 5), {"slice-create"}, id="create-refused"),
        pytest.param(idle(1).failing("CreateSgpu", 5, after=3), {"slice-many"}, id="a-later-create-refused"),
        pytest.param(idle(1).failing("SetSgpuAlias", 4), {"slice-create"}, id="name-refused"),
        pytest.param(idle(1).failing("GetSgpuAlias", 4), {"slice-create"}, id="name-unreadable"),
        pytest.param(
            idle(1).failing("GetSgpuAlias", 4, after=3, times=1),
            {"slice-refusals"},
            id="name-unreadable-later",
        ),
        pytest.param(idle(1).failing("SetSgpuVramQuota", 5), {"slice-resize"}, id="memory-refused"),
        pytest.param(idle(1).failing("SetSgpuComputeQuota", 5), {"slice-resize"}, id="compute-refused"),
        pytest.param(idle(1).failing("RemoveSgpu", 23, times=1), {"slice-remove"}, id="remove-busy-once"),
        pytest.param(idle(1).failing("SetDeviceSchedClass", 5), {"qos"}, id="policy-refused"),
        pytest.param(idle(1).failing("SetDeviceSchedClass", 3), set[str](), id="policy-not-offered"),
        pytest.param(
            idle(1).failing("GetSgpuInfo", 4, after=1, times=1), {"slice-create"}, id="slice-unreadable"
        ),
        pytest.param(idle(1).quirk("rounds-memory"), {"slice-create"}, id="rounds-memory"),
        pytest.param(idle(1).quirk("stays-offline"), set[str](), id="stays-offline"),
        pytest.param(idle(1).quirk("huge-counts"), None, id="huge-counts"),
        pytest.param(idle(1).quirk("unterminated"), None, id="unterminated"),
        pytest.param(idle(1).quirk("grown"), None, id="grown"),
    ],
)
def test_a_fault_is_found_by_its_check_and_the_card_is_put_back(
    machine: Machine, failing: set[str] | None, twin_of: Make
) -> None:
    twin = twin_of(machine)
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True)
    if failing is not None:
        assert told.failed == failing
        assert told.result("restored") is OK
    assert tree_of(twin.sysfs) == before


def test_checks_after_a_failed_one_say_that_they_were_not_tried(twin_of: Make) -> None:
    told = self_test_of(twin_of(idle(1).failing("SetSgpuVramQuota", 5)), slices=True)
    assert [told.result(check) for check in ("slice-two", "slice-many", "slice-remove")] == [
        NOT_AVAILABLE
    ] * 3


def test_a_slice_that_cannot_be_removed_is_named_and_goes_with_the_next_cleaning(twin_of: Make) -> None:
    twin = twin_of(idle(1).failing("RemoveSgpu", 23))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True)
    assert told.failed == {"slice-remove", "restored"}
    assert "--clean" in told.of("restored")[0].todo
    again = self_test_of(twin)
    assert again.failed == {"leftovers"}
    twin.show(idle(1))
    cleaned = self_test_of(twin, clean=True)
    assert [(row.check, row.result) for row in cleaned.rows] == [("clean", OK)]
    assert tree_of(twin.sysfs) == before


def test_the_next_test_of_slices_cleans_up_first(twin_of: Make) -> None:
    twin = twin_of(
        killed_with("selftest-0123abcd-00").with_slice(0, 1, memory=128, alias="selftest-0123abcd-01")
    )
    told = self_test_of(twin, slices=True)
    assert told.result("clean") is OK
    assert told.failed == {"leftovers"}, "the reading half saw them"
    assert told.result("restored") is OK
    assert not list(twin.sysfs.rglob("sgpu/sgpu[0-9]*"))


@pytest.mark.parametrize(
    "name",
    [
        "tangram-0123456789abcdef012345",
        "selftest-0123abcd-00x",
        "selftest-",
        "web-selftest-0123abcd-00",
        "Selftest-0123abcd-00",
        "",
    ],
)
def test_a_slice_of_anything_else_is_left_alone(name: str, twin_of: Make) -> None:
    twin = twin_of(killed_with(name).with_card(1, smi=False))
    before = tree_of(twin.sysfs)
    (unread,) = self_test_of(twin, clean=True).of("clean")
    assert (unread.result, unread.cards) == (NOT_AVAILABLE, ("GPU-00000000-1111-2222-3333-000000000001",))
    told = self_test_of(twin, slices=True, card="0")
    assert told.result("slice-card") is FAILED
    assert "left alone" in told.of("slice-card")[0].why
    assert tree_of(twin.sysfs) == before


def test_a_leftover_in_use_stays(twin_of: Make) -> None:
    twin = twin_of(killed_with("selftest-0123abcd-00").with_process(77, 0, slice=0))
    before = tree_of(twin.sysfs)
    assert self_test_of(twin, clean=True).result("clean") is FAILED
    assert tree_of(twin.sysfs) == before


JOURNAL = "run/tangram/self-test.json"


def journal(twin: Twin, **more: object) -> SelfTestJournal:
    """As a killed self-test leaves it."""
    made = SelfTestJournal(twin.root / JOURNAL)
    with made.held():
        made.write(CardEntry(card=FIRST, **more))  # pyright: ignore[reportArgumentType] - a test names its fields
    return made


@pytest.mark.parametrize(
    ("card", "memory", "compute", "goes"),
    [
        pytest.param(0, 1152, 7, True, id="as-it-was-being-made"),
        pytest.param(0, 1152, 0, True, id="before-it-had-compute"),
        pytest.param(0, 1024, 7, False, id="other-memory"),
        pytest.param(0, 1152, 8, False, id="other-compute"),
        pytest.param(1, 1152, 7, False, id="another-card"),
    ],
)
def test_a_slice_without_a_name_goes_only_if_the_journal_says_so(
    card: int, memory: int, compute: int, *, goes: bool, twin_of: Make
) -> None:
    twin = twin_of(idle().with_slice(card, 2, memory=memory, compute=compute, uuid="left"))
    journal(twin, making=SliceIntent(FIRST_MEMORY, FIRST_CORES))
    self_test_of(twin, clean=True)
    assert bool(list(twin.sysfs.rglob("sgpu/sgpu2"))) is not goes


def test_a_slice_without_a_name_stays_where_no_journal_speaks_of_it(twin_of: Make) -> None:
    twin = twin_of(killed_with(""))
    before = tree_of(twin.sysfs)
    self_test_of(twin, clean=True)
    assert tree_of(twin.sysfs) == before


@pytest.mark.parametrize(
    ("now", "others", "after"),
    [
        pytest.param(2, False, "1", id="still-the-one-that-was-tried"),
        pytest.param(0, False, "0", id="changed-since"),
        pytest.param(2, True, "2", id="others-run-under-it-now"),
    ],
)
def test_the_policy_that_a_card_had_is_set_again(
    now: int, *, others: bool, after: str, twin_of: Make
) -> None:
    machine = idle().with_card(0, policy=now)
    twin = twin_of(machine.with_slice(0, 0, alias="tangram-web") if others else machine)
    journal(twin, policy=QosPolicy.FIXED_SHARE, tried=(QosPolicy.BURST_SHARE,))
    assert self_test_of(twin, clean=True).failed == set()
    assert (twin.sysfs / machine.cards[0].folder / "sgpu/sched_class").read_text().strip() == after


def test_a_journal_that_makes_no_sense_keeps_nothing_from_being_cleaned(twin_of: Make) -> None:
    twin = twin_of(killed_with("selftest-0123abcd-00"))
    journal(twin)
    (twin.root / JOURNAL).write_text("{nonsense\n")
    assert self_test_of(twin, clean=True).result("clean") is OK
    assert not list(twin.sysfs.rglob("sgpu/sgpu0"))


def test_two_self_tests_do_not_clean_up_after_each_other(twin_of: Make) -> None:
    twin = twin_of(killed_with("selftest-0123abcd-00"))
    before = tree_of(twin.sysfs)
    running = journal(twin)
    with running.held():
        assert self_test_of(twin, clean=True).failed == {"clean"}
        assert self_test_of(twin, slices=True).failed == {"slice-card"}
        assert self_test_of(twin).result("leftovers") is NOT_AVAILABLE
    assert tree_of(twin.sysfs) == before


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(lambda: idle(1).with_process(42, 0), id="busy"),
        pytest.param(lambda: idle(1).with_process(42, 0, nspid=0), id="somebody-unseen"),
        pytest.param(lambda: c500(1, usage=60), id="at-work-without-a-process"),
        pytest.param(lambda: idle(1).with_slice(0, 3, alias="tangram-web"), id="with-slices"),
        pytest.param(lambda: idle(1).with_slice(0, 3).failing("GetSgpuAlias", 4), id="a-name-unreadable"),
        pytest.param(lambda: idle(1).with_card(0, quota_mb=0), id="full"),
        pytest.param(lambda: idle(1).with_card(0, active=0, reason=(7, "Too hot")), id="unhealthy"),
        pytest.param(lambda: without_processes(idle(1)), id="processes-unknown"),
    ],
)
def test_a_card_that_is_not_idle_is_refused_and_nothing_is_changed(
    machine: Callable[[], Machine], twin_of: Make
) -> None:
    twin = twin_of(machine())
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True)
    assert told.result("slice-card") is FAILED
    assert not told.of("restored")
    assert tree_of(twin.sysfs) == before


def test_a_whole_card_is_passed_over_and_refused_where_it_was_named(twin_of: Make) -> None:
    twin = twin_of(idle(2).with_card(0, model="native"))
    before = tree_of(twin.sysfs)
    assert self_test_of(twin, slices=True).of("slice-card")[0].cards == (
        "GPU-00000000-1111-2222-3333-000000000001",
    )
    assert self_test_of(twin, slices=True, card="0").result("slice-card") is FAILED
    twin.show(c500(2, model="native", usage=0))
    assert self_test_of(twin, slices=True).result("slice-card") is NOT_AVAILABLE
    twin.show(idle(2).with_card(0, model="native"))
    assert tree_of(twin.sysfs) == before


@pytest.mark.parametrize("name", ["1", "0000:04:00.0", "gpu-00000000-1111-2222-3333-000000000001"])
def test_a_card_is_named_by_number_bus_address_or_uuid(name: str, twin_of: Make) -> None:
    told = self_test_of(twin_of(idle(2)), slices=True, card=name, checks=())
    assert told.of("restored")[0].cards == ("GPU-00000000-1111-2222-3333-000000000001",)


def test_a_card_that_is_not_here_is_refused_before_anything_else(twin_of: Make) -> None:
    told = self_test_of(twin_of(idle(2)), slices=True, card="7")
    assert told.rows == []
    assert told.nothing is not None
    assert told.nothing.kind == "invalid"


def test_a_limited_card_is_told_with_the_vendors_reason_and_asked_nothing(twin_of: Make) -> None:
    told = self_test_of(twin_of(idle(2).with_card(1, smi=False, reason=(3, LOST))), slices=True)
    assert told.failed == {"limited", "health"}
    assert LOST in told.of("limited")[0].why
    assert [row.result for row in told.of("figures")] == [OK, NOT_AVAILABLE]
    assert told.result("restored") is OK


def test_cards_that_are_all_limited_end_nothing(twin_of: Make) -> None:
    told = self_test_of(twin_of(c500(2, smi=False, reason=(3, LOST))), slices=True)
    assert told.failed == {"limited", "health", "slice-card"}
    assert told.result("figures") is NOT_AVAILABLE
    assert not told.of("restored")


def test_a_card_that_falls_silent_in_the_middle_is_unhealthy(twin_of: Make) -> None:
    twin = twin_of(idle(2))
    told = self_test_of(twin, at={"health": lambda: twin.show(idle(2).with_card(1, smi=False))})
    assert "health" in told.failed
    assert [row.cards for row in told.of("health") if row.result is FAILED] == [
        ("GPU-00000000-1111-2222-3333-000000000001",)
    ]


def test_a_card_lost_in_the_middle_of_reading_is_told_by_the_checks_after(twin_of: Make) -> None:
    twin = twin_of(idle(2))
    told = self_test_of(twin, at={"figures": lambda: twin.show(idle(2).without(1))})
    assert {"figures", "health", "reopen"} <= told.failed
    assert told.result("links") is OK


def test_a_card_lost_in_the_middle_of_its_slices_is_told_and_cleaned_when_it_is_back(twin_of: Make) -> None:
    twin = twin_of(idle(2))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True, at={"slice-resize": lambda: twin.show(idle(2).without(0))})
    assert told.failed == {"slice-resize", "restored"}
    assert self_test_of(twin, clean=True).result("clean") is NOT_AVAILABLE
    twin.show(idle(2))
    assert self_test_of(twin, clean=True).result("clean") is OK
    assert tree_of(twin.sysfs) == before


@pytest.mark.parametrize("check", [*LIFE, "slice-card", "figures"])
def test_a_stop_at_any_check_puts_the_card_back(check: str, twin_of: Make) -> None:
    twin = twin_of(idle(1).with_card(0, policy=1))
    before = tree_of(twin.sysfs)
    told = self_test_of(twin, slices=True, stop_at=check)
    assert told.stopped
    assert told.failed == set()
    assert tree_of(twin.sysfs) == before


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    made = Fifo(tmp_path / "never")
    with all_threads_home("mxsml-calls"):
        yield made
        while made.hangs():
            made.release()


def test_a_question_that_hangs_is_named_and_the_rest_is_not_waited_for(twin_of: Make, fifo: Fifo) -> None:
    twin = twin_of(idle(1).rule("block", call="mxSmlGetBoardPowerLimit", fifo=str(fifo.path)))
    with time_is_up_while(fifo.hangs):
        told = self_test_of(twin)
    assert "mxSmlGetBoardPowerLimit" in told.of("figures")[0].why
    assert told.result("links") is OK


def test_without_a_card_or_a_library_there_is_nothing_to_test(twin_of: Make, tmp_path: Path) -> None:
    twin = twin_of(Machine(idle(0).tree))
    told = self_test_of(twin)
    assert told.rows == []
    assert told.nothing is not None
    assert told.nothing.kind == "no-driver"
    absent = self_test(f"mxsml:{tmp_path}/none.so", tmp_path / "empty")
    assert absent.nothing is not None
    assert absent.nothing.kind == "no-library"


def test_cards_on_the_bus_without_a_library_are_a_failure_and_not_nothing(
    twin_of: Make, tmp_path: Path
) -> None:
    twin = twin_of(idle(2))
    told = self_test(f"mxsml:{tmp_path}/none.so", twin.root)
    assert told.nothing is None
    assert told.failed == {"enumerate"}


def test_a_driver_that_only_reads_makes_no_slices(twin_of: Make) -> None:
    twin = twin_of(idle(2))
    before = tree_of(twin.sysfs)
    told = self_test("sysfs", twin.root, slices=True)
    assert told.result("slice-card") is NOT_AVAILABLE
    assert tree_of(twin.sysfs) == before


def test_what_is_taken_and_left_must_be_the_card(twin_of: Make) -> None:
    """The library's own count of what is left, on a card with a slice."""
    twin = twin_of(idle(1).with_slice(0, 0, memory=1024, compute=5, alias="web"))
    (row,) = self_test_of(twin).of("room")
    assert (row.result, from_gib(1) // MIB) == (OK, 1024)
