"""Getting and listing: one object, or those a selection takes, whole or in pages that all show the same moment."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask, version_number
from tangram.sandbox.apiserver.refusals import Fault, Refused, bad_request, invalid, not_found
from tangram.sandbox.apiserver.rules.faulting import forbidden, unsupported
from tangram.sandbox.apiserver.selecting import EVERYTHING, selection_of
from tangram.sandbox.apiserver.showing import many, one, resource_of, spot_of
from tangram.sandbox.apiserver.store import Store

EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"


class _Place(msgspec.Struct, frozen=True):
    """Where a list goes on: the moment it shows, and the last object shown."""

    revision: int
    namespace: str
    name: str


class _Token(msgspec.Struct, frozen=True):
    """The same in the form the real server gives it, so that one of either is understood."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


class Reader:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def get(self, ask: Ask) -> Object:
        target = ask.target
        wanted = version_number(ask.query)
        if wanted is not None and wanted > self._store.revision:
            raise too_large(wanted, self._store.revision)
        thing = self._store.get(spot_of(ask))
        if thing is None:
            raise not_found(target.kind.group, target.kind.plural, target.name)
        return one(ask, thing, self._now())

    def list(self, ask: Ask) -> Object:
        target, query = ask.target, ask.query
        selection = selection_of(ask)
        limit = _limit(query.get("limit", ""))
        _limit(query.get("timeoutSeconds", ""))
        place = _read_place(query.get("continue", ""))
        wanted, match = version_number(query), query.get("resourceVersionMatch", "")
        initial = "sendInitialEvents" in query
        revision = self._moment(wanted, match, place, limited=bool(limit), initial=initial)
        resource = resource_of(target.kind)
        if revision == self._store.revision:
            things = list(self._store.all(resource, target.namespace))
        else:
            things = self._store.as_of(resource, target.namespace, revision)
        if place is not None:
            after = (target.namespace or place.namespace, place.name)
            things = [thing for thing in things if _key(thing) > after]
        found = things if selection is EVERYTHING else [thing for thing in things if selection.takes(thing)]
        more: Object = {}
        # What is not looked at yet may match or not: there is a next page until everything has been seen.
        if limit and len(found) >= limit and found[limit - 1] is not things[-1]:
            left, found = len(found) - limit, found[:limit]
            namespace, name = _key(found[-1])
            more["continue"] = _written(_Place(revision, "" if target.namespace else namespace, name))
            if selection is EVERYTHING:
                more["remainingItemCount"] = left
        return many(ask, found, str(revision), more, self._now())

    def _moment(
        self, wanted: int | None, match: str, place: _Place | None, *, limited: bool, initial: bool
    ) -> int:
        now = self._store.revision
        _check_list(match, wanted, continued=place is not None, initial=initial)
        if place is not None:
            if wanted:
                raise bad_request("specifying resource version is not allowed when using continue")
            return place.revision
        if wanted is None or wanted == 0:
            return now
        if wanted > now:
            raise too_large(wanted, now)
        return wanted if match == EXACT or (limited and not match) else now


def too_large(wanted: int, now: int) -> Refused:
    """A version of the future. Clients with this cause ask again a moment later."""
    return Refused(
        504,
        "Timeout",
        f"Too large resource version: {wanted}, current: {now}",
        {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        retry_after=1,
    )


def _check_list(match: str, wanted: int | None, *, continued: bool, initial: bool) -> None:
    faults: list[Fault] = []
    where = "resourceVersionMatch"
    if match and continued:
        faults.append(forbidden(where, "resourceVersionMatch is forbidden for continue"))
    elif match and wanted is None:
        faults.append(
            forbidden(where, "resourceVersionMatch is forbidden unless resourceVersion is provided")
        )
    elif match and match not in (EXACT, NOT_OLDER):
        faults.append(unsupported(where, match[:40], (EXACT, NOT_OLDER, "")))
    elif match == EXACT and wanted == 0:
        message = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        faults.append(forbidden(where, message))
    if initial:
        faults.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if faults:
        raise invalid("meta.k8s.io", "ListOptions", "", faults)


def _limit(text: str) -> int:
    if not text:
        return 0
    try:
        # Below zero is no limit at all.
        return max(0, int(text))
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text:.40}": invalid syntax') from None


def _read_place(text: str) -> _Place | None:
    if not text:
        return None
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
        namespace, _, name = token.start.rstrip("\0").rpartition("/")
        return _Place(token.rv, namespace, name)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise bad_request("continue key is not valid: it is none that this server has given") from None


def _written(place: _Place) -> str:
    start = "/".join(part for part in (place.namespace, place.name) if part) + "\0"
    return base64.urlsafe_b64encode(msgspec.json.encode(_Token(place.revision, start))).decode().rstrip("=")


def _key(thing: Object) -> tuple[str, str]:
    metadata = thing["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
