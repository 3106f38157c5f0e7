"""Pages and commands that are kubectl's as much as ours: our plugin, its completion, and the page about tenants."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders import scheduling
from tangram.kube.api import Api
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kubeconfig import kubeconfig_text
from testbed.binaries import find_binaries
from testbed.box import REPOSITORY
from testbed.consoles import blocks, normal, played, shell, steps

pytestmark = pytest.mark.smoke

PROGRAMS = Path(sys.executable).parent
PAGE = REPOSITORY / "docs" / "sandbox.md"


@asynccontextmanager
async def live(folder: Path) -> AsyncGenerator[Path]:
    """A kubeconfig for a server with two nodes, and a pod in another namespace than the usual."""
    async with serving_api() as running, Api(running.connection()) as api:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(kubeconfig_text(running.address, running.issued.authority, running.token))
        for name in ("gpu-1", "gpu-2"):
            await api.create("/api/v1/nodes", scheduling.node(name))
        await api.create("/api/v1/namespaces", {"metadata": {"name": "research"}})
        # A server by itself has no controller that would make the usual account.
        spec = {"containers": [{"name": "c", "image": "none"}], "serviceAccountName": "worker"}
        for namespace, name in (("default", "web"), ("research", "train")):
            account = {"metadata": {"name": "worker"}}
            await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
            made = {"metadata": {"name": name}, "spec": spec}
            await api.create(f"/api/v1/namespaces/{namespace}/pods", made)
        yield kubeconfig


def kubectl(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
    }
    return subprocess.run(  # noqa: S603 - the test bed's kubectl
        [find_binaries().path("kubectl"), *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env=environment,
    )


async def test_kubectl_runs_it_as_a_plugin_and_finishes_its_words(tmp_path: Path) -> None:
    async with live(tmp_path) as kubeconfig:

        async def answered(*arguments: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(kubectl, kubeconfig, *arguments)

        status, explained, pods = await asyncio.gather(
            answered("tangram", "status"),
            answered("tangram", "explain", "train", "-n", "research"),
            answered("__complete", "tangram", "explain", "-n", "research", ""),
        )
    assert (status.returncode, status.stderr) == (0, "")
    assert status.stdout.startswith("2 nodes, 4 cards ")
    assert (explained.returncode, explained.stderr) == (0, "")
    assert explained.stdout.startswith("research/train asks for no card")
    assert pods.stdout == "train\n:4\n"


async def test_the_recipe_for_a_tenant_prints_what_the_page_shows(tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").partition("\n## Tenants\n")[2].partition("\n## ")[0]
    (block,) = blocks(section)
    config, programs = tmp_path / "config", tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(find_binaries().path("kubectl"))
    async with serving_api() as running:
        config.write_text(kubeconfig_text(running.address, running.issued.authority, running.token), "utf-8")
        variables = {"KUBECONFIG": str(config), "PATH": f"{programs}:{os.environ['PATH']}"}
        async with shell(tmp_path, variables) as typed:
            printed = await played(typed, steps(block))
    assert [normal(each.shown) for each in printed] == [normal(each.shown) for each in steps(block)]
