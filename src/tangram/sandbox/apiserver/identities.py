"""Who asks: tokens of the sandbox's own making.

The administrator's stands in the kubeconfig. Service accounts get theirs by `serviceaccounts/token`, as in any cluster,
and one that is bound to a node says so in the same words. Nothing is signed. What each may do, `rights` says.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object

MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ACCOUNTS_GROUP: Final = "system:serviceaccounts"
OURS: Final = "https://kubernetes.default.svc"
"""The audience that is this server itself."""


class Person(Struct, frozen=True, kw_only=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = {}

    def written(self) -> Object:
        """As reviews and webhooks have it."""
        info: Object = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            info["uid"] = self.uid
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMINISTRATOR: Final = Person(name="kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
NOBODY: Final = Person(name="system:anonymous", groups=(UNAUTHENTICATED,))


def account_groups(namespace: str) -> tuple[str, ...]:
    """Those that the service accounts of a namespace are in."""
    return ACCOUNTS_GROUP, f"{ACCOUNTS_GROUP}:{namespace}"


class Identities:
    def __init__(self, administrator: str) -> None:
        self._tokens: dict[str, Person] = {administrator: ADMINISTRATOR}
        self._audiences: dict[str, tuple[str, ...]] = {}
        self._of_account: dict[str, list[str]] = {}
        """Tokens by the uid of their account."""

    def known(self, token: str, audience: str = OURS) -> Person | None:
        """Whose token it is; None for one that nobody has, or that was not meant for this audience."""
        return self._tokens.get(token) if audience in self._audiences.get(token, (OURS,)) else None

    def of_header(self, header: str) -> Person | None:
        """Who an `Authorization` header belongs to; None for a token nobody has, nobody for no token."""
        kind, _, token = header.partition(" ")
        if not header:
            return NOBODY
        return self.known(token.strip()) if kind.lower() == "bearer" else None

    def issue(self, account: Object, bound: Object | None, audiences: Sequence[str]) -> str:
        """A token for a service account, and for as long as a pod, a node or a secret where it is bound to one."""
        metadata = account["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        extra: dict[str, Sequence[str]] = {}
        if bound is not None and bound["kind"] in ("Node", "Pod"):
            kind = bound["kind"].lower()
            extra = {
                f"authentication.kubernetes.io/{kind}-name": [bound["metadata"]["name"]],
                f"authentication.kubernetes.io/{kind}-uid": [bound["metadata"]["uid"]],
            }
        token = f"sandbox-{secrets.token_urlsafe(24)}"
        extra["authentication.kubernetes.io/credential-id"] = [f"JTI={secrets.token_hex(16)}"]
        self._tokens[token] = Person(
            name=f"system:serviceaccount:{namespace}:{name}",
            uid=metadata["uid"],
            groups=(*account_groups(namespace), AUTHENTICATED),
            extra=extra,
        )
        self._audiences[token] = tuple(audiences)
        self._of_account.setdefault(metadata["uid"], []).append(token)
        return token

    def forget(self, account: Object) -> None:
        """The account is gone, and its tokens with it."""
        for token in self._of_account.pop(account["metadata"]["uid"], ()):
            del self._tokens[token], self._audiences[token]
