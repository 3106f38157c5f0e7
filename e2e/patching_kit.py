"""The steps of `builders.patch_cases` sent to a real API server, and its answers written down for the unit tests.

    RECORD=1 .venv/bin/pytest e2e/test_sandbox_patching.py

writes them to `tests/data/captures/patches.json`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from builders.patch_cases import kind_of
from builders.patch_cases.objects import PLURALS, VERSIONS, Case, Step, definition
from builders.patch_replay import CAPTURE, settled
from tangram.sandbox.apiserver.patching import apply_merge_patch
from testbed.api import JSON_PATCH, MERGE_PATCH, Api, ApiRefused, Object
from testbed.cluster import Cluster
from testbed.options import Options

CONTENT = {
    "json": JSON_PATCH,
    "merge": MERGE_PATCH,
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@asynccontextmanager
async def control_plane() -> AsyncGenerator[Api]:
    """A real API server that nobody else writes to, with the two kinds that the cases define."""
    async with Cluster.open(Options(nodes=0, controllers=False)) as cluster:
        for kind, status_apart in (("Thing", True), ("Plain", False)):
            await cluster.api.create(definition(kind, status_apart=status_apart))
            await _until_served(cluster.api, _folder(kind))
        yield cluster.api


async def _until_served(api: Api, folder: str) -> None:
    """A kind is not served at once when it is defined, and the server says so in several ways."""
    async with asyncio.timeout(30):
        while True:
            try:
                await api.list(folder)
            except ApiRefused:
                await asyncio.sleep(0.05)
            else:
                return


async def played(api: Api, case: Case) -> list[Object]:
    """What the server answers to each step."""
    kind, answers = kind_of(case), list[Object]()
    before: Object = {}
    for step in case.steps:
        try:
            before = await _send(api, step, before, kind, case.name)
            answers.append(settled(before))
        except ApiRefused as refused:
            answers.append(settled(refused.answer))
    return answers


async def _send(api: Api, step: Step, before: Object, kind: str, name: str) -> Object:
    folder, query = _folder(kind), {"fieldManager": step.manager}
    if step.how == "create":
        return await api.call("POST", folder, step.body, **query)
    path = f"{folder}/{name}" + (f"/{step.subresource}" if step.subresource else "")
    if step.how == "update":
        return await api.call("PUT", path, apply_merge_patch(before, step.body), **query)
    if step.how == "apply":
        query["force"] = str(step.force).lower()
    return await api.call("PATCH", path, step.body, content=CONTENT[step.how], **query)


def _folder(kind: str) -> str:
    root = f"/apis/{VERSIONS[kind]}" if "/" in VERSIONS[kind] else f"/api/{VERSIONS[kind]}"
    return f"{root}{'' if kind == 'Node' else '/namespaces/default'}/{PLURALS[kind]}"


def record(told: Mapping[str, list[Object]]) -> None:
    """Write the capture, a case on a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(answers, sort_keys=True)}" for name, answers in told.items()]
    CAPTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
