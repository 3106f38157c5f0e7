"""`tangram driver-manager` from its command line: what is refused, and a start to an end on a simulated node."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders.commands import run
from builders.driver_hosts import stage
from builders.modules import KERNEL, module_text
from builders.node_server import NodeServer, node_server
from builders.plugins import short_directory
from builders.waiting import until
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, Phase, state_of
from tangram.wire.operator.payloads import PayloadKind, module_path

COMMAND = Path(sys.executable).with_name("tangram")
NODE = "gpu-1"
CARDS = "tangram: cards/v1\nmodule: none\ncards: [{product: C500, count: 2}]\n"

USUAL = ("--node-name", "gpu-1", "--driver-payload", "reg/driver-image:2.32.0", "--log-dir", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--driver-payload", "x"), "no node is named"),
        (("--node-name", "gpu-1"), "no --driver-payload is given: name the image of the driver"),
        (
            (*USUAL, "--deploy-policy", "Sometimes"),
            "driver.deployPolicy is 'Sometimes': it is one of IfNotPresent",
        ),
        ((*USUAL, "--firmware-upgrade", "PreferCloud"), "there is no public interface to write the firmware"),
        ((*USUAL, "--firmware-effect", "Now"), "--firmware-effect is 'Now': it is WaitReboot, NextReboot"),
        ((*USUAL, "--firmware-virtualization"), "there is no public interface to switch virtualization on"),
        ((*USUAL, "--device-as-root-group"), "decided by its udev rules"),
        ((*USUAL, "--loader", "magic"), "the loader is 'magic'"),
        ((*USUAL, "--driver", "magic"), "the driver is 'magic'"),
        ((*USUAL, "--host-root", "nowhere"), "--host-root is 'nowhere', which is no folder"),
        ((*USUAL, "--host-root", "."), "--host-root is '.', which is no folder"),
        ((*USUAL[:2], "--driver-payload", "a b"), "--driver-payload is 'a b': it is the name of an image"),
        (
            (*USUAL[:2], "--driver-payload", "\udcff:1"),
            "--driver-payload is '\\udcff:1': it is the name of an image",
        ),
        ((*USUAL, "--maca-payload", ""), "--maca-payload is '': it is the name of an image"),
        ((*USUAL, "--payloads", "here"), "--payloads is 'here': it is an absolute path"),
        ((*USUAL, "--maca-cleanup", "All"), "--maca-cleanup is 'All': it is Never"),
        ((*USUAL, "--maca-keep", "-1"), "--maca-keep is '-1'"),
        ((*USUAL, "--config-namespace", "No_"), "--config-namespace: "),
        ((*USUAL, "--timeout", "x"), "--timeout: read 'x"),
        ((*USUAL, "--public-key", "nowhere"), "--public-key: nowhere cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: it\ncontexts: [{name: it, context: {cluster: it}}]\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    answer = run("driver-manager", "--kubeconfig", str(kubeconfig), "--metrics-address", "", *arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert sentence in answer.err


def test_a_root_below_which_no_socket_can_be_is_one_sentence(tmp_path: Path) -> None:
    kubeconfig, root = tmp_path / "kubeconfig", tmp_path / ("a" * 100)
    kubeconfig.write_text(
        "current-context: it\ncontexts: [{name: it, context: {cluster: it}}]\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    root.mkdir()
    words = ("--kubeconfig", str(kubeconfig), "--metrics-address", "", "--host-root", str(root))
    answer = run("driver-manager", *words, *USUAL)
    assert answer.status == 2
    assert "a unix socket's path may have 107" in answer.err
    assert "Traceback" not in answer.err


@asynccontextmanager
async def process(*arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    running = await asyncio.create_subprocess_exec(COMMAND, *arguments, stderr=asyncio.subprocess.DEVNULL)
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()


def state_on(server: NodeServer) -> DriverState | None:
    return state_of(DriverState, server.annotations(NODE), names.DRIVER_STATE)


async def test_killed_in_the_middle_and_started_again_it_brings_the_driver_and_ends_when_told() -> None:
    with short_directory() as folder:
        host, socket = folder / "host", folder / "cards.sock"
        payloads = host / "var/lib/metax/payloads"
        (folder / "cards.yaml").write_text(CARDS)
        image = stage(
            payloads,
            "reg/driver-image:2.32.0",
            {module_path(KERNEL, "metax"): module_text("2.32.0")},
            kind=PayloadKind.DRIVER,
            version="2.32.0",
            kernels=(KERNEL,),
            modules=("metax",),
        )
        cards = ("--cards", str(folder / "cards.yaml"), "--socket", str(socket))
        async with node_server() as server, process("simulate-cards", "serve", *cards):
            server.put(NODE)
            await until(socket.exists)
            command = (
                *("driver-manager", "--node-name", NODE, "--host-root", str(host), "--without-runtime"),
                *("--driver", f"simulated:unix:{socket}", "--loader", f"simulated:unix:{socket}"),
                *("--driver-payload", image, "--kubeconfig", str(server.kubeconfig(folder))),
                *("--metrics-address", "", "--log-dir", ""),
            )
            async with process(*command) as first:
                await until(lambda: state_on(server) is not None)
                first.send_signal(signal.SIGKILL)
                await first.wait()
            async with process(*command) as second:
                await until(lambda: server.labels(NODE).get(names.DRIVER_READY) == "true")
                state = state_on(server)
                assert state is not None
                assert (state.phase, state.running, state.source) == (Phase.READY, "2.32.0", "cloud")
                second.send_signal(signal.SIGTERM)
                assert await second.wait() == 0
        assert (host / "opt/mxdriver").readlink() == Path("mxdriver-2.32.0")
