"""`tangram doctor --cluster` through the real command line and an API server."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from builders.api_server import small_api_server
from builders.clusters_seen import WEBHOOKS, SeenCluster, node
from builders.commands import Answer, run
from tangram.kube.connection import Connection


class Asking:
    def __init__(self, connection: Connection, folder: Path) -> None:
        self.cluster = SeenCluster()
        self.server = connection.server
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(
            "current-context: it\n"
            "contexts: [{name: it, context: {cluster: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: {connection.server}}}}}]\n"
        )

    async def doctor(self, *arguments: str) -> Answer:
        return await asyncio.to_thread(
            run, "doctor", "--cluster", "--kubeconfig", str(self._kubeconfig), *arguments
        )


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncGenerator[Asking]:
    async with small_api_server() as (server, connection):
        made = Asking(connection, tmp_path)
        server.answer_first = made.cluster.answer
        yield made


async def test_a_cluster_that_is_well(asking: Asking, snapshot: SnapshotAssertion) -> None:
    answer = await asking.doctor()
    assert answer.status == 0
    assert answer.err == ""
    assert answer.out == snapshot


async def test_a_cluster_with_a_clash_fails(asking: Asking, snapshot: SnapshotAssertion) -> None:
    asking.cluster.lists[WEBHOOKS] = []
    asking.cluster.lists["/api/v1/nodes"] = [node("gpu-1", agent=False, gpu="8")]
    answer = await asking.doctor()
    assert answer.status == 1
    assert answer.out == snapshot


async def test_warnings_alone_do_not_fail_it(asking: Asking) -> None:
    asking.cluster.objects["/version"] = {"major": "1", "minor": "30"}
    answer = await asking.doctor()
    assert "WARN  kubernetes-version" in answer.out
    assert answer.status == 0


async def test_for_programs_in_both_formats(asking: Asking) -> None:
    as_json = json.loads((await asking.doctor("-o", "json")).out)
    assert as_json == yaml.safe_load((await asking.doctor("-o", "yaml")).out)
    assert as_json["tangram"] == "cluster-doctor/v1"
    assert as_json["server"] == asking.server
    assert {frozenset(finding) for finding in as_json["findings"]} == {
        frozenset({"check", "outcome", "why", "todo"})
    }


def test_an_api_server_nobody_answers_at_fails_in_one_line(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: it\n"
        "contexts: [{name: it, context: {cluster: it}}]\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    answer = run("doctor", "--cluster", "--kubeconfig", str(kubeconfig), "--timeout", "5s")
    assert answer.status == 1
    assert answer.out.startswith("FAIL  api-server: http://127.0.0.1:1 cannot be asked (")
    assert answer.err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(
            ("--cluster", "--driver", "gmi"), "--driver and --root are about one machine", id="driver"
        ),
        pytest.param(
            ("--cluster", "--root", "/host"), "--driver and --root are about one machine", id="root"
        ),
        pytest.param(("--kubeconfig", "k"), "is of use with --cluster only: write both", id="kubeconfig"),
        pytest.param(
            ("--cluster", "--kubeconfig", "/none"), "the kubeconfig /none cannot be read", id="no-file"
        ),
        pytest.param(("--cluster", "-o", "xml"), "-o is 'xml'", id="format"),
    ],
)
def test_a_question_about_two_things_is_refused(arguments: tuple[str, ...], says: str) -> None:
    answer = run("doctor", *arguments)
    assert answer.status == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1
