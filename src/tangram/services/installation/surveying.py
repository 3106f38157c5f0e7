"""Everything `preflight` asks a cluster, side by side. All that is sent to be made is a dry run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from typing import Final

from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.probing import version_in
from tangram.services.installation import created
from tangram.services.installation.asking import NOTHING, Told, got, listed, may, side_by_side, would_make
from tangram.services.installation.created import DEVICE_KIND, DEVICE_KIND_NAME, NAMESPACE, Made, made_on
from tangram.services.installation.ground import Ground
from tangram.services.installation.workloads import Workload, our_workloads
from tangram.wire import loose

USUAL: Final = "default"
"""A namespace that every cluster has, and that is like a new one as far as cluster-wide rules go."""
ENFORCE: Final = "pod-security.kubernetes.io/enforce"


async def survey(api: Api, namespace: str, selector: str = "") -> Ground:
    """Read everything but the neighbours. Never raises for what the API server does or does not say."""
    ground = Ground(server=api.connection.server, namespace=namespace, selector=selector)
    try:
        told = await api.get("/version")
        ground.version, ground.spoken_version = version_in(told), loose.text(told.get("gitVersion"))
    except (ApiError, ApiUnreachable) as error:
        ground.unreachable = str(error)
        return ground
    answers = await side_by_side(
        {
            "nodes": listed(api, "/api/v1/nodes", {"labelSelector": selector} if selector else {}),
            "home": got(api, f"/api/v1/namespaces/{namespace}"),
            "kind": got(api, f"{DEVICE_KIND.folder('')}/{DEVICE_KIND_NAME}"),
        }
    )
    ground.nodes, ground.home = answers["nodes"], answers["home"]
    wanted = [*made_on(ground.version)]
    wanted += [NAMESPACE] if ground.home.absent else []
    wanted += [DEVICE_KIND] if answers["kind"].absent else []
    names = {
        f"{each.kind} {name}": got(api, f"{each.folder(namespace)}/{name}")
        for each in made_on(ground.version)
        for name in each.names
    }
    ground.names, (ground.workloads, ground.workloads_unknown), _, _ = await asyncio.gather(
        side_by_side(names),
        all_workloads(api),
        _try_privileged(api, ground),
        _ask_rights(api, ground, wanted),
    )
    return ground


async def all_workloads(api: Api) -> tuple[tuple[Workload, ...], str]:
    """Everything of ours that the cluster runs, in whatever namespace; and why some of it may not be known."""
    kinds = {"Deployment": "deployments", "DaemonSet": "daemonsets"}
    asked = await side_by_side({kind: listed(api, f"/apis/apps/v1/{kinds[kind]}") for kind in kinds})
    found = [each for kind, told in asked.items() for each in our_workloads(told.items, kind)]
    return tuple(found), next((told.message for told in asked.values() if not told.known), "")


async def _ask_rights(api: Api, ground: Ground, wanted: Iterable[Made]) -> None:
    """What the caller may make, and whether the rights in it may be handed out."""
    ground.rights = await side_by_side(
        {each.kind: may(api, _right(each, ground.namespace)) for each in wanted}
    )
    handed = {
        "clusterroles": created.trial_role(_unique(), ground.version),
        "clusterrolebindings": created.trial_binding(_unique()),
    }
    tried = await side_by_side(
        {
            kind: would_make(api, f"/apis/{created.RBAC}/v1/{kind}", thing)
            for kind, thing in handed.items()
            if ground.rights.get(f"{kind}.{created.RBAC}")
        }
    )
    ground.granting = min(tried.values(), key=lambda told: bool(told.items), default=NOTHING)


async def _try_privileged(api: Api, ground: Ground) -> None:
    """Where the namespace does not exist yet, in one that has no rules of its own."""
    ground.tried_in = USUAL if ground.home.absent else ground.namespace
    place: Told = ground.home if not ground.home.absent else await got(api, f"/api/v1/namespaces/{USUAL}")
    labels = loose.text_map(loose.members((place.first or {}).get("metadata")).get("labels"))
    ground.tried_in_enforces = labels.get(ENFORCE, "")
    ground.privileged = await would_make(
        api, f"/api/v1/namespaces/{ground.tried_in}/pods", created.privileged_pod(_unique())
    )


def _right(made: Made, namespace: str) -> dict[str, str]:
    asked = {"verb": "create", "group": made.group, "resource": made.resource}
    return asked | ({"namespace": namespace} if made.namespaced else {})


def _unique() -> str:
    return f"tangram-preflight-{secrets.token_hex(4)}"
