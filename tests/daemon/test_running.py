"""How a daemon lives and ends."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncGenerator

import pytest

from tangram.daemon import running
from tangram.daemon.background import in_background
from tangram.daemon.running import DONE, FAILED, Supervisor, run_service

NEVER = 3600.0


async def for_ever() -> None:
    await asyncio.Event().wait()


async def failing() -> None:
    raise ValueError("no more")


async def test_told_to_stop_it_drains_first_and_cancels_then() -> None:
    steps: list[str] = []
    supervisor = Supervisor()

    async def work() -> None:
        try:
            await for_ever()
        finally:
            steps.append("cancelled")

    async def drain() -> None:
        steps.append("drained")

    supervisor.vital("work", work())
    await asyncio.sleep(0)
    supervisor.stop()
    assert await supervisor.until_stopped(drain) == DONE
    assert steps == ["drained", "cancelled"]
    assert supervisor.unhealthy() == []


async def test_a_vital_task_that_fails_ends_the_process_with_1_and_a_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    supervisor = Supervisor()
    supervisor.vital("reading", failing())
    supervisor.vital("waiting", for_ever())
    assert await supervisor.until_stopped() == FAILED
    assert supervisor.unhealthy() == ["reading failed: ValueError: no more"]
    assert [record.message for record in caplog.records] == ["reading failed: ValueError: no more"]


async def test_a_vital_task_that_merely_ends_is_a_failure_too() -> None:
    supervisor = Supervisor()
    supervisor.vital("reading", asyncio.sleep(0))
    assert await supervisor.until_stopped() == FAILED
    assert supervisor.unhealthy() == ["reading ended, though it should run for ever"]


async def test_a_lasting_task_is_begun_again_after_a_growing_pause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    supervisor = Supervisor()
    begun = 0

    async def flaky() -> None:
        nonlocal begun
        begun += 1
        if begun == 10:
            supervisor.stop()
            await for_ever()
        if begun % 2:
            raise ValueError("again")

    with caplog.at_level(logging.CRITICAL):
        supervisor.lasting("flaky", flaky)
        assert await supervisor.until_stopped() == DONE
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


async def test_an_orderly_end_has_a_limit() -> None:
    supervisor = Supervisor()
    supervisor.stop()
    assert await supervisor.until_stopped(for_ever, limit=0.01) == DONE


async def test_a_second_signal_cuts_the_orderly_end_short() -> None:
    supervisor = Supervisor()
    draining = asyncio.Event()

    async def drain() -> None:
        draining.set()
        await for_ever()

    supervisor.stop()
    ending = asyncio.create_task(supervisor.until_stopped(drain, limit=NEVER))
    await draining.wait()
    supervisor.stop()
    assert await ending == DONE


async def test_an_orderly_end_that_fails_is_a_failure() -> None:
    supervisor = Supervisor()
    supervisor.stop()
    assert await supervisor.until_stopped(failing) == FAILED


async def test_a_task_that_does_not_end_is_left_behind_by_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "CANCEL_S", 0.01)
    release, begun = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    supervisor = Supervisor()
    supervisor.vital("stubborn", stubborn())
    await begun.wait()
    supervisor.stop()
    assert await supervisor.until_stopped() == DONE
    assert "stubborn does not end and is left behind" in caplog.text
    release.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_service_in_good_order(number: signal.Signals) -> None:
    drained: list[bool] = []

    async def serve(supervisor: Supervisor) -> int:
        async def drain() -> None:
            drained.append(True)

        supervisor.vital("work", for_ever())
        os.kill(os.getpid(), number)
        return await supervisor.until_stopped(drain)

    assert run_service(serve) == DONE
    assert drained == [True]


def test_what_a_service_raises_itself_reaches_its_caller() -> None:
    async def serve(_supervisor: Supervisor) -> int:
        async def things() -> AsyncGenerator[int]:
            yield 1

        async for _ in things():
            raise ValueError("cannot begin")
        return DONE

    with pytest.raises(ValueError, match="cannot begin"):
        run_service(serve)


async def test_work_in_the_background_answers_raises_and_can_be_left_behind() -> None:
    assert await in_background(lambda: 7) == 7
    with pytest.raises(ValueError, match="no"):
        await in_background(lambda: int("no"))
    release = threading.Event()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stuck() -> None:
        loop.call_soon_threadsafe(begun.set)
        release.wait()

    waiting = asyncio.create_task(in_background(stuck))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()


def test_a_thread_that_never_returns_does_not_keep_a_service_from_ending() -> None:
    release = threading.Event()

    async def serve(supervisor: Supervisor) -> int:
        async def stuck() -> None:
            await in_background(release.wait)

        supervisor.vital("stuck", stuck())
        await asyncio.sleep(0)
        supervisor.stop()
        return await supervisor.until_stopped()

    assert run_service(serve) == DONE
    release.set()
