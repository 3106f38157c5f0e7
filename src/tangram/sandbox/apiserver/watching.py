"""Watches: what happens to the objects of a selection, one line of JSON each, until the client has had enough.

An object that stops matching the selection is gone for this client, one that begins to match is new. Quiet watches get
a bookmark now and then, so that they can be taken up again near the present; the clients of Kubernetes rely on it.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask, version_number
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.reading import NOT_OLDER, too_large
from tangram.sandbox.apiserver.refusals import Refused, bad_request, invalid
from tangram.sandbox.apiserver.rules.faulting import forbidden, unsupported
from tangram.sandbox.apiserver.selecting import EVERYTHING, Selection, read_selection, selection_of
from tangram.sandbox.apiserver.showing import one, resource_of, shown
from tangram.sandbox.apiserver.store import Change, Store, expired

BOOKMARK_EVERY_S: Final = 50.0
SHORTEST_S: Final = 1800.0
INITIAL_END: Final = "k8s.io/initial-events-end"


class Watching:
    def __init__(self, store: Store, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._clock = clock
        self._encoded: dict[tuple[int, str, str], bytes] = {}

    def begin(self, ask: Ask) -> AsyncGenerator[bytes]:
        """Lines for the client. Raises `Refused` for what cannot be watched; a moment that is forgotten is one line."""
        target, query = ask.target, ask.query
        selection = selection_of(ask)
        if target.name:
            selection = _with_name(target.kind, selection, target.name)
        wanted = _version(ask)
        initial = ask.flag("sendInitialEvents")
        _check_initial(ask)
        if wanted is not None and wanted > self._store.revision:
            raise too_large(wanted, self._store.revision)
        limit = _seconds(query.get("timeoutSeconds", ""))
        return self._lines(ask, selection, wanted, limit, initial=initial)

    async def _lines(
        self, ask: Ask, selection: Selection, wanted: int | None, limit: float, *, initial: bool
    ) -> AsyncGenerator[bytes]:
        resource, namespace = resource_of(ask.target.kind), ask.target.namespace
        telling = _Telling(self, ask, selection)
        present = initial or (not wanted and "sendInitialEvents" not in ask.query)
        try:
            watcher = self._store.watch(resource, namespace, None if present else wanted)
        except Refused as refused:
            yield _line("ERROR", refused.status())
            return
        reached = self._store.revision
        try:
            if present:
                for thing in list(self._store.all(resource, namespace)):
                    if selection.takes(thing):
                        yield telling.line("ADDED", thing)
            if initial:
                yield telling.bookmark(reached, {INITIAL_END: "true"})
            ends = self._clock() + limit
            marked = self._clock()
            bookmarks = ask.flag("allowWatchBookmarks")
            while (left := ends - self._clock()) > 0:
                for change in await watcher.some(min(left, BOOKMARK_EVERY_S)):
                    reached = change.revision
                    line = telling.change(change)
                    if line is not None:
                        yield line
                if watcher.lost:
                    yield _line(
                        "ERROR", expired("the client is too far behind, or the kind is gone").status()
                    )
                    return
                if bookmarks and self._clock() - marked >= BOOKMARK_EVERY_S:
                    marked = self._clock()
                    yield telling.bookmark(self._store.revision)
            if bookmarks:
                yield telling.bookmark(self._store.revision)
        finally:
            self._store.unwatch(watcher)

    def plain(self, kind: Kind, event: str, change: Change) -> bytes:
        """The line most clients get, made once for all of them."""
        key = (change.revision, event, kind.api_version)
        line = self._encoded.get(key)
        if line is None:
            if len(self._encoded) > 100:
                self._encoded.clear()
            line = self._encoded[key] = _line(event, shown(kind, change.thing))
        return line

    def now(self) -> datetime:
        return self._now()


class _Telling:
    """Events in the form one client wants."""

    def __init__(self, watching: Watching, ask: Ask, selection: Selection) -> None:
        self._watching = watching
        self._ask = ask
        self._selection = selection
        self._headers = True

    def change(self, change: Change) -> bytes | None:
        event = change.type
        if self._selection is not EVERYTHING:
            is_in = event != "DELETED" and self._selection.takes(change.thing)
            was_in = change.before is not None and self._selection.takes(change.before)
            if not is_in and not was_in:
                return None
            event = "DELETED" if not is_in else "MODIFIED" if was_in else "ADDED"
            if not is_in and change.before is not None:
                version = change.thing["metadata"]["resourceVersion"]
                last = change.before | {"metadata": change.before["metadata"] | {"resourceVersion": version}}
                return self.line(event, last)
        if not self._ask.form.view:
            return self._watching.plain(self._ask.target.kind, event, change)
        return self.line(event, change.thing)

    def line(self, event: str, thing: Object) -> bytes:
        headers, self._headers = self._headers, False
        return _line(event, one(self._ask, thing, self._watching.now(), headers=headers))

    def bookmark(self, revision: int, annotations: dict[str, str] | None = None) -> bytes:
        kind = self._ask.target.kind
        metadata: Object = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        return _line("BOOKMARK", {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata})


def _line(event: str, thing: Object) -> bytes:
    return msgspec.json.encode({"type": event, "object": thing}) + b"\n"


def _with_name(kind: Kind, selection: Selection, name: str) -> Selection:
    return read_selection(
        kind, selection.labels, ",".join(filter(None, (selection.fields, f"metadata.name={name}")))
    )


def _version(ask: Ask) -> int | None:
    try:
        return version_number(ask.query)
    except Refused as refused:
        # The real server fails here without a reason.
        raise Refused(500, "", str(refused).removeprefix("invalid resource version: ")) from None


def _check_initial(ask: Ask) -> None:
    where = "resourceVersionMatch"
    match = ask.query.get(where, "")
    if "sendInitialEvents" in ask.query and match != NOT_OLDER:
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        faults = [forbidden(where, why)]
        if match:
            faults.append(unsupported(where, match[:40], (NOT_OLDER,)))
        raise invalid("meta.k8s.io", "ListOptions", "", faults)
    if match and "sendInitialEvents" not in ask.query:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid("meta.k8s.io", "ListOptions", "", [forbidden(where, why)])


def _seconds(text: str) -> float:
    if not text:
        # Spread, so that clients do not all come back at once.
        return random.uniform(SHORTEST_S, 2 * SHORTEST_S)  # noqa: S311 - spreads load, guards nothing
    if not text.isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text:.40}": invalid syntax')
    return float(text)
