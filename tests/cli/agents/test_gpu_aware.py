"""`tangram gpu-aware` from its command line to its answers, and its end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from builders.api_server import small_api_server
from builders.commands import run
from builders.gpu_aware import asking_pod, offering_node, whole_call

KUBECONFIG = (
    "current-context: it\ncontexts: [{{name: it, context: {{cluster: it, namespace: here}}}}]\n"
    "clusters: [{{name: it, cluster: {{server: {server}}}}}]\n"
)
NODES = [
    offering_node("good", scores={2: 200}, losses={2: 100}),
    offering_node("mild", scores={2: 110}, losses={2: 0}),
]
QUESTION = whole_call(asking_pod(2), NODES)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's own cluster is asked by a test."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--address", "8080"), "--address is '8080': it is HOST:PORT", id="no host"),
        pytest.param(("--address", ""), "--address is ''", id="no address"),
        pytest.param(("--weights-configmap", "one"), "it is NAMESPACE/NAME", id="no namespace"),
        pytest.param(("--weights-configmap", "a/b/c"), "it is NAMESPACE/NAME", id="too many parts"),
        pytest.param(
            ("--weights-configmap", "a/b", "--weights-dir", "x"), "keep one of the two", id="two places"
        ),
        pytest.param(
            ("--weights-configmap", "a/b"), "no API server is known", id="a ConfigMap without a cluster"
        ),
        pytest.param(("--follow-cluster",), "no API server is known", id="nothing to follow"),
        pytest.param(
            ("--kubeconfig", "nowhere"), "the kubeconfig nowhere cannot be read", id="no kubeconfig"
        ),
        pytest.param(("--tls-cert", "x"), "--tls-cert and --tls-key go together", id="half a pair"),
        pytest.param(("--tls-cert", "x", "--tls-key", "y"), "cannot be served with", id="no pair"),
        pytest.param(("--log-level", "loud"), "--log-level is 'loud'", id="no level"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    answer = run("gpu-aware", "--log-dir", "", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


class Running:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, str]] = []

    async def until_said(self, words: str) -> dict[str, str]:
        assert self.process.stderr is not None
        async with asyncio.timeout(60):
            while not self.lines or words not in self.lines[-1]["message"]:
                line = await self.process.stderr.readline()
                assert line, f"it ended without saying {words!r}: {self.lines}"
                self.lines.append(json.loads(line))
        return self.lines[-1]


@asynccontextmanager
async def daemon(
    *arguments: str, code: str = "from tangram.cli.app import main; main()"
) -> AsyncGenerator[Running]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", code, "gpu-aware", "--address", "127.0.0.1:0", "--log-dir", ""),
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def best(base: str) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{base}/prioritize", data=QUESTION) as answer,
    ):
        return max(await answer.json(), key=lambda each: each["Score"])["Host"]


async def test_the_daemon_follows_the_config_map_of_its_own_namespace_and_ends_when_told(
    tmp_path: Path,
) -> None:
    async with small_api_server() as (server, connection):
        server.put("/api/v1/namespaces/here/configmaps/gpu-aware-weight", {"data": {"loss": "5"}})
        config = tmp_path / "kubeconfig"
        config.write_text(KUBECONFIG.format(server=connection.server))
        async with daemon("--kubeconfig", str(config)) as running:
            base = f"http://{(await running.until_said('is served at'))['address']}"
            await running.until_said("the weights are now score 1.0, loss 5")
            assert await best(base) == "mild"
            running.process.send_signal(signal.SIGTERM)
            await running.process.communicate()
        assert running.process.returncode == 0


async def test_the_daemon_needs_no_cluster_and_loads_neither_numpy_nor_another_service(
    tmp_path: Path,
) -> None:
    names = tmp_path / "names"
    code = (
        "import atexit, sys; from tangram.cli.app import main\n"
        f"atexit.register(lambda: open({str(names)!r}, 'w').write('\\n'.join(sys.modules)))\nmain()"
    )
    async with daemon(code=code) as running:
        base = f"http://{(await running.until_said('is served at'))['address']}"
        await running.until_said("there is neither a folder nor an API server")
        assert await best(base) == "good"
        running.process.send_signal(signal.SIGTERM)
        await running.process.communicate()
    assert running.process.returncode == 0
    modules = names.read_text().splitlines()
    assert not any(name.split(".")[0] in ("numpy", "grpc") for name in modules)
    services = {".".join(name.split(".")[:3]) for name in modules if name.startswith("tangram.services.")}
    assert services == {"tangram.services.gpu_aware"}
