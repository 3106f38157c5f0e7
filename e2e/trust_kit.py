"""The scheduler's two webhooks before a real API server, and real accounts that try to write allocations.

What answers is the product's own code; only its certificate and its registration are the test's. A policy or webhook
is limited to the namespace of one test, so that it refuses nothing of others.
"""

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from builders.charts.policies import trust_manifests
from e2e.admission_kit import ADMISSION
from e2e.scheduling_kit import NOBODY, fleet_pod, poll_until
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.guarding import guard
from tangram.wire.trust_policy import (
    WRITERS,
    TrustedAccounts,
    guarded_requests,
    service_account,
)
from testbed.api import Api, ApiRefused, Object, path_of
from testbed.cluster import Cluster
from testbed.inside_server import serve_inside
from testbed.manifests import binding
from testbed.rooms import CONTROL_ADDRESS

NODE, OTHER_NODE = "kwok-00111", "kwok-00112"
CARDS = "hami.io/metax-sgpu-devices-allocated"
PLACED = "hami.io/vgpu-node"
HELD = {PLACED: NODE, CARDS: "GPU-1,Metax-SGPU,1024,10:;", "hami.io/bind-phase": "allocating"}
NEW_PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]

Answering = Callable[[bytes], Reply]


@dataclass(slots=True)
class Hooks:
    """Webhooks by their path, each a function from a body to a reply."""

    cluster: Cluster
    address: str = ""
    answers: dict[str, Answering] = field(default_factory=dict[str, Answering])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        reply = self.answers[request.match_info["path"]](await request.read())
        return web.Response(body=reply.body, status=reply.status, content_type=reply.kind)

    @asynccontextmanager
    async def registered(
        self, kind: str, namespace: str, rules: list[Object], answer: Answering, **more: object
    ) -> AsyncGenerator[None]:
        """The webhook known to the API server, for one namespace; whether it is asked yet is for the caller to see."""
        self.answers[namespace] = answer
        trusted = self.cluster.credentials.authority.certificate.read_bytes()
        hook = {
            "name": f"{namespace}.tangram.dev",
            "clientConfig": {
                "url": f"{self.address}/{namespace}",
                "caBundle": base64.b64encode(trusted).decode("ascii"),
            },
            "rules": rules,
            "namespaceSelector": only(namespace),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            **more,
        }
        metadata = {"name": namespace}
        await self.cluster.api.create(
            {"apiVersion": ADMISSION, "kind": kind, "metadata": metadata, "webhooks": [hook]}
        )
        try:
            yield
        finally:
            await self.cluster.api.delete(path_of(kind, namespace, version=ADMISSION))


@asynccontextmanager
async def serving(cluster: Cluster) -> AsyncGenerator[Hooks]:
    hooks = Hooks(cluster)
    identity = cluster.credentials.authority.issue("hooks", "hooks", addresses=[CONTROL_ADDRESS])
    async with serve_inside(cluster.box, hooks.handle, identity=identity) as address:
        hooks.address = address
        yield hooks


def only(namespace: str) -> Object:
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


@asynccontextmanager
async def policed(cluster: Cluster, namespace: str, accounts: TrustedAccounts) -> AsyncGenerator[None]:
    """The policy in force, in one namespace."""
    policy, use = trust_manifests(accounts)
    policy["metadata"] = use["metadata"] = {"name": namespace}
    use["spec"] |= {"policyName": namespace, "matchResources": {"namespaceSelector": only(namespace)}}
    for thing in (policy, use):
        await cluster.api.create(thing)
    try:
        yield
    finally:
        for thing in (use, policy):
            await cluster.api.delete(path_of(thing["kind"], namespace, version=ADMISSION))


@asynccontextmanager
async def hooked(hooks: Hooks, namespace: str, accounts: TrustedAccounts) -> AsyncGenerator[None]:
    """The same rule as a webhook, in one namespace."""
    kind = "ValidatingWebhookConfiguration"
    async with hooks.registered(kind, namespace, guarded_requests(), lambda body: guard(body, accounts)):
        yield


async def make_account(api: Api, namespace: str, name: str) -> str:
    """A service account that may do to pods whatever can be done to them; its user name."""
    metadata = {"name": name, "namespace": namespace}
    await made_once(api, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await let(api, f"{namespace}-{name}", {"kind": "ServiceAccount", **metadata})
    return service_account(namespace, name)


async def let(api: Api, name: str, who: Object) -> None:
    """Every right on pods, so that nothing but the rule under test can refuse."""
    group = "rbac.authorization.k8s.io"
    resources = ["pods", "pods/status", "pods/binding", "bindings"]
    rule = {"apiGroups": [""], "resources": resources, "verbs": ["*"]}
    metadata = {"name": f"trust-{name}"}
    role: Object = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}
    use = {"apiGroup": group, "kind": "ClusterRole", "name": metadata["name"]}
    await made_once(api, role)
    await made_once(
        api,
        {**role, "kind": "ClusterRoleBinding", "rules": None, "roleRef": use, "subjects": [who]},
    )


async def made_once(api: Api, thing: Object) -> None:
    try:
        await api.create({key: value for key, value in thing.items() if value is not None})
    except ApiRefused as refused:
        if refused.reason != "AlreadyExists":
            raise


async def token(api: Api, namespace: str, name: str, *, pod: str = "") -> str:
    """A token of the account, as the kubelet asks for one: bound to a pod, and so to its node, when named."""
    spec: Object = {"expirationSeconds": 3600}
    if pod:
        uid = (await api.get(path_of("Pod", pod, namespace=namespace)))["metadata"]["uid"]
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = path_of("ServiceAccount", name, namespace=namespace) + "/token"
    return (await api.call("POST", path, asked))["status"]["token"]


@dataclass(frozen=True, slots=True)
class People:
    """Connections of everybody who may try."""

    accounts: TrustedAccounts
    by_name: Mapping[str, Api]


@asynccontextmanager
async def people(cluster: Cluster, home: str) -> AsyncGenerator[People]:
    """A tenant, an administrator, the scheduler, a peer, and the agents of two nodes and of none; `home` is theirs."""
    api, authority = cluster.api, cluster.credentials.authority
    accounts = TrustedAccounts(
        scheduler=await make_account(api, home, "tangram-scheduler"),
        peers=(await make_account(api, "kube-system", "hami-scheduler"),),
        agents=(await make_account(api, home, "gpu-device"),),
    )
    await let(
        api, f"{home}-alice", {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    )
    for name, node in (("agent-here", NODE), ("agent-there", OTHER_NODE)):
        more = {"serviceAccountName": "gpu-device", "nodeName": node}
        made = fleet_pod(name, scheduler=NOBODY, more=more)
        made["metadata"]["namespace"] = home
        await api.create(made)
    tokens = {
        "scheduler": await token(api, home, "tangram-scheduler"),
        "peer": await token(api, "kube-system", "hami-scheduler"),
        "agent": await token(api, home, "gpu-device", pod="agent-here"),
        "agent of another node": await token(api, home, "gpu-device", pod="agent-there"),
        "agent without a node": await token(api, home, "gpu-device"),
    }
    async with AsyncExitStack() as stack:
        alice = authority.issue(f"{home}-alice", "alice")
        opened = {"alice": await stack.enter_async_context(Api(cluster.box, authority, alice)), "admin": api}
        for name, held in tokens.items():
            opened[name] = await stack.enter_async_context(Api(cluster.box, authority, None, token=held))
        yield People(accounts, opened)


@dataclass(frozen=True, slots=True)
class Marks:
    """What an attempt writes; None takes away."""

    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    labels: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    @property
    def change(self) -> Object:
        return {"metadata": {"annotations": dict(self.annotations), "labels": dict(self.labels)}}

    def on(self, thing: Object) -> Object:
        """The thing with those that are not taken away."""
        for kind, marks in (("annotations", self.annotations), ("labels", self.labels)):
            left = {key: value for key, value in marks.items() if value is not None}
            if left:
                thing["metadata"][kind] = left
        return thing


def plain_pod(name: str, namespace: str, **more: object) -> Object:
    made = fleet_pod(name, scheduler=NOBODY, more=more)
    made["metadata"]["namespace"] = namespace
    return made


async def by_creation(api: Api, namespace: str, _pod: str, marks: Marks, **query: str) -> None:
    await api.create(marks.on(plain_pod("forged", namespace)), **query)


async def by_creation_on_a_node(api: Api, namespace: str, _pod: str, marks: Marks, **query: str) -> None:
    await api.create(marks.on(plain_pod("forged", namespace, nodeName=NODE)), **query)


async def by_update(api: Api, namespace: str, pod: str, marks: Marks, **query: str) -> None:
    await api.patch(path_of("Pod", pod, namespace=namespace), marks.change, **query)


async def by_status(api: Api, namespace: str, pod: str, marks: Marks, **query: str) -> None:
    await api.patch(path_of("Pod", pod, namespace=namespace) + "/status", marks.change, **query)


async def by_binding(api: Api, namespace: str, pod: str, marks: Marks, **query: str) -> None:
    body = marks.on(_bare_binding(pod))
    await api.call("POST", path_of("Pod", pod, namespace=namespace) + "/binding", body, **query)


async def by_old_binding(api: Api, namespace: str, pod: str, marks: Marks, **query: str) -> None:
    await api.call("POST", f"/api/v1/namespaces/{namespace}/bindings", marks.on(_bare_binding(pod)), **query)


def _bare_binding(pod: str) -> Object:
    body = binding(pod, NODE)
    body["metadata"] = {"name": pod}
    return body


Way = Callable[..., Awaitable[None]]
WAYS: dict[str, Way] = {
    "create": by_creation,
    "create on a node": by_creation_on_a_node,
    "update": by_update,
    "status": by_status,
    "binding": by_binding,
    "bindings": by_old_binding,
}


async def objection(attempt: Awaitable[None]) -> str | None:
    """The sentence with which the rule refuses an attempt; None when it lets it through, whatever comes after."""
    try:
        await attempt
    except ApiRefused as refused:
        if WRITERS in refused.message and (refused.status, refused.reason) == (403, "Forbidden"):
            return refused.message.partition(" request: ")[2]
        # The pod was bound already, say: that is found out after admission.
        if refused.status != 409:
            raise
    return None


async def until_in_force(api: Api, namespace: str) -> None:
    """Nothing tells when a policy or a webhook begins to count but the first no."""

    async def refused() -> bool:
        return await objection(by_creation(api, namespace, "", Marks(HELD), dryRun="All")) is not None

    await poll_until(refused, what=f"the rule's coming into force in {namespace}")
