"""`tangram preflight` and `tangram verify` through the real command line and an API server."""

import asyncio
import json
import platform
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from syrupy.assertion import SnapshotAssertion

from builders.api_server import Object, SmallApiServer, refusal, small_api_server
from builders.clusters_seen import part_pod
from builders.commands import Answer, run
from builders.hosts import Host
from builders.installations import AskedCluster, InstalledCluster, admitted, bare_node, served_node
from builders.places import Place
from tangram.cli.installing.helm_program import find_helm
from tangram.kube.connection import Connection
from tangram.services.installation import inspecting


class PickyCluster(AskedCluster):
    """An API server that cannot read any selector."""

    def answer(self, request: web.Request) -> web.Response:
        if "labelSelector" in request.query and request.path == "/api/v1/nodes":
            return refusal(400, "BadRequest", "unable to parse requirement")
        return super().answer(request)


class Asking:
    """A command line beside an API server."""

    def __init__(self, server: SmallApiServer, connection: Connection, folder: Path) -> None:
        self._server = server
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            "current-context: it\n"
            "contexts: [{name: it, context: {cluster: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: {connection.server}}}}}]\n"
        )

    @property
    def requests(self) -> list[tuple[str, str, dict[str, str], Any]]:
        return self._server.requests

    def show(self, cluster: AskedCluster) -> None:
        self._server.answer_first = cluster.answer
        if isinstance(cluster, InstalledCluster):
            cluster.answer_post = lambda _request: admitted(self._server.requests[-1][3])

    async def run(self, cluster: AskedCluster, *words: str) -> Answer:
        self.show(cluster)
        return await asyncio.to_thread(run, words[0], "--kubeconfig", str(self.kubeconfig), *words[1:])


@pytest.fixture
async def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Asking]:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(inspecting, "_LOOK_AGAIN_S", 0.01)
    async with small_api_server() as (server, connection):
        yield Asking(server, connection, tmp_path)


async def test_a_cluster_that_is_ready(asking: Asking, snapshot: SnapshotAssertion) -> None:
    answer = await asking.run(AskedCluster(), "preflight")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == snapshot


async def test_a_cluster_that_is_not_ready(asking: Asking, snapshot: SnapshotAssertion) -> None:
    cluster = AskedCluster()
    old = {"containerRuntimeVersion": "containerd://1.6.8", "kubeletVersion": "v1.22.1"}
    cluster.seen.lists["/api/v1/nodes"] = [bare_node(), bare_node("gpu-2", **old)]
    cluster.seen.lists["/api/v1/pods"] = [
        part_pod("plugin-x", "gpu-device", on="gpu-1"),
        part_pod("hami-x", "vgpu-scheduler-extender", on="gpu-1"),
    ]
    answer = await asking.run(cluster, "preflight")
    assert (answer.status, answer.err) == (1, "")
    assert answer.out == snapshot


async def test_an_installation_that_is_whole(asking: Asking, snapshot: SnapshotAssertion) -> None:
    answer = await asking.run(InstalledCluster(), "verify")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == snapshot


async def test_an_installation_with_gaps(asking: Asking, snapshot: SnapshotAssertion) -> None:
    cluster = InstalledCluster()
    cluster.seen.lists["/api/v1/nodes"] = [
        served_node(),
        served_node("gpu-2", amounts=("16", "0"), labels={}),
    ]
    cluster.pages["/readyz"] = (503, "the picture of the cluster is not complete\n")
    answer = await asking.run(cluster, "verify", "--timeout", "1s")
    assert (answer.status, answer.err) == (1, "")
    assert answer.out == snapshot


async def test_a_pod_is_not_placed_while_something_else_fails(asking: Asking) -> None:
    cluster = InstalledCluster()
    cluster.seen.lists["/api/v1/nodes"] = [served_node(labels={})]
    answer = await asking.run(cluster, "verify", "--pod", "--timeout", "100ms")
    assert "SKIP  pod: no pod was placed, since other checks fail" in answer.out
    assert {dry for path, dry in cluster.posts if path.endswith("/pods")} == {"All"}


class WithAgents(InstalledCluster):
    """With gpu-device as a DaemonSet, and with one pod that waits for ever; what was made is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Object] = []
        self.deletions = 0
        agent = {"name": "agent", "image": "registry.example/tangram:1", "args": ["gpu-device"]}
        self.seen.lists["/apis/apps/v1/daemonsets"] = [
            {
                "metadata": {"name": "agents"},
                "spec": {"template": {"spec": {"containers": [agent]}}},
                "status": {},
            }
        ]

    def answer(self, request: web.Request) -> web.Response:
        if request.method == "DELETE":
            self.deletions += 1
            return refusal(404, "NotFound", "gone") if self.deletions > 1 else web.json_response({})
        if "/pods/tangram-verify-" in request.path:
            return web.json_response({"status": {"phase": "Failed", "message": "no card"}})
        return super().answer(request)


async def test_a_pod_sleeps_by_what_the_image_of_the_agents_has(asking: Asking) -> None:
    ours = WithAgents()
    answer = await asking.run(ours, "verify", "--pod", "--timeout", "100ms")
    assert "did not run" in answer.out
    assert ours.deletions == 2
    (made,) = [
        body for _, path, query, body in asking.requests if path.endswith("/pods") and body and not query
    ]
    (container,) = made["spec"]["containers"]
    # Tangram's own image holds no other program.
    assert (container["image"], container["command"][0]) == ("registry.example/tangram:1", "python3")


async def test_a_pod_is_gone_when_the_command_is_told_to_end(asking: Asking) -> None:
    waiting = asyncio.Event()

    class Waiting(WithAgents):
        def answer(self, request: web.Request) -> web.Response:
            if "/pods/tangram-verify-" in request.path and request.method == "GET":
                waiting.set()
                return web.json_response({"status": {"phase": "Pending"}})
            return super().answer(request)

    cluster = Waiting()
    asking.show(cluster)
    words = ("verify", "--pod", "--kubeconfig", str(asking.kubeconfig))
    program = (sys.executable, "-c", "from tangram.cli.app import main; main()")
    command = await asyncio.create_subprocess_exec(
        *program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        await waiting.wait()
        command.terminate()
        out, err = await command.communicate()
    assert (command.returncode, out, cluster.deletions) == (130, b"", 2)
    assert b"tangram: deleting pod default/tangram-verify-" in err


async def test_a_helm_that_hangs_costs_its_own_finding_and_no_other(asking: Asking) -> None:
    program = asking.kubeconfig.with_name("helm")
    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    answer = await asking.run(AskedCluster(), "preflight", "--timeout", "2s")
    assert (answer.status, answer.err) == (0, "")
    assert "SKIP  helm: helm does not say its version (no answer within 0.5 s)" in answer.out


@pytest.mark.parametrize("command", ["preflight", "verify"])
async def test_for_programs_in_both_formats(asking: Asking, command: str) -> None:
    as_json = json.loads((await asking.run(InstalledCluster(), command, "-o", "json")).out)
    as_yaml = yaml.safe_load((await asking.run(InstalledCluster(), command, "-o", "yaml")).out)
    assert set(as_json) == set(as_yaml)
    assert as_json["tangram"] == f"{command}/v1"
    assert {frozenset(finding) for finding in as_json["findings"]} == {
        frozenset({"check", "outcome", "why", "todo"})
    }
    page = (
        (Path(__file__).parents[3] / "docs" / "preflight.md")
        .read_text("utf-8")
        .partition("## For programs")[2]
    )
    (node,) = as_json["nodes"]
    assert [field for field in (*as_json, *node) if f"`{field}`" not in page] == []


@pytest.mark.parametrize("command", ["preflight", "verify"])
def test_an_api_server_nobody_answers_at_fails_in_one_line(tmp_path: Path, command: str) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: it\n"
        "contexts: [{name: it, context: {cluster: it}}]\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    answer = run(command, "--kubeconfig", str(kubeconfig), "--timeout", "5s")
    assert answer.status == 1
    assert answer.out.startswith("FAIL  api-server: http://127.0.0.1:1 cannot be asked (")
    assert answer.err == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param("preflight --node -n tangram", "leave one of the two out", id="machine-and-cluster"),
        pytest.param(
            "preflight --node --kubeconfig k", "leave one of the two out", id="machine-and-kubeconfig"
        ),
        pytest.param("preflight --root /host", "write --node beside them", id="root-without-node"),
        pytest.param("preflight --node --driver quantum", "--driver", id="no-such-driver"),
        pytest.param("preflight -n Up", "-n: ", id="namespace"),
        pytest.param("preflight -o xml", "-o is 'xml'", id="format"),
        pytest.param("preflight --timeout soon", "--timeout", id="duration"),
        pytest.param("preflight --kubeconfig /none", "the kubeconfig /none cannot be read", id="no-file"),
        pytest.param("verify --image busybox", "write both, or neither", id="image-without-pod"),
        pytest.param(
            "verify --kubeconfig /none", "the kubeconfig /none cannot be read", id="no-file-to-verify"
        ),
        pytest.param("verify --node", "--node", id="no-such-option"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_refused_in_one_line(words: str, says: str) -> None:
    answer = run(*words.split())
    assert answer.status == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1


async def test_a_selector_that_the_api_server_cannot_read_is_a_fault_of_the_command_line(
    asking: Asking,
) -> None:
    answer = await asking.run(PickyCluster(), "preflight", "-l", ")")
    assert answer.status == 2
    assert "-l is ')', which the API server cannot read" in answer.err


@pytest.mark.parametrize("command", ["preflight", "verify"])
def test_help_shows_examples_and_exit_statuses(command: str) -> None:
    answer = run(command, "--help")
    assert answer.status == 0
    examples = [line for line in answer.out.splitlines() if line.startswith("  tangram ")]
    assert len(examples) >= 4
    assert all(line.startswith(f"  tangram {command}") for line in examples)
    assert "Exit status: 0" in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 80


# ---- a machine


def test_a_machine_is_looked_at_with_its_system_and_its_cgroups(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("/etc/os-release", 'NAME=x\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n')
    host.write("/proc/version", "Linux version 5.15.0 (builder@host) (gcc) #1 SMP\n")
    host.write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    cards = tmp_path / "cards.yaml"
    cards.write_text("tangram: cards/v1\ncards: [{product: C500, count: 2}]\n")
    place = Place(f"simulated:{cards}", tmp_path)
    answer = place.run("preflight", "--node")
    assert (answer.status, answer.err) == (0, "")
    assert "OK    systems: Ubuntu 22.04.4 LTS with kernel 5.15.0" in answer.out
    assert "OK    cgroups: the kernel serves cgroups of version 2" in answer.out
    assert "OK    cards: 2 x MXC500 answer" in answer.out


def test_a_machine_with_old_cgroups_another_system_and_an_old_driver(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.write("/usr/lib/os-release", "PRETTY_NAME='Other 1'\n")
    host.write("/sys/fs/cgroup/memory/tasks", "")
    cards = tmp_path / "cards.yaml"
    cards.write_text("tangram: cards/v1\ncards: [{product: C500, count: 1, driver_version: 2.30.1}]\n")
    answer = Place(f"simulated:{cards}", tmp_path).run("preflight", "--node")
    assert "WARN  systems: Other 1 with kernel unknown is not among" in answer.out
    assert "WARN  cgroups: the kernel serves cgroups of version 1" in answer.out
    assert (
        "FAIL  metax-driver-version: the MetaX driver is 2.30.1, and slices need 2.32.0 or newer"
        in answer.out
    )
    assert answer.status == 1


def test_this_very_machine_is_read_without_a_fault_of_its_files() -> None:
    """Files of /proc are no ordinary files, and only a real kernel shows how they take to being read."""
    answer = run("preflight", "--node", "--timeout", "60s", "-o", "json")
    assert answer.err == ""
    found = {each["check"]: each["why"] for each in json.loads(answer.out)["findings"]}
    assert f"with kernel {platform.release()}" in found["systems"]
    assert "cgroups" in found["cgroups"]


# ---- helm


@pytest.mark.parametrize(
    ("script", "version", "fault"),
    [
        pytest.param("echo v3.14.2+gc309b6f", "v3.14.2", "", id="third"),
        pytest.param("echo 'Client: v2.17.0+gabc'", "v2.17.0", "", id="second"),
        pytest.param("echo oh no >&2; exit 3", "", "oh no", id="broken"),
        pytest.param("exit 0", "", "it ended with status 0", id="silent"),
    ],
)
def test_the_helm_on_the_path_is_asked_for_its_version(
    tmp_path: Path, script: str, version: str, fault: str
) -> None:
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert (find_helm(5.0, str(tmp_path)).version, find_helm(5.0, str(tmp_path)).fault) == (version, fault)


def test_no_helm_is_no_fault(tmp_path: Path) -> None:
    assert find_helm(5.0, str(tmp_path)).fault == ""
