"""All machines of a sandbox: one informer of pods and one of nodes for all kubelets, one log server, one pulse.

A few machines run in full. Of many, each sleeps until a pod that asks for cards is bound to it (`sleeping` says why).
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Final

import msgspec

from tangram.daemon.certificates import Pair, server_context
from tangram.drivers.simulated.world import Clock
from tangram.kube.api import Api
from tangram.kube.informer import Change, Informer, unsigned
from tangram.kube.objects import Key, Object
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.kubelet import NotReady
from tangram.sandbox.nodes.log_book import LogBook
from tangram.sandbox.nodes.log_server import LogServer
from tangram.sandbox.nodes.machine import ConnectionFor, Machine, Surroundings
from tangram.sandbox.nodes.node_objects import NODES
from tangram.sandbox.nodes.pod_specs import amount, is_extended, node_of
from tangram.sandbox.nodes.pulse import Pulse
from tangram.sandbox.nodes.sleeping import USUAL_LABELS, said_by_agents
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.agent_state import AGENT, SERVING
from tangram.wire.metax_labels import Choices

MOST_AWAKE: Final = 24
"""Machines that run in full from the start; where there are more, all of them sleep."""
READING_S: Final = 30.0
_AT_ONCE: Final = 16
_WRITES_AT_ONCE: Final = 32
_LONGEST_FOLDER: Final = 40
"""Letters that leave room for the names of sockets inside."""
_FOLDER_NAME: Final = 12
_TOLD_EVERY: Final = 100


class _Room(msgspec.Struct, frozen=True):
    """What is kept of a Node object."""

    amounts: dict[str, int] = {}
    labels: dict[str, str] = {}
    served: bool = False
    """Whether its agent has spoken and takes pods."""


class Machines:
    """`start` makes the nodes and returns when every machine that is to be awake is ready; `stop` ends it all."""

    def __init__(
        self,
        descriptions: Sequence[MachineDescription],
        *,
        api: Api,
        connection_for: ConnectionFor,
        folder: Path,
        certificate: Pair | None = None,
        listener: socket | None = None,
        clock: Clock = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        most_awake: int = MOST_AWAKE,
        silence: float = 40.0,
        labels: Choices = USUAL_LABELS,
    ) -> None:
        """`silence` is how long a node may say nothing without being called dead by whoever watches Leases.

        `certificate` and `listener` are the log server's; plain HTTP and any free port of loopback where not given.
        """
        self._api = api
        self._folder = folder
        self._short: Path | None = None
        self._asleep = len(descriptions) > most_awake
        self._logs = LogBook(now)
        tls = None if certificate is None else server_context(certificate)
        self._server = LogServer(self._logs, tls, now, listener)
        self._tasks: list[asyncio.Task[None]] = []
        self._ips = itertools.count()
        self._taken_ips: set[str] = set()
        """Of pods that were there before us."""
        self._pods = Informer(
            api, "/api/v1/pods", self._pod_told, keep=unsigned, query={"fieldSelector": "spec.nodeName!="}
        )
        self._nodes = Informer(api, NODES, lambda _change: None, keep=_room)
        self._around = Surroundings(
            api=api,
            connection_for=connection_for,
            logs=self._logs,
            now=now,
            clock=clock,
            next_ip=self._next_ip,
            writing=asyncio.Semaphore(_WRITES_AT_ONCE),
            port=lambda: self._server.port,
            room=self._room,
            published=lambda node: self._kept(node).served,
            labels=labels,
        )
        self._machines: dict[NodeName, Machine] = {}
        self._descriptions = tuple(descriptions)
        self._pulse = Pulse(silence)

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._machines.values())

    def __len__(self) -> int:
        return len(self._descriptions)

    @property
    def awake(self) -> list[Machine]:
        return [machine for machine in self if machine.awake]

    def machine(self, name: str) -> Machine:
        """The machine of that name. Raises `KeyError` with a sentence."""
        found = self._machines.get(NodeName(name))
        if found is None:
            names = ", ".join(list(self._machines)[:8])
            raise KeyError(f"there is no node {name!r:.80}: the nodes are {names}; name one of these")
        return found

    async def log_of(self, namespace: str, pod: str, container: str = "") -> str:
        """What a container has said so far; of the pod's first one where none is named."""
        run = self._logs.find(namespace, pod, container or self._logs.first(namespace, pod))
        return "" if run is None else "".join(f"{line.text}\n" for line in run.lines())

    async def start(self, progress: Callable[[str], None] = lambda _sentence: None) -> None:
        """Raises `ApiError`, `ApiUnreachable` and `NotReady`. `progress` hears a sentence now and then."""
        await self._server.start()
        folder = self._usable_folder()
        for description in self._descriptions:
            said = said_by_agents(description, self._around.now(), self._around.labels)
            self._machines[description.node] = Machine(
                description, folder / _folder_name(description.node), self._around, said
            )
            # A thousand of them take seconds, and an API server in this process must answer meanwhile.
            await asyncio.sleep(0)
        await self._read_cluster()
        turns, done = asyncio.Semaphore(_AT_ONCE), itertools.count(1)

        async def begin(machine: Machine) -> None:
            async with turns:
                await machine.start(awake=not self._asleep)
                count = next(done)
                if count % _TOLD_EVERY == 0 or count == len(self._machines):
                    progress(f"{count} of {len(self._machines)} nodes are ready")

        await asyncio.gather(*(begin(machine) for machine in self._machines.values()))
        self._begin(self._pulse.run([machine.keeping for machine in self]))

    async def last(self) -> None:
        """Return, or raise, as soon as something does that all machines need: it should go on until `stop`."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            # Those that `stop` has ended have nothing to say.
            if not task.cancelled():
                task.result()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(machine.stop() for machine in self))
        await self._server.stop()
        if self._short is not None:
            with suppress(OSError):
                (self._short / "d").unlink()
                self._short.rmdir()

    # ---- inside

    async def _read_cluster(self) -> None:
        """What pods and nodes there are already: a kubelet that knew of no pod would give its devices away."""
        self._begin(self._nodes.run())
        self._begin(self._pods.run())
        try:
            async with asyncio.timeout(READING_S):
                await self._nodes.synced.wait()
                await self._pods.synced.wait()
        except TimeoutError:
            raise NotReady(
                f"the pods and nodes of the cluster could not be read within {READING_S:g} s"
            ) from None

    def _pod_told(self, change: Change[Object]) -> None:
        pod = change.new if change.new is not None else change.old
        machine = None if pod is None else self._machines.get(NodeName(node_of(pod)))
        if machine is None or pod is None:
            return
        if change.new is None:
            machine.kubelet.lost(pod)
        else:
            if not self._pods.synced.is_set():
                self._taken_ips.add(loose.text(loose.members(pod.get("status")).get("podIP")))
            machine.kubelet.told(pod)

    def _room(self, node: NodeName) -> tuple[Mapping[str, int], Mapping[str, str]]:
        room = self._kept(node)
        return room.amounts, room.labels

    def _kept(self, node: NodeName) -> _Room:
        return self._nodes.objects.get(Key("", str(node)), _Room())

    def _next_ip(self) -> str:
        return next(ip for ip in map(_ip, self._ips) if ip not in self._taken_ips)

    def _usable_folder(self) -> Path:
        """The folder itself, or a short name for it: the path of a socket may have 107 bytes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        absolute = self._folder.absolute()
        if len(os.fsencode(absolute)) <= _LONGEST_FOLDER:
            return absolute
        self._short = Path(tempfile.mkdtemp(prefix="tangram-"))
        link = self._short / "d"
        link.symlink_to(absolute)
        return link

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.create_task(work))


def _ip(number: int) -> str:
    high, low = divmod(number, 254)
    return f"10.{64 + (high >> 8) % 128}.{high & 255}.{low + 1}"


def _room(node: Object) -> _Room:
    status, metadata = loose.members(node.get("status")), loose.members(node.get("metadata"))
    return _Room(
        {
            key: amount(value)
            for key, value in loose.members(status.get("allocatable")).items()
            if is_extended(key)
        },
        loose.text_map(metadata.get("labels")),
        loose.members(metadata.get("annotations")).get(AGENT) == SERVING,
    )


def _folder_name(node: NodeName) -> str:
    if len(node) <= _FOLDER_NAME:
        return str(node)
    return hashlib.sha256(node.encode()).hexdigest()[:_FOLDER_NAME]
