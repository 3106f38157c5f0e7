"""The checks of the cluster are made elsewhere, once a minute at most, and their failure is a sentence."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis
from tangram.web.checking import HOLDS_S, Checking
from tangram.web.known import NotKnown

FOUND = ClusterDiagnosis(server="https://there", findings=[])


def _command(script: str) -> tuple[str, ...]:
    return (sys.executable, "-c", script)


def _printing(folder: Path) -> tuple[str, ...]:
    """Prints what was found, and leaves a mark each time."""
    text = msgspec.json.encode(FOUND).decode()
    return _command(f"open({str(folder / 'runs')!r}, 'a').write('x'); print({text!r})")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_everybody_who_asks_meanwhile_gets_the_same_answer_for_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    checking = Checking(None, _printing(tmp_path), clock)
    answers = await asyncio.gather(*(checking.diagnosis() for _ in range(5)))
    clock.now += HOLDS_S - 1
    answers.append(await checking.diagnosis())
    assert answers == [(1000.0, FOUND)] * 6
    assert (tmp_path / "runs").read_text() == "x"
    clock.now += 1
    assert await checking.diagnosis() == (1000.0 + HOLDS_S, FOUND)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import sys; sys.exit('no such server')", "ended with 1: no such server"),
        ("print('{}')", "missing required field"),
        ("import time; time.sleep(60)", "took longer than 0.5 s"),
    ],
)
async def test_checks_that_fail_say_why_and_name_the_command(script: str, why: str) -> None:
    with pytest.raises(NotKnown, match="tangram doctor --cluster") as refused:
        await Checking(None, _command(script), limit_s=0.5 if "sleep" in script else 30).diagnosis()
    assert why in refused.value.sentence


async def test_the_end_does_not_wait_for_checks() -> None:
    checking = Checking(None, _command("import time; time.sleep(60)"))
    asked = asyncio.create_task(checking.diagnosis())
    await asyncio.sleep(0.05)
    await checking.close()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_kubeconfig_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="cannot be read"):
        await Checking(tmp_path / "nothing").diagnosis()
