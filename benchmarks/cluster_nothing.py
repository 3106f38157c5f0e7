"""The yardstick: a scheduler extender in Python that decides nothing.

It takes the offered node whose turn it is and binds with a Binding that carries nothing else, so what it costs is what
the protocol costs. It reads no more of a call than the node names and keeps its connections: a clumsy yardstick would
flatter whatever is measured with it.
"""

import argparse
import asyncio
import itertools
import signal
from pathlib import Path

import aiohttp
import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from cluster_metrics import BIND_SECONDS, FILTER_SECONDS
from tangram.kube.connection import from_kubeconfig

LARGEST_BODY = 64 * 1024 * 1024
BOUNDS = tuple(0.00005 * 1.15**step for step in range(90))
"""From 0.05 ms to 12 s in steps of 15 %."""
_NAMESPACE_PATH = "/api/v1/namespaces"


class FilterCall(msgspec.Struct):
    """All that is read of it."""

    NodeNames: list[str] = []


class BindCall(msgspec.Struct):
    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


_FILTER = msgspec.json.Decoder(FilterCall)
_BIND = msgspec.json.Decoder(BindCall)


class Extender:
    """Answers kube-scheduler, and counts how long that took."""

    def __init__(self, api: aiohttp.ClientSession) -> None:
        self._api = api
        self._turns = itertools.count()
        self._registry = CollectorRegistry()
        self._filtering = Histogram(
            FILTER_SECONDS, "filter calls", buckets=BOUNDS, registry=self._registry
        ).time
        self._binding = Histogram(BIND_SECONDS, "bind calls", buckets=BOUNDS, registry=self._registry).time

    def application(self) -> web.Application:
        made = web.Application(client_max_size=LARGEST_BODY)
        made.router.add_post("/filter", self._filter)
        made.router.add_post("/bind", self._bind)
        made.router.add_get("/readyz", self._ready)
        made.router.add_get("/metrics", self._metrics)
        return made

    async def _filter(self, request: web.Request) -> web.Response:
        with self._filtering():
            offered = _FILTER.decode(await request.read()).NodeNames
            chosen = [offered[next(self._turns) % len(offered)]] if offered else []
            return _answer({"NodeNames": chosen})

    async def _bind(self, request: web.Request) -> web.Response:
        with self._binding():
            call = _BIND.decode(await request.read())
            target = {"apiVersion": "v1", "kind": "Node", "name": call.Node}
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": call.PodName, "uid": call.PodUID},
                "target": target,
            }
            path = f"{_NAMESPACE_PATH}/{call.PodNamespace}/pods/{call.PodName}/binding"
            headers = {"Content-Type": "application/json"}
            async with self._api.post(path, data=msgspec.json.encode(body), headers=headers) as response:
                said = await response.text()
            return _answer({"Error": "" if response.status < 400 else said})

    async def _ready(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._registry), content_type="text/plain")


def _answer(said: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(said), content_type="application/json")


async def serve(kubeconfig: Path, host: str, port: int) -> None:
    """Until asked to end."""
    connection = from_kubeconfig(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=connection.tls or False, limit=100)
    async with aiohttp.ClientSession(connection.server, connector=connector) as api:
        runner = web.AppRunner(Extender(api).application(), access_log=None)
        await runner.setup()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        try:
            await web.TCPSite(runner, host, port).start()
            await ended.wait()
        finally:
            await runner.cleanup()


def main() -> None:
    """Serve where the benchmark says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--address", required=True, metavar="HOST:PORT")
    asked = parser.parse_args()
    host, _, port = str(asked.address).rpartition(":")
    asyncio.run(serve(asked.kubeconfig, host, int(port)))


if __name__ == "__main__":
    main()
