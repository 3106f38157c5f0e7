"""The cases of `builders.rule_cases` sent to a real API server, and its answers without what differs each time.

    RECORD=1 .venv/bin/pytest e2e/test_sandbox_rules.py

writes them to `tests/data/captures/rules.json`, which the tests without a cluster go by.
"""

import json
import re
from collections.abc import Sequence

from builders.rule_cases.cases import NAMESPACE, Case
from builders.rule_cases.replaying import ABSENT, CAPTURE, Answer, is_established, settled
from testbed.api import Api, ApiRefused, Object

TRIES = 20
_UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


async def answers_to(api: Api, cases: Sequence[Case]) -> dict[str, list[Answer]]:
    """What the server says to each case's requests, one after the other."""
    await make_room(api)
    return {case.name: await _answers(api, case) for case in cases}


def record(answers: dict[str, list[Answer]]) -> None:
    """Write the capture, a case on a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(said, sort_keys=True)}" for name, said in answers.items()]
    CAPTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


async def make_room(api: Api) -> None:
    """Where the cases' objects go."""
    for kind, name, path in (
        ("Namespace", NAMESPACE, "/api/v1/namespaces"),
        ("ServiceAccount", "default", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"),
    ):
        await api.call("POST", path, {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})


async def _answers(api: Api, case: Case) -> list[Answer]:
    folder = case_folder(case)
    try:
        created = await api.call("POST", folder, case.thing)
    except ApiRefused as refused:
        return [_refusal(refused)]
    place = f"{folder}/{created['metadata']['name']}"
    said = [settled(created)]
    if case.change is not None:
        said.append(await _replaced(api, case, created, place))
    await remove(api, place)
    return said


async def _replaced(api: Api, case: Case, created: Object, place: str) -> Answer:
    """Some controllers live in the API server itself and write too, so a conflict is tried again."""
    seen, last = created, Answer()
    if case.kind.kind == "CustomResourceDefinition":
        seen = await api.until(place, is_established)
    for _ in range(TRIES):
        try:
            return settled(await api.call("PUT", f"{place}/{case.on}".rstrip("/"), case.replacement(seen)))
        except ApiRefused as refused:
            last = _refusal(refused)
            if refused.reason != "Conflict":
                return last
        seen = await api.get(place)
    return last


async def remove(api: Api, place: str) -> None:
    """Nobody acts on finalizers here, so they are taken off."""
    await api.delete(place, grace=0)
    try:
        await api.patch(place, {"metadata": {"finalizers": None}})
    except ApiRefused as refused:
        if refused.status != 404:
            raise


def _refusal(refused: ApiRefused) -> Answer:
    told = _UID.sub("UID", json.dumps(_short(refused.answer)))
    return {"refused": refused.status, **json.loads(told)}


def _short(answer: Object) -> Object:
    kept = {"reason": answer.get("reason", ABSENT), "message": answer.get("message", "")}
    causes = answer.get("details", {}).get("causes")
    return kept | ({"causes": causes} if causes else {})


def case_folder(case: Case) -> str:
    """The address of all objects of the case's kind."""
    kind = case.kind
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/{NAMESPACE}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
