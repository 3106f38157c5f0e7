"""Work on a thread that may never come back, for callers that always must."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest

from builders.hanging import LONG, eventually, time_is_up_while
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.watchdog import Watchdog


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    made = Watchdog("test", limit=LONG)
    yield made
    made.close()


@pytest.fixture
def hold() -> Iterator[threading.Event]:
    """What a hanging call waits for; it is let go when the test ends."""
    event = threading.Event()
    yield event
    event.set()


def hang(watchdog: Watchdog, hold: threading.Event, subject: str = "") -> DriverError:
    entered = threading.Event()

    def work() -> None:
        watchdog.entering("vendorCall", subject)
        entered.set()
        hold.wait()

    with time_is_up_while(entered.is_set), pytest.raises(DriverError) as caught:
        watchdog.run(work, call="question")
    return caught.value


def test_the_answer_comes_back_and_so_does_the_error(watchdog: Watchdog) -> None:
    assert watchdog.run(lambda: 7, call="seven") == 7
    with pytest.raises(ZeroDivisionError):
        watchdog.run(lambda: 1 // 0, call="division")
    assert watchdog.run(threading.get_ident, call="who") != threading.get_ident()


def test_all_work_is_done_by_one_thread_however_many_ask(watchdog: Watchdog) -> None:
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(watchdog.run, threading.get_ident, call="who") for _ in range(64)]
    workers = {answer.result() for answer in asked}
    assert len(workers) == 1


def test_a_hanging_call_is_named_by_what_it_said_last(watchdog: Watchdog, hold: threading.Event) -> None:
    error = hang(watchdog, hold, "card 3")
    assert (error.kind, error.call) == (Kind.STUCK, "vendorCall")
    assert "vendorCall (card 3) has not returned within 60 s" in error.sentence
    assert watchdog.stuck_in == "vendorCall"


def test_a_limit_is_in_seconds_of_the_wall_clock(watchdog: Watchdog, hold: threading.Event) -> None:
    began = time.monotonic()
    with pytest.raises(DriverError) as caught:
        watchdog.run(hold.wait, call="question", limit=0.1)
    assert caught.value.kind is Kind.STUCK
    assert 0.1 <= time.monotonic() - began < LONG


class Delayed(SimpleQueue[object]):
    """Work that does not reach the thread, as on a machine with no time for it."""

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None: ...  # noqa: FBT001, FBT002 - as the queue has it

    arrive = SimpleQueue[object].put


@pytest.mark.parametrize("answered_before", [False, True])
def test_work_that_a_busy_machine_never_began_is_named_and_nothing_else_is_blamed(
    watchdog: Watchdog, monkeypatch: pytest.MonkeyPatch, *, answered_before: bool
) -> None:
    if answered_before:
        watchdog.run(lambda: watchdog.entering("vendorCall", "card 3"), call="question")
    delayed = Delayed()
    monkeypatch.setattr(watchdog, "_jobs", delayed)
    with pytest.raises(DriverError) as caught:
        watchdog.run(lambda: 7, call="seven", limit=0)
    delayed.arrive(None)
    assert (caught.value.kind, caught.value.call) == (Kind.STUCK, "seven")
    assert "seven was not begun within 0 s, though nothing hangs" in caught.value.sentence
    assert watchdog.stuck_in == ""


def test_while_a_call_hangs_everybody_else_is_refused_at_once(
    watchdog: Watchdog, hold: threading.Event
) -> None:
    hang(watchdog, hold)
    with time_is_up_while(lambda: False) as waits, pytest.raises(DriverError) as caught:
        watchdog.run(lambda: 1, call="other")
    assert (caught.value.kind, caught.value.call) == (Kind.STUCK, "vendorCall")
    assert waits == []


def test_work_goes_on_when_the_call_returns_after_all(watchdog: Watchdog, hold: threading.Event) -> None:
    hang(watchdog, hold)
    hold.set()
    assert eventually(lambda: not watchdog.stuck_in)
    assert not watchdog.given_up
    assert watchdog.run(lambda: 7, call="seven") == 7


def test_work_that_waited_too_long_behind_another_is_never_begun(
    watchdog: Watchdog, hold: threading.Event
) -> None:
    begun = threading.Event()
    entered = threading.Event()

    def slow() -> str:
        watchdog.entering("slowCall")
        entered.set()
        hold.wait()
        return "done"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(watchdog.run, slow, call="slow")
        entered.wait()
        with pytest.raises(DriverError) as caught:
            watchdog.run(begun.set, call="late", limit=0.1)
        assert (caught.value.kind, caught.value.call) == (Kind.STUCK, "slowCall")
        hold.set()
        assert first.result() == "done", "whoever is patient gets the answer"
    assert watchdog.run(lambda: 7, call="seven") == 7
    assert not begun.is_set()


def test_closing_ends_the_thread_and_refuses_further_work(watchdog: Watchdog) -> None:
    worker = watchdog.run(threading.current_thread, call="who")
    watchdog.close(patience=LONG)
    watchdog.close()
    assert not worker.is_alive()
    with pytest.raises(DriverError) as caught:
        watchdog.run(lambda: 1, call="late")
    assert caught.value.kind is Kind.INVALID


def test_closing_leaves_a_hanging_call_behind(watchdog: Watchdog, hold: threading.Event) -> None:
    hang(watchdog, hold)
    began = time.monotonic()
    watchdog.close(patience=2 * LONG)
    assert time.monotonic() - began < LONG


def test_no_thread_is_made_before_there_is_work() -> None:
    before = set(threading.enumerate())
    Watchdog("idle").close()
    # A thread of an earlier test may end just now, so they are not counted.
    assert set(threading.enumerate()) <= before
