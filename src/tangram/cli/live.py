"""A cluster to ask about, as its API server describes it to the person who asks.

The person's own rights decide what is read. Where they do not reach far enough for a true answer there is none: a card
whose holder may not be seen would look free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from tangram.cli.clusters import Cluster, cluster_of_dump
from tangram.cli.failures import InputError
from tangram.cli.kubernetes import read_dump
from tangram.cli.patience import Patience
from tangram.kube.api import Api, Object
from tangram.kube.connection import Connection
from tangram.kube.errors import GONE, NOT_FOUND, ApiError, ApiUnreachable
from tangram.wire import loose
from tangram.wire.errors import Problem

UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
MOST_TRIES: Final = 3
"""A list that takes long may be forgotten by the server half way; it is then begun again."""

_ASK_THE_SCHEDULER: Final = "ask for that right, or ask the scheduler, which knows: --server URL"


class _Kind(NamedTuple):
    path: str
    plural: str
    optional: bool = False


_NODES = _Kind("/api/v1/nodes", "nodes")
_PODS = _Kind("/api/v1/pods", "pods of all namespaces")
_DEVICES = _Kind("/apis/scheduling.koordinator.sh/v1alpha1/devices", "Koordinator's devices", optional=True)


def read_live(connection: Connection, patience: Patience) -> Cluster:
    """Every node, pod and device of the cluster."""
    found, problems = asyncio.run(_read_all(connection, patience))
    if not found["Node"]:
        raise InputError(
            f"the API server at {connection.server} has no node: there is nothing to place a pod on."
        )
    documents = [{"kind": f"{kind}List", "items": items} for kind, items in found.items()]
    dump = read_dump(documents, "the API server's answer", patience.watching("reading objects"))
    cluster = cluster_of_dump(dump, patience)
    return cluster._replace(problems=(*problems, *cluster.problems))


async def _read_all(
    connection: Connection, patience: Patience
) -> tuple[dict[str, list[Object]], tuple[Problem, ...]]:
    found: dict[str, list[Object]] = {}
    problems: list[Problem] = []
    async with Api(connection) as api:
        for name, kind in (("Node", _NODES), ("Pod", _PODS), ("Device", _DEVICES)):
            try:
                found[name] = await _listed(api, kind, patience.watching(f"listing {kind.plural}"))
            except ApiError as error:
                found[name] = []
                if not kind.optional:
                    raise _refused(connection, kind, error) from None
                if error.status != NOT_FOUND:
                    problems.append(
                        Problem("devices-unread", f"{kind.plural} could not be listed ({error.message:.120})")
                    )
            except ApiUnreachable as error:
                raise InputError(
                    f"the API server at {connection.server} gives no answer ({error!s:.200}): see that it can be "
                    "reached from here, or name another kubeconfig with --kubeconfig."
                ) from None
    return found, tuple(problems)


async def _listed(api: Api, kind: _Kind, on_progress: Callable[[int, int], None]) -> list[Object]:
    for last in (False,) * (MOST_TRIES - 1) + (True,):
        found: list[Object] = []
        try:
            async for page in api.pages(kind.path, {}):
                found += page.get("items") or []
                left = loose.integer(loose.members(page.get("metadata")).get("remainingItemCount")) or 0
                on_progress(len(found), len(found) + left)
        except ApiError as error:
            if error.status != GONE or last:
                raise
        else:
            return found
    raise AssertionError("the last try either returns or raises")


def _refused(connection: Connection, kind: _Kind, error: ApiError) -> InputError:
    if error.status == UNAUTHORIZED:
        return InputError(
            f"the API server at {connection.server} does not know you ({error.message:.120}): sign in again, or name "
            "another kubeconfig with --kubeconfig."
        )
    if error.status == FORBIDDEN:
        return InputError(
            f"you may not list {kind.plural} ({error.message:.200}), so what is free cannot be told: "
            f"{_ASK_THE_SCHEDULER}."
        )
    return InputError(
        f"{kind.plural} cannot be listed ({error.status} {error.message:.200}): ask again in a while."
    )
