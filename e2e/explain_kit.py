"""`tangram explain` beside a running scheduler: real accounts with real tokens, answers as programs read them."""

import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.agent_kit import TANGRAM
from e2e.scheduling_kit import poll_until, remove
from e2e.trust_kit import made_once, token
from testbed.api import Api, Object, path_of
from testbed.cluster import Cluster, Finished

RBAC = "rbac.authorization.k8s.io"
HTTPS = 9443
SERVER = f"https://127.0.0.1:{HTTPS}"
SECRET = path_of("Secret", "tangram-scheduler-tls", namespace="kube-system")


@dataclass(frozen=True, slots=True)
class Person:
    """An account, by the file with its token."""

    user: str
    token_file: Path

    @property
    def token(self) -> str:
        return self.token_file.read_text()


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions reach the scheduler and the cluster."""

    cluster: Cluster
    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    async def begin(self) -> None:
        """Take the authority of the scheduler's own certificate from where people find it."""

        async def there() -> bool:
            return await self.cluster.api.exists(SECRET)

        await poll_until(there, what="the Secret with the scheduler's authority")
        data = (await self.cluster.api.get(SECRET))["data"]["ca.crt"]
        self.authority.write_bytes(base64.b64decode(data))

    async def locally(self, *words: str, stdin: str = "") -> Finished:
        """Worked out here, with the administrator's kubeconfig."""
        return await self.cluster.command([TANGRAM, "explain", *words], stdin=stdin)

    async def server(self, person: Person, *words: str, stdin: str = "") -> Finished:
        """Asked of the running scheduler, with that person's token."""
        how = ["--server", SERVER, "--server-ca", str(self.authority), "--token-file", str(person.token_file)]
        return await self.cluster.command([TANGRAM, "explain", *words, *how], stdin=stdin)

    async def page(self, path: str, person: Person | None) -> Finished:
        """A page of the HTTPS door, as a scraper gets it; the status stands on the first line."""
        script = (
            "import ssl,sys,urllib.request as u,urllib.error as e\n"
            "path, authority, token = sys.argv[1:]\n"
            "context = ssl.create_default_context(cafile=authority)\n"
            "context.check_hostname = False\n"
            "asked = u.Request(path, headers={'Authorization': 'Bearer ' + token} if token else {})\n"
            "try:\n"
            "    with u.urlopen(asked, context=context, timeout=30) as got:\n"
            "        print(got.status, got.read().decode(), sep='\\n')\n"
            "except e.HTTPError as refused:\n"
            "    print(refused.code, refused.read().decode(), sep='\\n')\n"
        )
        words = [SERVER + path, self.authority, "" if person is None else person.token]
        return await self.cluster.command([TANGRAM.parent / "python", "-c", script, *words])

    async def person(self, namespace: str, name: str) -> Person:
        """A new account in a namespace, without any right."""
        api = self.cluster.api
        await made_once(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        metadata = {"name": name, "namespace": namespace}
        for account in (name, "default"):
            await made_once(
                api, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**metadata, "name": account}}
            )
        file = self.folder / f"{namespace}-{name}"
        file.write_text(await token(api, namespace, name))
        return Person(f"system:serviceaccount:{namespace}:{name}", file)


def report(done: Finished, *, status: int) -> Object:
    """What the command told a program."""
    assert done.status == status, done.errors + done.output
    return json.loads(done.output)


def only(done: Finished, *, status: int) -> Object:
    """The report on the one pod that was asked about."""
    (pod,) = report(done, status=status)["pods"]
    return pod


async def let_read_pods(api: Api, person: Person, namespace: str = "") -> None:
    """The right to read pods in a namespace, or in all."""
    name = person.user.replace(":", "-")
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    await _let(api, name, rules, person, namespace)


async def let_scrape(api: Api, person: Person) -> None:
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    await _let(api, f"{person.user.replace(':', '-')}-metrics", rules, person, "")


async def _let(api: Api, name: str, rules: Sequence[Object], person: Person, namespace: str) -> None:
    _, _, home, account = person.user.split(":")
    metadata: Object = {"name": name}
    role: Object = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
    }
    await made_once(api, role)
    binding: Object = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
    }
    where = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    await api.call("POST", f"/apis/{RBAC}/v1{where}", binding)


@asynccontextmanager
async def emptied(cluster: Cluster, *namespaces: str) -> AsyncGenerator[None]:
    """No pod is left in these namespaces afterwards."""
    try:
        yield
    finally:
        for namespace in namespaces:
            left = await cluster.api.list(path_of("Pod", namespace=namespace))
            await remove(cluster, [one["metadata"]["name"] for one in left], namespace=namespace)
