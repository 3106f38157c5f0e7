"""Two ways in which an API server can fail us, because they ask for different behaviour.

`ApiError` is an answer: somebody decided, and asking the same again changes nothing unless `may_pass` says so.
`ApiUnreachable` is no answer: whether a change was made is unknown, and only reading it back can tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from tangram.wire import loose

TOO_MANY_REQUESTS = 429
GONE = 410
CONFLICT = 409
NOT_FOUND = 404
LONGEST_MESSAGE: Final = 2000
"""Characters of a refusal that are kept: a sentence and its list of reasons, not somebody's page."""
MOST_CAUSES: Final = 8


class ApiError(Exception):
    """The API server refused. `reason` is Kubernetes' own word for it, such as `NotFound` or `Conflict`."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after: float | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"the API server answered {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes
        """What the message leaves out, such as which budget forbids an eviction."""

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later: the server is overloaded, starting or broken."""
        return self.status == TOO_MANY_REQUESTS or self.status >= 500


class ApiUnreachable(Exception):  # noqa: N818 - says what is the case, as callers read it
    """No answer came: no connection, a time-out, or one that ended half way."""


class ApiSilent(ApiUnreachable):
    """A watch was open, and then nothing came any more, not even a bookmark."""


class NoConnection(Exception):  # noqa: N818 - the same
    """There is no way to know which API server to speak to, or how; the text says what to write."""


def error_of(status: int, body: bytes, retry_after: str | None) -> ApiError:
    """The refusal in an answer, whatever shape its body has: proxies in between write HTML or nothing."""
    reason, message, causes = "", body.decode("utf-8", "replace")[:LONGEST_MESSAGE], ()
    try:
        parsed: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        parsed = None
    if isinstance(parsed, dict):
        told = cast("dict[str, Any]", parsed)
        reason, message = str(told.get("reason", "")), str(told.get("message", message))[:LONGEST_MESSAGE]
        causes = _causes(told)
    return ApiError(status, reason, message, _seconds(retry_after), causes)


def _causes(told: Mapping[str, Any]) -> tuple[str, ...]:
    listed = loose.elements(loose.members(told.get("details")).get("causes"))[:MOST_CAUSES]
    sentences = (loose.text(loose.members(each).get("message"))[:LONGEST_MESSAGE] for each in listed)
    return tuple(filter(None, sentences))


def error_in_watch(status: Mapping[str, Any]) -> ApiError:
    """The refusal in an `ERROR` event: the same, but already open and with the patience asked for inside."""
    code, asked = status.get("code"), loose.members(status.get("details")).get("retryAfterSeconds")
    return ApiError(
        code if isinstance(code, int) and code >= 400 else 500,
        str(status.get("reason", "")),
        str(status.get("message", ""))[:LONGEST_MESSAGE],
        _seconds(str(asked)) if asked else None,
    )


def _seconds(text: str | None) -> float | None:
    """`Retry-After` as Kubernetes writes it. A date, and what no clock can wait, count as not said."""
    try:
        seconds = float(text) if text else -1.0
    except ValueError:
        return None
    return seconds if seconds >= 0 and math.isfinite(seconds) else None
