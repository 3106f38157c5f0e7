"""Who our services are to the API server: service accounts, and tokens of theirs, as in any cluster.

The agent's token is bound to its node, because what it may write on pods is decided by that. All of them may do
everything, so that a sandbox shows placement and not somebody's mistake in a role; the roles of an installation are
tested on their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import CONFLICT, ApiError
from tangram.kube.objects import Object

NAMESPACE: Final = "kube-system"
SCHEDULER: Final = "tangram-scheduler"
AGENT: Final = "tangram-gpu-device"
LABELLER: Final = "tangram-gpu-label"
AWARE: Final = "tangram-gpu-aware"
ALL: Final = (SCHEDULER, AGENT, LABELLER, AWARE)
LIFE_S: Final = 30 * 24 * 3600

_ACCOUNTS: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_BINDINGS: Final = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


async def make_accounts(api: Api) -> None:
    """Make what is missing."""
    binding = _everything(ALL)
    *_, made = await asyncio.gather(
        *(_create(api, _ACCOUNTS, {"metadata": {"name": name}}) for name in ALL),
        _create(api, _BINDINGS, binding),
    )
    if not made:
        # It may be an earlier sandbox's, which had fewer accounts than this one.
        await api.merge(f"{_BINDINGS}/{binding['metadata']['name']}", {"subjects": binding["subjects"]})


async def token_for(api: Api, account: str, node: str = "") -> str:
    """A token of an account, for use on one node where one is named. Raises `ApiError`, `ApiUnreachable`."""
    spec: Object = {"expirationSeconds": LIFE_S}
    if node:
        spec["boundObjectRef"] = {"kind": "Node", "apiVersion": "v1", "name": node}
    answer = await api.create(f"{_ACCOUNTS}/{account}/token", {"spec": spec})
    return str(answer["status"]["token"])


async def connection_as(api: Api, account: str, node: str = "") -> Connection:
    """The same server, as somebody else."""
    known = api.connection
    return Connection(known.server, known.tls, token=await token_for(api, account, node))


async def _create(api: Api, path: str, thing: Object) -> bool:
    """Whether it was not there before."""
    try:
        await api.create(path, thing)
    except ApiError as error:
        if error.status != CONFLICT:
            raise
        return False
    return True


def _everything(accounts: Iterable[str]) -> Object:
    return {
        "metadata": {"name": "tangram-sandbox"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE} for name in accounts],
    }
