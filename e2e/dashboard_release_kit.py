"""The dashboard of a release, reached as people reach it: `kubectl port-forward`, or HTTPS at its Service.

A visitor is a browser without its scripts: it keeps cookies, says where a form comes from and sends the fields that the
form has. Whatever it is shown is compared with what the API server, helm or `tangram` say.
"""

import asyncio
import base64
import html
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from e2e.helm_kit import NAMESPACE
from e2e.trust_kit import made_once, token
from testbed.api import Object, path_of
from testbed.certificates import Authority
from testbed.cluster import Cluster, client_environment
from testbed.firstprocess import CONTROL

DASHBOARD = "tangram-dashboard"
SERVICE = f"{DASHBOARD}.{NAMESPACE}.svc"
PORT = 8088
RBAC = "rbac.authorization.k8s.io"
_OFFERED = re.compile(r'<pre class="yaml"[^>]*><code>(.*?)</code></pre>', re.DOTALL)


# ---- a visitor


class Form(NamedTuple):
    action: str
    fields: Mapping[str, str]


class Page(NamedTuple):
    status: int
    text: str
    path: str

    def forms(self, action: str) -> list[Form]:
        """Those that are sent to this path."""
        reader = _Forms()
        reader.feed(self.text)
        return [form for form in reader.found if form.action == action]

    def form(self, to: str, **fields: str) -> Form:
        """The one that has these fields."""
        (found,) = [form for form in self.forms(to) if fields.items() <= form.fields.items()]
        return found

    @property
    def offered(self) -> list[str]:
        """The manifests that may be copied."""
        return [html.unescape(text) for text in _OFFERED.findall(self.text)]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._fields = {}
            self.found.append(Form(has.get("action", ""), self._fields))
        elif tag == "input" and has.get("name"):
            self._fields[has["name"]] = has.get("value", "")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody at one address. With `bearer` every request shows that token, and there is no session."""

    session: aiohttp.ClientSession
    url: str
    bearer: str = ""

    async def get(self, path: str) -> Page:
        async with self.session.get(self.url + path, headers=self._headers()) as got:
            return Page(got.status, await got.text(), got.url.path)

    async def send(self, form: Form, **more: str) -> Page:
        """As a browser does: with where the page that has the form comes from."""
        headers = {**self._headers(), "Origin": self.url, "Sec-Fetch-Site": "same-origin"}
        fields = {**form.fields, **more}
        async with self.session.post(self.url + form.action, data=fields, headers=headers) as got:
            return Page(got.status, await got.text(), got.url.path)

    async def is_answered(self) -> bool:
        """Whether a connection is made at all; what answers is judged by the caller's next request."""
        try:
            await self.get("/")
        except aiohttp.ClientConnectorError as error:
            if isinstance(error, aiohttp.ClientConnectorSSLError | aiohttp.ClientConnectorCertificateError):
                raise
            return False
        return True

    async def sign_in(self, token: str) -> Page:
        page = await self.get("/")
        assert page.path == "/sign-in", page
        return await self.send(page.form("/sign-in"), token=token)

    async def cordon(self, node: str, card: str, action: str) -> Page:
        """Both steps: what would happen, and that it shall."""
        there = await self.get(f"/nodes/{node}")
        asked = await self.send(there.form("/cards/cordon", card=card, action=action))
        assert asked.status == 200, asked
        return await self.send(asked.form("/cards/cordon", confirm="yes"))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.bearer}"} if self.bearer else {}


@asynccontextmanager
async def visiting(
    cluster: Cluster, url: str, *, room: str = CONTROL, authority: Path | None = None, bearer: str = ""
) -> AsyncGenerator[Visitor]:
    """From a machine of the cluster; with an authority names of Services are those of their addresses."""
    context = ssl.create_default_context(cafile=str(authority)) if authority else False
    connector = aiohttp.TCPConnector(
        ssl=context,
        socket_factory=_sockets_in(cluster, room),
        resolver=_Services(cluster),
    )
    jar = aiohttp.CookieJar(unsafe=True)
    limit = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar, timeout=limit) as session:
        yield Visitor(session, url, bearer)


def _sockets_in(cluster: Cluster, room: str) -> Callable[[object], socket.socket]:
    def make(_address: object) -> socket.socket:
        made = cluster.box.make_socket(room)
        made.settimeout(0)
        return made

    return make


class _Services(AbstractResolver):
    """What a cluster's DNS would say, of which the test bed has none."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - theirs
    ) -> list[ResolveResult]:
        name, namespace, _svc = host.split(".")
        found = await self._cluster.api.get(path_of("Service", name, namespace=namespace))
        return [
            ResolveResult(
                hostname=host,
                host=found["spec"]["clusterIP"],
                port=port,
                family=socket.AF_INET,
                proto=0,
                flags=0,
            )
        ]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def forwarded(cluster: Cluster) -> AsyncGenerator[str]:
    """The dashboard at an address of the control plane, as the notes of the chart say."""
    words = ("-n", NAMESPACE, "port-forward", f"deploy/{DASHBOARD}", str(PORT))
    running = await asyncio.create_subprocess_exec(
        *cluster.box.enter_network(),
        str(cluster.programs.path("kubectl")),
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=client_environment(cluster.box.folder),
    )
    assert running.stdout is not None
    try:
        async with asyncio.timeout(30):
            line = (await running.stdout.readline()).decode()
        assert "Forwarding from 127.0.0.1" in line, line
        yield f"http://127.0.0.1:{PORT}"
    finally:
        with suppress(ProcessLookupError):
            running.terminate()
        await running.wait()


# ---- people


async def make_home(cluster: Cluster, name: str) -> None:
    """A namespace in which pods can be made at once."""
    await made_once(cluster.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await _account(cluster, "default", name)


async def tenant(cluster: Cluster, namespace: str) -> str:
    """The token of somebody who may look at this namespace and at nothing else."""
    return await _person(cluster, "tenant", namespace, "view", namespace)


async def administrator(cluster: Cluster) -> str:
    """The token of somebody who may do everything."""
    return await _person(cluster, "administrator", "default", "cluster-admin", "")


async def _person(cluster: Cluster, name: str, home: str, role: str, where: str) -> str:
    await _account(cluster, name, home)
    binding: Object = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if where else "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home}],
    }
    spot = f"/namespaces/{where}/rolebindings" if where else "/clusterrolebindings"
    if not await cluster.api.exists(f"/apis/{RBAC}/v1{spot}/{name}"):
        await cluster.api.call("POST", f"/apis/{RBAC}/v1{spot}", binding)
    return await token(cluster.api, home, name)


async def _account(cluster: Cluster, name: str, home: str) -> None:
    metadata = {"name": name, "namespace": home}
    await made_once(cluster.api, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def certificate(folder: Path, name: str) -> tuple[Authority, Object]:
    """An authority of the company's own, and a Secret with what it signed for the dashboard's Service."""
    authority = Authority(folder, "company")
    pair = authority.issue("dashboard", DASHBOARD, addresses=[SERVICE])
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {key: base64.b64encode(file.read_bytes()).decode() for key, file in data.items()},
    }
    return authority, secret
