"""Which pod a process on this machine belongs to, from what the kernel and kubelet leave lying about.

A process names its pod's UID in its control group, and kubelet names its log folders by namespace, pod and UID. Put
together they say whose process fills a card, with no API server to ask and no right but to read. What cannot be read
is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

# cgroup drivers differ: `pod1b2c_..._.slice` under systemd writes the dashes of the UID as underscores.
_POD_UID = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})")
_LONGEST_CGROUP = 65_536


class Owner(NamedTuple):
    namespace: str
    pod: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod}"


def owners_of(pids: Iterable[int], root: Path = Path("/")) -> Mapping[int, Owner]:
    """The pods of those processes, where known."""
    wanted = sorted(set(pids))
    if not wanted:
        return {}
    pods = _pods(root)
    found: dict[int, Owner] = {}
    for pid in wanted:
        owner = pods.get(_pod_uid(root / "proc" / str(pid) / "cgroup"))
        if owner is not None:
            found[pid] = owner
    return found


def _pods(root: Path) -> Mapping[str, Owner]:
    try:
        names = [entry.name for entry in (root / "var/log/pods").iterdir()]
    except OSError:
        return {}
    pods: dict[str, Owner] = {}
    for name in names:
        parts = name.split("_")
        if len(parts) == 3 and all(parts):
            pods[parts[2]] = Owner(parts[0], parts[1])
    return pods


def _pod_uid(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LONGEST_CGROUP)
    except OSError:
        return ""
    found = _POD_UID.search(text)
    return found[1].replace("_", "-") if found else ""
