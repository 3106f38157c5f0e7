"""Speaking for somebody else: who may, and who one is then.

Each thing claimed (a name, a group, a number, a remark) needs the verb `impersonate` on it. Kubernetes 1.36 has other
verbs besides, which allow it for some requests only. They are not looked at here, but a refusal names them, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from tangram.sandbox.apiserver.identities import (
    AUTHENTICATED,
    NOBODY,
    UNAUTHENTICATED,
    Person,
    account_groups,
)
from tangram.sandbox.apiserver.refusals import Refused, bad_request
from tangram.sandbox.apiserver.rights.authority import Authority, forbidden
from tangram.sandbox.apiserver.rights.bindings import ACCOUNT_PREFIX
from tangram.sandbox.apiserver.rights.wanted import Wanted

USER: Final = "Impersonate-User"
GROUP: Final = "Impersonate-Group"
UID: Final = "Impersonate-Uid"
EXTRA: Final = "impersonate-extra-"
_NODE: Final = "system:node:"
_GROUP: Final = "authentication.k8s.io"


def speaker(
    headers: CIMultiDictProxy[str], person: Person, authority: Authority, wanted: Callable[[], Wanted]
) -> Person:
    """Whom a request for something speaks for: who sent it, unless it says otherwise. Raises `Refused`."""
    name = headers.get(USER, "")
    if not name:
        if GROUP in headers or UID in headers:
            raise bad_request(
                f"{GROUP} and {UID} say more of somebody who is not named: name them with {USER}"
            )
        return person
    groups = list(headers.getall(GROUP, []))
    extra = _extra(headers)
    uid = headers.get(UID, "")
    namespace, account = _account(name)
    claims = [
        Wanted("impersonate", "", "serviceaccounts", namespace=namespace, name=account)
        if account
        else Wanted("impersonate", "", "users", name=name),
        *([Wanted("impersonate", _GROUP, "uids", name=uid)] if uid else []),
        *(Wanted("impersonate", "", "groups", name=group) for group in groups),
        *(
            Wanted("impersonate", _GROUP, "userextras", key, name=value)
            for key, values in extra.items()
            for value in values
        ),
    ]
    try:
        for claim in claims:
            authority.check(person, claim)
    except Refused:
        mode = _mode(name, account, alone=len(claims) == 1)
        if not mode:
            raise
        asked = wanted()
        raise forbidden(person, asked._replace(verb=f"impersonate-on:{mode}:{asked.verb}")) from None
    if account and not groups:
        groups = list(account_groups(namespace))
    if name == NOBODY.name:
        groups += [] if UNAUTHENTICATED in groups else [UNAUTHENTICATED]
    elif not {AUTHENTICATED, UNAUTHENTICATED} & set(groups):
        groups.append(AUTHENTICATED)
    return Person(name=name, uid=uid, groups=tuple(groups), extra=extra)


def _mode(name: str, account: str, *, alone: bool) -> str:
    """The narrow way to allow this that is named in a refusal; empty where there is none."""
    if account:
        return "serviceaccount" if alone else ""
    if name.startswith(_NODE):
        return "arbitrary-node" if alone else ""
    return "user-info"


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(EXTRA):
            found.setdefault(unquote(header.lower()[len(EXTRA) :]), []).append(value)
    return found


def _account(name: str) -> tuple[str, str]:
    """Namespace and name of a service account; both empty for everybody else."""
    namespace, _, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    ours = name.startswith(ACCOUNT_PREFIX) and namespace and account and ":" not in account
    return (namespace, account) if ours else ("", "")
