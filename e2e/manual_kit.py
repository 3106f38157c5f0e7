"""MetaX's manual followed on a cluster like those it is written for: a registry of the company's own, a management node
whose kube-scheduler is a static pod as kubeadm leaves it, and workers.

What is typed are the scripts of tests/data/manual, in shells of the nodes themselves. Everything a company prepares
before it opens the manual is prepared here: the registry's authority and its login are known to the nodes.
"""

import asyncio
import base64
import itertools
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from builders.scheduler_manifests import KUBEADM, KUBEADM_IMAGE
from e2e.image_kit import copy_sources
from e2e.registry_kit import Registry
from shipping.bundle.building import Bundle, bundle
from shipping.image.building import Record, read_record
from shipping.image.downloads import one_program
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from shipping.image.project import read_project
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import SCHEDULER, Cluster
from testbed.controlplane import component_kubeconfig
from testbed.images import program_image
from testbed.manifests import is_running

SCRIPTS = REPOSITORY / "tests" / "data" / "manual"
OPERATOR_SCRIPTS = REPOSITORY / "tests" / "data" / "manual-operator"
PROJECT = "cloud"
MANAGEMENT, WORKER = "n1", "n2"
MANIFESTS = "/etc/kubernetes/manifests"
MANIFEST = f"{MANIFESTS}/kube-scheduler.yaml"
STATIC_PODS = {"staticPodPath": MANIFESTS}
"""For the kubelets."""

_SCHEDULER_CONF = "/etc/kubernetes/scheduler.conf"


@dataclass(frozen=True, slots=True)
class Released:
    """The bundle of the sources as they are."""

    files: Bundle
    record: Record
    version: str


def release(folder: Path, patch: pytest.MonkeyPatch) -> Released:
    """Make it."""
    sources = copy_sources(folder / "sources", patch)
    output = folder / "dist"
    files = bundle(output, Progress(sys.stdout), root=sources)
    version = read_project(sources).version
    record = read_record(output, version)
    assert record is not None
    return Released(files, record, version)


@dataclass
class Person:
    """Somebody with a folder and a shell on every node, who has read the manual."""

    cluster: Cluster
    folder: Path
    words: Mapping[str, str]
    """What they put for the manual's DOMAIN, PROJECT and so on."""
    scripts: Path = SCRIPTS
    said: list[str] = field(default_factory=list[str])

    async def follows(self, script: str, *, on: str = MANAGEMENT, **words: str) -> str:
        """Run a script of the manual; the answer is what it printed."""
        (path,) = self.scripts.glob(f"*-{script}.sh")
        return await self._run(f". {path}", script, on, words)

    async def types(self, command: str, *, on: str = MANAGEMENT, **words: str) -> str:
        """Run any other command."""
        return await self._run(command, "command", on, words)

    async def is_refused(self, command: str) -> str:
        return await self.types(f"if {command}; then exit 1; fi")

    async def _run(self, command: str, word: str, node: str, words: Mapping[str, str]) -> str:
        box, name = self.cluster.box, f"manual-{next(_numbers)}-{word}"
        shell = f"cd {shlex.quote(str(self.folder))}; {command}"
        await box.start(name, ["/bin/sh", "-euc", shell], room=node, env={**self.words, **words})
        status = await box.wait(name)
        printed = box.log(name)
        self.said.append(f"{node}$ {command}\n{printed}")
        assert status == 0, f"{node}$ {command}\n{printed}"
        return printed


_numbers = itertools.count(1)


async def person_at(cluster: Cluster, registry: Registry, folder: Path, version: str) -> Person:
    """Somebody with helm, kubectl and docker on PATH, and an account of the registry."""
    docker = await asyncio.to_thread(
        one_program, "docker.io", "usr/bin/docker", of_this_machine(), Progress(sys.stdout)
    )
    programs = [cluster.programs.path(name) for name in ("helm", "kubectl", "ctr")]
    home = folder / "home"
    home.mkdir(parents=True)
    words = {
        "PATH": ":".join(
            [*(str(one.parent) for one in (docker, *programs)), "/usr/sbin:/usr/bin:/sbin:/bin"]
        ),
        "HOME": str(home),
        "KUBECONFIG": str(cluster.box.folder.admin_kubeconfig),
        "DOMAIN": registry.address,
        "PROJECT": PROJECT,
        "VERSION": version,
        "USER": registry.user,
        "PASSWORD": registry.word,
        "OPTIONS": "",
    }
    return Person(cluster, folder, words)


async def prepare(person: Person, registry: Registry) -> None:
    """What a company has done before: see the module's first words."""
    await trust(person, registry)
    label = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
    await person.cluster.api.patch(path_of("Node", MANAGEMENT), label)
    await _scheduler_as_static_pod(person)


async def trust(person: Person, registry: Registry) -> None:
    """Make the registry's authority and login known to every node."""
    hosts = person.folder / "hosts.toml"
    hosts.write_text(
        f'[host."https://{registry.address}"]\nca = "/etc/containerd/certs.d/{registry.address}/ca.crt"\n'
        f'[host."https://{registry.address}".header]\nauthorization = "{registry.login}"\n'
    )
    certificate = shlex.quote(str(registry.authority))
    for node in person.cluster.nodes:
        await person.types(
            f"cat {certificate} >> /etc/ssl/certs/ca-certificates.crt\n"
            "mkdir -p /etc/containerd/certs.d/$DOMAIN\n"
            f"cp {certificate} /etc/containerd/certs.d/$DOMAIN/ca.crt\n"
            "cp hosts.toml /etc/containerd/certs.d/$DOMAIN/",
            on=node.name,
        )


async def _scheduler_as_static_pod(person: Person) -> None:
    """The box's own kube-scheduler is a process; it makes room for one that people can edit the manifest of."""
    cluster = person.cluster
    image = program_image(
        f"registry.k8s.io/kube-scheduler:{cluster.programs.version('kubernetes')}",
        cluster.programs.path("kube-scheduler"),
    )
    await cluster.load_image(image, nodes=[cluster.nodes[0]])
    kubeconfig = component_kubeconfig(cluster.box.folder, cluster.credentials, "kube-scheduler")
    (person.folder / "scheduler.conf").write_text(json.dumps(_self_contained(kubeconfig)))
    (person.folder / "kube-scheduler.yaml").write_text(KUBEADM.replace(KUBEADM_IMAGE, image.name))
    await cluster.box.stop(SCHEDULER)
    await person.types(
        f"mkdir -p {MANIFESTS}; cp scheduler.conf {_SCHEDULER_CONF}; cp kube-scheduler.yaml {MANIFEST}"
    )
    await cluster.until_pod(f"kube-scheduler-{MANAGEMENT}", is_running, namespace="kube-system")


def _self_contained(kubeconfig: Path) -> Object:
    """With the content of the files that it names: a static pod sees only the one that is mounted."""
    read: Object = json.loads(kubeconfig.read_text())
    for part in (read["clusters"][0]["cluster"], read["users"][0]["user"]):
        for key in ("certificate-authority", "client-certificate", "client-key"):
            if key in part:
                part[f"{key}-data"] = base64.b64encode(Path(part.pop(key)).read_bytes()).decode()
    return read
