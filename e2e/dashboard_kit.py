"""A sandbox with its dashboard, as the tests of the dashboard use it: its commands, its tenants, its cards.

Whatever a test does to the cluster it does as a person would, with kubectl, `tangram` or the API, and never through the
dashboard's own code. What pages show is compared with what the commands print.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from playwright.async_api import Page, expect

from builders.sandbox_process import COMMAND, READY, Process, sandbox_process
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.kube.errors import ApiError
from testbed.binaries import find_binaries

PATIENCE_S: Final = 60.0
"""No promise about speed: only so that a test ends."""
PATIENCE_MS: Final = PATIENCE_S * 1000
ADDRESS: Final = "Dashboard"

_Found = TypeVar("_Found")

expect.set_options(timeout=PATIENCE_MS)


class CommandError(Exception):
    """A command that ended in another way than it should, and what it said."""


@dataclass(frozen=True)
class Board:
    """A running sandbox and the address of its dashboard."""

    process: Process
    folder: Path
    url: str
    api: Api

    # --- commands --------------------------------------------------------------------------------------------------

    async def run(self, *words: str | Path, stdin: str = "", well: tuple[int, ...] = (0,)) -> str:
        """What a command of the test bed or of ours prints, in the sandbox's folder. Raises `CommandError`."""
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"KUBECONFIG": str(self.kubeconfig)},
        )
        out, err = await process.communicate(stdin.encode())
        if process.returncode not in well:
            raise CommandError(f"{[*map(str, words)]}: {out.decode()}{err.decode()}")
        return out.decode()

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        return await self.run(find_binaries().path("kubectl"), *words, stdin=stdin)

    async def tangram(self, *words: str, stdin: str = "") -> str:
        """A pod that waits, and a check that finds something, make the status 1."""
        return await self.run(COMMAND, *words, stdin=stdin, well=(0, 1))

    async def status(self, *words: str) -> dict[str, Any]:
        return json.loads(await self.tangram("status", *words, "-o", "json"))

    async def as_shown(self, command: str, stdin: str = "") -> str:
        """What a command prints that a page names, as it stands there."""
        program, *words = command.split()
        return await {"kubectl": self.kubectl, "tangram": self.tangram}[program](*words, stdin=stdin)

    async def break_card(self, node: str, card: int, how: str = "fail") -> None:
        """Fail, or recover."""
        socket = self.folder / "box" / "cards" / f"{node}.sock"
        await self.run(COMMAND, "simulate-cards", "ctl", "--socket", socket, how, f"GPU-{card}")

    async def until_state(self, node: str, card: int, state: str) -> None:
        """Until everybody has been told that a card is in this state: before, pods are given it and fail."""

        async def told() -> bool:
            (found,) = (await self.status("--node", node))["nodes"]
            return found["cards"][card]["state"] == state

        await eventually(told, f"card {card} of {node} is not {state}")

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "box" / "kubeconfig"

    @property
    def scheduler_authority(self) -> Path:
        return self.folder / "box" / "keys" / "scheduler-ca.crt"

    @property
    def scheduler_port(self) -> int:
        """As the file says by which Prometheus reads it."""
        told = (self.folder / "box" / "prometheus.yml").read_text("utf-8")
        found = re.search(r"tangram-scheduler.*?127\.0\.0\.1:(\d+)", told, re.DOTALL)
        assert found is not None
        return int(found[1])

    # --- objects ---------------------------------------------------------------------------------------------------

    async def namespace(self, name: str) -> None:
        await self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})

    async def create(self, manifest: Mapping[str, Any]) -> None:
        await self.api.create(pods_of(manifest["metadata"].get("namespace", "default")), manifest)

    async def delete(self, name: str, namespace: str = "default") -> None:
        """And wait until it is gone."""
        path = f"{pods_of(namespace)}/{name}"
        await self.api.delete(path, {"gracePeriodSeconds": 0})

        async def gone() -> bool:
            try:
                await self.api.get(path)
            except ApiError as error:
                return error.status == 404
            return False

        await eventually(gone, f"{namespace}/{name} does not go")

    async def node_of(self, name: str, namespace: str = "default") -> str:
        """Where it runs, once it does."""

        async def found() -> str:
            pod = await self.api.get(f"{pods_of(namespace)}/{name}")
            running = pod.get("status", {}).get("phase") == "Running"
            return str(pod["spec"].get("nodeName", "")) if running else ""

        return await eventually(found, f"{namespace}/{name} does not run")

    async def until_waiting(self, name: str, namespace: str = "default") -> None:
        """Until the scheduler has said no to it."""

        async def told() -> bool:
            pending = (await self.status())["pending"]
            return any(each["pod"] == f"{namespace}/{name}" and each["sentence"] for each in pending)

        await eventually(told, f"{namespace}/{name} does not wait")

    async def tenant(self, account: str, namespace: str, role: str = "view") -> str:
        """The token of an account that has this role in this namespace and nothing else."""
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        await self.api.create(accounts, {"metadata": {"name": account}})
        binding = {
            "metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }
        await self.api.create(
            f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", binding
        )
        return await self.token(account, namespace)

    async def token(self, account: str, namespace: str) -> str:
        return (await self.kubectl("create", "token", account, "-n", namespace)).strip()

    async def administrator(self, account: str) -> str:
        """The token of an account that may do everything."""
        await self.kubectl("create", "serviceaccount", account, "-n", "kube-system")
        await self.kubectl(
            "create", "clusterrolebinding", account, "--clusterrole=cluster-admin",
            f"--serviceaccount=kube-system:{account}",
        )  # fmt: skip
        return await self.token(account, "kube-system")


@asynccontextmanager
async def board_in(folder: Path) -> AsyncGenerator[Board]:
    """A sandbox with its dashboard, meanwhile."""
    box = folder / "box"
    arguments = ("--port", "0", "--dashboard-port", "0", "--data", str(box))
    async with sandbox_process(folder, *arguments) as process:
        await process.until(READY)
        (line,) = (each for each in process.lines if each.startswith(ADDRESS))
        async with Api(from_kubeconfig(box / "kubeconfig")) as api:
            yield Board(process, folder, line.removeprefix(ADDRESS).strip(), api)


def pods_of(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def pod(name: str, wants: Mapping[str, int], namespace: str = "default", **spec: object) -> dict[str, Any]:
    main = {
        "name": "main",
        "image": "example.com/job:1",
        "command": ["sleep", "infinity"],
        "resources": {"limits": dict(wants)},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [main], **spec},
    }


async def eventually(question: Callable[[], Awaitable[_Found]], what: str) -> _Found:
    """Its first answer that is not empty."""
    last: object = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = last = await question()
                if found:
                    return found
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"{what}: {last!r}") from None


async def live(page: Page) -> None:
    """Until the page listens."""
    await expect(page.locator("#pulse[data-state=live]")).to_have_count(1)


async def sign_in(page: Page, url: str, token: str) -> None:
    await page.goto(f"{url}/sign-in")
    await page.locator("#token").fill(token)
    await page.locator("main form button").click()
    await expect(page.locator("form[action='/sign-out'] button")).to_be_visible()
