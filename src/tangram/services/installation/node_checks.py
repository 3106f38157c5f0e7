"""The nodes before an installation: their kubelets, runtimes, systems and processors, against the matrix.

Nodes that are alike are told of together: nobody reads four hundred equal lines, and the one that differs is what is
looked for. A node whose labels say that it has no cards is not judged, since nothing of Tangram's depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, skip, warn
from tangram.drivers.doctor.versions import read_version, version_text
from tangram.services.installation import matrix
from tangram.services.installation.ground import Ground
from tangram.services.installation.matrix import minor_text
from tangram.services.installation.node_reports import LINUX, NodeReport, minor_of
from tangram.services.installation.wording import ASK_WITH_MORE, by_value, counted, cut, some_of

UNKNOWN = "unknown"
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def presence(ground: Ground) -> Findings:
    """Which nodes are looked at at all."""
    check = "nodes"
    chosen = f" that match {ground.selector!r:.120}" if ground.selector else ""
    if not ground.nodes.known:
        yield skip(check, f"nodes may not be listed ({cut(ground.nodes.message)})", ASK_WITH_MORE)
        return
    if not ground.nodes.items:
        yield fail(
            check,
            f"there are no nodes{chosen}",
            "write another selector after -l" if chosen else "add a node with cards to the cluster",
        )
        return
    every, judged = ground.described(), ground.linux()
    others = [each.name for each in every if each.platform != LINUX]
    bare = [each.name for each in every if each.platform == LINUX and each.cards is False]
    if others:
        runs = "runs" if len(others) == 1 else "run"
        yield skip(check, f"{some_of(others)} {runs} no Linux, so no card there is served")
    if bare:
        yield skip(check, f"{counted(len(bare), 'node')} without cards, by the labels ({some_of(bare)})")
    if not judged:
        yield warn(
            check,
            f"none of {counted(len(every), 'node')}{chosen} can have cards that Tangram serves",
            "add a node with cards, or mend its labels; nothing below is about any node",
        )
    waiting = [each.name for each in judged if not each.ready]
    if waiting:
        yield warn(
            check,
            f"{some_of(waiting)} is not ready" if len(waiting) == 1 else f"{some_of(waiting)} are not ready",
            "see kubectl describe node; what is installed starts there when they are",
        )
    if judged and not waiting:
        yield ok(check, f"{counted(len(judged), 'node')}{chosen}, all ready")


def kubelets(ground: Ground) -> Findings:
    """Old enough to know nothing of device plugins as they are today?"""

    def judge(version: str, names: list[str]) -> Finding:
        where, minor = _where(names), minor_of(version)
        if minor is None:
            return warn(
                "kubelets", f"the version of the kubelet is {version!r:.60} on {where}", "look at it there"
            )
        if minor < matrix.OLDEST_KUBERNETES:
            return fail(
                "kubelets",
                f"the kubelet is {version} on {where}, and {minor_text(matrix.OLDEST_KUBERNETES)} is the oldest",
                "upgrade these nodes, or leave them out with -l",
            )
        if ground.version is not None and minor > ground.version:
            return warn(
                "kubelets",
                f"the kubelet is {version} on {where}, newer than the API server ({ground.spoken_version})",
                "upgrade the control plane: Kubernetes supports kubelets that are as old or older",
            )
        return ok("kubelets", f"the kubelet is {version} on {where}")

    yield from _grouped(ground.linux(), lambda node: node.kubelet, judge)


def runtimes(ground: Ground) -> Findings:
    """Which container runtimes there are, and whether they are old."""
    for (runtime, late), names in _by_runtime(ground.linux()).items():
        yield _runtime(runtime, _where(names), late=late)


def _by_runtime(nodes: Iterable[NodeReport]) -> dict[tuple[str, bool], list[str]]:
    """Nodes by their runtime, and whether their kubelet is of the time without Docker."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for node in nodes:
        late = (node.kubelet_minor or matrix.NO_DOCKER_FROM) >= matrix.NO_DOCKER_FROM
        groups.setdefault((node.runtime, late), []).append(node.name)
    return groups


def _runtime(runtime: str, where: str, *, late: bool) -> Finding:
    check, (name, _, written) = "runtimes", runtime.partition("://")
    version = read_version(written.removeprefix("v"))
    oldest = {"containerd": matrix.OLDEST_CONTAINERD, "docker": matrix.OLDEST_DOCKER}.get(name)
    if version is None or not name:
        return warn(check, f"the container runtime is {runtime!r:.60} on {where}", "look at it there")
    if oldest is None:
        return warn(
            check,
            f"the container runtime is {name} {written} on {where}, for which no vendor states support",
            "nothing must be done for Tangram, which needs CDI alone; ask the vendor about its own parts",
        )
    if version < oldest:
        return fail(
            check,
            f"{name} is {written} on {where}, and {version_text(oldest)} is the oldest that is supported",
            f"upgrade {name} on these nodes, or leave them out with -l",
        )
    if name == "docker" and late:
        return warn(
            check,
            f"docker {written} on {where}, which Kubernetes speaks to through an adapter since "
            f"{minor_text(matrix.NO_DOCKER_FROM)}, and vendors support containerd there alone",
            "change these nodes to containerd; until then cards are given without CDI",
        )
    return ok(check, f"{name} is {written} on {where}")


def cdi(ground: Ground) -> Findings:
    """Whether a container can be given exactly what its pod was promised, whichever way it starts."""
    for kind, names in by_value((node.cdi, node.name) for node in ground.linux()).items():
        where = _where(names)
        match kind:
            case "on":
                yield ok("cdi", f"the container runtime reads CDI files on {where}")
            case "no":
                yield warn(
                    "cdi",
                    f"the container runtime knows no CDI on {where}, so devices are given when a pod is admitted, and "
                    "between two pods that ask for the same at once nothing is given",
                    f"upgrade to containerd {minor_text(matrix.CONTAINERD_CDI[:2])}, which has CDI on",
                )
            case _:
                yield warn(
                    "cdi",
                    f"containerd reads CDI files on {where} only if it was told to",
                    "set enable_cdi = true in its CRI plugin; tangram preflight --node says there whether it is",
                )


def systems(ground: Ground) -> Findings:
    """The hosts, and the kernels they run."""

    def judge(system: str, names: list[str]) -> Finding:
        if is_listed(system):
            return ok("systems", f"{system} on {_where(names)}")
        return warn(
            "systems",
            f"{system or UNKNOWN} on {_where(names)}, which is not among the systems that MetaX lists for its driver",
            "see that the vendor's driver supports it; Tangram itself does not mind",
        )

    yield from _grouped(ground.linux(), lambda node: node.system, judge)
    kernels = by_value((node.kernel or UNKNOWN, node.name) for node in ground.linux())
    if kernels:
        told = some_of([f"{kernel} on {_where(names)}" for kernel, names in kernels.items()], most=6)
        yield ok("kernels", f"{told}; whether the vendor's module was built for it only its node can tell")


def architectures(ground: Ground) -> Findings:
    """Processors that the image is built for."""

    def judge(architecture: str, names: list[str]) -> Finding:
        if architecture in matrix.ARCHITECTURES:
            return ok("architectures", f"{architecture} on {_where(names)}")
        return fail(
            "architectures",
            f"{architecture or UNKNOWN} on {_where(names)}: the image is made for {' and '.join(matrix.ARCHITECTURES)}",
            "leave these nodes out with -l, and keep Tangram's pods off them with a node selector",
        )

    yield from _grouped(ground.linux(), lambda node: node.architecture, judge)


def is_listed(system: str) -> bool:
    """Whether a system that names itself so is in MetaX's list."""
    found = _RELEASE.search(system)
    release = found[0] if found else ""
    for name, releases in matrix.HOSTS:
        if system.lower().startswith(f"{name.lower()} "):
            return release in releases or release.partition(".")[0] in releases
    return False


def _grouped(
    nodes: Iterable[NodeReport],
    value: Callable[[NodeReport], str],
    judge: Callable[[str, list[str]], Finding],
) -> Findings:
    for common, names in by_value((value(node), node.name) for node in nodes).items():
        yield judge(common, names)


def _where(names: list[str]) -> str:
    return f"{counted(len(names), 'node')} ({some_of(names)})"
