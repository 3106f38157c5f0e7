"""Everything `verify` asks a cluster in one round. All that is sent to be made is a dry run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.leases import read_lease
from tangram.kube.probing import server_version
from tangram.services.installation import trial_pods
from tangram.services.installation.asking import got, listed, side_by_side, would_make
from tangram.services.installation.created import HOME, NAME
from tangram.services.installation.doors import METRICS, ask_doors, home_of, own_hooks, page
from tangram.services.installation.standing import AgentPage, LeaseSeen, Standing
from tangram.services.installation.surveying import all_workloads
from tangram.services.installation.workloads import DEVICE, LABEL, ON_NODES, Workload
from tangram.wire import loose
from tangram.wire.operator import names

RENEWED_WITHIN_S: Final = 6.0
"""kube-scheduler renews its Lease every two seconds unless it is told otherwise."""
_LOOK_AGAIN_S: Final = 0.5
OPERATOR: Final = f"/apis/{names.API_VERSION}/{names.PLURAL}/{names.OBJECT}"
_PORTS: Final = {DEVICE: 9394, LABEL: 9395}


async def inspect(
    api: Api, namespace: str, selector: str, configurations: Iterable[Mapping[str, Any]]
) -> Standing:
    """Read everything. Never raises for what the API server does or does not say.

    `namespace` is where pods are tried, `configurations` are the mutating webhooks of the cluster.
    """
    standing = Standing(server=api.connection.server, selector=selector, tried_in=namespace)
    try:
        standing.version = await server_version(api)
    except (ApiError, ApiUnreachable) as error:
        standing.unreachable = str(error)
        return standing
    query = {"labelSelector": selector} if selector else {}
    standing.nodes = await listed(api, "/api/v1/nodes", query)
    hooks = own_hooks(configurations)
    limits = trial_pods.smallest(trial_pods.announced(standing.nodes.items))
    spot = f"/api/v1/namespaces/{namespace}/pods"
    tried = await side_by_side(
        {
            name: would_make(api, spot, trial_pods.trial_pod(_unique(), asked, "tangram-verify"))
            for name, asked in (("completed", limits), ("refused", trial_pods.impossible(limits)))
        }
    )
    standing.completed, standing.refused = tried["completed"], tried["refused"]
    (
        (standing.workloads, standing.workloads_unknown),
        standing.doors,
        standing.lease,
        standing.operator,
    ) = await asyncio.gather(
        all_workloads(api), ask_doors(api, hooks), _lease(api, home_of(hooks) or HOME), got(api, OPERATOR)
    )
    standing.agent_pages = await _agent_pages(api, standing.workloads)
    return standing


async def _lease(api: Api, namespace: str) -> LeaseSeen:
    """Looked at until it is renewed: clocks of two machines are not compared."""
    name = f"{namespace}/{NAME}"
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{NAME}"
    first = await got(api, path)
    if first.first is None:
        return LeaseSeen(name, first)
    before = read_lease(first.first)
    for _ in range(int(RENEWED_WITHIN_S / _LOOK_AGAIN_S)):
        await asyncio.sleep(_LOOK_AGAIN_S)
        again = await got(api, path)
        now = before if again.first is None else read_lease(again.first)
        if now.holder and now.renewed != before.renewed:
            return LeaseSeen(name, again, now.holder, renewed=True)
    return LeaseSeen(name, first, before.holder)


async def _agent_pages(api: Api, workloads: Iterable[Workload]) -> tuple[AgentPage, ...]:
    """The metrics of one ready pod of every workload on nodes."""
    found: list[AgentPage] = []
    for each in workloads:
        if each.role not in ON_NODES or not each.selector:
            continue
        chosen = ",".join(f"{key}={value}" for key, value in each.selector.items())
        pods = await listed(api, f"/api/v1/namespaces/{each.namespace}/pods", {"labelSelector": chosen})
        ready = [name for pod in pods.items if (name := _ready_name(pod))]
        if ready:
            path = f"/api/v1/namespaces/{each.namespace}/pods/{ready[0]}:{_PORTS[each.role]}/proxy{METRICS}"
            found.append(AgentPage(f"{each.namespace}/{ready[0]}", await page(api, path)))
    return tuple(found)


def _ready_name(pod: Mapping[str, Any]) -> str:
    status = loose.members(pod.get("status"))
    conditions = [loose.members(each) for each in loose.elements(status.get("conditions"))]
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    return loose.text(loose.members(pod.get("metadata")).get("name")) if ready else ""


def _unique() -> str:
    return f"tangram-verify-{secrets.token_hex(4)}"
