"""A call into the library that does not return: named within the limit, not waited for again, recovered from."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from builders.hanging import LONG, Fifo, eventually, time_is_up_while
from builders.mxsml_twin import Machine, Twin, c500
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib

_Answer = TypeVar("_Answer")
Make = Callable[..., Twin]
FIRST = CardUuid("GPU-00000000-1111-2222-3333-000000000000")


class Barrier(Fifo):
    """Where a blocked call waits."""

    def block(self, machine: Machine, function: str) -> Machine:
        return machine.rule("block", call=f"mxSml{function}", fifo=str(self.path), times=1)


@pytest.fixture
def barrier(tmp_path: Path) -> Barrier:
    return Barrier(tmp_path / "barrier")


def stuck_call(question: Callable[[], object]) -> str:
    with pytest.raises(DriverError) as refusal:
        question()
    assert refusal.value.kind is Kind.STUCK
    assert refusal.value.call in refusal.value.sentence
    return refusal.value.call


def until_answered(question: Callable[[], _Answer]) -> _Answer:
    """Its answer, as soon as the late call has returned and the library may be asked again."""
    answers: list[_Answer] = []

    def answered() -> bool:
        try:
            answers.append(question())
        except DriverError as error:
            if error.kind is not Kind.STUCK:
                raise
        return bool(answers)

    assert eventually(answered)
    return answers[0]


@pytest.mark.parametrize("function", ["InitWithFlags", "GetDeviceInfo", "GetMemoryInfo", "GetSgpuToggle"])
def test_the_call_that_hangs_is_named(function: str, barrier: Barrier, twin_of: Make) -> None:
    driver = twin_of(barrier.block(c500(2), function)).driver(limit=77.0)
    with time_is_up_while(barrier.hangs) as waits:
        assert stuck_call(driver.devices) == driver.calling == f"mxSml{function}"
    assert waits == [77.0], "nobody waits longer than the limit that was set"
    barrier.release()
    assert len(until_answered(driver.devices)) == 2


def test_while_one_call_hangs_others_are_refused_at_once(barrier: Barrier, twin_of: Make) -> None:
    driver = twin_of(barrier.block(c500(2), "GetDeviceState")).driver()
    devices = driver.devices()
    with time_is_up_while(barrier.hangs):
        assert stuck_call(driver.health) == "mxSmlGetDeviceState"
    with time_is_up_while(barrier.hangs) as waits:
        for question in (
            driver.devices,
            driver.health,
            lambda: driver.figures(FIRST),
            lambda: driver.links(devices),
        ):
            assert stuck_call(question) == "mxSmlGetDeviceState"
    assert waits == []
    barrier.release()
    assert until_answered(driver.health)


def test_what_is_left_of_a_question_given_up_is_not_asked(
    barrier: Barrier, twin_of: Make, tmp_path: Path
) -> None:
    second = Barrier(tmp_path / "second")
    machine = second.block(barrier.block(c500(2), "GetDeviceState"), "GetMetaXLinkState")
    driver = twin_of(machine).driver()
    driver.devices()
    with time_is_up_while(barrier.hangs):
        stuck_call(driver.health)
    barrier.release()
    # Had the first pass gone on, it would hang in the second call and its pipe would have a reader.
    assert until_answered(driver.devices)
    with pytest.raises(OSError, match="No such device"):
        os.open(second.path, os.O_WRONLY | os.O_NONBLOCK)


def test_a_slice_made_too_late_is_taken_back(barrier: Barrier, twin_of: Make) -> None:
    driver = twin_of(barrier.block(c500(2), "CreateSgpu")).driver(change_limit=2 * LONG)
    with time_is_up_while(barrier.hangs) as waits:
        made_too_late = stuck_call(lambda: driver.create_slice(FIRST, memory=from_gib(1), cores=5))
    assert made_too_late == "mxSmlCreateSgpu"
    assert waits == [LONG, 2 * LONG], "finding the card is a question, making the slice is a change"
    barrier.release()
    assert until_answered(lambda: driver.slices(FIRST)) == ()
    assert driver.create_slice(FIRST, memory=from_gib(1), cores=5).id == 0


def test_a_driver_can_be_closed_while_it_hangs(barrier: Barrier, twin_of: Make) -> None:
    driver = twin_of(barrier.block(c500(2), "GetDeviceInfo")).driver()
    with time_is_up_while(barrier.hangs):
        stuck_call(driver.devices)
    driver.close()
    barrier.release()


def test_a_replaced_library_is_used_while_the_old_one_hangs(barrier: Barrier, twin_of: Make) -> None:
    twin = twin_of(barrier.block(c500(2), "GetDeviceState"))
    driver = twin.driver()
    driver.devices()
    with time_is_up_while(barrier.hangs):
        stuck_call(driver.health)
    twin.show(c500(2))
    twin.install()
    driver_says = driver.health()
    assert all(health.healthy for health in driver_says.values())
    barrier.release()


def test_several_threads_waiting_for_a_hanging_call_are_all_let_go(barrier: Barrier, twin_of: Make) -> None:
    driver: MxsmlDriver = twin_of(barrier.block(c500(2), "GetDeviceInfo")).driver()
    calls: list[str] = []
    threads = [threading.Thread(target=lambda: calls.append(stuck_call(driver.devices))) for _ in range(4)]
    with time_is_up_while(barrier.hangs):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
    assert calls == ["mxSmlGetDeviceInfo"] * 4
    barrier.release()
    assert until_answered(driver.devices)
