"""kubectl's own verbs print the same against the embedded API server as against the real one, old kubectl and new."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from contract.differences import VERB_DIFFERENCES
from contract.embedded import embedded_control_plane
from contract.kubectl import Object, Run, Said, play
from contract.recorded import RECORD, read_verbs, write_verbs
from contract.verbs import SESSIONS
from e2e.contract_kit import ADMINISTRATOR
from tangram.sandbox.kubeconfig import kubeconfig_text
from testbed.binaries import find_binaries
from testbed.box import ENVIRONMENT
from testbed.cluster import Cluster
from testbed.controlplane import kubeconfig
from testbed.options import Options

RELEASES = {"1.28": "kubectl-1.28", "1.36": "kubectl"}
AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Heard:
    """By release and session."""

    real: dict[str, dict[str, Any]]
    ours: dict[str, dict[str, Any]]


def _here(config: Path, before: Sequence[str] = ()) -> Run:
    async def run(words: Sequence[str], stdin: str, env: Mapping[str, str]) -> Said:
        running = await asyncio.create_subprocess_exec(
            *before,
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                **ENVIRONMENT,
                "KUBECONFIG": str(config),
                "KUBECACHEDIR": f"{config}-{Path(words[0]).name}.cache",
                **env,
            },
        )
        output, errors = await running.communicate(stdin.encode())
        return running.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")

    return run


async def _all(run: Run) -> dict[str, dict[str, Any]]:
    programs = find_binaries()
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(release: str, name: str) -> list[Object]:
        async with turn:
            return await play(SESSIONS[name], str(programs.path(RELEASES[release])), run)

    return {
        release: dict(
            zip(SESSIONS, await asyncio.gather(*(one(release, name) for name in SESSIONS)), strict=True)
        )
        for release in RELEASES
    }


@pytest_asyncio.fixture(scope="module")
async def heard(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Heard]:
    folder = tmp_path_factory.mktemp("kubectl")
    async with Cluster.open(Options(nodes=0)) as cluster:
        authority = cluster.credentials.authority
        admin = authority.issue("contract-admin", ADMINISTRATOR, groups=["system:masters"])
        (folder / "real").write_text(kubeconfig(authority, admin), encoding="utf-8")
        real = await _all(_here(folder / "real", cluster.box.enter_network()))
    if os.environ.get(RECORD) == "1":
        write_verbs(real)
    async with _ours(folder) as run:
        ours = await _all(run)
    yield Heard(real, ours)


@asynccontextmanager
async def _ours(folder: Path) -> AsyncGenerator[Run]:
    async with embedded_control_plane() as running:
        text = kubeconfig_text(running.address, running.issued.authority, running.token)
        (folder / "ours").write_text(text, encoding="utf-8")
        yield _here(folder / "ours")


@pytest_asyncio.fixture(scope="module")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Run]:
    async with _ours(tmp_path_factory.mktemp("embedded")) as run:
        yield run


@pytest.mark.smoke
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", [name for name, session in SESSIONS.items() if session.usual])
async def test_what_people_type_every_day_prints_what_was_recorded(
    embedded: Run, name: str, release: str
) -> None:
    """Against the embedded server alone, so that every smoke run can afford it."""
    printed = await play(SESSIONS[name], str(find_binaries().path(RELEASES[release])), embedded)
    steps = zip(SESSIONS[name].steps, printed, read_verbs()[release][name], strict=True)
    differing = {(name, step.line) for step, now, recorded in steps if now != recorded}
    assert differing <= set(VERB_DIFFERENCES)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", SESSIONS)
def test_kubectl_prints_the_same_against_both_servers(heard: Heard, name: str, release: str) -> None:
    steps = zip(SESSIONS[name].steps, heard.ours[release][name], heard.real[release][name], strict=True)
    differing = {(name, step.line) for step, ours, real in steps if ours != real}
    assert differing <= set(VERB_DIFFERENCES)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", SESSIONS)
def test_kubectl_prints_what_is_recorded_against_the_real_server(
    heard: Heard, name: str, release: str
) -> None:
    assert heard.real[release][name] == read_verbs()[release][name]
