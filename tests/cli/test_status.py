"""`tangram status`: one screen of a cluster, from a file, a dump or an API server."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders import scheduling
from builders.commands import run
from tangram.cli.hardware import watching
from tangram.cli.hardware.top_page import Brush
from tangram.cli.status_page import Room, status_lines
from tangram.cli.status_reading import Looker, cluster_reader
from tangram.kube.api import Api
from tangram.reports.status_shape import StatusReport
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kubeconfig import kubeconfig_text

CLUSTER: Final[dict[str, Any]] = {
    "tangram": "cluster/v1",
    "nodes": [
        {"name": "whole", "product": "C500", "cards": 8, "links": "two-groups-of-four", "cordoned": [6]},
        {"name": "sliced", "product": "C500", "mode": "sgpu", "cards": 4, "unhealthy": [2]},
        {"name": "moore", "product": "S4000", "cards": 2, "unschedulable": True},
        {"name": "gone", "product": "C550", "cards": 1, "taints": ["node.kubernetes.io/not-ready:NoExecute"]},
        {"name": "cpu", "cpu": 8},
    ],
    "pods": [
        {"name": "train", "namespace": "research", "node": "whole", "cards": [0, 1, 2]},
        {
            "name": "chat-7c9d8f6b5-x2x9k",
            "namespace": "online-services",
            "node": "sliced",
            "cards": [0],
            "memory": "48 GiB",
            "cores": 50,
        },
        {
            "name": "small",
            "namespace": "research",
            "node": "sliced",
            "cards": [0],
            "memory": "512 MiB",
            "cores": 5,
        },
        {"name": "m", "node": "moore", "cards": [1], "memory": "16 GiB", "cores": 8},
        {"name": "burst", "count": 7, "cards": 6, "vendor": "metax"},
        {"name": "next", "cards": 1, "vendor": "metax", "memory": "8 GiB"},
    ],
}
ACCOUNT: Final = "somebody"


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path, CLUSTER)


def written(folder: Path, cluster: object) -> str:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(cluster))
    return str(path)


def many(nodes: int) -> dict[str, Any]:
    """Equal nodes, of which every third is in use and one has lost a card."""
    return {
        "tangram": "cluster/v1",
        "nodes": [
            {"name": f"gpu-{number}", "product": "C500", "cards": 8, "unhealthy": [0] if number == 7 else []}
            for number in range(nodes)
        ],
        "pods": [
            {"name": f"job-{number}", "node": f"gpu-{number}", "cards": list(range(1, 8))}
            for number in range(0, nodes, 3)
        ],
    }


def page(file: str, room: Room, *, encoding: str = "utf-8") -> str:
    report = Looker(cluster_reader(file, None), "file").look().report
    return text(report, room, encoding=encoding)


def text(report: StatusReport, room: Room, *, encoding: str = "utf-8") -> str:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding))
    return "\n".join(line.text for line in status_lines(report, Brush(console), room)) + "\n"


def sentence(*arguments: str, stdin: str = "") -> str:
    answer = run("status", *arguments, stdin=stdin)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("tangram: ")
    assert answer.err.count("\n") == 1
    return answer.err.removeprefix("tangram: ").strip()


# --- the page --------------------------------------------------------------------------------------------------------


def test_a_small_cluster_is_shown_card_by_card_in_80_columns(file: str, snapshot: SnapshotAssertion) -> None:
    shown = page(file, Room(columns=80))
    assert shown == snapshot
    assert max(map(len, shown.splitlines())) <= 80


def test_a_pipe_gets_the_same_with_whole_names(file: str, snapshot: SnapshotAssertion) -> None:
    answer = run("status", "--cluster", file)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == snapshot
    assert "online-services/chat-7c9d8f6b5-x2x9k  48 GiB, 50%" in answer.out


def test_a_terminal_without_blocks_gets_ascii(file: str) -> None:
    shown = page(file, Room(columns=80), encoding="latin-1")
    assert shown.isascii()
    assert "##########" in shown
    assert run("status", "--cluster", file, encoding="latin-1").out.isascii()


def test_a_larger_cluster_is_shown_node_by_node(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert page(written(tmp_path, many(18)), Room(columns=80)) == snapshot


def test_a_large_cluster_is_shown_by_kinds_of_nodes(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    shown = page(written(tmp_path, many(300)), Room(columns=80))
    assert shown == snapshot
    assert len(shown.splitlines()) <= 24


def test_one_node_of_a_large_cluster_can_be_seen_card_by_card(tmp_path: Path) -> None:
    answer = run("status", "--cluster", written(tmp_path, many(300)), "--node", "gpu-3")
    assert "default/job-3  whole" in answer.out
    assert "gpu-4" not in answer.out
    assert "300 nodes, 2,400 cards" in answer.out


@pytest.mark.parametrize(
    ("lines", "shows"),
    [
        pytest.param(100, "research/small  512 MiB", id="room-for-cards"),
        pytest.param(24, "NODE    STATE", id="room-for-nodes"),
        pytest.param(15, "NODES  STATE", id="room-for-kinds"),
    ],
)
def test_while_watched_it_is_no_taller_than_the_terminal_if_it_can_help_it(
    file: str, lines: int, shows: str
) -> None:
    assert shows in page(file, Room(columns=80, lines=lines))


def test_pods_that_wait_for_the_same_reason_share_it(file: str) -> None:
    shown = page(file, Room(columns=80))
    assert shown.count("none of 5 nodes fits") == 1
    assert "default/burst-0, default/burst-1," in shown
    assert "and 2 more" in shown
    assert "it fits on node sliced" in shown


def test_with_a_namespace_only_its_pods_are_named(file: str) -> None:
    out = run("status", "--cluster", file, "-n", "research").out
    assert "research/small" in out
    assert "online-services" not in out
    assert "1 pod of other namespaces" in out
    assert "Waiting:" not in out
    assert "8 waiting" in out


def test_a_cluster_without_cards_says_so(tmp_path: Path) -> None:
    file = written(tmp_path, {"tangram": "cluster/v1", "nodes": [{"name": "cpu"}]})
    out = run("status", "--cluster", file).out
    assert out == "1 node and no card: see that gpu-device runs on them.\nWithout cards: cpu.\n"


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63)


@given(st.lists(names, min_size=1, max_size=20, unique=True), names, st.integers(60, 120))
def test_no_line_is_wider_than_the_terminal_whatever_the_names(
    nodes: list[str], pod: str, columns: int
) -> None:
    cluster = {
        "tangram": "cluster/v1",
        "nodes": [{"name": f"n{name}e", "product": "S4000", "cards": 2} for name in nodes],
        "pods": [
            {
                "name": f"p{pod}e",
                "node": f"n{nodes[0]}e",
                "cards": [0],
                "memory": "16 GiB",
                "cores": 1,
            },
            {"name": f"w{pod}e", "cards": 9},
        ],
    }
    source = json.dumps(cluster)
    answer = run("status", "--cluster", "-", "-o", "json", stdin=source)
    assert answer.status == 0, answer.err
    report = msgspec.json.decode(answer.out, type=StatusReport)
    for room in (Room(columns=columns), Room(columns=columns, lines=12), Room(columns=columns, in_full=True)):
        assert max(map(len, text(report, room).splitlines())) <= columns


# --- for programs ----------------------------------------------------------------------------------------------------


def test_programs_get_json_and_yaml_that_say_the_same(file: str) -> None:
    as_json = json.loads(run("status", "--cluster", file, "-o", "json").out)
    assert yaml.safe_load(run("status", "--cluster", file, "-o", "yaml").out) == as_json
    assert as_json["tangram"] == "status/v1"
    assert as_json["source"] == "file"
    assert as_json["totals"]["cards_unhealthy"] == 1
    assert [node["state"] for node in as_json["nodes"]] == ["not-ready", "cordoned", "ready", "ready"]


# --- the help --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["status", "top", "completion"])
def test_the_help_teaches_by_examples_that_fit_the_screen(command: str) -> None:
    answer = run(command, "--help")
    assert answer.status == 0
    assert answer.out.count(f"  tangram {command}") + answer.out.count(f"(tangram {command}") >= 3
    assert "Exit status: 0 " in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_the_first_help_names_what_a_newcomer_runs_first() -> None:
    out = run("--help").out
    for line in ("  tangram sandbox\n", "  tangram status\n"):
        assert line in out


# --- what it refuses -------------------------------------------------------------------------------------------------


def test_a_node_that_is_not_there_is_named_with_those_that_are(file: str) -> None:
    assert sentence("--cluster", file, "--node", "slice") == (
        "--node is 'slice': the nodes are gone, moore, sliced, whole, cpu; write sliced."
    )


def test_standard_input_cannot_be_watched() -> None:
    assert "standard input can be read once" in sentence("--cluster", "-", "--watch")


def test_a_file_and_a_kubeconfig_are_one_too_many(file: str) -> None:
    assert "are both given" in sentence("--cluster", file, "--kubeconfig", file)


def test_a_file_that_is_not_there_is_one_sentence() -> None:
    assert "no-such.yaml" in sentence("--cluster", "no-such.yaml")


# --- again and again -------------------------------------------------------------------------------------------------


def test_it_is_shown_again_until_ctrl_c(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching, "pause", pause)
    answer = run("status", "--cluster", file, "--watch", "5")
    assert (answer.status, pauses) == (0, [5, 5])
    assert answer.out.count("Waiting: 8 pods") == 2


def test_while_watched_a_cluster_that_is_away_is_shown_as_it_was(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        Path(file).unlink(missing_ok=True)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(watching, "pause", pause)
    answer = run("status", "--cluster", file, "-w")
    first, _, second = answer.out.partition("As it was last seen: ")
    assert "Waiting: 8 pods" in first
    assert "cluster.yaml" in second.splitlines()[0]
    assert "Waiting: 8 pods" in second


def test_a_first_look_that_fails_is_not_hidden() -> None:
    assert "no-such.yaml" in sentence("--cluster", "no-such.yaml", "--watch")


# --- a live cluster --------------------------------------------------------------------------------------------------


async def test_a_live_cluster_is_shown_with_phases_and_reasons(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with serving_api() as running, Api(running.connection()) as api:
        kubeconfig.write_text(kubeconfig_text(running.address, running.issued.authority, running.token))
        empty = await asyncio.to_thread(run, "status", "--kubeconfig", str(kubeconfig))
        assert (empty.status, empty.out) == (2, "")
        assert "has no node" in empty.err
        await api.create("/api/v1/nodes", scheduling.node("gpu-1"))
        # A node is born as not ready, and here is nobody to see that it is.
        await api.merge("/api/v1/nodes/gpu-1", {"spec": {"taints": None}})
        # A server by itself has no controller that would make the usual account.
        account = {"metadata": {"name": ACCOUNT}}
        await api.create("/api/v1/namespaces/default/serviceaccounts", account)
        for made in (_bound("chat", 0), _waiting("big")):
            await api.create("/api/v1/namespaces/default/pods", made)
        answer = await asyncio.to_thread(run, "status", "--kubeconfig", str(kubeconfig))
        report = json.loads(
            (await asyncio.to_thread(run, "status", "--kubeconfig", str(kubeconfig), "-o", "json")).out
        )
    assert (answer.status, answer.err) == (0, "")
    assert "default/chat  16 GiB, 50%, Pending" in answer.out
    assert "default/big\n    the only node does not fit: cards have too little free memory" in answer.out
    assert report["source"] == "api-server"
    assert [each["pod"] for each in report["pending"]] == ["default/big"]


def _bound(name: str, card: int) -> dict[str, Any]:
    annotations = {
        "hami.io/vgpu-node": "gpu-1",
        "hami.io/metax-sgpu-devices-allocated": f"GPU-gpu-1-{card},Metax-SGPU,16384,50:;",
    }
    return _pod(scheduling.pod(name, annotations=annotations, spec={"nodeName": "gpu-1"}))


def _waiting(name: str) -> dict[str, Any]:
    limits = {"metax-tech.com/sgpu": 2, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 60}
    return _pod(scheduling.pod(name, limits))


def _pod(made: dict[str, Any]) -> dict[str, Any]:
    made["apiVersion"], made["kind"] = "v1", "Pod"
    for key in ("uid", "creationTimestamp", "resourceVersion"):
        made["metadata"].pop(key, None)
    made["spec"]["serviceAccountName"] = ACCOUNT
    for container in made["spec"]["containers"]:
        container["image"] = "none"
    return made
