"""Who a caller is and what it may do, as the cluster itself sees it.

Tokens are shown to the API server (TokenReview) and rights are asked of it (SubjectAccessReview), so roles written for
kubectl hold here too. Answers are remembered for moments, which bounds what a caller can make us ask and how long a
right that was taken away lives on. When the API server cannot say, nobody has any right, and `RightsUnknown` tells the
caller why. A token is never kept, logged or put in an error: only a keyed digest of it is. About itself everybody may
ask, so whoever runs with a person's own account needs no right to review others.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.wire import loose

KNOWN_S: Final = 60.0
STRANGER_S: Final = 5.0
"""Shorter: a token may be good a moment later, when the server has learned of the key that signed it."""
RIGHT_S: Final = 10.0
MOST_REMEMBERED: Final = 1024
MOST_AT_ONCE: Final = 8
"""Reviews under way. More wait: a crowd of strangers must not take every connection from the work itself."""
LIMIT_S: Final = 5.0
LONGEST_TOKEN: Final = 16_384
UNNAMED: Final = "the account of this kubeconfig"
"""Where the API server cannot be asked for our own name."""

_Value = TypeVar("_Value")


class RightsUnknown(Exception):  # noqa: N818 - says what is the case, as callers read it
    """The API server did not say who somebody is or what they may do. To be answered like a refusal, with 503."""


class User(msgspec.Struct, frozen=True):
    """Somebody the cluster knows, with everything its authorizers look at."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Rights:
    def __init__(self, api: Api, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._users: Final = _Remembered[User | None]()
        self._answers: Final = _Remembered[bool]()
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._me: User | None = None

    async def myself(self) -> User:
        """Who we are ourselves; asked once, and from then on our own rights are asked for as one's own.

        Raises `RightsUnknown`.
        """
        if self._me is None:
            try:
                status = await self._review("authentication", "SelfSubjectReview", {}, "who this is")
            except RightsUnknown as unknown:
                # Before Kubernetes 1.28 there is no such question. One's own rights can be asked for all the same.
                if not (isinstance(unknown.__cause__, ApiError) and unknown.__cause__.status == NOT_FOUND):
                    raise
                self._me = User(UNNAMED)
            else:
                self._me = _user({"authenticated": True, "user": status.get("userInfo")})
            if self._me is None:
                raise RightsUnknown("the API server did not say who this is: its answer names nobody")
        return self._me

    async def who(self, token: str) -> User | None:
        """Whose token it is; None for nobody's. Raises `RightsUnknown`."""
        if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable():
            return None
        digest = hashlib.blake2b(token.encode(), key=self._salt, digest_size=32).digest()
        known, user = self._users.find(digest, self._clock())
        if known:
            return user
        status = await self._review("authentication", "TokenReview", {"token": token}, "who is calling")
        user = _user(status)
        self._users.keep(digest, user, self._clock() + (KNOWN_S if user else STRANGER_S))
        return user

    async def may(
        self,
        user: User,
        verb: str,
        resource: str,
        namespace: str = "",
        *,
        subresource: str = "",
        group: str = "",
        name: str = "",
    ) -> bool:
        """Whether the user may do this to that; without a namespace in all of them. Raises `RightsUnknown`."""
        asked = {
            "verb": verb,
            "resource": resource,
            "namespace": namespace,
            "subresource": subresource,
            "group": group,
            "name": name,
        }
        return await self._allowed(
            user, "resourceAttributes", {key: text for key, text in asked.items() if text}
        )

    async def may_reach(self, user: User, path: str, verb: str = "get") -> bool:
        """Whether the user may ask for a path that is no resource, such as /metrics. Raises `RightsUnknown`."""
        return await self._allowed(user, "nonResourceAttributes", {"path": path, "verb": verb})

    async def _allowed(self, user: User, kind: str, asked: Mapping[str, str]) -> bool:
        key = (user, kind, tuple(asked.items()))
        known, allowed = self._answers.find(key, self._clock())
        if known:
            return allowed is True
        what = f"whether {user.name} may {' '.join(asked.values())}"
        if user == self._me:
            status = await self._review("authorization", "SelfSubjectAccessReview", {kind: asked}, what)
        else:
            spec: Object = {
                "user": user.name,
                "uid": user.uid,
                "groups": user.groups,
                "extra": dict(user.extra),
                kind: asked,
            }
            status = await self._review("authorization", "SubjectAccessReview", spec, what)
        # An authorizer that objects outweighs one that agrees; the server sees to that, and we hold it to its word.
        allowed = status.get("allowed") is True and status.get("denied") is not True
        self._answers.keep(key, allowed, self._clock() + RIGHT_S)
        return allowed

    async def _review(self, group: str, kind: str, spec: Object, what: str) -> Mapping[str, object]:
        path = f"/apis/{group}.k8s.io/v1/{kind.lower()}s"
        body = {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}
        try:
            async with asyncio.timeout(LIMIT_S), self._turn:
                answer = await self._api.call("POST", path, body, limit=LIMIT_S)
        except (ApiError, ApiUnreachable) as error:
            raise RightsUnknown(f"the API server did not say {what}: {error}") from error
        except TimeoutError:
            raise RightsUnknown(f"the API server did not say {what} within {LIMIT_S:g} s") from None
        status = answer.get("status")
        if not loose.is_object(status):
            raise RightsUnknown(f"the API server did not say {what}: its answer has no status")
        return loose.members(status)


def _user(status: Mapping[str, object]) -> User | None:
    user = loose.members(status.get("user"))
    name = loose.text(user.get("username"))
    if status.get("authenticated") is not True or not name:
        return None
    extra = loose.members(user.get("extra"))
    return User(
        name,
        loose.text(user.get("uid")),
        _texts(user.get("groups")),
        tuple((key, _texts(extra[key])) for key in sorted(extra)),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in loose.elements(value) if isinstance(text, str))


class _Remembered(Generic[_Value]):
    """Answers with an end, so many at most; the one not asked for longest goes first."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[float, _Value]] = OrderedDict()

    def find(self, key: Hashable, now: float) -> tuple[bool, _Value | None]:
        """Whether there is an answer, and it."""
        ends, value = self._answers.get(key, (float("-inf"), None))
        if ends <= now:
            self._answers.pop(key, None)
            return False, None
        self._answers.move_to_end(key)
        return True, value

    def keep(self, key: Hashable, value: _Value, until: float) -> None:
        self._answers[key] = (until, value)
        while len(self._answers) > MOST_REMEMBERED:
            self._answers.popitem(last=False)
