"""`tangram container-runtime` from its command line: what it refuses, and that it begins and ends."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from builders.commands import run
from builders.node_server import node_server
from builders.waiting import until
from tangram.wire.operator import names

COMMAND = Path(sys.executable).with_name("tangram")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--engine", "podman"], "--engine is 'podman'"),
        (["--cdi-mode", "yes"], "--cdi-mode is 'yes'"),
        (["--restart", "always"], "--restart is 'always'"),
        (["--restart-command", "a 'b"], "--restart-command is"),
        (["--folders", "/opt/maca,opt/x"], "--folders has 'opt/x'"),
        (["--folders", "/opt/../x"], "--folders has '/opt/../x'"),
        (["--host-root", "/no/such/folder"], "--host-root is '/no/such/folder'"),
        (["--containerd-config", "config.toml"], "--containerd-config is 'config.toml'"),
        (["--docker-config", ""], "--docker-config is"),
        (["--restart-command", "a\udcff"], "--restart-command is 'a\\udcff'"),
        (["--folders", "/\udcff"], "--folders has '/\\udcff'"),
        (["--interval", "never"], "--interval"),
        (["--metrics-address", "x"], "--metrics-address"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(options: list[str], sentence: str) -> None:
    answer = run("container-runtime", "--node-name", "gpu-1", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


async def test_it_registers_the_runtime_and_ends_when_told(tmp_path: Path) -> None:
    root, program = tmp_path / "host", tmp_path / "program"
    (root / "etc/containerd").mkdir(parents=True)
    (root / "etc/containerd/config.toml").write_text("version = 3\n")
    program.write_bytes(b"program")
    async with node_server() as server:
        info = {"kubeletVersion": "v1.34.1", "containerRuntimeVersion": "containerd://2.3.7"}
        server.put("gpu-1", status={"nodeInfo": info})
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            "container-runtime",
            *("--kubeconfig", str(server.kubeconfig(tmp_path))),
            *("--host-root", str(root), "--program", str(program), "--restart", "never"),
            *("--metrics-address", "", "--log-dir", "", "--log-level", "error"),
            env={**os.environ, "NODE_NAME": "gpu-1"},
        )
        try:
            await until(lambda: "restart-needed" in server.annotations("gpu-1").get(names.RUNTIME_STATE, ""))
            assert server.labels("gpu-1")[names.RUNTIME_READY] == "false"
            assert "runtimes.metax" in (root / "etc/containerd/config.toml").read_text()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
