"""A real control plane on loopback, without root and without a box: what `tangram sandbox --real` stands on.

It speaks with the one who started it by lines of JSON. First it says `ready`, with how to reach it; then it takes
orders to run a kube-scheduler; when its standard input ends, so does everything it started. Should it be killed
instead, the kernel ends the rest.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from testbed.binaries import Binaries, find_binaries
from testbed.certificates import Authority, Pair, signing_pair
from testbed.errors import BedError
from testbed.linux import die_with_parent

LOOPBACK: Final = "127.0.0.1"
START_S: Final = 60.0
END_S: Final = 5.0
TAIL: Final = 600


class Plane:
    """Everything is below one folder; `end()` it."""

    def __init__(self, folder: Path, programs: Binaries, say: Callable[[dict[str, Any]], None]) -> None:
        self._folder = folder
        self._programs = programs
        self._say = say
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._token = secrets.token_urlsafe(24)
        for each in (folder, folder / "logs", folder / "keys"):
            each.mkdir(parents=True, exist_ok=True)
        keys = folder / "keys"
        self._authority = Authority(keys, "ca")
        self._server = self._authority.issue(
            "apiserver", "kube-apiserver", addresses=[LOOPBACK, "localhost", "kubernetes.default.svc"]
        )
        self._kubelets = self._authority.issue("kubelets", "kubelets", addresses=[LOOPBACK, "localhost"])
        self._to_kubelets = self._authority.issue("to-kubelets", "kube-apiserver", groups=["system:masters"])
        self._tokens = signing_pair(keys, "service-accounts")
        self._token_file = keys / "tokens.csv"
        self._token_file.touch(mode=0o600)
        self._token_file.write_text(
            f'{self._token},kubernetes-admin,admin,"system:masters"\n', encoding="utf-8"
        )

    async def start(self, port: int) -> None:
        """Raises `BedError` for a port that is taken and for a program that does not come up."""
        port = _checked(port)
        client, peer = _free_port(), _free_port()
        await self._begin("etcd", self._etcd(client, peer))
        await self._begin("kube-apiserver", self._api_server(port, client))
        address = f"https://{LOOPBACK}:{port}"
        await self._until_ready(port)
        kubeconfig = self._kubeconfig(address)
        await self._begin("kube-controller-manager", self._controller_manager(kubeconfig))
        self._say(
            {
                "ready": {
                    "server": address,
                    "authority": self._authority.certificate.read_text("ascii"),
                    "token": self._token,
                    "kubelets": _text(self._kubelets),
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
        """End everything, the API server's clients first."""
        for name in reversed(list(self._running)):
            process = self._running.pop(name)
            if process.returncode is None:
                process.terminate()
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
                *map(str, command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                preexec_fn=lambda: die_with_parent(signal.SIGKILL),
            )

    async def _until_ready(self, port: int) -> None:
        trust = ssl.create_default_context(cafile=str(self._authority.certificate))
        ends = time.monotonic() + START_S
        while time.monotonic() < ends:
            for name, process in self._running.items():
                if process.returncode is not None:
                    raise BedError(
                        f"{name} did not come up (status {process.returncode}): {self._last_words(name)}"
                    )
            if await _answers(port, trust, self._token):
                return
            await asyncio.sleep(0.05)
        raise BedError(
            f"kube-apiserver was not ready within {START_S:g} s: {self._last_words('kube-apiserver')}"
        )

    def _last_words(self, name: str) -> str:
        text = (self._folder / "logs" / f"{name}.log").read_text("utf-8", "replace").strip()
        return text[-TAIL:]

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
        ca = self._authority.certificate
        return [
            self._programs.path("kube-apiserver"),
            f"--etcd-servers=http://{LOOPBACK}:{etcd}",
            f"--bind-address={LOOPBACK}",
            f"--advertise-address={LOOPBACK}",
            f"--secure-port={port}",
            # Nobody in a sandbox reaches it by a Service, and no Service may lead to loopback.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._server.certificate}",
            f"--tls-private-key-file={self._server.key}",
            f"--client-ca-file={ca}",
            f"--token-auth-file={self._token_file}",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={ca}",
            f"--kubelet-client-certificate={self._to_kubelets.certificate}",
            f"--kubelet-client-key={self._to_kubelets.key}",
            f"--service-account-key-file={self._tokens.certificate}",
            f"--service-account-signing-key-file={self._tokens.key}",
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
            f"--service-account-private-key-file={self._tokens.key}",
            f"--root-ca-file={self._authority.certificate}",
            f"--flex-volume-plugin-dir={self._folder / 'flex'}",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
        ]

    def _kubeconfig(self, address: str) -> Path:
        file = self._folder / "admin.conf"
        file.touch(mode=0o600)
        cluster = {"server": address, "certificate-authority": str(self._authority.certificate)}
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "plane", "cluster": cluster}],
                    "users": [{"name": "admin", "user": {"token": self._token}}],
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
    try:
        await plane.start(port)
        orders = asyncio.create_task(_take_orders(plane))
        death = asyncio.create_task(plane.first_death())
        await asyncio.wait({orders, death}, return_when=asyncio.FIRST_COMPLETED)
        if death.done():
            raise BedError(death.result())
        death.cancel()
        await orders
    finally:
        await plane.end()


async def _take_orders(plane: Plane) -> None:
    reader = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        order = json.loads(line)["schedule"]
        await plane.schedule(order["name"], order["configuration"])


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _text(pair: Pair) -> dict[str, str]:
    return {"certificate": pair.certificate.read_text("ascii"), "key": pair.key.read_text("ascii")}


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as taken:
        return int(taken.getsockname()[1])


def _checked(port: int) -> int:
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
