"""Every object that a chart can render is taken by an API server that refuses what it does not know.

It is the sandbox's, whose schemas and rules are held to the real one's; the real one is asked in `e2e/test_charts.py`.
"""

import json
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest_asyncio
import yaml

from builders.charts.cases import CHARTS, NEWEST, cases
from builders.charts.goldens import GOLDENS, ROOT, Object, key_of, objects_of
from tangram.sandbox.apiserver.server import serving_api

DEFINITIONS = (
    GOLDENS / "definitions.yaml",
    ROOT / "deploy" / "crds" / "gpu.metax-tech.com_clusteroperators.yaml",
)
ONLY_REAL = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
"""Kinds that the sandbox does not have."""


class Server:
    """An API server that is asked what it would say, and changes nothing."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._resources: dict[str, dict[str, Object]] = {}

    async def make(self, thing: Object) -> None:
        async with self._session.post(await self.path(thing), json=thing) as answer:
            assert answer.status == 201, await answer.text()

    async def objection(self, thing: Object) -> str:
        """Why an object is refused or warned of; nothing if it is fine."""
        path = await self.path(thing)
        if not path:
            return f"there is no kind {thing['kind']}"
        strict = {"dryRun": "All", "fieldValidation": "Strict"}
        async with self._session.post(path, json=thing, params=strict) as answer:
            told = await answer.json()
            return told["message"] if answer.status != 201 else answer.headers.get("Warning", "")

    async def path(self, thing: Object) -> str:
        group = thing["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        if group not in self._resources:
            async with self._session.get(root) as answer:
                listed = (await answer.json()).get("resources", [])
                self._resources[group] = {each["kind"]: each for each in listed if "/" not in each["name"]}
        found = self._resources[group].get(thing["kind"])
        if found is None:
            return ""
        where = f"/namespaces/{thing['metadata']['namespace']}" if found["namespaced"] else ""
        return f"{root}{where}/{found['name']}"


@pytest_asyncio.fixture(scope="module")
async def server() -> AsyncIterator[Server]:
    async with serving_api() as running:
        headers = {"Authorization": f"Bearer {running.token}"}
        connector = aiohttp.TCPConnector(ssl=running.connection().tls or False)
        async with aiohttp.ClientSession(running.address, connector=connector, headers=headers) as session:
            ready = Server(session)
            for file in DEFINITIONS:
                for definition in yaml.safe_load_all(file.read_text("utf-8")):
                    await ready.make(definition)
            there = {"default", "kube-system"}
            for namespace in sorted(places() - there):
                await ready.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            yield ready


def places() -> set[str]:
    """Every namespace that an object of a case is in."""
    return {each["metadata"].get("namespace", "default") for each in distinct()}


def distinct() -> Iterator[Object]:
    """Every object of every case once, for a cluster as new as the sandbox."""
    seen: set[str] = set()
    for case in (each for chart in CHARTS for each in cases(chart)):
        if case.kube != NEWEST:
            continue
        for thing in objects_of(case):
            text = json.dumps(thing, sort_keys=True)
            if text not in seen:
                seen.add(text)
                yield thing


async def test_every_object_of_every_case_is_taken(server: Server) -> None:
    objections = {
        key_of(thing): objection
        for thing in distinct()
        if thing["kind"] not in ONLY_REAL
        and not (thing["kind"] == "Namespace" and thing["metadata"]["name"] in places())
        and (objection := await server.objection(thing))
    }
    assert objections == {}


async def test_a_misspelled_field_would_be_refused(server: Server) -> None:
    refused: set[str] = set()
    for thing in distinct():
        if "spec" in thing and thing["kind"] not in ONLY_REAL and thing["kind"] not in refused:
            wrong = json.loads(json.dumps(thing))
            wrong["spec"]["selektor"] = {}
            assert "selektor" in await server.objection(wrong), key_of(thing)
            refused.add(thing["kind"])
    assert refused >= {
        "Deployment",
        "DaemonSet",
        "Job",
        "Service",
        "ServiceMonitor",
        "PodMonitor",
        "Certificate",
    }
