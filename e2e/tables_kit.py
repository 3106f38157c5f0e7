"""The specimens of `builders.table_cases` made on a real API server, and the tables it makes of them.

    RECORD=1 .venv/bin/pytest e2e/test_sandbox_tables.py

writes tables and discovery documents to `tests/data/captures/`, which the tests without a cluster go by.
"""

import asyncio
import copy
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from builders.table_cases.comparing import WHOLE, Answer, comparable
from builders.table_cases.documents import AGGREGATED, plain_paths
from builders.table_cases.specimens import Specimen, all_kinds, folder_of, specimens
from e2e.scheduling_kit import poll_until
from tangram.sandbox.apiserver.kinds import Kind
from testbed.api import Api, ApiRefused, Object

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_MARK = {"tables": "specimen"}
_CHOSEN = "tables=specimen"


async def make_all(api: Api) -> None:
    """Every specimen with its status, those to be deleted on their way."""
    for specimen in specimens(datetime.now(UTC)):
        await _make(api, specimen)
    for specimen in specimens(datetime.now(UTC)):
        if specimen.gone:
            await api.delete(f"{specimen.folder}/{specimen.thing['metadata']['name']}")


async def _make(api: Api, specimen: Specimen) -> None:
    thing = copy.deepcopy(specimen.thing)
    thing["metadata"]["labels"] = thing["metadata"].get("labels", {}) | _MARK
    status = thing.get("status")
    # Written through /status where there is such a door; elsewhere the status is a field like any other.
    doored = specimen.kind.subresource("status") is not None
    if doored:
        thing.pop("status", None)
    created = await _create(api, specimen.folder, thing)
    if doored and status is not None:
        place = f"{specimen.folder}/{created['metadata']['name']}/status"
        await api.call("PUT", place, created | {"status": status})


async def _create(api: Api, folder: str, thing: Object) -> Object:
    """A kind that was defined a moment ago is not served yet."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await api.call("POST", folder, thing)
            except ApiRefused as refused:
                if refused.status != 404:
                    raise
                await asyncio.sleep(0.1)


async def tables(api: Api) -> list[Answer]:
    """The table of every kind that can be listed."""
    return [await _list(api, kind) for kind in all_kinds() if "list" in kind.verbs]


async def special_tables(api: Api) -> list[Answer]:
    """One kind with everything one can ask of a table beside the usual."""
    kind = next(kind for kind in all_kinds() if kind.kind == "ConfigMap")
    answers = [await _list(api, kind, include=include) for include in ("Metadata", "None", "")]
    answers.append(await _list(api, kind, limit="1"))
    answers.append(await _one(api, kind, "map"))
    return [*answers, *await _watched(api, kind)]


async def _list(api: Api, kind: Kind, *, include: str = WHOLE, **query: str) -> Answer:
    whole = await api.get(folder_of(kind), labelSelector=_CHOSEN, **query)
    things = [thing | {"apiVersion": kind.api_version, "kind": kind.kind} for thing in whole["items"]]
    asked = time.time()
    chosen = {"includeObject": include} if include else {}
    table = await api.call("GET", folder_of(kind), accept=TABLE, labelSelector=_CHOSEN, **chosen, **query)
    return _answer(kind, asked, things, table, include=include)


async def _one(api: Api, kind: Kind, name: str) -> Answer:
    thing = await api.get(f"{folder_of(kind)}/{name}")
    asked = time.time()
    table = await api.call("GET", f"{folder_of(kind)}/{name}", accept=TABLE)
    return _answer(kind, asked, [thing], table)


async def _watched(api: Api, kind: Kind) -> list[Answer]:
    """The first two events of a watch from the beginning; only the first carries the head."""
    answers: list[Answer] = []
    asked = time.time()
    async for _, table in api.watch(
        folder_of(kind), accept=TABLE, labelSelector=_CHOSEN, timeoutSeconds="2", includeObject=WHOLE
    ):
        thing = table["rows"][0]["object"]
        answers.append(_answer(kind, asked, [thing], table, include=WHOLE, headers=not answers))
    return answers


def _answer(
    kind: Kind,
    asked: float,
    things: Sequence[Object],
    table: Object,
    *,
    include: str = "",
    headers: bool = True,
) -> Answer:
    told = comparable(table, custom=not kind.definition)
    for thing in things:
        thing["metadata"].pop("managedFields", None)
    return Answer(
        api_version=kind.api_version,
        kind=kind.kind,
        asked=asked,
        answered=time.time(),
        things=list(things),
        table=told,
        include=include,
        headers=headers,
    )


async def documents(api: Api) -> dict[str, Object]:
    """Every discovery document for the kinds the sandbox serves, and the specimens' own."""
    last = next(path for path in reversed(plain_paths()) if "shapes" in path)
    await poll_until(lambda: api.exists(last), what="discovery of the defined kinds")
    found = {path: await api.get(path) for path in plain_paths()}
    for path in ("/api", "/apis"):
        found[f"{path} aggregated"] = await api.call("GET", path, accept=AGGREGATED)
    return found
