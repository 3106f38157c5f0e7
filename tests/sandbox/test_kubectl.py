"""The kubectl of this machine prints against the embedded API server what kubectl printed against a real one.

Here for what people do every day; `make e2e` drives every verb, with two releases of its own.

What was recorded are the oldest and the newest release that the sandbox promises to serve. A release in between prints,
step by step, what one of the two does; only its complaints are its own, for kubectl words them anew every now and then.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
import pytest_asyncio

from contract.differences import VERB_DIFFERENCES
from contract.embedded import embedded_control_plane
from contract.kubectl import Object, Run, Said, play
from contract.recorded import read_verbs
from contract.verbs import SESSIONS
from tangram.sandbox.kubeconfig import kubeconfig_text

RECORD = read_verbs()
KUBECTL = shutil.which("kubectl")


def _unfit() -> str:
    """Why the kubectl of this machine cannot be measured by the record; empty when it can."""
    if KUBECTL is None:
        return "there is no kubectl on PATH; `make e2e` drives the two releases of the test bed"
    told = subprocess.run([KUBECTL, "version", "--client", "-o", "json"], capture_output=True, check=False)
    try:
        version = json.loads(told.stdout)["clientVersion"]
        release = int(re.sub(r"\D", "", version["minor"]))
    except (ValueError, KeyError):
        return f"the kubectl on PATH ({KUBECTL}) does not tell its version"
    first, last = (int(name.partition(".")[2]) for name in RECORD)
    if not first <= release <= last:
        return f"the kubectl on PATH is 1.{release}; recorded are 1.{first} to 1.{last}"
    return ""


UNFIT = _unfit()
pytestmark = pytest.mark.skipif(bool(UNFIT), reason=UNFIT)


@pytest_asyncio.fixture(scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Run]:
    folder = tmp_path_factory.mktemp("kubectl")
    async with embedded_control_plane() as running:
        config = folder / "config"
        config.write_text(kubeconfig_text(running.address, running.issued.authority, running.token), "utf-8")

        async def inside(words: Sequence[str], stdin: str, env: Mapping[str, str]) -> Said:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "HOME": str(folder),
                    "KUBECONFIG": str(config),
                    "KUBECACHEDIR": str(folder / "cache"),
                    **env,
                },
            )
            output, errors = await process.communicate(stdin.encode())
            return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")

        yield inside


def _compared(said: Object) -> Object:
    return {key: value for key, value in said.items() if key != "errors"}


@pytest.mark.parametrize("name", [name for name, session in SESSIONS.items() if session.usual])
async def test_kubectl_prints_what_it_prints_against_the_real_server(run: Run, name: str) -> None:
    assert KUBECTL is not None
    heard = await play(SESSIONS[name], KUBECTL, run)
    unlike = [
        (step.line, said, [RECORD[release][name][number] for release in RECORD])
        for number, (step, said) in enumerate(zip(SESSIONS[name].steps, heard, strict=True))
        if (name, step.line) not in VERB_DIFFERENCES
        and all(_compared(said) != _compared(RECORD[release][name][number]) for release in RECORD)
    ]
    assert unlike == []


def test_every_session_is_recorded_step_by_step() -> None:
    for sessions in RECORD.values():
        assert {name: len(steps) for name, steps in sessions.items()} == {
            name: len(session.steps) for name, session in SESSIONS.items()
        }


def test_every_named_difference_is_a_step() -> None:
    steps = {(name, step.line) for name, session in SESSIONS.items() for step in session.steps}
    assert set(VERB_DIFFERENCES) <= steps
