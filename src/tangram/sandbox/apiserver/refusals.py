"""How the server says no: the `Status` objects that clients of Kubernetes know, with the words they match on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from tangram.kube.objects import Object

NOT_FOUND: Final = 404
CONFLICT: Final = 409
INVALID: Final = 422


class Fault(Struct, frozen=True):
    """One thing wrong with one field, as validation words it."""

    field: str
    reason: str
    """FieldValueRequired, FieldValueInvalid, FieldValueNotSupported, FieldValueForbidden, FieldValueDuplicate, ..."""
    message: str
    """With its opening word: `Required value`, `Invalid value: "x": must be ...`."""


class Refused(Exception):  # noqa: N818 - says what happened
    """A request that is not done. `status()` is the answer's body."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Object | None = None,
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code: Final = code
        self.reason: Final = reason
        self.details: Final = details
        self.retry_after: Final = retry_after

    def status(self) -> Object:
        body: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body["message"] = str(self)
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return body | {"code": self.code}


def qualified(group: str, plural: str) -> str:
    """`pods`, `jobs.batch`: how a resource is named in messages."""
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> Refused:
    """There is no such object."""
    return Refused(
        NOT_FOUND, "NotFound", f'{qualified(group, plural)} "{name}" not found', named(group, plural, name)
    )


def exists(group: str, plural: str, name: str, *, going: bool = False) -> Refused:
    """There is one already, perhaps on its way out."""
    ending = "object is being deleted: " if going else ""
    message = f'{ending}{qualified(group, plural)} "{name}" already exists'
    return Refused(CONFLICT, "AlreadyExists", message, named(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> Refused:
    """It is not in the state the client thinks it is in."""
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return Refused(CONFLICT, "Conflict", message, named(group, plural, name))


def stale(place: str, what: str, said: str, have: str) -> str:
    """Why a condition on a version or a uid does not hold, in the words of the store underneath the real server."""
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: {what} in precondition: {said}, {what} in object meta: {have}"
    )


def bad_request(message: str) -> Refused:
    """The request makes no sense, whatever the state."""
    return Refused(400, "BadRequest", message)


def invalid(group: str, kind: str, name: str, faults: Sequence[Fault]) -> Refused:
    """Every fault in one answer, as kubectl prints it."""
    sentences = [f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in faults]
    # The same fault is found twice at times; it is told once, and counted twice.
    told = list(dict.fromkeys(sentences))
    joined = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    causes: list[dict[str, Any]] = [
        {"reason": fault.reason, "message": fault.message, "field": fault.field} for fault in faults
    ]
    message = f'{qualified(group, kind)} "{name}" is invalid: {joined}'
    return Refused(INVALID, "Invalid", message, named(group, kind, name) | {"causes": causes})


def named(group: str, kind: str, name: str) -> Object:
    """The details of a refusal about one object."""
    return {**({"name": name} if name else {}), **({"group": group} if group else {}), "kind": kind}
