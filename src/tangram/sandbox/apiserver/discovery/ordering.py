"""Which group and which version comes first.

The order decides what a bare word means: `kubectl get events` takes the first resource of that name that discovery
lists. So the groups of Kubernetes stand in the order of the real server, those defined by people behind them, and among
the versions of a group the stable ones stand before beta and alpha, the newer before the older.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tangram.sandbox.apiserver.kinds import Kind

_GROUPS: Final = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
)
_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


def group_names(kinds: Iterable[Kind]) -> list[str]:
    """Every group but the core one, in order."""
    return sorted({kind.group for kind in kinds} - {""}, key=_place)


def versions(kinds: Iterable[Kind], group: str) -> list[str]:
    """The versions of a group, the preferred one first."""
    return sorted({kind.version for kind in kinds if kind.group == group}, key=_rank)


def of_version(kinds: Iterable[Kind], group: str, version: str) -> Sequence[Kind]:
    """The kinds of one version of a group, by the names of their resources."""
    found = (kind for kind in kinds if (kind.group, kind.version) == (group, version))
    return sorted(found, key=lambda kind: kind.plural)


def _place(group: str) -> tuple[int, str]:
    return (_GROUPS.index(group) if group in _GROUPS else len(_GROUPS)), group


def _rank(version: str) -> tuple[int, int, int, str]:
    """Small for what comes first. A version of another form comes last, in the order of the alphabet."""
    parts = _VERSION.fullmatch(version)
    if parts is None:
        return 1, 0, 0, version
    return -_STAGES[parts[2]], -int(parts[1]), -int(parts[3] or 0), ""
