"""The other half of a yardstick: nominations written ahead by a process that decides nothing.

kube-scheduler tries a pod's nominated node first and alone, so its cost per pod no longer grows with the cluster. This
process gives every new pod the next node in turn, as fast as it can, in the order in which pods appear. It says what
nominations are worth at best, when choosing the node costs nothing.
"""

import argparse
import asyncio
import contextlib
import itertools
import signal
from collections.abc import Iterator
from pathlib import Path

from cluster_manifests import node_name
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.kube.errors import ApiError

PODS = "/api/v1/pods"
UNBOUND = {"fieldSelector": "spec.nodeName="}
AT_ONCE = 8
READY = "nominating"
"""Printed once pods are watched."""


async def nominate(api: Api, nodes: int) -> None:
    """Until cancelled."""
    turns = itertools.cycle([node_name(number) for number in range(nodes)])
    waiting: asyncio.Queue[str] = asyncio.Queue()
    version = (await api.get(PODS, limit="1"))["metadata"]["resourceVersion"]
    async with asyncio.TaskGroup() as together:
        for _ in range(AT_ONCE):
            together.create_task(_write(api, waiting, turns))
        print(READY, flush=True)
        while True:
            async for kind, pod in api.watch(PODS, {**UNBOUND, "resourceVersion": version}):
                metadata = pod["metadata"]
                version = metadata["resourceVersion"]
                if kind == "ADDED":
                    waiting.put_nowait(
                        f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
                    )


async def _write(api: Api, waiting: asyncio.Queue[str], turns: Iterator[str]) -> None:
    while True:
        path = await waiting.get()
        # A pod that is gone or bound by now needs no nomination.
        with contextlib.suppress(ApiError):
            await api.merge(path, {"status": {"nominatedNodeName": next(turns)}})


async def run(kubeconfig: Path, nodes: int) -> None:
    """Until asked to end."""
    async with Api(from_kubeconfig(kubeconfig)) as api:
        working = asyncio.create_task(nominate(api, nodes))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await working


def main() -> None:
    """Nominate in the cluster of a kubeconfig."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    asked = parser.parse_args()
    asyncio.run(run(asked.kubeconfig, asked.nodes))


if __name__ == "__main__":
    main()
