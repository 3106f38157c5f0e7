"""What is made of a driver's answers, whoever gave them."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.fake_driver import metax_card, mthreads_card
from builders.self_tests import FAILED, NOT_AVAILABLE, OK
from tangram.drivers.self_test import judging
from tangram.drivers.self_test.choosing import Obstacle, refusal_now
from tangram.drivers.self_test.judging import Footprint
from tangram.drivers.self_test.names import is_of_a_self_test, new_run, slice_name
from tangram.drivers.self_test.records import CheckResult
from tangram.model.devices import Figures, Health, LinkPort, LinkReport, Process, Slice, SliceRoom
from tangram.model.topology import Link, LinkKind
from tangram.services.gpu_device.grants import SLICE_PREFIX
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, from_gib, from_mib
from tangram.units.na import NA

TWO = (metax_card(0), metax_card(1))


def part(number: int, memory: int = 1024, **more: object) -> Slice:
    facts: dict[str, object] = {"card": TWO[0].uuid, "id": number, "memory": from_mib(memory), "cores": 5}
    return Slice(**(facts | more))  # pyright: ignore[reportArgumentType] - a test names the fields it cares for


def port(card: int, remote: int | None, number: int = 4, **more: object) -> LinkPort:
    far = None if remote is None else CardUuid(f"GPU-{remote}")
    return LinkPort(CardUuid(f"GPU-{card}"), number, remote=far, **more)  # pyright: ignore[reportArgumentType] - as above


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        pytest.param(TWO, TWO, OK, id="equal"),
        pytest.param(TWO, TWO[::-1], FAILED, id="another-order"),
        pytest.param(TWO, TWO[:1], FAILED, id="one-less"),
        pytest.param((metax_card(0), metax_card(1, uuid=CardUuid("GPU-0"))), TWO, FAILED, id="uuid-twice"),
        pytest.param((metax_card(0), metax_card(1, bdf="0000:10:00.0")), TWO, FAILED, id="address-twice"),
        pytest.param((metax_card(0, product=""), metax_card(1)), TWO, FAILED, id="no-product"),
    ],
)
def test_cards_are_told_apart_and_stay(
    first: tuple[object, ...], second: tuple[object, ...], result: CheckResult
) -> None:
    assert judging.judge_devices(first, second).result is result  # pyright: ignore[reportArgumentType] - devices all


@pytest.mark.parametrize(
    ("on_bus", "parts", "result"),
    [
        pytest.param(("0000:10:00.0", "0000:11:00.0"), (), OK, id="equal"),
        pytest.param(("0000:10:00.0", "0000:11:00.0", "0000:12:00.0"), (), FAILED, id="one-unlisted"),
        pytest.param(
            ("0000:10:00.0", "0000:11:00.0", "0000:12:00.0"), ("0000:12:00.0",), OK, id="a-part-unlisted"
        ),
        pytest.param(("0000:10:00.0",), (), FAILED, id="one-that-is-not-there"),
    ],
)
def test_the_list_is_that_of_the_bus(
    on_bus: tuple[str, ...], parts: tuple[str, ...], result: CheckResult
) -> None:
    assert judging.judge_bus(TWO, on_bus, parts).result is result


@pytest.mark.parametrize(
    ("report", "result"),
    [
        pytest.param(LinkReport(), NOT_AVAILABLE, id="unknown"),
        pytest.param(LinkReport(known=True, links=(Link(0, 1, LinkKind.METAXLINK),)), OK, id="one"),
        pytest.param(LinkReport(known=True, links=(Link(0, 1), Link(1, 0))), FAILED, id="told-twice"),
        pytest.param(LinkReport(known=True, links=(Link(0, 2),)), FAILED, id="to-nowhere"),
        pytest.param(LinkReport(known=True, links=(Link(1, 1),)), FAILED, id="to-itself"),
        pytest.param(
            LinkReport(known=True, links=(Link(0, 1, LinkKind.MTLINK, lanes=0),)), FAILED, id="no-lanes"
        ),
    ],
)
def test_each_pair_is_told_once(report: LinkReport, result: CheckResult) -> None:
    assert judging.judge_links(TWO, report).result is result


@pytest.mark.parametrize(
    ("ports", "result"),
    [
        pytest.param((), NOT_AVAILABLE, id="none"),
        pytest.param((port(0, 1), port(1, 0)), OK, id="both-ways"),
        pytest.param((port(0, None),), OK, id="to-a-switch"),
        pytest.param((port(0, 1),), FAILED, id="one-way"),
        pytest.param((port(0, 1), port(0, 1, 5), port(1, 0)), FAILED, id="two-there-one-back"),
        pytest.param((port(0, 0),), FAILED, id="to-itself"),
        pytest.param((port(0, 1, up=False), port(1, 0)), FAILED, id="down"),
        pytest.param((port(7, None),), FAILED, id="of-no-card"),
    ],
)
def test_ports_lead_to_cards_with_a_port_back(ports: tuple[LinkPort, ...], result: CheckResult) -> None:
    assert judging.judge_ports(TWO, ports).result is result


GOOD = Figures(
    utilisation_percent=12.0,
    memory_used=from_gib(1),
    memory_total=from_gib(64),
    temperature_celsius=40.0,
    power_watts=60.0,
    power_cap_watts=350.0,
    clocks_mhz={"XCORE": 1500},
    ecc_uncorrected=0,
    retired_pages=0,
)


def figures(**changes: object) -> list[CheckResult]:
    return [
        verdict.result for verdict in judging.judge_figures(TWO[0], msgspec.structs.replace(GOOD, **changes))
    ]


@pytest.mark.parametrize(
    ("changes", "results"),
    [
        pytest.param({}, [OK], id="good"),
        pytest.param({"power_watts": NA}, [OK, NOT_AVAILABLE], id="one-missing"),
        pytest.param({"utilisation_percent": 101.0}, [FAILED], id="busier-than-it-can"),
        pytest.param({"temperature_celsius": 3850.0}, [FAILED], id="hundredths-of-a-degree"),
        pytest.param({"power_watts": 61500.0}, [FAILED], id="milliwatts"),
        pytest.param({"memory_used": from_gib(65)}, [FAILED], id="more-used-than-there-is"),
        pytest.param({"memory_total": from_mib(64)}, [FAILED], id="another-memory"),
        pytest.param({"clocks_mhz": {"XCORE": -1}}, [FAILED], id="a-clock-that-runs-backwards"),
    ],
)
def test_figures_are_plausible_or_missing(changes: dict[str, object], results: list[CheckResult]) -> None:
    assert figures(**changes) == results


def test_a_card_that_answers_no_figure_fails() -> None:
    assert [verdict.result for verdict in judging.judge_figures(TWO[0], Figures())] == [FAILED]


@pytest.mark.parametrize(
    ("processes", "result"),
    [
        pytest.param(NA, NOT_AVAILABLE, id="unknown"),
        pytest.param((), OK, id="none"),
        pytest.param((Process(7), Process(8, slice_id=3)), OK, id="two"),
        pytest.param((Process(0),), FAILED, id="number-zero"),
        pytest.param((Process(7, slice_id=4),), FAILED, id="in-no-slice"),
    ],
)
def test_processes_are_in_slices_that_exist(processes: object, result: CheckResult) -> None:
    found = Figures(processes=processes)  # pyright: ignore[reportArgumentType] - as parametrised
    assert judging.judge_processes(found, [part(3)]).result is result


@pytest.mark.parametrize(
    ("health", "result"),
    [
        pytest.param(Health(healthy=True), OK, id="healthy"),
        pytest.param(Health(healthy=False, code="ecc"), FAILED, id="unhealthy"),
        pytest.param(None, FAILED, id="not-told"),
    ],
)
def test_every_listed_card_has_a_health(health: Health | None, result: CheckResult) -> None:
    assert judging.judge_health(health).result is result


@pytest.mark.parametrize(
    ("slices", "result"),
    [
        pytest.param([], OK, id="none"),
        pytest.param([part(0), part(3)], OK, id="two"),
        pytest.param([part(0), part(0)], FAILED, id="one-number-twice"),
        pytest.param([part(0, card=CardUuid("GPU-9"))], FAILED, id="of-another-card"),
        pytest.param([part(0, memory=0)], FAILED, id="of-nothing"),
        pytest.param([part(0, memory=40960), part(1, memory=40960)], FAILED, id="more-than-the-card"),
    ],
)
def test_slices_fit_onto_their_card(slices: list[Slice], result: CheckResult) -> None:
    assert judging.judge_slices(TWO[0], slices).result is result


@given(
    quota=st.integers(1, 65536),
    parts=st.lists(st.integers(1, 16), max_size=16),
    missing=st.integers(0, 4096),
)
def test_room_is_right_exactly_where_taken_and_left_are_what_can_be_sliced(
    quota: int, parts: list[int], missing: int
) -> None:
    """In steps of 128 MiB, as the driver tells what can be sliced; what is left it tells to the last MiB."""
    slices = [part(at, memory=128 * steps) for at, steps in enumerate(parts)]
    left = quota - sum(128 * steps for steps in parts) - missing
    card = metax_card(0, sliceable=Bytes(quota // 128 * 128 * MIB))
    verdict = judging.judge_room(card, slices, SliceRoom(16 - len(parts), Bytes(left * MIB), 10))
    right = left >= 0 and abs(quota - missing - quota // 128 * 128) < 128
    assert (verdict.result is OK) is right


def test_room_of_a_card_that_does_not_tell_what_it_slices_is_held_against_its_memory() -> None:
    card = mthreads_card(0)
    assert judging.judge_room(card, [], SliceRoom(16, from_gib(48), 16)).result is OK
    assert judging.judge_room(card, [], SliceRoom(16, from_gib(49), 16)).result is FAILED


@pytest.mark.parametrize(
    ("after", "result"),
    [
        pytest.param(Footprint(100 * MIB, 10, 2), OK, id="as-before"),
        pytest.param(Footprint(107 * MIB, 11, 3), OK, id="a-little"),
        pytest.param(Footprint(120 * MIB, 10, 2), FAILED, id="memory"),
        pytest.param(Footprint(100 * MIB, 110, 2), FAILED, id="files"),
        pytest.param(Footprint(100 * MIB, 10, 102), FAILED, id="threads"),
    ],
)
def test_what_grows_with_every_opening_fails(after: Footprint, result: CheckResult) -> None:
    assert judging.judge_growth(Footprint(100 * MIB, 10, 2), after, 100).result is result


def test_what_is_not_known_of_a_card_speaks_against_it() -> None:
    refusals: list[Callable[[], object]] = [
        lambda: refusal_now(Figures(), []),
        lambda: refusal_now(Figures(processes=(Process(3),)), []),
        lambda: refusal_now(Figures(processes=(), utilisation_percent=50.0), []),
        lambda: refusal_now(Figures(processes=()), [part(0)]),
    ]
    assert all(refusal() is not None for refusal in refusals)
    assert refusal_now(Figures(processes=(), utilisation_percent=1.0), []) is None
    assert set(Obstacle) == {"maker", "mode", "state"}


@given(st.integers(0, 99))
def test_names_of_a_self_test_are_its_own_and_fit(number: int) -> None:
    name = slice_name(new_run(), number)
    assert is_of_a_self_test(name)
    assert not name.startswith(SLICE_PREFIX)
    assert len(name) <= 31


@given(st.text(max_size=40))
def test_no_other_name_is_taken_for_one(name: str) -> None:
    parts = name.split("-")
    of_ours = len(parts) == 3 and parts[0] == "selftest" and len(parts[1]) == 8 and len(parts[2]) == 2
    assert of_ours or not is_of_a_self_test(name)
