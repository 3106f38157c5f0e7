"""The rights on `docs/scheduler-install.md` are those that the scheduler asks the API server for, and no more.

Everything that speaks to the API server is played once against one that counts.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import yaml
from aiohttp import web

from builders.api_server import Object
from builders.rights_used import CountingApi, Right, granted
from builders.scheduling import metax_cards, node, pod
from builders.waiting import until
from tangram.daemon.certificates import service_names
from tangram.daemon.running import Supervisor
from tangram.daemon.serving_identity import ServingIdentity
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.leases import LeaseWatch
from tangram.kube.rights import Rights
from tangram.services.installation.created import granted_on, made_on
from tangram.services.installation.matrix import Minor
from tangram.services.scheduler.authority import OwnAuthority, Places
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.services.scheduler.trust import KINDS, configuration_path
from tangram.wire.metax_listing import NODE_DEVICES, encode_listing
from tangram.wire.metax_publishing import listing_of

PAGE = (Path(__file__).parents[3] / "docs" / "scheduler-install.md").read_text("utf-8")
RULES: list[Object] = [
    rule
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for thing in yaml.safe_load_all(block)
    if thing["kind"] in ("Role", "ClusterRole")
    for rule in thing["rules"]
]
SETTINGS = SchedulerSettings()
HOME, NAME = SETTINGS.service.namespace, SETTINGS.service.name
KUBE_SCHEDULERS = {Right(verb, "coordination.k8s.io", "leases", NAME) for verb in ("get", "update")}
"""The Lease is written by the kube-scheduler beside us, under the same account."""
OLD_AND_NEW = ((1, 29), (1, 30))
"""Kubernetes with a second webhook of ours, and without."""
HALF = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 8}


@asynccontextmanager
async def counting() -> AsyncGenerator[tuple[CountingApi, Api]]:
    server, application = CountingApi(), web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        async with Api(Connection(f"http://{host}:{port}", None)) as api:
            yield server, api
    finally:
        await runner.cleanup()


def closed(name: str) -> Object:
    """A node of a vendor's closed plugin."""
    listing = encode_listing(listing_of(metax_cards(name, 1), None, {}))
    return {
        "metadata": {"name": name, "annotations": {NODE_DEVICES: listing}},
        "spec": {},
        "status": {"allocatable": {"metax-tech.com/sgpu": "16", "cpu": "64", "memory": "512Gi"}},
    }


def pod_path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def budget() -> Object:
    return {"spec": {"selector": {}}, "status": {"disruptionsAllowed": 2}}


async def until_used(server: CountingApi, *rights: Right) -> None:
    await until(lambda: server.rights.issuperset(rights))


async def play_placement(server: CountingApi, api: Api) -> None:
    """A scheduler that reads the cluster, places, locks, nominates, evicts, and loses an answer."""
    for made in (node("a", metax_cards("a", 1)), closed("b")):
        server.put(f"/api/v1/nodes/{made['metadata']['name']}", made)
    server.put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/one", budget())
    for number in range(2):
        weak = pod(f"weak-{number}", HALF)
        server.put(pod_path(f"weak-{number}"), weak)
    supervisor = Supervisor()
    scheduler = Scheduler(SETTINGS, api)
    await scheduler.start(supervisor)
    try:
        await until(lambda: not scheduler.unready())
        await until_used(server, Right("patch", "", "pods/status"))
        for number in range(2):
            await place(scheduler, server, f"weak-{number}", "a")
        await make(scheduler, server, pod("locked", HALF))
        await place(scheduler, server, "locked", "b")
        # Not heard of: asked for before it is bound.
        await scheduler.desk.bind(order("unheard", "a"))
        await make(scheduler, server, pod("high", HALF, priority=9))
        await asked(scheduler, server, "high", "a")
        await until_used(server, Right("create", "", "pods/eviction"))
        await make(scheduler, server, pod("large", {"metax-tech.com/gpu": 9}))
        async with asyncio.timeout(20):
            # An event that is told again while the first still waits is one event.
            while Right("patch", "", "events") not in server.rights:
                await asked(scheduler, server, "large", "a")
                await asyncio.sleep(0.05)
    finally:
        supervisor.stop()
        await supervisor.until_stopped()


async def make(scheduler: Scheduler, server: CountingApi, manifest: Object) -> None:
    """Return once the scheduler has heard of the pod."""
    name = manifest["metadata"]["name"]
    server.put(pod_path(name), manifest)
    await until(lambda: scheduler.state.known("default", name) is not None)


async def asked(scheduler: Scheduler, server: CountingApi, name: str, where: str) -> None:
    question = {"Pod": server.objects[pod_path(name)], "NodeNames": [where]}
    await scheduler.desk.filter(json.dumps(question).encode())


def order(name: str, where: str) -> bytes:
    return json.dumps(
        {"PodName": name, "PodNamespace": "default", "PodUID": f"uid-{name}", "Node": where}
    ).encode()


async def place(scheduler: Scheduler, server: CountingApi, name: str, where: str) -> None:
    await asked(scheduler, server, name, where)
    answer = await scheduler.desk.bind(order(name, where))
    assert json.loads(answer.body)["Error"] == ""


async def play_certificates(server: CountingApi, api: Api, version: Minor) -> None:
    """From nothing: made, marked as published, made known, and looked at from then on."""
    hook = {"clientConfig": {"service": {"name": NAME, "namespace": HOME}}}
    made = {each.resource for each in made_on(version)}
    for kind in made.intersection(KINDS):
        server.put(configuration_path(kind, SETTINGS.webhooks), {"webhooks": [hook]})
    own = OwnAuthority(
        api,
        Places(HOME, f"{NAME}-tls", SETTINGS.webhooks),
        service_names(NAME, HOME),
        ServingIdentity(lambda: dt.datetime.now(dt.UTC), b""),
        now=lambda: dt.datetime.now(dt.UTC),
    )
    following = asyncio.create_task(own.follow())
    watched = [Right("watch", "", "secrets", f"{NAME}-tls")]
    watched += [Right("watch", "admissionregistration.k8s.io", kind, SETTINGS.webhooks) for kind in KINDS]
    await until_used(server, *watched, Right("patch", "", "secrets", f"{NAME}-tls"))
    following.cancel()
    await asyncio.wait([following])


async def play_lease(server: CountingApi, api: Api) -> None:
    lease = LeaseWatch(api, HOME, NAME, bool)
    watching = asyncio.create_task(lease.run())
    await until_used(server, Right("watch", "coordination.k8s.io", "leases", NAME))
    watching.cancel()
    await asyncio.wait([watching])


async def play_rights(server: CountingApi, api: Api) -> None:
    user = await Rights(api).who("a-token")
    assert user is not None
    assert await Rights(api).may(user, "get", "pods", "default")
    assert server.rights


async def used_by(*plays: Callable[[CountingApi, Api], Awaitable[None]]) -> set[Right]:
    used: set[Right] = set()
    for play in plays:
        async with counting() as (server, api):
            await play(server, api)
            used |= server.rights
    return used


async def test_the_rights_on_the_page_are_those_that_the_scheduler_uses_and_no_more() -> None:
    always = await used_by(play_placement, play_lease, play_rights)
    old, new = [
        always | await used_by(partial(play_certificates, version=version)) for version in OLD_AND_NEW
    ]
    assert new == granted(RULES) - KUBE_SCHEDULERS
    more, today = [granted(granted_on(version)) for version in OLD_AND_NEW]
    assert old - new == more - today
    assert len(old - new) == 1


def test_every_right_is_explained() -> None:
    table = PAGE.partition("| Right | Why |")[2].partition("## 2.")[0]
    resources = {right.resource for right in granted(RULES)} - set(KINDS)
    assert [each for each in sorted(resources) if f"`{each}`" not in table] == []
    assert "webhook configurations" in table
