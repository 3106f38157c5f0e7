"""Who wrote to which pod, from the API server's own audit log."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.api import Object
from testbed.cluster import Cluster
from testbed.firstprocess import CONTROL

_WRITES = ["create", "update", "patch", "delete", "deletecollection"]
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": _WRITES,
            "resources": [
                {"group": "", "resources": ["pods", "pods/status", "pods/binding", "pods/eviction"]}
            ],
        },
        {"level": "None"},
    ],
}


_INSIDE = "/var/log/audit.log"
"""Where the control plane sees it."""


def auditing(policy: Path) -> tuple[str, ...]:
    """What the API server is told at its start; the policy is written to that file."""
    policy.write_text(json.dumps(_POLICY))
    return f"--audit-policy-file={policy}", f"--audit-log-path={_INSIDE}"


@dataclass(frozen=True, slots=True)
class Audit:
    """The log of one API server, which writes each line before it answers."""

    cluster: Cluster

    def writes(self, pod: str, *programs: str) -> Counter[str]:
        """What programs wrote to a pod, by 'program verb subresource'."""
        return Counter(
            " ".join(word for word in (program, entry["verb"], _part(entry)) if word)
            for entry in self._entries()
            if entry["objectRef"].get("name") == pod
            for program in programs
            if entry.get("userAgent", "").startswith(program)
        )

    def _entries(self) -> Iterator[Object]:
        file = self.cluster.box.folder.of_room(CONTROL).log / "audit.log"
        for line in file.read_text().splitlines():
            yield json.loads(line)


def _part(entry: Object) -> str:
    return str(entry["objectRef"].get("subresource", ""))
