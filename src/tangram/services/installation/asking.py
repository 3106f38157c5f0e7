"""One question to an API server, and whatever comes back as a record: an answer, a refusal or silence.

Nothing here raises for what a server does. What somebody may not see is a fact like any other, and keeps no other
question from being asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tangram.drivers.doctor.findings import Finding, skip
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, TOO_MANY_REQUESTS, ApiError, ApiUnreachable
from tangram.services.installation.wording import cut
from tangram.wire import loose

Object = dict[str, Any]

FORBIDDEN: Final = 403
_BUSY: Final = frozenset({TOO_MANY_REQUESTS, 503, 504})
_NO_DRY_RUN: Final = "does not support dry run"
"""What the API server says of a webhook whose owner has not promised that asking it changes nothing."""
MOST_AT_ONCE: Final = 8
_DRY: Final = {"dryRun": "All"}

_Result = TypeVar("_Result")


class Told(msgspec.Struct, frozen=True):
    """What came back."""

    items: tuple[Object, ...] = ()
    """The objects that were asked for, or the one that would be made."""
    status: int = 200
    """0 where no answer came."""
    message: str = ""
    """Why there is none, in the words of the one who refused."""

    @property
    def known(self) -> bool:
        """Whether the question has an answer; that there is nothing of the kind is one."""
        return not self.message or self.absent

    @property
    def absent(self) -> bool:
        return self.status == NOT_FOUND

    @property
    def first(self) -> Object | None:
        return self.items[0] if self.items else None


NOTHING: Final = Told(status=0, message="it was not asked for")


async def listed(api: Api, path: str, query: Mapping[str, str] | None = None) -> Told:
    """Every object of a list."""
    return await _told(api.list_all(path, query or {}))


async def got(api: Api, path: str) -> Told:
    """One object by its path."""
    return await _told(_one(api.get(path)))


async def would_make(api: Api, path: str, thing: Object) -> Told:
    """What creating it would give: everything is decided, and nothing is kept."""
    return await _told(_one(api.create(path, thing, **_DRY)))


async def may(api: Api, attributes: Mapping[str, str]) -> bool | None:
    """Whether the caller has a right; None where the server does not say."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    told = await _told(_one(api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)))
    status = loose.members((told.first or {}).get("status"))
    return status.get("allowed") is True if status else None


def untried(check: str, told: Told, where: str) -> Finding | None:
    """What to say of a trial pod about which nobody decided; nothing where somebody did."""
    said = f"a pod in {where} could not be tried ({cut(told.message)})"
    if _NO_DRY_RUN in told.message:
        return skip(
            check, said, "ask the owner of that webhook for sideEffects: None, or see when pods are made"
        )
    if told.absent:
        return skip(check, f"there is no namespace {where} to try a pod in", "name one with -n")
    return skip(check, said, "ask again in a while") if told.status in {0, *_BUSY} else None


async def side_by_side(questions: Mapping[str, Awaitable[_Result]]) -> dict[str, _Result]:
    """All of them, a few at a time, by the names they were given."""
    turn = asyncio.Semaphore(MOST_AT_ONCE)

    async def asked(question: Awaitable[_Result]) -> _Result:
        async with turn:
            return await question

    answers = await asyncio.gather(*map(asked, questions.values()))
    return dict(zip(questions, answers, strict=True))


async def _one(asked: Awaitable[Object]) -> list[Object]:
    return [await asked]


async def _told(asked: Awaitable[list[Object]]) -> Told:
    try:
        # Whatever is no object has nothing to tell; a list of a real server has none of that.
        return Told(tuple(dict(loose.members(each)) for each in await asked if loose.is_object(each)))
    except ApiError as error:
        return Told(status=error.status, message=" ".join(error.message.split()) or str(error))
    except ApiUnreachable as error:
        return Told(status=0, message=str(error))
