"""Who wrote to which pod, and what service accounts asked for, from the API server's own audit log."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

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
_CREATED = 201
_PATIENCE = 30.0


def auditing(policy: Path) -> tuple[str, ...]:
    """What the API server is told at its start; the policy is written to that file."""
    return _told(policy, _POLICY)


def auditing_accounts(policy: Path, namespace: str) -> tuple[str, ...]:
    """The same, for everything that service accounts of a namespace ask for."""
    ours = {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{namespace}"]}
    return _told(policy, {**_POLICY, "rules": [ours, {"level": "None"}]})


def _told(policy: Path, rules: Object) -> tuple[str, ...]:
    policy.write_text(json.dumps(rules))
    return f"--audit-policy-file={policy}", f"--audit-log-path={_INSIDE}"


class Question(NamedTuple):
    """What an account asked of the API server, as RBAC counts it."""

    account: str
    program: str
    """Which one of those that share the account."""
    verb: str
    group: str
    resource: str
    """With its subresource."""
    namespace: str
    name: str
    refused: bool
    """For want of rights."""


def questions(cluster: Cluster, *, since: int = 0) -> Counter[Question]:
    """Everything that the audited service accounts asked for objects of the API, after so many lines of the log."""
    return Counter(
        Question(
            entry["user"]["username"].rpartition(":")[2],
            entry.get("userAgent", "").partition("/")[0],
            verb,
            thing.get("apiGroup", ""),
            "/".join(filter(None, (thing["resource"], thing.get("subresource", "")))),
            thing.get("namespace", ""),
            thing.get("name", ""),
            entry.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid",
        )
        for entry in islice(Audit(cluster).entries(), since, None)
        for thing in (entry.get("objectRef"),)
        if thing is not None
        for verb in _verbs(entry)
    )


def _verbs(entry: Object) -> tuple[str, ...]:
    """An apply that makes its object is logged as a patch alone, though the right to make one was asked for as well."""
    made = entry["verb"] == "patch" and entry.get("responseStatus", {}).get("code") == _CREATED
    return (entry["verb"], "create") if made else (entry["verb"],)


@dataclass(frozen=True, slots=True)
class Audit:
    """The log of one API server. It writes each line before it answers, and a watch may show the change before."""

    cluster: Cluster

    async def writes_until(self, pod: str, last: str, *others: str) -> Counter[str]:
        """What programs wrote to a pod, by 'program verb subresource', once the log has the last write.

        That write names one of the programs; `others` are more of them.
        """
        programs = (last.partition(" ")[0], *others)
        async with asyncio.timeout(_PATIENCE):
            while not (found := self._writes(pod, programs))[last]:
                await asyncio.sleep(0.05)
        return found

    def _writes(self, pod: str, programs: Sequence[str]) -> Counter[str]:
        return Counter(
            " ".join(word for word in (program, entry["verb"], _part(entry)) if word)
            for entry in self.entries()
            if entry["objectRef"].get("name") == pod
            for program in programs
            if entry.get("userAgent", "").startswith(program)
        )

    def entries(self) -> Iterator[Object]:
        """Its lines, the oldest first."""
        file = self.cluster.box.folder.of_room(CONTROL).log / "audit.log"
        whole, _, _ = file.read_text().rpartition("\n")
        for line in whole.splitlines():
            yield json.loads(line)


def _part(entry: Object) -> str:
    return str(entry["objectRef"].get("subresource", ""))
