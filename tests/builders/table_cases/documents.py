"""Discovery documents of the real server, cut down to what the sandbox serves, beside ours."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from builders.table_cases.specimens import all_kinds
from tangram.sandbox.apiserver.discovery import aggregated, core_versions, group, groups, resources
from tangram.sandbox.apiserver.kinds import Kind

Object = dict[str, Any]
CAPTURE = Path(__file__).resolve().parents[2] / "data" / "captures" / "discovery.json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_KEYS = ("name", "resource", "subresource", "version")
_IMPLEMENTATION = frozenset({"storageVersionHash"})
"""What tells how the server stores things, and is its own business."""


def recorded() -> dict[str, Object]:
    """What the real server answered, by path; the aggregated documents by `/api aggregated` and `/apis aggregated`."""
    return json.loads(CAPTURE.read_text("utf-8"))


def record(documents: Mapping[str, Object]) -> None:
    """Write the capture, a document on a line."""
    lines = [f"{json.dumps(path)}: {json.dumps(document)}" for path, document in documents.items()]
    CAPTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def plain_paths() -> list[str]:
    """The places of documents that are not aggregated."""
    kinds = all_kinds()
    of_groups = sorted({kind.group for kind in kinds} - {""})
    of_versions = sorted({kind.api_version for kind in kinds} - {"v1"})
    return [
        "/api",
        "/api/v1",
        "/apis",
        *(f"/apis/{name}" for name in of_groups),
        *(f"/apis/{name}" for name in of_versions),
    ]


def ours(path: str, theirs: Object) -> Object | None:
    """Our document of that path. The address clients reach the server by is its own."""
    kinds = all_kinds()
    match path.removeprefix("/").split("/"):
        case ["api"]:
            return core_versions(theirs["serverAddressByClientCIDRs"][0]["serverAddress"])
        case ["api", "v1"]:
            return resources(kinds, "", "v1")
        case ["apis"]:
            return groups(kinds)
        case ["apis", name]:
            return group(kinds, name)
        case ["apis", name, version]:
            return resources(kinds, name, version)
        case ["api aggregated"]:
            return aggregated(kinds, core=True)
        case ["apis aggregated"]:
            return aggregated(kinds, core=False)
        case _:
            raise AssertionError(f"no document of ours stands at {path}")


def difference(path: str, theirs: Object) -> str:
    """What we say otherwise than the real server, of what we serve; empty if nothing."""
    made = ours(path, theirs)
    if made is None:
        return f"{path}: nothing"
    wanted, said = _like(theirs, made), json.loads(json.dumps(made))
    if path.startswith(_custom_folders(all_kinds())):
        # Kinds of people are listed in the order they were read in, which is none.
        for document in (wanted, said):
            cast("list[Object]", document.get("resources", [])).sort(key=_key)
    return "" if wanted == said else f"{path}:\n  ours   {json.dumps(said)}\n  theirs {json.dumps(wanted)}"


def _custom_folders(kinds: Iterable[Kind]) -> tuple[str, ...]:
    return tuple({f"/apis/{kind.group}/" for kind in kinds if not kind.definition})


def _like(theirs: Any, made: Any) -> Any:  # noqa: ANN401 - any part of a document
    """Their part without the members we do not have, in their order."""
    if isinstance(theirs, dict) and isinstance(made, dict):
        other = cast("Object", made)
        return {
            key: _like(value, other.get(key))
            for key, value in cast("Object", theirs).items()
            if key not in _IMPLEMENTATION
        }
    if isinstance(theirs, list) and isinstance(made, list):
        return _listed(cast("list[Any]", theirs), cast("list[Any]", made))
    return cast("Any", theirs)


def _listed(theirs: list[Any], made: list[Any]) -> list[Any]:
    if not all(isinstance(one, dict) and _key(cast("Object", one)) for one in theirs):
        return theirs
    known = {_key(one): one for one in made}
    return [_like(one, known[_key(one)]) for one in theirs if _key(one) in known]


def _key(one: Object) -> str:
    metadata = cast("Object", one.get("metadata", {}))
    # The core group has no name where others have one.
    unnamed = "core" if "metadata" in one else ""
    return next((one[key] for key in _KEYS if key in one), "") or metadata.get("name", "") or unnamed
