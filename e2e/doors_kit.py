"""The scheduler's door for other machines, asked as the API server, people and strangers ask it."""

import asyncio
import base64
import json
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.admission_kit import ADMISSION
from e2e.agent_kit import TANGRAM
from e2e.scheduler_kit import until_page
from e2e.scheduling_kit import poll_until
from testbed.api import ApiRefused, Object, path_of
from testbed.box import REPOSITORY
from testbed.certificates import Pair
from testbed.cluster import Cluster
from testbed.rooms import CONTROL_ADDRESS

HOME = "kube-system"
HURRIED = REPOSITORY / "e2e" / "hurried_scheduler.py"
WHO = "doors"
"""The Service, the Secret's beginning and the webhook configurations of these schedulers."""
HOST = f"{WHO}.{HOME}.svc"


@dataclass(frozen=True, slots=True)
class Door:
    """One running scheduler with a door at a port."""

    cluster: Cluster
    name: str
    port: int
    loopback: int

    async def start(self, *more: str | Path, hurried: bool = False) -> None:
        command = [sys.executable, HURRIED] if hurried else [TANGRAM]
        await self.cluster.box.start(
            self.name,
            [
                *command, "scheduler", "--kubeconfig", self.cluster.box.folder.admin_kubeconfig, "--lease", "none",
                "--extender-address", f"127.0.0.1:{self.loopback}", "--https-address", f"0.0.0.0:{self.port}",
                "--service", f"{HOME}/{WHO}", "--webhooks", WHO, "--log-dir", "", "--log-format", "text", *more,
            ],
        )  # fmt: skip
        await until_page(self.cluster, self.name, self.loopback)

    async def ask(
        self, path: str, body: object = None, *, token: str = "", client: Pair | None = None
    ) -> tuple[int, str]:
        """Status and body of an answer over TLS, trusting what the scheduler tells people to trust."""
        context = ssl.create_default_context(cadata=await self.authority())
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        connection = self.cluster.box.make_socket()
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, (CONTROL_ADDRESS, self.port))
        reader, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=HOST)
        text = b"" if body is None else json.dumps(body).encode()
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: {HOST}", "Connection: close"]
        lines += [
            f"Content-Length: {len(text)}",
            *([f"Authorization: Bearer {token}"] if token else []),
            "",
            "",
        ]
        try:
            writer.write("\r\n".join(lines).encode() + text)
            answer = await reader.read()
        finally:
            writer.close()
        head, _, told = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), told.decode()

    async def shown(self) -> str:
        """The certificate it shows now."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = self.cluster.box.make_socket()
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, (CONTROL_ADDRESS, self.port))
        _reader, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=HOST)
        try:
            return writer.get_extra_info("ssl_object").getpeercert(binary_form=True).hex()
        finally:
            writer.close()

    async def authority(self) -> str:
        kept = await self.cluster.api.get(path_of("Secret", f"{WHO}-tls", namespace=HOME))
        return base64.b64decode(kept["data"]["ca.crt"]).decode()


@asynccontextmanager
async def opened(
    cluster: Cluster, name: str, port: int, *more: str | Path, hurried: bool = False
) -> AsyncGenerator[Door]:
    """A scheduler that runs meanwhile."""
    door = Door(cluster, name, port, port + 1)
    await door.start(*more, hurried=hurried)
    try:
        yield door
    finally:
        # For whoever reads why a test failed: pytest shows it then and only then.
        print(cluster.box.log(name))  # noqa: T201
        await cluster.box.stop(name)


@asynccontextmanager
async def registered(cluster: Cluster, namespace: str, ports: list[int]) -> AsyncGenerator[None]:
    """Webhooks for the pods of one namespace that nothing but these doors can let pass, without any caBundle."""
    api = cluster.api
    # Without kube-proxy a Service has no address of its own; this one leads to the machine that serves it.
    service: Object = {"type": "ExternalName", "externalName": CONTROL_ADDRESS}
    await api.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": WHO, "namespace": HOME}, "spec": service}
    )
    hook: Object = {
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    kinds = {"MutatingWebhookConfiguration": "webhook", "ValidatingWebhookConfiguration": "guard"}
    for kind, path in kinds.items():
        hooks = [
            {
                **hook,
                "name": f"{path}-{port}.tangram.dev",
                "clientConfig": {
                    "service": {"name": WHO, "namespace": HOME, "path": f"/{path}", "port": port}
                },
            }
            for port in ports
        ]
        await api.create(
            {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": WHO}, "webhooks": hooks}
        )
    try:
        yield
    finally:
        for kind in kinds:
            await api.delete(path_of(kind, WHO, version=ADMISSION))
        await api.delete(path_of("Service", WHO, namespace=HOME))


async def until_let_in(cluster: Cluster, pod: Object) -> None:
    """Wait until the webhooks are trusted, and with them pods are taken."""

    async def taken() -> bool:
        try:
            await cluster.api.create(pod, dryRun="All")
        except ApiRefused:
            return False
        return True

    await poll_until(taken, what="a pod's being let in")
