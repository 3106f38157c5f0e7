"""koord-scheduler in the control plane's room: the program a person built, and the kinds it asks the API server for.

Of Koordinator nothing else runs: our agent writes the `Device` and the node's amounts, as it does where no koordlet is.
Its plugins for devices and reservations are on, with the gate that makes it take MetaX's lock; kinds that it only lists
have no fields.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from e2e.agent_watch_kit import until
from e2e.koordinator_kit import DEFINITIONS, install_definition
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import ask
from peers.world import World
from testbed import controlplane
from testbed.api import ApiRefused, Object
from testbed.cluster import Cluster
from testbed.koord_requests import CORE, MEMORY, RATIO, SHARED

PROGRAM = "koord-scheduler"
NAME = "koord-scheduler"
PORT = 10289
KINDS = (
    ("scheduling.koordinator.sh", "Reservation", "reservations", "Cluster"),
    ("scheduling.koordinator.sh", "PodMigrationJob", "podmigrationjobs", "Cluster"),
    ("scheduling.koordinator.sh", "ClusterNetworkTopology", "clusternetworktopologies", "Cluster"),
    ("scheduling.koordinator.sh", "ScheduleExplanation", "scheduleexplanations", "Namespaced"),
    ("scheduling.sigs.k8s.io", "PodGroup", "podgroups", "Namespaced"),
    ("scheduling.sigs.k8s.io", "ElasticQuota", "elasticquotas", "Namespaced"),
    ("quota.koordinator.sh", "ElasticQuotaProfile", "elasticquotaprofiles", "Namespaced"),
    ("slo.koordinator.sh", "NodeMetric", "nodemetrics", "Cluster"),
    ("slo.koordinator.sh", "NodeSLO", "nodeslos", "Cluster"),
    ("topology.node.k8s.io", "NodeResourceTopology", "noderesourcetopologies", "Cluster"),
)
PLUGINS = {
    "preFilter": ("Reservation", "DeviceShare"),
    "filter": ("DeviceShare", "Reservation"),
    "postFilter": ("Reservation",),
    "preScore": ("Reservation",),
    "reserve": ("DeviceShare",),
    "preBind": ("DeviceShare", "Reservation", "DefaultPreBind"),
}
"""By extension point. DeviceShare asks the plugin of reservations for one, though there are none."""


@dataclass
class Koord:
    """Started and stopped as a release of its chart is."""

    world: World
    program: str

    async def start(self) -> None:
        cluster = self.world.cluster
        own = controlplane.component_kubeconfig(cluster.box.folder, cluster.credentials, "kube-scheduler")
        file = cluster.box.folder.path / "koord-scheduler.json"
        file.write_text(json.dumps(_configuration(str(cluster.box.folder.admin_kubeconfig))))
        command = [
            self.program, f"--config={file}", f"--authentication-kubeconfig={own}",
            f"--authorization-kubeconfig={own}", "--bind-address=127.0.0.1", f"--secure-port={PORT}",
            "--feature-gates=DevicePluginAdaption=true", "-v=4",
        ]  # fmt: skip
        env = {"KUBECONFIG": str(cluster.box.folder.admin_kubeconfig)}
        await cluster.box.start(PROGRAM, command, env=env)

        async def listens() -> bool:
            (known,) = [each for each in await cluster.box.programs() if each["name"] == PROGRAM]
            assert known["status"] is None, f"{PROGRAM} ended: {self.log()[-3000:]}"
            return "Caches are synced" in self.log() or bool(await ask(cluster, PORT, "/healthz"))

        await until(listens, "koord-scheduler answers", within=PATIENCE, pause=0.2)

    async def stop(self) -> None:
        await self.world.cluster.box.stop(PROGRAM)

    def log(self) -> str:
        return self.world.cluster.box.log(PROGRAM)


async def install_kinds(cluster: Cluster) -> None:
    """Everything that koord-scheduler lists at its start. Before the agents: they look for the kind once a minute."""
    for group, kind, plural, scope in KINDS:
        await cluster.api.call("POST", DEFINITIONS, _definition(group, kind, plural, scope))
    await install_definition(cluster)
    for group, _, plural, _ in KINDS:

        async def served(path: str = f"/apis/{group}/v1alpha1/{plural}") -> bool:
            try:
                await cluster.api.get(path)
            except ApiRefused:
                return False
            return True

        await until(served, f"{plural} are served")


async def until_counted(world: World) -> None:
    """The nodes state what Koordinator counts."""
    for node in world.nodes:
        await world.cluster.until_node(
            str(node.name),
            lambda seen: {CORE, MEMORY, RATIO, SHARED} <= seen["status"].get("allocatable", {}).keys(),
            within=PATIENCE,
            what=f"{node.name} states Koordinator's amounts",
        )


@asynccontextmanager
async def koord_on(world: World, program: str) -> AsyncGenerator[Koord]:
    """koord-scheduler, for as long as the block lasts."""
    koord = Koord(world, program)
    await koord.start()
    try:
        yield koord
    finally:
        print(koord.log()[-20_000:])  # noqa: T201
        await koord.stop()


def _configuration(kubeconfig: str) -> Object:
    plugins: Object = {
        point: {"enabled": [{"name": name} for name in names]} for point, names in PLUGINS.items()
    }
    weights = {"DeviceShare": 1, "Reservation": 5000}
    plugins["score"] = {"enabled": [{"name": name, "weight": weight} for name, weight in weights.items()]}
    binders = [{"name": "Reservation"}, {"name": "DefaultBinder"}]
    plugins["bind"] = {"disabled": [{"name": "*"}], "enabled": binders}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": NAME, "plugins": plugins}],
    }


def _definition(group: str, kind: str, plural: str, scope: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Groups that end in k8s.io are Kubernetes' own; this says that it is not one of its proposals.
            "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
            },
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
