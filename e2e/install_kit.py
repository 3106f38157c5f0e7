"""The installation page of the scheduler, followed: its objects applied, and its two programs started by hand."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from e2e.agent_kit import TANGRAM
from e2e.scheduler_kit import SCHEDULER, until_page
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.firstprocess import CONTROL
from testbed.manifests import pod
from testbed.rooms import CONTROL_ADDRESS

PAGE = REPOSITORY / "docs" / "scheduler-install.md"
HOME = "kube-system"
OURS, BESIDE = "page-tangram", "page-kube-scheduler"
LOOPBACK = 8080
STAND_IN = "behind-the-service"


def page_objects() -> list[Object]:
    """Everything a cluster of today needs: what stands under the last heading is for older ones."""
    text = PAGE.read_text("utf-8").partition("## Before Kubernetes 1.30")[0]
    return [
        thing
        for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        for thing in yaml.safe_load_all(block)
    ]


@dataclass
class Installed:
    """A cluster on which the page was followed, as far as a box without an image of ours lets one."""

    cluster: Cluster
    made: list[str] = field(default_factory=list[str])
    routed: bool = False
    """Whether the API server itself finds the endpoints behind a Service; without kube-proxy nobody else does."""

    async def follow(self) -> None:
        things = page_objects()
        for thing in things:
            if thing["kind"] == "Deployment":
                # Its two programs are started by hand: nothing here could pull their images.
                thing["spec"]["replicas"] = 0
            if thing["kind"] == "Service":
                thing["spec"] = self._led(thing["spec"])
        things += _behind() if self.routed else []
        text = "\n---\n".join(json.dumps(thing) for thing in things)
        applied = await self.cluster.kubectl("apply", "-f", "-", stdin=text)
        assert applied.status == 0, applied.errors
        assert self.routed or applied.errors == ""
        self.made = applied.output.splitlines()
        if self.routed:
            status = {"podIP": CONTROL_ADDRESS, "podIPs": [{"ip": CONTROL_ADDRESS}]}
            spot = f"{path_of('Pod', STAND_IN, namespace=HOME)}/status"
            await self.cluster.api.patch(spot, {"status": status})
        await self._start(things)

    def _led(self, spec: Object) -> Object:
        """A Service that leads to the machine of the control plane, where no pod is."""
        if self.routed:
            return {key: value for key, value in spec.items() if key != "selector"}
        return {"type": "ExternalName", "externalName": CONTROL_ADDRESS}

    async def _start(self, things: list[Object]) -> None:
        (deployed,) = [thing for thing in things if thing["kind"] == "Deployment"]
        (configured,) = [thing for thing in things if thing["kind"] == "ConfigMap"]
        kube, ours = (each["command"] for each in deployed["spec"]["template"]["spec"]["containers"])
        box, folder = self.cluster.box, self.cluster.box.folder.of_room(CONTROL).etc
        limited = await self._kubeconfig(folder)
        for name, content in configured["data"].items():
            (folder / name).write_text(content)
        written: Object = yaml.safe_load((folder / "kube-scheduler.yaml").read_text())
        # In a pod both find their account by themselves.
        written["clientConnection"] = {"kubeconfig": str(limited)}
        (folder / "kube-scheduler.yaml").write_text(json.dumps(written))
        at = [
            str(argument).replace("/etc/tangram", str(folder))
            for argument in (*ours[1:], "--log-level", "debug")
        ]
        await box.start(OURS, [TANGRAM, *at, "--kubeconfig", limited, "--log-format", "text"])
        beside = [str(argument).replace("/etc/tangram", str(folder)) for argument in kube[1:]]
        await box.start(
            BESIDE,
            [
                self.cluster.programs.path("kube-scheduler"), *beside, f"--authentication-kubeconfig={limited}",
                f"--authorization-kubeconfig={limited}",
            ],
        )  # fmt: skip
        await until_page(self.cluster, OURS, LOOPBACK)

    async def _kubeconfig(self, folder: Path) -> Path:
        token = await self.cluster.kubectl("create", "token", SCHEDULER, "-n", HOME)
        assert token.status == 0, token.errors
        admin: Any = json.loads(self.cluster.box.folder.admin_kubeconfig.read_text())
        admin["users"] = [{"name": "user", "user": {"token": token.output.strip()}}]
        file = folder / "page.conf"
        file.write_text(json.dumps(admin))
        return file

    async def stop(self) -> None:
        for program in (BESIDE, OURS):
            print(self.cluster.box.log(program)[-8000:])  # noqa: T201 - shown when a test fails, and only then
            await self.cluster.box.stop(program)


def _behind() -> list[Object]:
    """A pod that has the address of the control plane's machine, as the one endpoint of the Service.

    The API server proxies to pods alone, and nothing looks whether a pod that nobody placed has a network of its own.
    """
    named: Object = {"name": SCHEDULER, "namespace": HOME}
    stand_in = pod(STAND_IN, scheduler="nobody")
    stand_in["metadata"]["namespace"] = HOME
    target = {"kind": "Pod", "name": STAND_IN, "namespace": HOME}
    subset: Object = {
        "addresses": [{"ip": CONTROL_ADDRESS, "targetRef": target}],
        "ports": [{"name": "https", "port": 9443}],
    }
    return [stand_in, {"apiVersion": "v1", "kind": "Endpoints", "metadata": named, "subsets": [subset]}]
