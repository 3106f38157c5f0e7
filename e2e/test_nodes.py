"""Several real nodes: each its own machine to Kubernetes, all on one network, and the tools people bring along."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from testbed.api import path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_over, is_running, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("three nodes")

NODES = ("n1", "n2", "n3")
SERVE = "while :; do echo I am $(hostname) | nc -l -p 8080; done"


@pytest_asyncio.fixture(scope="module")
async def three() -> AsyncGenerator[Cluster]:
    async with Cluster.open(Options(nodes=3, kwok_nodes=20)) as running:
        yield running


async def test_pods_of_different_nodes_reach_each_other_and_the_api_server(three: Cluster) -> None:
    await asyncio.gather(
        *(three.api.create(pod(f"server-{node}", container(script=SERVE), node=node)) for node in NODES)
    )
    servers = await asyncio.gather(*(three.until_pod(f"server-{node}", is_running) for node in NODES))
    addresses = [server["status"]["podIP"] for server in servers]
    assert len({address.rsplit(".", 1)[0] for address in addresses}) == 3, (
        "each node has pod addresses of its own"
    )
    calls = [
        # A call that comes between two servers is taken by the kernel and hung up on without a word.
        f'until said=$(nc -w 5 {address} 8080 </dev/null 2>/dev/null) && test -n "$said"; do sleep 0.1; done; '
        'echo "$said"'
        for address in addresses
    ]
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - where every pod finds its own
    calls.append(
        f"test -s {token} && nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && echo api"
    )
    await asyncio.gather(
        *(
            three.api.create(pod(f"client-{node}", container(script="; ".join(calls)), node=node))
            for node in NODES
        )
    )
    for node in NODES:
        await three.until_pod(f"client-{node}", is_over, within=120)
        said = await three.pod_log(f"client-{node}")
        assert said.split("\n") == [*(f"I am server-{one}" for one in NODES), "api", ""]


async def test_a_pods_token_is_renewed_within_the_hour_and_taken_for_a_year(three: Cluster) -> None:
    """What a stolen token is worth, unless the API server is told not to extend it."""
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - where every pod finds its own
    await three.api.create(pod("token", container(script=f"cat {token}")))
    await three.until_pod("token", is_over)
    claims = (await three.pod_log("token")).split(".")[1]
    found = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    year, hour = 365 * 86_400, 3_607
    assert found["exp"] - found["iat"] == year
    assert found["kubernetes.io"]["warnafter"] - found["iat"] == hour
    assert found["kubernetes.io"]["pod"]["name"] == "token"


async def test_a_device_node_made_on_one_node_is_on_no_other(three: Cluster) -> None:
    await three.box.make_devices(
        "n2", [("/dev/mxcd", 1, 3), ("/dev/dri/renderD128", 1, 5), ("/dev/mtgpu.0", 1, 7)]
    )
    for node in NODES:
        name = f"look-{node}"
        await three.box.start(name, ["/bin/sh", "-c", "ls /dev /dev/dri 2>/dev/null; hostname"], room=node)
        await three.box.wait(name)
        seen = three.box.log(name).split()
        assert node in seen
        assert ({"mxcd", "renderD128", "mtgpu.0"} <= set(seen)) is (node == "n2")


@pytest.mark.parametrize("program", ["kubectl", "kubectl-1.28"])
async def test_kubectl_old_and_new_can_apply_look_and_enter(
    three: Cluster, program: str, tmp_path: Path
) -> None:
    name = program.replace(".", "-")
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  terminationGracePeriodSeconds: 0\n"
        "  containers: [{name: main, image: 'docker.io/local/busybox:1', command: [sleep, '1000']}]\n",
        encoding="utf-8",
    )
    applied = await three.kubectl("apply", "-f", str(manifest), program=program)
    assert (applied.status, applied.output) == (0, f"pod/{name} created\n"), applied.errors
    waited = await three.kubectl(
        "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s", program=program
    )
    assert waited.status == 0, waited.errors
    inside = await three.kubectl("exec", name, "--", "hostname", program=program)
    assert inside.output.strip() == name, inside.errors


async def test_helm_installs_a_chart_and_takes_it_away_again(three: Cluster, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 0.1.0\n", encoding="utf-8")
    (tmp_path / "templates" / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {word: {{ .Values.word }}}\n",
        encoding="utf-8",
    )
    helm = three.programs.path("helm")
    installed = await three.command([helm, "install", "mine", str(tmp_path), "--set", "word=hello", "--wait"])
    assert installed.status == 0, installed.errors
    assert (await three.api.get(path_of("ConfigMap", "mine")))["data"] == {"word": "hello"}
    removed = await three.command([helm, "uninstall", "mine", "--wait"])
    assert removed.status == 0, removed.errors
    assert not await three.api.exists(path_of("ConfigMap", "mine"))


async def test_a_pod_on_a_kwok_node_only_seems_to_run(three: Cluster) -> None:
    await three.api.create(pod("seeming", node="kwok-00007"))
    await three.until_pod("seeming", lambda seen: seen.get("status", {}).get("phase") == "Running")
    entered = await three.kubectl("exec", "seeming", "--", "true")
    assert entered.status != 0, "there is no container to enter"
