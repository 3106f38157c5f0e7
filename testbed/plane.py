"""A real control plane on loopback, without root and without a box: what `tangram sandbox --real` stands on.

It speaks with the one who started it by lines of JSON. First it says `ready`, with how to reach it; then it takes
orders to run a kube-scheduler; when its standard input ends, so does everything it started. Should it be killed
instead, the kernel ends the rest.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from testbed import dying
from testbed.binaries import Binaries, find_binaries
from testbed.certificates import Pair
from testbed.errors import BedError
from testbed.plane_keys import LOOPBACK, plane_keys

START_S: Final = 60.0
END_S: Final = 5.0
STORE: Final = "etcd"
LONGEST_WORDS: Final = 400


class Plane:
    """Everything is below one folder; `end()` it."""

    def __init__(self, folder: Path, programs: Binaries, say: Callable[[dict[str, Any]], None]) -> None:
        self._folder = folder
        self._programs = programs
        self._say = say
        self._running: dict[str, asyncio.subprocess.Process] = {}
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        self._keys = plane_keys(folder / "keys")

    async def start(self, port: int) -> None:
        """Raises `BedError` for a port that is taken and for a program that does not come up."""
        port = _checked(port)
        client, peer = _checked(0), _checked(0)
        await self._begin(STORE, self._etcd(client, peer))
        await self._begin("kube-apiserver", self._api_server(port, client))
        address = f"https://{LOOPBACK}:{port}"
        await self._until_ready(port)
        kubeconfig = self._kubeconfig(address)
        await self._begin("kube-controller-manager", self._controller_manager(kubeconfig))
        self._say(
            {
                "ready": {
                    "server": address,
                    "authority": self._keys.authority.read_text("ascii"),
                    "token": self._keys.token,
                    "kubelets": _text(self._keys.kubelets),
                }
            }
        )

    async def schedule(self, name: str, configuration: dict[str, Any]) -> None:
        """Run a kube-scheduler with this configuration."""
        file = self._folder / f"{name}.json"
        file.write_text(json.dumps(configuration), encoding="utf-8")
        kubeconfig = self._folder / "admin.conf"
        command = [
            self._programs.path("kube-scheduler"),
            f"--config={file}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--secure-port=0",
        ]
        await self._begin(name, command)
        self._say({"scheduling": name})

    async def end(self) -> None:
        """End everything. What is worth keeping is in etcd, which is told; the others need no farewell."""
        running, self._running = self._running, {}
        for name, process in running.items():
            if process.returncode is None:
                process.send_signal(signal.SIGTERM if name == STORE else signal.SIGKILL)
        for process in running.values():
            try:
                await asyncio.wait_for(process.wait(), END_S)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def first_death(self) -> str:
        """Wait until one of them ends by itself; its last words."""
        while True:
            for name, process in self._running.items():
                if process.returncode is not None:
                    return f"{name} ended by itself (status {process.returncode}): {self._last_words(name)}"
            await asyncio.sleep(0.2)

    # ---- inside

    async def _begin(self, name: str, command: list[str | Path]) -> None:
        self._say({"step": name})
        with (self._folder / "logs" / f"{name}.log").open("wb") as log:
            self._running[name] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", dying.__file__, str(os.getpid())),
                *map(str, command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
            )

    async def _until_ready(self, port: int) -> None:
        trust = ssl.create_default_context(cafile=str(self._keys.authority))
        ends = time.monotonic() + START_S
        while time.monotonic() < ends:
            for name, process in self._running.items():
                if process.returncode is not None:
                    raise BedError(
                        f"{name} did not come up (status {process.returncode}): {self._last_words(name)}"
                    )
            if await _answers(port, trust, self._keys.token):
                return
            await asyncio.sleep(0.05)
        raise BedError(
            f"kube-apiserver was not ready within {START_S:g} s: {self._last_words('kube-apiserver')}"
        )

    def _last_words(self, name: str) -> str:
        """The last line of its log, where programs say why they end."""
        lines = (self._folder / "logs" / f"{name}.log").read_text("utf-8", "replace").strip().splitlines()
        return lines[-1][:LONGEST_WORDS] if lines else "it said nothing"

    def _etcd(self, client: int, peer: int) -> list[str | Path]:
        return [
            self._programs.path("etcd"),
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls=http://{LOOPBACK}:{client}",
            f"--advertise-client-urls=http://{LOOPBACK}:{client}",
            f"--listen-peer-urls=http://{LOOPBACK}:{peer}",
            f"--initial-advertise-peer-urls=http://{LOOPBACK}:{peer}",
            f"--initial-cluster=default=http://{LOOPBACK}:{peer}",
            "--log-level=warn",
            "--unsafe-no-fsync",
        ]

    def _api_server(self, port: int, etcd: int) -> list[str | Path]:
        ca = self._keys.authority
        return [
            self._programs.path("kube-apiserver"),
            f"--etcd-servers=http://{LOOPBACK}:{etcd}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={port}",
            # Nobody in a sandbox reaches it by a Service, and no Service may lead to loopback.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._keys.server.certificate}",
            f"--tls-private-key-file={self._keys.server.key}",
            f"--client-ca-file={ca}",
            f"--token-auth-file={self._keys.token_file}",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={ca}",
            f"--kubelet-client-certificate={self._keys.to_kubelets.certificate}",
            f"--kubelet-client-key={self._keys.to_kubelets.key}",
            f"--service-account-key-file={self._keys.accounts.certificate}",
            f"--service-account-signing-key-file={self._keys.accounts.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
        ]

    def _controller_manager(self, kubeconfig: Path) -> list[str | Path]:
        return [
            self._programs.path("kube-controller-manager"),
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--secure-port=0",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._keys.accounts.key}",
            f"--root-ca-file={self._keys.authority}",
            f"--flex-volume-plugin-dir={self._folder / 'flex'}",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
        ]

    def _kubeconfig(self, address: str) -> Path:
        file = self._folder / "admin.conf"
        file.touch(mode=0o600)
        cluster = {"server": address, "certificate-authority": str(self._keys.authority)}
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "plane", "cluster": cluster}],
                    "users": [{"name": "admin", "user": {"token": self._keys.token}}],
                    "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "admin"}}],
                    "current-context": "plane",
                }
            ),
            encoding="utf-8",
        )
        return file


async def serve_plane(folder: Path, port: int) -> None:
    """Run a control plane until standard input ends, or one of its programs does. Raises `BedError`."""
    plane = Plane(folder, find_binaries(), _say)
    # From the start: whoever does not want it any more closes the pipe, and need not wait until it is ready.
    orders = asyncio.create_task(_take_orders(plane))
    work = asyncio.create_task(_run(plane, port))
    try:
        await asyncio.wait({orders, work}, return_when=asyncio.FIRST_COMPLETED)
        for each in (orders, work):
            if each.done():
                each.result()
    finally:
        for each in (orders, work):
            each.cancel()
        await asyncio.gather(orders, work, return_exceptions=True)
        await plane.end()


async def _run(plane: Plane, port: int) -> None:
    await plane.start(port)
    raise BedError(await plane.first_death())


async def _take_orders(plane: Plane) -> None:
    reader = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while line := await reader.readline():
            order = json.loads(line)["schedule"]
            await plane.schedule(order["name"], order["configuration"])
    finally:
        pipe.close()


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _text(pair: Pair) -> dict[str, str]:
    return {"certificate": pair.certificate.read_text("ascii"), "key": pair.key.read_text("ascii")}


def _checked(port: int) -> int:
    """The port if nobody listens on it; for 0, one that nobody listens on."""
    try:
        with socket.create_server((LOOPBACK, port)) as taken:
            return int(taken.getsockname()[1])
    except OSError as error:
        raise BedError(
            f"port {port} cannot be used ({error.strerror}): name another one with --port, or 0 for any that is free."
        ) from None


async def _answers(port: int, trust: ssl.SSLContext, token: str) -> bool:
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=trust)
    except OSError:
        return False
    head = f"GET /readyz HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    line = await reader.readline()
    writer.close()
    return b" 200 " in line
