"""`tangram top --cluster`: every card of a cluster, one row each, in the order asked for."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders import scheduling
from builders.api_server import SmallApiServer, small_api_server
from builders.commands import Answer, run
from tangram.cli.cluster_top import MEASURED_ELSEWHERE
from tangram.cli.hardware import watching


class Cluster:
    def __init__(self, server: SmallApiServer, kubeconfig: Path) -> None:
        self.server = server
        self.kubeconfig = kubeconfig
        server.belongs = lambda path, collection: path.rsplit("/", 2)[1] == collection.rsplit("/", 1)[1]

    def node(self, name: str, *, unschedulable: bool = False) -> None:
        made = scheduling.node(name)
        made.setdefault("spec", {})["unschedulable"] = unschedulable
        self.server.put(f"/api/v1/nodes/{name}", made)

    def bound(self, name: str, node: str, card: int, *, gib: int, cores: int, phase: str = "Running") -> None:
        annotations = {
            "hami.io/vgpu-node": node,
            "hami.io/metax-sgpu-devices-allocated": f"GPU-{node}-{card},Metax-SGPU,{gib * 1024},{cores}:;",
        }
        made = scheduling.pod(name, annotations=annotations, spec={"nodeName": node})
        made["status"]["phase"] = phase
        self.server.put(f"/api/v1/namespaces/default/pods/{name}", made)

    async def top(self, *arguments: str) -> Answer:
        return await asyncio.to_thread(
            run, "top", "--cluster", "--kubeconfig", str(self.kubeconfig), *arguments
        )


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Cluster]:
    async with small_api_server() as (server, connection):
        kubeconfig = folder / "kubeconfig"
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": connection.server}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        kubeconfig.write_text(yaml.safe_dump(config))
        yield Cluster(server, kubeconfig)


async def test_every_card_has_a_row_by_node_or_by_load(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with opened(tmp_path) as cluster:
        cluster.node("gpu-10")
        cluster.node("gpu-2", unschedulable=True)
        cluster.bound("a", "gpu-10", 1, gib=16, cores=20)
        cluster.bound("b", "gpu-10", 1, gib=8, cores=70, phase="Pending")
        cluster.bound("c", "gpu-2", 0, gib=32, cores=10)
        by_node = await cluster.top("--once")
        by_load = await cluster.top("--once", "--sort", "load")
    assert (by_node.status, by_node.err) == (0, "")
    assert by_node.out == snapshot
    rows = [line.split()[:2] for line in by_load.out.splitlines() if line.startswith("gpu")]
    assert rows == [["gpu-10", "1"], ["gpu-2", "0"], ["gpu-2", "1"], ["gpu-10", "0"]]


async def test_it_says_what_it_cannot_know(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        cluster.node("gpu-1")
        assert (await cluster.top("--once")).out.endswith(f"{MEASURED_ELSEWHERE}\n")


async def test_a_cluster_without_cards_ends_with_3(tmp_path: Path) -> None:
    async with opened(tmp_path) as cluster:
        cluster.server.put("/api/v1/nodes/cpu", {"metadata": {"name": "cpu"}})
        answer = await cluster.top("--once")
    assert answer.status == 3
    assert "No node announces a card" in answer.out


async def test_it_is_drawn_again_until_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching, "pause", pause)
    async with opened(tmp_path) as cluster:
        cluster.node("gpu-1")
        answer = await cluster.top("--interval", "5s")
    assert (answer.status, pauses) == (0, [5, 5])
    assert answer.out.count("NODE   CARD") == 2


async def test_on_a_terminal_a_frame_is_no_taller_and_no_wider_than_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=12, color_system=None)
    monkeypatch.setattr("tangram.cli.cluster_top.output_console", lambda: console)
    async with opened(tmp_path) as cluster:
        for number in range(20):
            cluster.node(f"a-rather-long-name-of-a-node-{number}")
        await cluster.top("--once")
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert "... and 33 cards more" in "\n".join(lines)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("--cluster", "--driver", "mxsml"), "leave one of the two out", id="driver"),
        pytest.param(("--cluster", "--timeout", "3s"), "leave one of the two out", id="timeout"),
        pytest.param(("--cluster", "--sort", "name"), "--sort is 'name': it is node or load", id="sort"),
        pytest.param(("--sort", "load"), "with --cluster only", id="sort-alone"),
        pytest.param(("--kubeconfig", "x"), "with --cluster only", id="kubeconfig-alone"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], says: str) -> None:
    answer = run("top", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
