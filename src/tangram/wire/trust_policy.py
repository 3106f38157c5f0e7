"""Who may say which cards a pod holds: the accounts, the requests that are looked at, and the words of a refusal.

Pod annotations are writable by whoever may write the pod, and an allocation is money. There are four ways to write
one: `pods`, `pods/status`, `pods/binding` and `bindings`; a rule that leaves one out stops nobody. The scheduler and
its peers may write anywhere. An agent may write on pods of the node that its token is bound to, which the API server
states since Kubernetes 1.30; where it does not, an agent that must write is listed as a peer. Nobody else may add,
change or remove, whatever other rights they have. Annotations of nodes are not guarded: tenants cannot write nodes.

The charts state the rule as a ValidatingAdmissionPolicy, which the API server itself enforces;
`services.scheduler.guarding` is the same rule as a webhook for clusters without such policies. An end-to-end test holds
the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

Object = dict[str, Any]

POLICY_NAME: Final = "tangram-allocations"
NODE_OF_TOKEN: Final = "authentication.kubernetes.io/node-name"  # noqa: S105 - a key of the user's extras, no secret

DOORS: Final = ("pods", "pods/status", "pods/binding", "bindings")
"""Every way to write an annotation of a pod."""

WRITERS: Final = (
    "what says which cards a pod holds is written by its scheduler, and by the agent of its node, alone"
)
INSTEAD_OF_CREATING: Final = "remove it from the manifest, or from the pod template that the pod is made from"
INSTEAD_OF_UPDATING: Final = "leave it as it is"
INSTEAD_OF_BINDING: Final = "bind without it"


class TrustedAccounts(msgspec.Struct, frozen=True, kw_only=True):
    """User names as the API server knows them; those of service accounts come from `service_account`."""

    scheduler: str
    peers: tuple[str, ...] = ()
    """Other schedulers that place pods on cards, and plugins whose tokens do not name their node."""
    agents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all((self.scheduler, *self.peers, *self.agents)):
            raise ValueError(
                "an account that is trusted with allocations is ''; it is a user name of the API server; "
                "write for example system:serviceaccount:tangram:tangram-scheduler"
            )

    @property
    def everywhere(self) -> tuple[str, ...]:
        return (self.scheduler, *self.peers)


def service_account(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def guarded_requests() -> list[Object]:
    """The rules of a policy or webhook that sees every write of a pod's annotations, and no more."""
    return [
        _requests(("CREATE", "UPDATE"), ("pods",)),
        _requests(("UPDATE",), ("pods/status",)),
        _requests(("CREATE",), ("pods/binding", "bindings")),
    ]


def _requests(operations: Sequence[str], resources: Sequence[str]) -> Object:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "Namespaced",
    }
