"""`tangram scheduler` beside a real kube-scheduler: both in the control plane's room, speaking over loopback."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from e2e.agent_kit import TANGRAM
from e2e.restarts_kit import PATIENCE
from e2e.scheduling_kit import scheduled
from tangram.wire.extender_config import extender_entry, profiles
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_bound, pod

SCHEDULER = "tangram-scheduler"
HAMI = "hami-scheduler"
PORT = 8180
PROGRAM = "tangram-scheduler"

NODE_POLICY = "hami.io/node-scheduler-policy"
CARD_POLICY = "hami.io/gpu-scheduler-policy"
SLICES_GIVEN = "metax-tech.com/gpu-devices-allocated"
GIVEN_ON = "hami.io/vgpu-node"


@dataclass
class Placement:
    """A cluster whose kube-scheduler asks our scheduler."""

    cluster: Cluster
    extra: Sequence[str] = ()

    async def start(self, *more: str) -> None:
        command = [
            TANGRAM, "scheduler", "--kubeconfig", self.cluster.box.folder.admin_kubeconfig, "--lease", "none",
            "--extender-address", f"127.0.0.1:{PORT}", "--log-dir", "", "--log-format", "text", *self.extra, *more,
        ]  # fmt: skip
        await self.cluster.box.start(PROGRAM, command)
        await self.until_ready()

    async def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        return await self.cluster.box.stop(PROGRAM, by=by)

    def log(self) -> str:
        return self.cluster.box.log(PROGRAM)

    async def until_ready(self) -> None:
        await until_page(self.cluster, PROGRAM, PORT)

    async def page(self, path: str) -> str:
        """One page of its loopback door, with its head."""
        return await ask(self.cluster, PORT, path)


async def until_page(
    cluster: Cluster, program: str, port: int, path: str = "/readyz", answer: str = "200 OK"
) -> None:
    """Wait until a program of the box answers like this; if it has ended instead, its last words are the failure."""
    async with asyncio.timeout(PATIENCE):
        while answer not in await ask(cluster, port, path):
            (known,) = [each for each in await cluster.box.programs() if each["name"] == program]
            assert known["status"] is None, f"{program} ended: {cluster.box.log(program)[-2000:]}"
            await asyncio.sleep(0.05)


async def ask(cluster: Cluster, port: int, path: str, body: object = None) -> str:
    """What a loopback door answers, with its head; nothing when nobody is there. With a body it is a POST."""
    connection = cluster.box.make_socket()
    connection.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    except OSError:
        connection.close()
        return ""
    reader, writer = await asyncio.open_connection(sock=connection)
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    writer.write(head.encode() + f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
    try:
        return (await reader.read()).decode()
    except ConnectionError:
        return ""
    finally:
        writer.close()


def configured(port: int = PORT) -> Object:
    """The fields of a kube-scheduler's configuration that bring pods with cards to our scheduler."""
    return {
        "profiles": [{"schedulerName": "default-scheduler"}, *profiles([SCHEDULER, HAMI])],
        "extenders": [extender_entry(f"http://127.0.0.1:{port}")],
    }


@asynccontextmanager
async def placing(cluster: Cluster, *extra: str) -> AsyncGenerator[Placement]:
    """Our scheduler and a kube-scheduler that asks it, both as they were afterwards."""
    placement = Placement(cluster, extra)
    await placement.start()
    try:
        await cluster.restart_scheduler(configured())
        try:
            yield placement
        finally:
            await cluster.restart_scheduler()
    finally:
        # For whoever reads why a test failed: pytest shows it then and only then.
        print(placement.log())  # noqa: T201
        await placement.stop()


# ---- pods


def asking(
    name: str,
    limits: Mapping[str, str | int],
    *,
    scheduler: str = SCHEDULER,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A pod that asks for cards in one container."""
    return pod(name, container(limits=limits), scheduler=scheduler, annotations=annotations)


async def apply(cluster: Cluster, *things: Object, scheduler: str = SCHEDULER) -> None:
    """`kubectl apply` them, as people do; a pod that names no scheduler names ours."""
    for one in things:
        if one["kind"] == "Pod":
            one["spec"].setdefault("schedulerName", scheduler)
    text = "\n---\n".join(json.dumps(one) for one in things)
    done = await cluster.kubectl("apply", "-f", "-", stdin=text)
    assert done.status == 0, done.errors


@asynccontextmanager
async def made(cluster: Cluster, *things: Object) -> AsyncGenerator[None]:
    """These objects, as long as the block lasts."""
    text = "\n---\n".join(map(json.dumps, things))
    done = await cluster.kubectl("apply", "-f", "-", stdin=text)
    try:
        assert done.status == 0, done.errors
        yield
    finally:
        await cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)


async def until_bound(cluster: Cluster, name: str) -> Object:
    return await cluster.until_pod(name, is_bound, within=PATIENCE, what=f"pod {name} bound")


async def until_waiting(cluster: Cluster, name: str, words: str = "") -> str:
    """What the pod's condition says, once kube-scheduler has found no node and says this."""

    def waits(seen: Object) -> bool:
        told = scheduled(seen)
        return told.get("reason") == "Unschedulable" and words in told.get("message", "")

    seen = await cluster.until_pod(name, waits, within=PATIENCE, what=f"pod {name} waiting with {words!r}")
    return scheduled(seen)["message"]


async def events_of(cluster: Cluster, name: str, namespace: str = "default") -> list[Object]:
    """What a person sees under `kubectl describe pod`."""
    every = await cluster.api.list(path_of("Event", namespace=namespace))
    return [event for event in every if event["involvedObject"]["name"] == name]


# ---- what was written


def annotations_of(seen: Object) -> dict[str, str]:
    return seen["metadata"].get("annotations", {})


def slices_in(seen: Object) -> list[list[tuple[str, int, int]]]:
    """By container: the cards that a bound pod was given slices of, with MiB and percent."""
    rows = json.loads(annotations_of(seen).get(SLICES_GIVEN, "[]"))
    return [[(card["uuid"], card["vRam"], card.get("compute", 0)) for card in row] for row in rows]


def only_card(seen: Object) -> str:
    """The one card that every slice of a bound pod is on."""
    (card,) = {uuid for row in slices_in(seen) for uuid, _, _ in row}
    return card
