"""What a real API server writes in protobuf, read by the sandbox's: it is what the server says of the object in JSON.

Clients write the same messages that the server does, so what can be read of one can be read of the other.
"""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio

from builders.rule_cases import CASES
from builders.rule_cases.cases import Case
from builders.table_cases.specimens import folder_of
from e2e import tables_kit
from e2e.rules_kit import case_folder, make_room, remove
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.protobuf import MEDIA, read_protobuf
from testbed.api import Api, ApiRefused, Object
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.options import Options

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")

SERVER = REPOSITORY / "src/tangram/sandbox/apiserver"
KINDS = [
    kind
    for kind in BUILT_IN
    if "get" in kind.verbs and kind.group != "apiextensions.k8s.io" and kind.definition
]


DEFAULTED = (".spec.volumeClaimTemplates[0].kind", ".spec.volumeClaimTemplates[0].apiVersion")
"""What kind an object inside another is, protobuf does not say at all; the server fills it in."""


@pytest_asyncio.fixture(scope="module")
async def furnished() -> AsyncIterator[Cluster]:
    async with Cluster.open(Options(nodes=0, controllers=False)) as running:
        await tables_kit.make_all(running.api)
        yield running


async def test_every_kind_is_read_from_protobuf_as_from_json(furnished: Cluster) -> None:
    seen = dict.fromkeys((kind.kind for kind in KINDS), 0)
    unlike: list[str] = []
    for kind in KINDS:
        for listed in (await furnished.api.get(_everywhere(kind)))["items"]:
            seen[kind.kind] += 1
            unlike += await _differences(furnished.api, kind, _place(kind, listed))
    assert unlike == []
    assert [name for name, count in seen.items() if not count] == []


async def test_objects_with_every_field_of_the_rules_are_read_as_from_json(furnished: Cluster) -> None:
    await make_room(furnished.api)
    read = 0
    unlike: list[str] = []
    for case in CASES:
        if case.kind in KINDS and (place := await _made(furnished.api, case)) is not None:
            unlike += await _differences(furnished.api, case.kind, place)
            read += 1
            await remove(furnished.api, place)
    assert unlike == []
    assert read > 150


@pytest.mark.parametrize(
    ("module", "file"),
    [
        pytest.param("testbed.protofields", SERVER / "protobuf/fields.json", id="numbers of fields"),
        pytest.param("testbed.gofields", SERVER / "rules/gofields.json", id="what is written when empty"),
    ],
)
def test_the_tables_of_fields_are_what_the_modules_say(module: str, file: Path) -> None:
    told = subprocess.run(  # noqa: S603 - a module of ours
        [sys.executable, "-m", module], cwd=REPOSITORY, capture_output=True, check=True
    )
    assert told.stdout.decode() == file.read_text("utf-8")


async def _differences(api: Api, kind: Kind, place: str) -> list[str]:
    """Asked until nobody wrote between the two answers."""
    while True:
        told = await api.get(place)
        read = read_protobuf(await api.fetch(place, MEDIA), kind.definition)
        if read["metadata"]["resourceVersion"] == told["metadata"].get("resourceVersion", ""):
            return [f"{place}: {each}" for each in _unlike(told, read, "")]


def _unlike(told: object, read: object, path: str) -> Iterator[str]:
    """Where what was read differs. Protobuf says of more fields that they are empty than JSON does."""
    if isinstance(told, dict) and isinstance(read, dict):
        yield from _unlike_fields(cast("Object", told), cast("Object", read), path)
    elif isinstance(told, list) and isinstance(read, list):
        ours, theirs = cast("list[object]", read), cast("list[object]", told)
        if len(ours) != len(theirs):
            yield f"{path} has {len(theirs)} elements, and {len(ours)} were read"
        for number, (one, other) in enumerate(zip(theirs, ours, strict=False)):
            yield from _unlike(one, other, f"{path}[{number}]")
    elif json.dumps(told) != json.dumps(read):
        yield f"{path} is {told!r:.80}, and was read as {read!r:.80}"


def _unlike_fields(told: Object, read: Object, path: str) -> Iterator[str]:
    for key in sorted(told.keys() | read.keys()):
        here = f"{path}.{key}"
        if key in told and key in read:
            yield from _unlike(told[key], read[key], here)
        elif key in told and not _is_empty(told[key]) and here not in DEFAULTED:
            yield f"{here} was not read: {told[key]!r:.80}"
        elif key in read and not _is_empty(read[key]):
            yield f"{here} was read and is not there: {read[key]!r:.80}"


def _is_empty(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_empty, cast("Object", value).values()))
    return value in (None, "", 0, False, [])


def _everywhere(kind: Kind) -> str:
    return folder_of(kind).replace("/namespaces/default", "")


def _place(kind: Kind, thing: Object) -> str:
    namespace, name = thing["metadata"].get("namespace", ""), thing["metadata"]["name"]
    folder = _everywhere(kind)
    if kind.namespaced:
        root, _, plural = folder.rpartition("/")
        folder = f"{root}/namespaces/{namespace}/{plural}"
    return f"{folder}/{name}"


async def _made(api: Api, case: Case) -> str | None:
    """Where it is; nowhere if the case is one that is refused."""
    try:
        made = await api.call("POST", case_folder(case), case.thing)
    except ApiRefused:
        return None
    return f"{case_folder(case)}/{made['metadata']['name']}"
