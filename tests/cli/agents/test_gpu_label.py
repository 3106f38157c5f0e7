"""`tangram gpu-label` from its command line to the node, and its end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders.commands import Answer, run
from builders.node_server import NodeServer, node_server
from builders.waiting import until

COMMAND = Path(sys.executable).with_name("tangram")
NODE = "gpu-1"
CARDS = "tangram: cards/v1\ncards: [{product: C500, count: 2}]\n"
LABELS = {
    "metax-tech.com/driver.ready": "true",
    "metax-tech.com/gpu.driver.mode": "native",
    "metax-tech.com/gpu.family": "MXC",
    "metax-tech.com/gpu.installed": "true",
    "metax-tech.com/gpu.memory": "64GB",
    "metax-tech.com/gpu.product": "MXC500",
    "metax-tech.com/gpu.sriov": "forbidden",
    "metax-tech.com/gpu.vfnum": "0",
}


@pytest.fixture
async def server() -> AsyncGenerator[NodeServer]:
    async with node_server() as one:
        one.put(NODE)
        yield one


@pytest.fixture
def options(server: NodeServer, tmp_path: Path) -> list[str]:
    (tmp_path / "cards.yaml").write_text(CARDS)
    (tmp_path / "root").mkdir()
    return [
        "--kubeconfig",
        str(server.kubeconfig(tmp_path)),
        "--driver",
        f"simulated:{tmp_path / 'cards.yaml'}",
        "--root",
        str(tmp_path / "root"),
        "--timeout",
        "60s",
    ]


async def once(*arguments: str) -> Answer:
    # The small API server lives in this process too, and what it logs of requests is not the command's.
    quiet = () if "--log-level" in arguments else ("--log-level", "error")
    return await asyncio.to_thread(run, "gpu-label", "--once", *quiet, *arguments)


async def test_once_writes_the_labels_and_prints_them_as_kubectl_takes_them(
    server: NodeServer, options: list[str]
) -> None:
    server.change(NODE, {"metadata": {"labels": {"metax-tech.com/gpu.driver.mode": "cloud", "other": "x"}}})
    answer = await once("--node-name", NODE, *options)
    assert (answer.status, answer.err) == (0, "")
    headline, *lines = answer.out.splitlines()
    assert headline == "node gpu-1 of 11: 11 labels written, 0 removed."
    assert {f"{key}={value}" for key, value in LABELS.items()} <= set(lines)
    assert LABELS.items() <= server.labels(NODE).items()
    again = await once("--node-name", NODE, *options)
    assert again.out == "node gpu-1 of 11: all labels are as they should be.\n"


async def test_once_on_a_cordoned_node_takes_the_labels_off(server: NodeServer, options: list[str]) -> None:
    server.change(NODE, {"metadata": {"labels": LABELS}, "spec": {"unschedulable": True}})
    answer = await once("--node-name", NODE, *options)
    assert answer.out.startswith("node gpu-1 (cordoned, so it carries none): 0 labels written, 8 removed.\n")
    assert "metax-tech.com/gpu.memory-\n" in answer.out
    assert server.labels(NODE) == {}


async def test_labels_of_the_driver_are_left_to_driver_manager_when_told_so(
    server: NodeServer, options: list[str]
) -> None:
    theirs = {"metax-tech.com/driver.ready": "false", "metax-tech.com/gpu.driver.mode": "cloud"}
    server.change(NODE, {"metadata": {"labels": theirs}})
    answer = await once("--node-name", NODE, "--driver-labels", "elsewhere", *options)
    assert (answer.status, answer.err) == (0, "")
    assert server.labels(NODE).items() >= theirs.items()
    assert server.labels(NODE)["metax-tech.com/gpu.product"] == "MXC500"


async def test_a_simulated_node_without_a_driver_has_cards_on_its_bus(
    server: NodeServer, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "cards.yaml").write_text(CARDS + "module: none\n")
    assert (await once("--node-name", NODE, *options)).status == 0
    assert server.labels(NODE) == {
        "metax-tech.com/gpu.installed": "true",
        "metax-tech.com/driver.ready": "false",
    }


async def test_the_environment_names_the_node(
    server: NodeServer, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", NODE)
    chosen = ("--product-names", "short", "--driver-mode", "cloud")
    assert (await once(*chosen, *options)).status == 0
    assert server.labels(NODE)["metax-tech.com/gpu.driver.mode"] == "cloud"
    assert server.labels(NODE)["metax-tech.com/gpu.product"] == "C500"


async def test_without_more_words_the_driver_is_the_hosts_and_products_are_the_librarys(
    server: NodeServer, options: list[str]
) -> None:
    assert (await once("--node-name", NODE, *options)).status == 0
    assert server.labels(NODE)["metax-tech.com/gpu.driver.mode"] == "native"
    assert server.labels(NODE)["metax-tech.com/gpu.product"] == "MXC500"


async def test_cards_of_a_vendor_that_is_off_are_not_labelled(server: NodeServer, options: list[str]) -> None:
    assert (await once("--node-name", NODE, "--vendors", "mthreads", *options)).status == 0
    assert server.labels(NODE) == {}


async def test_a_machine_without_cards_is_labelled_so(server: NodeServer, options: list[str]) -> None:
    nothing = [*options[:2], "--driver", "sysfs", *options[4:]]
    assert (await once("--node-name", NODE, *nothing)).status == 0
    assert server.labels(NODE) == {"metax-tech.com/gpu.installed": "false"}


async def test_a_node_that_is_not_there_is_the_api_servers_answer(options: list[str]) -> None:
    answer = await once("--node-name", "gpu-9", *options)
    assert answer.status == 1
    assert "404 NotFound" in answer.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no node is named: --node-name is not given and NODE_NAME is not set"),
        (("--node-name", "Gpu_1"), "--node-name: read 'Gpu_1': a node name is"),
        (("--node-name", NODE, "--interval", "0s"), "--interval is '0s'"),
        (("--node-name", NODE, "--interval", "often"), "--interval: read 'often"),
        (("--node-name", NODE, "--driver", "magic"), "the driver is 'magic'"),
        (("--node-name", NODE, "--driver", "simulated:nowhere.yaml"), "nowhere.yaml cannot be read"),
        (("--node-name", NODE, "--root", "nowhere"), "--root is 'nowhere'"),
        (("--node-name", NODE, "--product-names", "long"), "--product-names is 'long'"),
        (("--node-name", NODE, "--driver-mode", "x"), "--driver-mode is 'x': it is auto, native or cloud"),
        (
            ("--node-name", NODE, "--vendors", "nvidia"),
            "--vendors is 'nvidia': it is metax or mthreads, or both",
        ),
        (("--node-name", NODE, "--vendors", "metax,metax"), "--vendors is 'metax,metax'"),
        (("--node-name", NODE, "--driver-labels", "x"), "--driver-labels is 'x': it is own or elsewhere"),
        (
            ("--node-name", NODE, "--driver-labels", "elsewhere", "--driver-mode", "cloud"),
            "--driver-mode is 'cloud' and --driver-labels is elsewhere",
        ),
        (("--node-name", NODE, "--log-level", "loud"), "--log-level is 'loud'"),
        (("--node-name", NODE, "--log-rotation", "1y"), "--log-rotation is '1y'"),
        (("--node-name", NODE, "--kubeconfig", "nowhere"), "the kubeconfig nowhere cannot be read"),
    ],
)
async def test_a_wrong_command_line_is_one_sentence(
    options: list[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    mine = {name for name in arguments if name.startswith("--")}
    rest = [
        word for at in range(0, len(options), 2) if options[at] not in mine for word in options[at : at + 2]
    ]
    answer = await once(*arguments, *rest)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


@asynccontextmanager
async def daemon(*arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        COMMAND, "gpu-label", *arguments, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_the_daemon_labels_logs_and_ends_when_told(
    server: NodeServer, options: list[str], tmp_path: Path
) -> None:
    logs = ("--log-dir", str(tmp_path / "logs"))
    async with daemon("--node-name", NODE, "--metrics-address", "127.0.0.1:0", *logs, *options) as process:
        await until(lambda: LABELS.items() <= server.labels(NODE).items())
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert process.returncode == 0
    lines = [json.loads(line) for line in err.decode().splitlines()]
    assert all(list(line)[:4] == ["time", "level", "logger", "message"] for line in lines)
    assert any(line["message"] == "the labels of node gpu-1 were written" for line in lines)
    assert (tmp_path / "logs" / "gpu-label.log").read_bytes() == err
    assert LABELS.items() <= server.labels(NODE).items()
    assert len(server.patches) == 1


async def test_the_daemon_loads_no_numpy_and_no_other_service(
    server: NodeServer, options: list[str], tmp_path: Path
) -> None:
    code = (
        "import atexit, sys; from tangram.cli.app import main\n"
        f"names = lambda: open({str(tmp_path / 'names')!r}, 'w').write('\\n'.join(sys.modules))\n"
        "atexit.register(names)\nmain()"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", code, "gpu-label", "--node-name", NODE, "--metrics-address", "127.0.0.1:0", "--log-dir", ""),
        *options,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(os.environ),
    )
    try:
        await until(lambda: LABELS.items() <= server.labels(NODE).items())
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    modules = (tmp_path / "names").read_text().splitlines()
    assert not any(name.split(".")[0] in ("numpy", "grpc") for name in modules)
    assert not any(name.startswith("tangram.services.gpu_device") for name in modules)


async def test_an_address_in_use_ends_the_daemon_with_a_sentence(
    server: NodeServer, options: list[str]
) -> None:
    taken = server.connection.server.removeprefix("http://")
    async with daemon("--node-name", NODE, "--metrics-address", taken, "--log-dir", "", *options) as process:
        _, err = await process.communicate()
    assert process.returncode == 2
    assert (
        f"--metrics-address is '{taken}', where nothing can be served (Address already in use)"
        in err.decode()
    )
    assert server.patches == []
