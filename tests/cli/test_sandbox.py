"""`tangram sandbox` as a program: what it refuses, how it lives, how it dies, and what is left after each."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from builders.commands import Answer, run
from builders.sandbox_process import COMMAND, READY, sandbox_process
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.sandbox.folder import LOCK
from tangram.sandbox.scenarios.all import SCENARIOS

BURST = 24
PODS = "/api/v1/namespaces/default/pods"
NODES = "tangram: cluster/v1\nnodes: [{name: a, product: C500, cards: 2}]\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(answer: Answer) -> str:
    assert answer.status == 2, answer
    assert re.fullmatch(r"tangram: [^\n]+\.\n", answer.err), answer.err
    return answer.err


# ---- what is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--port", "70000"), "--port is 70000: it is between 1 and 65535, or 0", id="port"),
        pytest.param(("--port", "-1"), "--port is -1", id="negative port"),
        pytest.param(("--port", "x"), "--port", id="no port"),
        pytest.param(("--scenario", "none"), "--scenario is 'none': there are shared-card, ", id="scenario"),
        pytest.param(("--cluster", "none.yaml"), "none.yaml", id="no such file"),
        pytest.param(("--cluster", "."), "which is a directory", id="a folder"),
        pytest.param(
            ("--data", "file"), r"cannot be used \(File exists\): name one", id="a file for a folder"
        ),
        pytest.param(("--data", "file/a"), r"cannot be used \(Not a directory\)", id="below a file"),
        pytest.param(("--data", "d" * 300), r"cannot be used \(File name too long\)", id="too long a name"),
        pytest.param(("--data", "/proc/none"), r"cannot be used \(No such file", id="nowhere"),
        pytest.param(("--nothing",), "--nothing", id="no such option"),
        pytest.param(("word",), "word", id="a word too many"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(
    here: Path, arguments: tuple[str, ...], words: str
) -> None:
    (here / "file").touch()
    assert re.search(words, refused(run("sandbox", *arguments)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("a: [", "line 2, column 1", id="no yaml"),
        pytest.param("kind: List\nitems: []\n", "is no cluster file: it has one document", id="a list of objects"),
        pytest.param("kind: Node\nmetadata: {name: a}\n", "is no cluster file", id="an object"),
        pytest.param(f"{NODES}---\n{NODES}", "is no cluster file: it has one document", id="two documents"),
        pytest.param(f"{NODES}pods: [{{name: p}}]\n", "a sandbox starts without pods.*submit the pods", id="pods"),
        pytest.param("tangram: cluster/v9\n", "cluster/v9", id="another version"),
        pytest.param("tangram: cluster/v1\nnodes: [{name: a, product: H9, cards: 2}]\n", "H9", id="no such card"),
        pytest.param("tangram: cluster/v1\nnodes: [{name: A_, product: C500, cards: 2}]\n", "A_", id="bad name"),
        pytest.param("tangram: cluster/v1\nnodes: [{name: a, product: C500, cards: -1}]\n", "-1", id="no number"),
        pytest.param(NODES.replace("C500", "C500, odd: 1"), "odd", id="an unknown word"),
    ],
)  # fmt: skip
def test_a_bad_cluster_file_is_refused_in_a_sentence(here: Path, content: str, words: str) -> None:
    (here / "cluster.yaml").write_text(content, "utf-8")
    assert re.search(words, refused(run("sandbox", "--cluster", "cluster.yaml")), re.DOTALL)
    assert not (here / ".sandbox").exists()


def test_a_story_with_machines_of_its_own_takes_no_others(here: Path) -> None:
    (here / "cluster.yaml").write_text(NODES, "utf-8")
    for story in (each for each in SCENARIOS if each.cluster):
        sentence = refused(run("sandbox", "--cluster", "cluster.yaml", "--scenario", story.name))
        assert "do not go together" in sentence


def test_a_port_in_use_is_told_and_nothing_is_left(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused(run("sandbox", "--port", str(port)))
    assert f"port {port} is in use by another program: name another one with --port, or 0" in sentence
    assert _names(here / ".sandbox") == {"sandbox.log"}


def test_a_kept_file_that_is_none_of_ours_is_told(here: Path) -> None:
    (here / "objects.sqlite").write_text("my precious notes, which are no database at all\n" * 40, "utf-8")
    sentence = refused(run("sandbox", "--data", str(here), "--port", "0"))
    assert "objects.sqlite is no file of a sandbox" in sentence
    assert (here / "objects.sqlite").read_text("utf-8").startswith("my precious notes")


def test_without_a_checkout_real_components_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(here / "python"))
    assert "leave --real out" in refused(run("sandbox", "--real", "--port", "0"))


# ---- lives and deaths


async def test_a_healthy_life_logs_no_complaint_and_leaves_nothing(here: Path) -> None:
    folder = here / ".sandbox"
    async with sandbox_process(here, "--port", "0", environment={"PATH": "/nowhere"}) as process:
        await process.until(READY)
        assert "There is no kubectl on the PATH: any release from 1.28 on will do" in "\n".join(process.lines)
        sockets = _sockets(folder)
        assert _is_there(sockets)
        second = await _second(here)
        async with Api(from_kubeconfig(folder / "kubeconfig"), agent="t") as api:
            await api.create(PODS, _sliced("pod"))
            await _until_running(api, ["pod"])
            await api.delete(f"{PODS}/pod")
            await _until_gone(api, "pod")
        ended = await process.end(signal.SIGINT)
    assert f"already (process {process.pid}): use that one, stop it with Ctrl-C" in second
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.rstrip().endswith("Stopping ...")
    assert not _is_there(sockets)
    assert _names(folder) == {"kubeconfig", "sandbox.log"}
    log = (folder / "sandbox.log").read_text("utf-8")
    assert [line for line in log.splitlines() if " INFO " not in line] == []
    assert "SIGINT: ending" in log


async def test_a_killed_sandbox_comes_back_with_everything_it_answered(here: Path) -> None:
    data = here / "kept state"
    answered: list[str] = []
    async with sandbox_process(here, "--port", "0", "--data", str(data)) as process:
        await process.until(READY)
        kubeconfig = (data / "kubeconfig").read_text("utf-8")
        sockets = _sockets(data)
        async with Api(from_kubeconfig(data / "kubeconfig"), agent="t") as api:
            for number in range(3):
                await api.create(PODS, _sliced(f"first-{number}"))
            before = await _until_running(api, [f"first-{number}" for number in range(3)])
            creating = [
                asyncio.create_task(_create(api, f"burst-{number}", answered)) for number in range(BURST)
            ]
            await until(lambda: len(answered) >= BURST // 3)
            os.kill(process.pid, signal.SIGKILL)
            await asyncio.gather(*creating)
    assert len(answered) >= BURST // 3
    assert _is_there(sockets)
    async with sandbox_process(here, "--port", "0", "--data", str(data)) as process:
        await process.until(READY)
        assert not _is_there(sockets)
        assert (data / "kubeconfig").read_text("utf-8") == kubeconfig
        async with Api(from_kubeconfig(data / "kubeconfig"), agent="t") as api:
            there = {pod["metadata"]["name"] for pod in await api.list_all(PODS)}
            assert set(answered) <= there
            after = await _until_running(api, sorted(there))
            assert _shares(before).items() <= _shares(after).items()
            _nothing_is_sold_twice(after)
        ended = await process.end(signal.SIGTERM)
    assert (ended.status, ended.err) == (0, "")
    assert "keeps its state there" in ended.out
    assert LOCK not in _names(data)


async def test_the_end_is_heard_while_it_starts_and_while_it_tells_a_story(here: Path) -> None:
    async with sandbox_process(here, "--port", "0", "--scenario", "burst-of-40") as process:
        await process.until("A Job wants 40 pods")
        ended = await process.end(signal.SIGINT, signal.SIGINT)
    assert (ended.status, ended.err) == (0, "")
    async with sandbox_process(here, "--port", "0") as process:
        await process.until("✓ API server at")
        ended = await process.end(signal.SIGTERM)
    assert (ended.status, ended.err) == (0, "")
    assert "Ready after" not in ended.out
    assert _names(here / ".sandbox") == {"kubeconfig", "sandbox.log"}


def test_with_its_streams_closed_or_nobody_reading_there_is_no_traceback(here: Path) -> None:
    words = f'exec "{COMMAND}" sandbox --port 99999 <&- >&-'
    closed = subprocess.run(["/bin/sh", "-c", words], cwd=here, capture_output=True, check=False)
    assert closed.returncode == 2
    assert closed.stderr.startswith(b"tangram: --port is 99999")
    words = f'{{ "{COMMAND}" sandbox --port 0; echo "status $?" >&2; }} | head -n 1'
    piped = subprocess.run(["/bin/sh", "-c", words], cwd=here, capture_output=True, check=False)
    assert piped.stdout.startswith(b"Tangram ")
    assert piped.stderr == b"status 0\n"
    assert _names(here / ".sandbox") <= {"kubeconfig", "sandbox.log"}


def test_more_files_are_allowed_than_a_small_system_would(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        script = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, "
            "resource.getrlimit(resource.RLIMIT_NOFILE)[1])); from tangram.cli.sandbox import sandbox\n"
            f"try:\n sandbox(port={port})\nexcept Exception: pass\n"
            "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
        )
        told = subprocess.run([sys.executable, "-c", script], cwd=here, capture_output=True, check=True)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = 8192 if most == resource.RLIM_INFINITY else min(8192, most)
    assert int(told.stdout.split()[-1]) == wanted


# ---- what they share


def _names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def _sockets(folder: Path) -> Path:
    return Path((folder / LOCK).read_text("utf-8").splitlines()[1])


def _is_there(path: Path) -> bool:
    return path.exists()


def _sliced(name: str) -> Object:
    limits = {"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "4", "metax-tech.com/vcore": "5"}
    container = {"name": "c", "image": "x", "command": ["sleep", "infinity"], "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }


async def _second(folder: Path) -> str:
    async with sandbox_process(folder, "--port", "0") as process:
        ended = await process.end()
    assert (ended.status, ended.out.strip()) == (2, "")
    return ended.err


async def _create(api: Api, name: str, answered: list[str]) -> None:
    try:
        await api.create(PODS, _sliced(name))
    except (ApiError, ApiUnreachable):
        return
    answered.append(name)


async def _until_running(api: Api, names: Iterable[str]) -> list[Object]:
    wanted = set(names)
    async with asyncio.timeout(60):
        while True:
            pods = [pod for pod in await api.list_all(PODS) if pod["metadata"]["name"] in wanted]
            if all(pod["status"]["phase"] == "Running" for pod in pods) and len(pods) == len(wanted):
                return pods
            await asyncio.sleep(0.05)


async def _until_gone(api: Api, name: str) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await api.get(f"{PODS}/{name}")
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return
                raise
            await asyncio.sleep(0.05)


def _shares(pods: Iterable[Object]) -> dict[str, str]:
    key = "hami.io/metax-sgpu-devices-allocated"
    return {pod["metadata"]["name"]: pod["metadata"]["annotations"][key] for pod in pods}


def _nothing_is_sold_twice(pods: Iterable[Object]) -> None:
    """No card has more tenants, memory or compute given away than it has."""
    memory: dict[str, int] = {}
    cores: dict[str, int] = {}
    tenants: dict[str, int] = {}
    for share in _shares(pods).values():
        card, _, mib, percent = share.strip(":;").split(",")
        memory[card] = memory.get(card, 0) + int(mib)
        cores[card] = cores.get(card, 0) + int(percent)
        tenants[card] = tenants.get(card, 0) + 1
    assert max(memory.values()) <= 64 * 1024
    assert max(cores.values()) <= 100
    assert max(tenants.values()) <= 16
