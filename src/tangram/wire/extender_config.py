"""How a kube-scheduler must be configured to work with our extender, written and read.

Three things in it decide whether placement is right at all, and each is easily got wrong. A resource that nodes
announce stays counted in-tree, or nothing but us stands between a node and one pod too many; one that no node announces
must be ignored in-tree, or no node ever fits. kube-scheduler has to offer every node, or it hides the best behind a
sample. And the extender is not to be passed over when it is away, or pods are placed without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.renaming import NOTHING_RENAMED, Renamed, own_name
from tangram.wire import loose

Object = dict[str, Any]

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
ALL_NODES: Final = 100
TIME_LIMIT: Final = "30s"
CLIENT_QPS: Final = 500
"""kube-scheduler writes an event and at times a condition for every pod, and allows itself 50 a second by default."""

ADVERTISED: Final = frozenset({metax.GPU, metax.SGPU, mthreads.GPU, mthreads.SGPU_CORE, mthreads.SGPU_MEMORY})
"""What our agent and the vendors' plugins announce on nodes. Koordinator's words are announced by its own manager."""
NEVER_ADVERTISED: Final = frozenset({metax.VCORE, metax.VMEMORY, mthreads.VGPU})
MANAGED: Final = (*sorted(ADVERTISED), *sorted(NEVER_ADVERTISED), *sorted(KOORDINATOR_RESOURCES))
"""Whatever of these a pod names brings it to us."""


class ClientFiles(msgspec.Struct, frozen=True):
    """Where kube-scheduler finds what it needs to be let in over HTTPS."""

    certificate: str
    key: str
    authority: str


class Extender(msgspec.Struct, frozen=True, kw_only=True):
    """An extender of somebody's kube-scheduler, as far as it may touch ours."""

    url: str
    filters: bool
    binds: bool
    ignorable: bool
    cached: bool
    """Only names of nodes are sent, which is what a scheduler of a large cluster needs."""
    managed: frozenset[str]
    ignored: frozenset[str]
    """Managed resources that kube-scheduler does not count itself."""

    @property
    def meets_cards(self) -> bool:
        """Whether pods that ask for cards of ours are brought to it; without a list of resources, every pod is."""
        return self.filters and (not self.managed or bool(self.managed & frozenset(MANAGED)))


class Configuration(msgspec.Struct, frozen=True):
    """A kube-scheduler's configuration: its profiles with the part of the nodes each looks at, and its extenders."""

    percentages: dict[str, int]
    """By scheduler name; 0 is kube-scheduler's own choice, which is a sample."""
    extenders: tuple[Extender, ...]


def extender_entry(
    url: str,
    *,
    advertised: Collection[str] = ADVERTISED,
    renamed: Renamed = NOTHING_RENAMED,
    left_out: Collection[str] = (),
    files: ClientFiles | None = None,
) -> Object:
    """Our entry under `extenders`. `files` are for an extender that is reached from outside its own pod; `left_out` are
    resources whose pods are not brought to us.
    """
    entry: Object = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "bindVerb": "bind",
        "preemptVerb": "preempt",
        "weight": 1,
        "httpTimeout": TIME_LIMIT,
        "nodeCacheCapable": True,
        "ignorable": False,
        "managedResources": [
            {"name": own_name(name, renamed), "ignoredByScheduler": name not in advertised}
            for name in MANAGED
            if name not in left_out
        ],
    }
    if files is not None:
        entry["enableHTTPS"] = True
        entry["tlsConfig"] = {
            "certFile": files.certificate,
            "keyFile": files.key,
            "caFile": files.authority,
        }
    return entry


def profiles(names: Iterable[str]) -> list[Object]:
    """A profile for each scheduler name, all of which look at every node."""
    return [{"schedulerName": name, "percentageOfNodesToScore": ALL_NODES} for name in names]


def scheduler_configuration(
    extender: Object, names: Iterable[str], *, kubeconfig: str = "", lease: tuple[str, str] | None = None
) -> Object:
    """A whole configuration file. `lease` is namespace and name of the Lease that decides which of two is active."""
    written: Object = {"apiVersion": API_VERSION, "kind": KIND}
    client: Object = {"qps": CLIENT_QPS, "burst": 2 * CLIENT_QPS}
    if kubeconfig:
        client["kubeconfig"] = kubeconfig
    written["clientConnection"] = client
    written["leaderElection"] = (
        {"leaderElect": False}
        if lease is None
        else {
            "leaderElect": True,
            "resourceLock": "leases",
            "resourceNamespace": lease[0],
            "resourceName": lease[1],
        }
    )
    return written | {"profiles": profiles(names), "extenders": [extender]}


def read_configuration(document: object) -> Configuration | None:
    """What a document says, or None when it is no kube-scheduler configuration. Never raises."""
    members = loose.members(document)
    if members.get("kind") != KIND:
        return None
    general = loose.integer(members.get("percentageOfNodesToScore")) or 0
    named = [loose.members(each) for each in loose.elements(members.get("profiles"))] or [{}]
    percentages = {
        loose.text(each.get("schedulerName")) or "default-scheduler": loose.integer(
            each.get("percentageOfNodesToScore")
        )
        or general
        for each in named
    }
    extenders = tuple(_extender(loose.members(each)) for each in loose.elements(members.get("extenders")))
    return Configuration(percentages, extenders)


def _extender(entry: Mapping[str, object]) -> Extender:
    resources = [loose.members(each) for each in loose.elements(entry.get("managedResources"))]
    return Extender(
        url=loose.text(entry.get("urlPrefix")),
        filters=bool(loose.text(entry.get("filterVerb"))),
        binds=bool(loose.text(entry.get("bindVerb"))),
        ignorable=loose.flag(entry.get("ignorable")) is True,
        cached=loose.flag(entry.get("nodeCacheCapable")) is True,
        managed=frozenset(loose.text(each.get("name")) for each in resources),
        ignored=frozenset(
            loose.text(each.get("name"))
            for each in resources
            if loose.flag(each.get("ignoredByScheduler")) is True
        ),
    )
