"""How soon a sandbox is useful, how many machines it takes, and what it costs while nobody does anything.

Three budgets. From the command to the first pod that runs on a slice, everything included: the interpreter, the API
server, six machines with their agents, the scheduler. A thousand machines: until they are ready, and the memory that
takes. And a sandbox in which nothing happens. All of it over the real command, in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig

TANGRAM = Path(sys.executable).with_name("tangram")
FIRST_POD_S, MANY_S, MANY_MIB, IDLE_PERCENT = 5.0, 30.0, 1536, 3.0
PODS = "/api/v1/namespaces/default/pods"
POD: dict[str, Any] = {
    "metadata": {"name": "first"},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "any",
                "command": ["sleep", "infinity"],
                "resources": {
                    "limits": {
                        "metax-tech.com/sgpu": 1,
                        "metax-tech.com/vcore": 25,
                        "metax-tech.com/vmemory": 8,
                    }
                },
            }
        ]
    },
}
MANY = """tangram: cluster/v1
nodes:
  - {name: sliced, count: 500, product: C500, cards: 8, mode: sgpu, links: two-groups-of-four, cpu: 128}
  - {name: whole, count: 250, product: C500, cards: 8, links: two-groups-of-four, cpu: 128, host_memory: 1 TiB}
  - {name: moore, count: 250, product: S4000, cards: 8, cpu: 96, host_memory: 512 GiB}
"""


class Started:
    """A sandbox's process and when it was begun."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, began: float) -> None:
        self.process = process
        self.folder = folder
        self.began = began

    async def until_ready(self) -> float:
        """Seconds until it says so."""
        if self.process.stdout is None:
            raise RuntimeError("it was started without a pipe")
        async for line in self.process.stdout:
            if line.startswith(b"Ready"):
                return time.perf_counter() - self.began
        raise RuntimeError("the sandbox ended before it was ready")

    def api(self) -> Api:
        return Api(from_kubeconfig(self.folder / "kubeconfig"))

    def memory_mib(self) -> float:
        """Resident now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def started(*more: str) -> AsyncGenerator[Started]:
    """A sandbox meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            str(TANGRAM), "sandbox", "--port", "0", "--data", folder, *more, stdout=asyncio.subprocess.PIPE
        )
        try:
            yield Started(process, Path(folder), began)
        finally:
            process.send_signal(signal.SIGINT)
            await process.wait()


async def until_running(api: Api) -> None:
    """Submit a pod that wants a slice, and wait until it runs."""
    await api.create(PODS, POD)
    while (await api.get(f"{PODS}/first")).get("status", {}).get("phase") != "Running":  # noqa: ASYNC110 - as people do
        await asyncio.sleep(0.02)


async def first_pod() -> dict[str, float]:
    """From the command to the first pod on a slice, and then what idling costs."""
    async with started() as sandbox:
        ready = await sandbox.until_ready()
        async with sandbox.api() as api:
            await until_running(api)
        running = time.perf_counter() - sandbox.began
        await asyncio.sleep(10)
        before, at = sandbox.cpu_seconds(), time.perf_counter()
        await asyncio.sleep(60)
        idle = 100 * (sandbox.cpu_seconds() - before) / (time.perf_counter() - at)
        return {
            "ready_s": ready,
            "first_pod_s": running,
            "idle_percent": idle,
            "memory_mib": sandbox.memory_mib(),
        }


async def many() -> dict[str, float]:
    """A thousand machines, and a pod on one of them."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(MANY)
        file.flush()
        async with started("--cluster", file.name) as sandbox:
            ready = await sandbox.until_ready()
            memory = sandbox.memory_mib()
            async with sandbox.api() as api:
                at = time.perf_counter()
                await until_running(api)
                pod = time.perf_counter() - at
            return {"ready_s": ready, "memory_mib": memory, "pod_s": pod}


def main() -> int:
    """Print what was seen beside its budget; 1 when one is exceeded."""
    parser = argparse.ArgumentParser(description="Time, memory and idle cost of a sandbox.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    as_json = parser.parse_args().json
    few, thousand = asyncio.run(first_pod()), asyncio.run(many())
    if as_json:
        print(json.dumps({"six machines": few, "a thousand machines": thousand}))
    rows = [
        ("first pod on a slice", few["first_pod_s"], FIRST_POD_S, "s"),
        ("idle, of a core", few["idle_percent"], IDLE_PERCENT, "%"),
        ("a thousand machines ready", thousand["ready_s"], MANY_S, "s"),
        ("a thousand machines' memory", thousand["memory_mib"], MANY_MIB, "MiB"),
    ]
    if not as_json:
        print(f"{'':<30}{'seen':>10}{'budget':>10}")
        for name, seen, budget, unit in rows:
            print(f"{name:<30}{seen:>10.1f}{budget:>10.0f} {unit}")
        print(f"ready after {few['ready_s']:.1f} s; six machines take {few['memory_mib']:.0f} MiB; among a")
        print(f"thousand a pod runs {thousand['pod_s']:.1f} s after it was submitted")
    return int(any(seen > budget for _, seen, budget, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
