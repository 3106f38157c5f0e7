"""The container runtimes of this machine, and the one that images are loaded into.

Each is spoken to through its own client, which is there wherever the runtime is. Which one is meant: the one that was
named, else the kubelet's, else the only one that answers. Where two answer and nothing says which is meant, a person
has to: a guess would load the image where no pod looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.images import kubelets_runtime
from tangram.services.images.errors import ImagesError
from tangram.services.images.machine import Ended, Machine


class Kind(StrEnum):
    CONTAINERD = "containerd"
    DOCKER = "docker"
    PODMAN = "podman"


class Runtime(msgspec.Struct, frozen=True):
    """One that is here. `client` is how its commands begin."""

    kind: Kind
    client: tuple[str, ...]
    where: str
    """How to speak of it."""
    socket: str = ""
    is_clusters: bool = False
    """Part of a Kubernetes that brings its own runtime, so that pods can only be meant for this one."""

    @property
    def load(self) -> tuple[str, ...]:
        if self.kind is Kind.CONTAINERD:
            return (*self.client, "--namespace", "k8s.io", "images", "import", "-")
        return (*self.client, "load")

    def listing(self, name: str) -> tuple[str, ...]:
        """The command that succeeds, with something to read, if there is an image of this name."""
        if self.kind is Kind.CONTAINERD:
            return (*self.client, "--namespace", "k8s.io", "images", "list", "--quiet", f"name=={name}")
        return (*self.client, "image", "inspect", "--format", "{{.Id}}", name)

    @property
    def greeting(self) -> tuple[str, ...]:
        if self.kind is Kind.CONTAINERD:
            return (*self.client, "version")
        return (*self.client, "version", "--format", "{{.}}")


class _Containerd(msgspec.Struct, frozen=True):
    """`wrappers` are programs whose `ctr` command knows the socket by itself."""

    socket: str
    clients: tuple[str, ...] = ("ctr",)
    wrappers: tuple[str, ...] = ()
    of_cluster: str = ""


_K3S: Final = "/run/k3s/containerd/containerd.sock"
_CONTAINERDS: Final = (
    _Containerd("/run/containerd/containerd.sock"),
    _Containerd(_K3S, ("/var/lib/rancher/rke2/bin/ctr", "ctr"), ("k3s",), of_cluster="k3s or RKE2"),
    _Containerd("/run/k0s/containerd.sock", ("ctr",), ("k0s",), of_cluster="k0s"),
    _Containerd(
        "/var/snap/microk8s/common/run/containerd.sock",
        ("/snap/microk8s/current/bin/ctr", "ctr"),
        of_cluster="MicroK8s",
    ),
)
_CRIO: Final = "/run/crio/crio.sock"


def find_runtime(machine: Machine, wanted: Kind | None) -> Runtime:
    """The runtime that images are loaded into; `wanted` is the one a person named."""
    told = kubelets_runtime.endpoint(machine)
    here = list(_here(machine, told))
    if wanted is not None:
        here = [one for one in here if one.kind is wanted]
        if not here:
            raise ImagesError(_missing(wanted, machine))
    answers = {one: machine.run(one.greeting) for one in here}
    answering = [one for one in here if answers[one].well]
    if not answering:
        raise ImagesError(_silence(answers))
    for one in answering:
        if told and _serves(one, told):
            return one
    clusters = [one for one in answering if one.is_clusters]
    chosen = clusters or answering
    if len(chosen) > 1:
        names = " and ".join(one.where for one in chosen)
        kinds = " or ".join(f"--runtime {kind}" for kind in dict.fromkeys(one.kind for one in chosen))
        raise ImagesError(
            f"{names} answer here, and no kubelet runs that says which one it uses: write {kinds}."
        )
    return chosen[0]


def _here(machine: Machine, told: str) -> Iterator[Runtime]:
    places = {one.socket: one for one in _CONTAINERDS}
    if "containerd" in told:
        places.setdefault(told, _Containerd(told))
    for one in places.values():
        if machine.has_socket(one.socket) and (client := _client(machine, one)):
            where = f"containerd at {one.socket}" + (f" ({one.of_cluster})" if one.of_cluster else "")
            yield Runtime(Kind.CONTAINERD, client, where, socket=one.socket, is_clusters=bool(one.of_cluster))
    docker = machine.program("docker")
    if docker is not None:
        yield Runtime(Kind.DOCKER, (docker,), "docker")
    podman = machine.program("podman")
    if podman is not None:
        crio = machine.has_socket(_CRIO)
        yield Runtime(
            Kind.PODMAN,
            (podman,),
            "podman, which shares CRI-O's images" if crio else "podman",
            is_clusters=crio,
        )


def _client(machine: Machine, place: _Containerd) -> tuple[str, ...]:
    if wrapper := machine.program(*place.wrappers):
        return (wrapper, "ctr")
    client = machine.program(*place.clients)
    return (client, "--address", str(machine.place(place.socket))) if client else ()


def _serves(runtime: Runtime, told: str) -> bool:
    match runtime.kind:
        case Kind.CONTAINERD:
            return runtime.socket == told
        case Kind.DOCKER:
            return "docker" in told
        case Kind.PODMAN:
            return "crio" in told


def _missing(wanted: Kind, machine: Machine) -> str:
    if wanted is not Kind.CONTAINERD:
        return f"--runtime is {wanted}, but there is no program {wanted} on the PATH: install it, or name another one."
    if any(machine.has_socket(one.socket) for one in _CONTAINERDS):
        return "containerd runs here, but its client ctr is not on the PATH: install ctr, which comes with containerd."
    sockets = ", ".join(one.socket for one in _CONTAINERDS)
    return f"--runtime is containerd, but none listens at {sockets}: start it, or name another one."


def _silence(answers: dict[Runtime, Ended]) -> str:
    if not answers:
        return (
            "there is no container runtime here (neither containerd with ctr, nor docker, nor podman): run this on a "
            "node of the cluster, or push to a registry instead."
        )
    for one, ended in answers.items():
        if is_denied(ended):
            return f"{one.where} does not answer you: run this as root ({ended.said:.200})."
    told = "; ".join(f"{one.where}: {ended.said:.200}" for one, ended in answers.items())
    return f"no container runtime answers here ({told}): start it, or push to a registry instead."


def is_denied(ended: Ended) -> bool:
    """Whether a program ended because its caller has too few rights."""
    return "permission denied" in ended.said.lower()
