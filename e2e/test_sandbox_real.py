"""`tangram sandbox --real` as a process: old and new kubectl use it, and however it ends no component is left.

It needs no root, though these tests have it: one of them gives it up first.
"""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from builders.sandbox_process import COMMAND, READY, sandbox_process
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.kube.objects import Object
from tangram.sandbox.folder import LOCK
from testbed.binaries import find_binaries
from testbed.box import REPOSITORY

SLICE = REPOSITORY / "examples/10-share-a-card/pod.yaml"
PODS = "/api/v1/namespaces/default/pods"
RELEASES = ("kubectl-1.28", "kubectl")
COMPONENTS = 5
"""etcd, kube-apiserver, kube-controller-manager and two kube-schedulers."""
NOBODY = 65534
NO_PRIVILEGE = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    # What others may read on a usual machine (Python, the built components) is in root's own folder on some.
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
    "--bounding-set=-all,+dac_read_search",
)  # fmt: skip


def kubectl(release: str, folder: Path, *words: str) -> str:
    told = subprocess.run(  # noqa: S603 - a program of the test bed
        [find_binaries().path(release), "--kubeconfig", folder / "kubeconfig", *words],
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent)},
    )
    assert told.returncode == 0, told.stderr.decode()
    return told.stdout.decode()


def components(folder: Path) -> list[str]:
    """The processes of a control plane below a folder."""
    found: list[str] = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
        except OSError:
            continue
        if any(os.fsencode(folder) in word for word in words) and b"testbed" not in words:
            found.append(process.name)
    return found


def sockets_of(folder: Path) -> Path:
    return Path((folder / LOCK).read_text("utf-8").splitlines()[1])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def of_nobody() -> Iterator[Path]:
    """A folder of somebody without privileges; pytest's own are for root alone."""
    with tempfile.TemporaryDirectory(prefix="sandbox-of-nobody-") as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


async def test_old_and_new_kubectl_use_it_and_the_end_leaves_nothing(here: Path) -> None:
    folder = here / ".sandbox"
    async with sandbox_process(here, "--real", "--port", "0") as process:
        await process.until(READY)
        sockets = sockets_of(folder)
        assert len(components(sockets)) == COMPONENTS
        for release in RELEASES:
            await asyncio.to_thread(_use, release, folder)
        ended = await process.end(signal.SIGINT)
    assert (ended.status, ended.err) == (0, "")
    assert components(sockets) == []
    assert not _exists(sockets)
    assert {each.name for each in folder.iterdir()} == {"kubeconfig", "sandbox.log"}
    log = (folder / "sandbox.log").read_text("utf-8")
    assert [line for line in log.splitlines() if " INFO " not in line] == []


def _use(release: str, folder: Path) -> None:
    nodes = kubectl(release, folder, "get", "nodes", "--no-headers")
    assert nodes.count(" Ready ") == 6
    kubectl(release, folder, "apply", "-f", str(SLICE))
    kubectl(release, folder, "wait", "--for=condition=Ready", "pod/notebook", "--timeout=50s")
    assert "8 GiB of memory, 25 % of compute" in kubectl(release, folder, "logs", "notebook")
    explained = subprocess.run(  # noqa: S603 - our own command
        [COMMAND, "explain", "notebook"],
        env=os.environ | {"KUBECONFIG": str(folder / "kubeconfig")},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert b"has its place already" in explained.stdout
    kubectl(release, folder, "delete", "pod", "notebook", "--timeout=50s")
    assert "notebook" not in kubectl(release, folder, "get", "pods", "-o", "name")


async def test_a_killed_one_leaves_no_component_and_comes_back_with_its_pods_on_their_cards(
    here: Path,
) -> None:
    folder = here / "kept"
    arguments = ("--real", "--port", "0", "--data", str(folder))
    async with sandbox_process(here, *arguments) as process:
        await process.until(READY)
        kubeconfig = (folder / "kubeconfig").read_text("utf-8")
        async with Api(from_kubeconfig(folder / "kubeconfig"), agent="t") as api:
            for name, count in (("one", 1), ("three", 3)):
                await api.create(PODS, _whole(name, count))
            before = await _cards(api, ("one", "three"))
        os.kill(process.pid, signal.SIGKILL)
    await until(lambda: components(folder) == [])
    async with sandbox_process(here, *arguments) as process:
        await process.until(READY)
        assert (folder / "kubeconfig").read_text("utf-8") == kubeconfig
        async with Api(from_kubeconfig(folder / "kubeconfig"), agent="t") as api:
            after = await _cards(api, ("one", "three"), restarts=1)
        ended = await process.end(signal.SIGTERM)
    assert after == before
    assert len({card for cards in after for card in cards}) == 4
    assert ended.status == 0
    assert components(folder) == []


async def test_one_that_is_killed_while_it_starts_leaves_no_component(here: Path) -> None:
    async with sandbox_process(here, "--real", "--port", "0") as process:
        await until(lambda: _exists(here / ".sandbox" / LOCK))
        await until(lambda: bool(_noted(here)) and bool(components(_noted(here)[0])))
        sockets = _noted(here)[0]
        os.kill(process.pid, signal.SIGKILL)
    await until(lambda: components(sockets) == [])


async def test_a_component_that_dies_ends_the_sandbox_with_a_sentence(here: Path) -> None:
    async with sandbox_process(here, "--real", "--port", "0") as process:
        await process.until(READY)
        sockets = sockets_of(here / ".sandbox")
        (etcd,) = [pid for pid in components(sockets) if _program(pid) == "etcd"]
        os.kill(int(etcd), signal.SIGKILL)
        ended = await process.end()
    assert ended.status == 1
    assert ended.err.startswith(
        "tangram: the sandbox ended by itself: the control plane failed: PlaneEnded: "
    )
    assert ended.err.count("\n") == 1
    assert "sandbox.log" in ended.err
    assert components(sockets) == []


async def test_an_ordinary_user_may_run_it(of_nobody: Path) -> None:
    folder = of_nobody / ".sandbox"
    async with sandbox_process(of_nobody, "--real", "--port", "0", before=NO_PRIVILEGE) as process:
        await process.until(READY)
        assert folder.stat().st_uid == NOBODY
        async with Api(from_kubeconfig(folder / "kubeconfig"), agent="t") as api:
            await api.create(PODS, _whole("one", 1))
            await _cards(api, ("one",))
        ended = await process.end(signal.SIGINT)
    assert (ended.status, ended.err) == (0, "")


async def test_components_that_are_not_built_are_told(here: Path) -> None:
    environment = {"TANGRAM_TESTBED_CACHE": str(here / "nothing")}
    async with sandbox_process(here, "--real", "--port", "0", environment=environment) as process:
        ended = await process.end()
    assert ended.status == 1
    assert ended.err.startswith("tangram: the sandbox could not be started: The test bed is not built")
    assert "make testbed" in ended.err


def _noted(here: Path) -> list[Path]:
    lines = (here / ".sandbox" / LOCK).read_text("utf-8").splitlines()[1:]
    return [Path(line) for line in lines if line]


def _exists(path: Path) -> bool:
    return path.exists()


def _program(pid: str) -> str:
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()


def _whole(name: str, count: int) -> Object:
    limits = {"metax-tech.com/gpu": str(count)}
    container = {"name": "c", "image": "x", "command": ["sleep", "infinity"], "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


async def _cards(api: Api, names: Sequence[str], restarts: int = 0) -> list[set[str]]:
    """What whole cards the pods have, once their containers run."""
    async with asyncio.timeout(60):
        while True:
            pods = [await api.get(f"{PODS}/{name}") for name in names]
            told = [pod["status"].get("containerStatuses", [{}])[0] for pod in pods]
            if all("running" in each.get("state", {}) and each["restartCount"] == restarts for each in told):
                break
            await asyncio.sleep(0.05)
    key = "hami.io/metax-gpu-devices-to-allocate"
    return [
        {part.split(",")[0] for part in pod["metadata"]["annotations"][key].strip(":;").split(":")}
        for pod in pods
    ]
