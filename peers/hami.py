"""HAMi's scheduler in the control plane's room: the program a person built, a kube-scheduler that asks it, its webhook.

Options, configuration and webhook are what its chart makes of its values, but for addresses and for the rate of its
client, which a value of the chart raises too.
"""

import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from e2e.agent_watch_kit import until
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import ask, until_page
from peers.world import World
from testbed import controlplane
from testbed.api import ApiRefused, Object

PROGRAM = "hami-scheduler"
KUBE = "kube-scheduler-of-hami"
NAME = "hami-scheduler"
PORT, METRICS, KUBE_PORT = 18443, 9395, 10269
WEBHOOK = "hami-webhook"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
MANAGED = {
    "metax-tech.com/gpu": True,
    "metax-tech.com/sgpu": True,
    "metax-tech.com/vcore": True,
    "metax-tech.com/vmemory": True,
    "mthreads.com/vgpu": True,
}
DEVICES = {
    "metax": {
        "resourceCountName": "metax-tech.com/gpu",
        "resourceVCountName": "metax-tech.com/sgpu",
        "resourceVMemoryName": "metax-tech.com/vmemory",
        "resourceVCoreName": "metax-tech.com/vcore",
        "sgpuTopologyAware": False,
    },
    "mthreads": {
        "resourceCountName": "mthreads.com/vgpu",
        "resourceMemoryName": "mthreads.com/sgpu-memory",
        "resourceCoreName": "mthreads.com/sgpu-core",
    },
}


@dataclass
class Hami:
    """Started and stopped as a release of its chart is."""

    world: World
    program: str

    async def start(self, *, webhook: bool = True) -> None:
        """All of it, and until it knows the cards of every node."""
        await self.start_scheduler()
        cluster = self.world.cluster
        await cluster.box.start(
            KUBE,
            controlplane.scheduler(
                cluster.programs,
                cluster.box.folder,
                cluster.credentials,
                cluster.options,
                _configuration(),
                name=KUBE,
                port=KUBE_PORT,
            ),
        )
        if webhook:
            await self.register_webhook()

    async def start_scheduler(self) -> None:
        cluster = self.world.cluster
        folder = cluster.box.folder
        devices = folder.path / "hami-devices.yaml"
        devices.write_text(json.dumps(DEVICES))
        identity = cluster.credentials.authority.issue("hami", "hami", addresses=["127.0.0.1", "localhost"])
        command = [
            self.program, f"--http_bind=127.0.0.1:{PORT}", f"--cert_file={identity.certificate}",
            f"--key_file={identity.key}", f"--scheduler-name={NAME}", f"--metrics-bind-address=127.0.0.1:{METRICS}",
            "--node-scheduler-policy=binpack", "--gpu-scheduler-policy=spread", f"--device-config-file={devices}",
            "--force-overwrite-default-scheduler=true", "--leader-elect=false", "--kube-qps=50", "--kube-burst=100",
            "-v=4",
        ]  # fmt: skip
        env = {"KUBECONFIG": str(folder.admin_kubeconfig), "POD_NAME": "hami", "POD_NAMESPACE": "kube-system"}
        await cluster.box.start(PROGRAM, command, env=env)
        await until_page(cluster, PROGRAM, METRICS, "/metrics")
        await self.until_registered()

    async def until_registered(self) -> None:
        """It looks at nodes every 15 seconds; pods that come before wait until something else happens."""
        wanted = [f'node="{node.name}"' for node in self.world.nodes]

        async def so() -> bool:
            page = await ask(self.world.cluster, METRICS, "/metrics")
            lines = [line for line in page.splitlines() if line.startswith("hami_gpu_memory_limit_bytes")]
            return all(any(each in line for line in lines) for each in wanted)

        await until(so, "HAMi knows the cards of every node", within=PATIENCE, pause=0.5)

    async def stop_scheduler(self) -> None:
        await self.world.cluster.box.stop(PROGRAM)

    async def stop(self) -> None:
        """Its webhook first, as the page of the change says, then its replicas."""
        await self.remove_webhook()
        await self.world.cluster.box.stop(KUBE)
        await self.stop_scheduler()

    async def register_webhook(self) -> None:
        ca = self.world.cluster.credentials.authority.certificate.read_bytes()
        hook: Object = {
            "name": "vgpu.hami.io",
            "admissionReviewVersions": ["v1beta1"],
            "clientConfig": {
                "url": f"https://127.0.0.1:{PORT}/webhook",
                "caBundle": base64.b64encode(ca).decode("ascii"),
            },
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ],
        }
        await self.world.cluster.api.call(
            "POST",
            WEBHOOKS,
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingWebhookConfiguration",
                "metadata": {"name": WEBHOOK},
                "webhooks": [hook],
            },
        )

    async def remove_webhook(self) -> None:
        try:
            await self.world.cluster.api.delete(f"{WEBHOOKS}/{WEBHOOK}")
        except ApiRefused as refused:
            if refused.status != 404:
                raise

    def log(self) -> str:
        return self.world.cluster.box.log(PROGRAM)


@asynccontextmanager
async def hami_on(world: World, program: str) -> AsyncGenerator[Hami]:
    """HAMi, for as long as the block lasts."""
    hami = Hami(world, program)
    await hami.start()
    try:
        yield hami
    finally:
        print(hami.log()[-20_000:])  # noqa: T201
        await hami.stop()


def _configuration() -> Object:
    resources = [{"name": name, "ignoredByScheduler": ignored} for name, ignored in MANAGED.items()]
    return {
        "profiles": [{"schedulerName": NAME}],
        "extenders": [
            {
                "urlPrefix": f"https://127.0.0.1:{PORT}",
                "enableHTTPS": True,
                "tlsConfig": {"insecure": True},
                "filterVerb": "filter",
                "bindVerb": "bind",
                "nodeCacheCapable": True,
                "weight": 1,
                "httpTimeout": "30s",
                "managedResources": [
                    *resources,
                    {"name": "mthreads.com/sgpu-memory"},
                    {"name": "mthreads.com/sgpu-core"},
                ],
            }
        ],
    }
