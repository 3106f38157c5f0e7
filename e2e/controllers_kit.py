"""Two real API servers with the same manifests on both: one with the real controllers, one with the sandbox's.

There are no kubelets. A scene plays them: it writes how pods are, and nothing else ever starts or ends.
"""

import asyncio
import difflib
import json
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from testbed.api import ApiRefused, Object
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.options import Options

T = TypeVar("T")

PATIENCE = 30.0
PROGRAM = "sandbox-controllers"
DISAGREE_S = 10.0
AGREED_S = 0.6
"""They must agree for so long before it counts: on the way two states may be the same by chance."""

_HASHES = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
_RANDOM = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=$|\")")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WORKLOADS = {
    "pods": "/api/v1",
    "replicasets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "controllerrevisions": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "resourcequotas": "/api/v1",
    "serviceaccounts": "/api/v1",
    "configmaps": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
}
_KINDS = {
    "Pod": "pods",
    "ReplicaSet": "replicasets",
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
    "CronJob": "cronjobs",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "ResourceQuota": "resourcequotas",
    "ConfigMap": "configmaps",
}


@dataclass
class Scene:
    """One namespace on one of the two servers."""

    cluster: Cluster
    namespace: str
    extra_nodes: Sequence[str] = ()

    def path(self, plural: str, name: str = "") -> str:
        return f"{_WORKLOADS[plural]}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    async def create(self, *things: Object) -> None:
        for thing in things:
            await self.cluster.api.call("POST", self.path(_KINDS[thing["kind"]]), thing)

    async def get(self, plural: str, name: str) -> Object:
        return await self.cluster.api.get(self.path(plural, name))

    async def patch(self, plural: str, name: str, change: Object) -> None:
        await self.cluster.api.patch(self.path(plural, name), change)

    async def delete(
        self, plural: str, name: str, *, how: str = "Background", grace: int | None = None
    ) -> None:
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        await self.cluster.api.call("DELETE", self.path(plural, name), options)

    async def all(self, plural: str) -> list[Object]:
        return await self.cluster.api.list(self.path(plural))

    async def pods(self, count: int, true: Callable[[Object], bool] = lambda _pod: True) -> list[Object]:
        """The pods that are not on their way out, once there are so many."""

        async def enough() -> list[Object] | None:
            found = [pod for pod in await self.all("pods") if not is_going(pod) and true(pod)]
            return found if len(found) == count else None

        return await self.wait(enough, f"{count} pods")

    async def until(self, plural: str, name: str, true: Callable[[Object], bool], what: str = "") -> Object:
        """An object once it is as wanted; {} stands for one that is gone."""

        async def look() -> Object | None:
            try:
                found = await self.get(plural, name)
            except ApiRefused as refused:
                if refused.status != 404:
                    raise
                found = {}
            return {"found": found} if true(found) else None

        return (await self.wait(look, what or f"{plural}/{name} as wanted"))["found"]

    async def wait(self, look: Callable[[], Awaitable[T | None]], what: str) -> T:
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    found = await look()
                    if found is not None:
                        return found
                    await asyncio.sleep(0.1)
        except TimeoutError:
            state = json.dumps(await self.summary(), indent=1)
            raise AssertionError(f"{what} did not come about in {self.cluster.options}: {state}") from None

    # ---- playing the kubelet

    async def is_now(self, pods: Sequence[Object], phase: str, *, ready: bool = False) -> None:
        moment = "2026-01-01T00:00:00Z"
        status: Object = {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": moment}],
        }
        for pod in pods:
            path = self.path("pods", pod["metadata"]["name"]) + "/status"
            await self.cluster.api.patch(path, {"status": status})

    async def run(self, pods: Sequence[Object]) -> None:
        await self.is_now(pods, "Running", ready=True)

    async def run_all(self, count: int) -> None:
        await self.run(await self.pods(count))

    async def pods_of_any(self, true: Callable[[Object], bool]) -> list[Object]:
        """The pods of which something is true, once there is one."""

        async def some() -> list[Object] | None:
            return [pod for pod in await self.all("pods") if not is_going(pod) and true(pod)] or None

        return await self.wait(some, "a pod")

    async def run_until(self, true: Callable[[], Awaitable[bool]]) -> None:
        """Start whatever comes, and end whatever is to go, until it is as wanted."""

        async def look() -> bool | None:
            if await true():
                return True
            await self.run([pod for pod in await self.all("pods") if pod["status"]["phase"] == "Pending"])
            return None

        await self.wait(look, "the rollout to end")

    @asynccontextmanager
    async def nodes(self, *names: str, tainted: Sequence[str] = ()) -> AsyncGenerator[None]:
        """Nodes that exist only as objects, until the whole case has been compared."""
        moment = "2026-01-01T00:00:00Z"
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "well"}
        for name in names:
            key = {"key": "example.com/taint", "effect": "NoSchedule"}
            node: Object = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "spec": {"taints": [key]} if name in tainted else {},
                "status": {
                    "conditions": [ready | {"lastHeartbeatTime": moment, "lastTransitionTime": moment}]
                },
            }
            await self.cluster.api.call("POST", "/api/v1/nodes", node)
            await self.cluster.api.patch(f"/api/v1/nodes/{name}/status", {"status": node["status"]})
        self.extra_nodes = names
        yield

    # ---- what is compared

    async def summary(self) -> Object:
        """Everything in the namespace, without what no two servers would have alike."""
        told: Object = {}
        hashes: set[str] = set()
        for plural in _WORKLOADS:
            things = await self.all(plural)
            for thing in things:
                labels = thing["metadata"].get("labels") or {}
                hashes |= {labels[key] for key in _HASHES if key in labels}
            told[plural] = [_facts(thing) for thing in things]
        events = await self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/events")
        told["events"] = sorted(
            {
                (each["involvedObject"]["kind"], each["type"], each["reason"])
                for each in events
                if each["involvedObject"]["kind"]
                in ("Job", "CronJob", "ReplicaSet", "Deployment", "DaemonSet", "StatefulSet")
            }
        )
        return _alike(told, hashes, self.namespace)


def is_going(thing: Object) -> bool:
    return "deletionTimestamp" in thing["metadata"]


def _facts(thing: Object) -> Object:
    metadata = thing["metadata"]
    facts: Object = {
        "name": metadata["name"],
        "labels": metadata.get("labels"),
        # Descriptions are for people, and each project has its own words.
        "annotations": {
            k: v for k, v in metadata.get("annotations", {}).items() if k != "kubernetes.io/description"
        },
        "finalizers": metadata.get("finalizers"),
        "going": is_going(thing),
        "owners": [
            {k: v for k, v in each.items() if k != "uid"} for each in metadata.get("ownerReferences", [])
        ],
        "status": _timeless(thing.get("status")),
    }
    spec = thing.get("spec") or {}
    facts["replicas"] = spec.get("replicas")
    facts["asks"] = {
        key: spec.get(key) for key in ("hostname", "subdomain", "affinity", "tolerations", "volumes")
    }
    facts["env"] = [each.get("env") for each in spec.get("containers", [])]
    facts["revision"] = thing.get("revision")
    return facts


def _timeless(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: _timeless(member)
            for key, member in value.items()
            if not str(key).endswith(("Time", "Timestamp")) and key not in ("uid", "resourceVersion")
        }
    return [_timeless(each) for each in value] if isinstance(value, list) else value


def _alike(told: Object, hashes: set[str], namespace: str) -> Object:
    """With names in place of what is different on every server."""
    text = json.dumps(told, sort_keys=True).replace(namespace, "NAMESPACE")
    # Longest first: the name of a revision contains its hash.
    for each in sorted(hashes, key=len, reverse=True):
        text = text.replace(each, "HASH")
    text = re.sub(r"-----BEGIN.*?END CERTIFICATE-----", "PEM", text)
    text = re.sub(r"kube-api-access-\w{5}", "kube-api-access", text)
    text = _UID.sub("UID", _RANDOM.sub("-RANDOM", text))
    plain = json.loads(text)
    for rows in plain.values():
        for row in rows:
            if (
                isinstance(row, dict)
                and isinstance(row.get("status"), dict)
                and "conditions" in row["status"]
            ):
                # What the scheduler said of a pod on its way depends on who was faster.
                told = [each for each in row["status"]["conditions"] if each["type"] != "PodScheduled"]
                row["status"]["conditions"] = sorted(told, key=lambda each: each["type"])
        rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
    return plain


def _differences(real: Object, ours: Object) -> list[str]:
    texts = [json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (real, ours)]
    return list(difflib.unified_diff(*texts, "kube-controller-manager", "ours", lineterm="", n=12))


Case = Callable[[Scene], Awaitable[None]]


@dataclass
class BothTruths:
    real: Cluster
    ours: Cluster

    async def agree(self, case: Case, namespace: str) -> Object:
        """Play a case on both servers; what both end with, which must be the same."""
        scenes = [Scene(cluster, namespace) for cluster in (self.real, self.ours)]
        try:
            return await self._compare(case, scenes)
        finally:
            for scene in scenes:
                for node in scene.extra_nodes:
                    await scene.cluster.api.delete(f"/api/v1/nodes/{node}")

    async def _compare(self, case: Case, scenes: Sequence[Scene]) -> Object:
        await asyncio.gather(*(self._play(case, scene) for scene in scenes))
        began = asyncio.get_running_loop().time()
        agreed: float | None = None
        while True:
            real, ours = await asyncio.gather(*(scene.summary() for scene in scenes))
            now = asyncio.get_running_loop().time()
            if real != ours:
                agreed = None
                if now - began > DISAGREE_S:
                    raise AssertionError("\n".join(_differences(real, ours)))
            elif agreed is None:
                agreed = now
            elif now - agreed > AGREED_S:
                return real
            await asyncio.sleep(0.1)

    async def _play(self, case: Case, scene: Scene) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": scene.namespace}}
        await scene.cluster.api.call("POST", "/api/v1/namespaces", body)
        await scene.until("serviceaccounts", "default", bool, "the account of the namespace")
        await scene.until("configmaps", "kube-root-ca.crt", bool, "the certificate of the namespace")
        await case(scene)


@asynccontextmanager
async def both_truths() -> AsyncGenerator[BothTruths]:
    async with (
        Cluster.open(Options(nodes=0)) as real,
        Cluster.open(Options(nodes=0, controllers=False)) as ours,
    ):
        script = REPOSITORY / "e2e" / "controllers_alone.py"
        folder = ours.box.folder
        authority = ours.credentials.authority.certificate
        await ours.box.start(PROGRAM, [sys.executable, script, folder.admin_kubeconfig, authority])
        try:
            yield BothTruths(real, ours)
        finally:
            # For whoever reads why a test failed: pytest shows it then and only then.
            print(ours.box.log(PROGRAM))  # noqa: T201
            await ours.box.stop(PROGRAM)
