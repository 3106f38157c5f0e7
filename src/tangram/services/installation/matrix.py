"""The support matrix: which versions of everything around Tangram are needed, for what, and who says so.

It is data, because it is read three times: by the checks, by the page for people (a test holds the two together) and by
whoever asks why a check failed. A number that a vendor or a peer states carries the id under which the project keeps
their statement; one that Kubernetes itself sets carries the feature it comes with.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.drivers.doctor.versions import (
    METAX_SLICES,
    MTHREADS_SLICES,
    MTHREADS_TOOLKIT_ABOVE,
    Version,
    version_text,
)
from tangram.wire.cdi_support import FIRST_WITH_FIELD

Minor = tuple[int, int]

OLDEST_KUBERNETES: Final[Minor] = (1, 23)
SCHEDULER_CONFIG_V1: Final[Minor] = (1, 25)
"""The first kube-scheduler that reads `kubescheduler.config.k8s.io/v1`."""
PERCENTAGE_BY_PROFILE: Final[Minor] = (1, 26)
"""The first with `percentageOfNodesToScore` in a profile; before, it stands beside `profiles`."""
POLICIES: Final[Minor] = (1, 30)
"""ValidatingAdmissionPolicy, `matchConditions` of webhooks and node names in tokens, all without a feature gate."""
NOMINATION: Final[Minor] = (1, 35)
NEWEST_TRIED: Final[Minor] = (1, 36)
"""The newest that the end-to-end tests run on."""
NO_DOCKER_FROM: Final[Minor] = (1, 24)

OLDEST_CONTAINERD: Final[Version] = (1, 5, 0)
OLDEST_DOCKER: Final[Version] = (18, 9, 3)
CONTAINERD_CDI_BY_CHOICE: Final[Version] = (1, 7, 0)
CONTAINERD_CDI: Final[Version] = (2, 0, 0)
CRIO_CDI: Final[Version] = (1, 23, 0)
OLDEST_HELM: Final[Version] = (3, 1, 0)
"""The first whose templates can look into the cluster."""
HELM_WITH_REGISTRIES: Final[Version] = (3, 8, 0)

HOSTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Ubuntu", ("18.04", "20.04", "22.04")),
    ("CentOS", ("8", "9")),
    ("openEuler", ("20.03", "22.03")),
)
"""Systems for which MetaX states support, as they name themselves; of CentOS every release 8.x and 9.x."""
ARCHITECTURES: Final = ("amd64", "arm64")


class Row(msgspec.Struct, frozen=True):
    """One line of the matrix."""

    what: str
    needed: str
    purpose: str
    sources: tuple[str, ...]
    check: str
    """The finding of `preflight` that speaks of it; empty where nothing can be seen beforehand."""


def _from(version: Minor | Version) -> str:
    return f">= {'.'.join(map(str, version))}"


ROWS: Final[tuple[Row, ...]] = (
    Row("Kubernetes", _from(OLDEST_KUBERNETES), "anything", ("M11", "S0-5", "S0-13", "S1-7"), "kubernetes"),
    Row(
        "Kubernetes",
        _from(PERCENTAGE_BY_PROFILE),
        "kube-scheduler's configuration as it is printed; before, see below",
        ("kubescheduler.config.k8s.io/v1",),
        "kubernetes",
    ),
    Row(
        "Kubernetes",
        _from(POLICIES),
        "allocations guarded by the API server itself; before, by a webhook",
        ("ValidatingAdmissionPolicy",),
        "kubernetes",
    ),
    Row(
        "Kubernetes",
        _from(NOMINATION),
        "nodes nominated ahead, which makes bursts of pods fast",
        ("NominatedNodeNameForExpectation",),
        "kubernetes",
    ),
    Row("kubelet", _from(OLDEST_KUBERNETES), "anything", ("M11",), "kubelets"),
    Row(
        "kubelet",
        _from(FIRST_WITH_FIELD),
        "CDI names passed as a field; before, as annotations",
        ("DevicePluginCDIDevices",),
        "cdi",
    ),
    Row("containerd", _from(OLDEST_CONTAINERD), "anything", ("M11",), "runtimes"),
    Row(
        "containerd",
        _from(CONTAINERD_CDI_BY_CHOICE),
        "CDI, with `enable_cdi = true`; without CDI whole cards and slices are served with less safety",
        ("CDI",),
        "cdi",
    ),
    Row("containerd", _from(CONTAINERD_CDI), "CDI without a setting", ("CDI",), "cdi"),
    Row("CRI-O", _from(CRIO_CDI), "CDI; no vendor states support for CRI-O", ("CDI",), "cdi"),
    Row(
        "Docker",
        f">= 18.09.3, before Kubernetes {'.'.join(map(str, NO_DOCKER_FROM))} only",
        "anything",
        ("M11",),
        "runtimes",
    ),
    Row(
        "Host system",
        "; ".join(f"{name} {', '.join(releases)}" for name, releases in HOSTS),
        "MetaX's driver, on a kernel that MetaX supports",
        ("M11",),
        "systems",
    ),
    Row("Architecture", ", ".join(ARCHITECTURES), "Tangram's image", ("image",), "architectures"),
    Row("Privileged pods", "allowed", "the agent of a node", ("M12",), "privileged"),
    Row(
        "MetaX driver",
        "installed on the node before",
        "anything but the GPU Operator",
        ("M13",),
        "metax-module",
    ),
    Row(
        "MetaX driver",
        "none, or one that is there already",
        "the GPU Operator, which brings one by its policy",
        ("M14",),
        "",
    ),
    Row("MetaX driver", _from(METAX_SLICES), "slices", ("S0-5",), "metax-driver-version"),
    Row("Moore Threads driver", _from(MTHREADS_SLICES), "slices", ("S4-8",), "mthreads-driver-version"),
    Row(
        "MT CloudNative Toolkits",
        f"> {version_text(MTHREADS_TOOLKIT_ABOVE)}",
        "slices of Moore Threads cards",
        ("S4-8",),
        "mthreads-toolkit",
    ),
    Row(
        "Koordinator",
        ">= 1.8.0, with `DevicePluginAdaption=true`",
        "MetaX cards given out by koord-scheduler",
        ("S2-4",),
        "koordinator-switches",
    ),
    Row("Helm", _from(OLDEST_HELM), "the charts, from files", ("M11", "lookup"), "helm"),
    Row("Helm", _from(HELM_WITH_REGISTRIES), "the charts, from a registry", ("T10",), "helm"),
    Row(
        "MetaX GPU Operator, GPU Extensions",
        "none",
        "nothing: Tangram's agent does what sharing needs of >= 0.10.2, and whole cards of >= 0.8.0",
        ("S0-5", "S0-13", "S1-7"),
        "",
    ),
)


def minor_text(version: Minor) -> str:
    """As people write it."""
    return ".".join(map(str, version))


def page_table() -> str:
    """The matrix as the page for people has it."""
    lines = ["| What | Needed | For | Source | Check |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.needed} | {row.purpose} | {', '.join(row.sources)} | "
        f"{f'`{row.check}`' if row.check else ''} |"
        for row in ROWS
    ]
    return "\n".join(lines) + "\n"
