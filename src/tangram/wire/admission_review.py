"""The API server's question to an admission webhook, and the answers it understands.

Versions v1 and v1beta1 differ in nothing that is read or written here, so a question is answered in its own. The
object under review stays bytes until somebody needs it: most pods want no card, and need not be decoded to be let
through. What cannot be read at all is a `WireError`, for the caller to answer with HTTP 400.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.wire.errors import WireError
from tangram.wire.json_patch import Operation

Object = dict[str, Any]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"

_V1: Final = "admission.k8s.io/v1"
_VERSIONS: Final = (_V1, "admission.k8s.io/v1beta1")
_KIND: Final = "AdmissionReview"
_NULL: Final = b"null"

MOST_WARNINGS: Final = 6
_LONGEST_WARNING: Final = 500
"""The API server drops warnings beyond 4096 bytes for a request, from all sources together."""
_LONGEST_MESSAGE: Final = 4096
_LONGEST_CAUSE: Final = 1024
"""Nobody has checked yet how long the names in a pod are."""


class Cause(msgspec.Struct, frozen=True):
    """One of the reasons for a no, for programs: a stable code, its sentence and what it is about."""

    type: str
    message: str
    field: str = ""


class User(msgspec.Struct, frozen=True):
    """Who makes the request, as the API server authenticated them."""

    username: str = ""
    extra: dict[str, tuple[str, ...] | None] = {}


class Review(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    uid: str
    door: str
    """What is written to, as rules spell it: `pods`, `pods/status`, `pods/binding`, `bindings`."""
    operation: str
    namespace: str
    user: User
    object: bytes
    old_object: bytes

    def manifest(self) -> Object:
        """The object under review. Raises `WireError` when it is none."""
        return _decoded(self.object, "object")

    def old_manifest(self) -> Object:
        """The object before the change; empty when there was none. Raises `WireError`."""
        return {} if self.old_object == _NULL else _decoded(self.old_object, "oldObject")


class _Resource(msgspec.Struct):
    group: str = ""
    resource: str = ""


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    resource: _Resource
    operation: str
    sub_resource: str = ""
    namespace: str = ""
    user_info: User = User()
    object: msgspec.Raw = msgspec.Raw(_NULL)
    old_object: msgspec.Raw = msgspec.Raw(_NULL)


class _Question(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request


_QUESTION = msgspec.json.Decoder(_Question)


def read_review(body: bytes) -> Review:
    """The question. Raises `WireError` for anything that is not an AdmissionReview with a request."""
    try:
        question = _QUESTION.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(
            "review-malformed",
            f"the body is no {_KIND} with a request ({error!s:.120}); send one of {' or '.join(_VERSIONS)}",
        ) from error
    if question.kind != _KIND or question.api_version not in _VERSIONS:
        raise WireError(
            "review-version",
            f"the body is a {question.kind!r:.80} of version {question.api_version!r:.80}; it is an {_KIND} of "
            f"{' or '.join(_VERSIONS)}; list one of these in admissionReviewVersions",
        )
    asked = question.request
    place = (
        f"{asked.resource.group}/{asked.resource.resource}"
        if asked.resource.group
        else asked.resource.resource
    )
    return Review(
        version=question.api_version,
        uid=asked.uid,
        door=f"{place}/{asked.sub_resource}" if asked.sub_resource else place,
        operation=asked.operation,
        namespace=asked.namespace,
        user=asked.user_info,
        object=bytes(asked.object),
        old_object=bytes(asked.old_object),
    )


def allow(asked: Review, patch: Sequence[Operation] = (), warnings: Iterable[str] = ()) -> bytes:
    """Yes, with the changes and the remarks, which kubectl prints; only the first few of these."""
    response: Object = {"uid": asked.uid, "allowed": True}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": msgspec.json.encode(list(patch))}
    told = _bounded(list(warnings))
    if told:
        response["warnings"] = told
    return _answer(asked.version, response)


def deny(asked: Review, sentence: str, *, code: int, reason: str, causes: Iterable[Cause] = ()) -> bytes:
    """No, with the sentence that people see in kubectl and on the events of controllers."""
    status: Mapping[str, object] = _failure(sentence, code, reason, causes)
    return _answer(asked.version, {"uid": asked.uid, "allowed": False, "status": status})


def unreadable(sentence: str) -> bytes:
    """A no to something that was no question; it has no uid to answer to."""
    status = _failure(sentence, 400, "BadRequest", ())
    return _answer(_V1, {"uid": "", "allowed": False, "status": status})


def _failure(sentence: str, code: int, reason: str, causes: Iterable[Cause]) -> Object:
    status: Object = {
        "status": "Failure",
        "message": _shortened(sentence, _LONGEST_MESSAGE),
        "reason": reason,
        "code": code,
    }
    told = list(causes)
    if told:
        status["details"] = {
            "causes": [
                {
                    "reason": each.type,
                    "message": _shortened(each.message, _LONGEST_CAUSE),
                    "field": _shortened(each.field, _LONGEST_CAUSE),
                }
                for each in told
            ]
        }
    return status


def _bounded(warnings: Sequence[str]) -> list[str]:
    told = [_shortened(each, _LONGEST_WARNING) for each in warnings[:MOST_WARNINGS]]
    untold = len(warnings) - len(told)
    return [*told, f"and {untold} more remarks of this kind"] if untold else told


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "..."


def _answer(version: str, response: Object) -> bytes:
    return msgspec.json.encode({"apiVersion": version, "kind": _KIND, "response": response})


def _decoded(raw: bytes, what: str) -> Object:
    try:
        return msgspec.json.decode(raw, type=Object)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(
            "review-object",
            f"{what} of the request is no object that can be read ({error!s:.120}); send the pod",
        ) from error
