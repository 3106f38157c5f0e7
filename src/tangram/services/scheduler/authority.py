"""Our own certificates for the webhook, where nobody else makes them: kept in a Secret, renewed, made known, shown.

Every replica does all of it, again and again, and any of them may die at any point: one step looks at what is there and
does what is missing. Writes are conditional on what was read, so of two replicas that renew at once one wins and the
other shows what the first has made.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from tangram.daemon.certificates import CertificateError, bundle
from tangram.daemon.serving_identity import Now, ServingIdentity
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.services.scheduler.generations import (
    USUAL_PACE,
    Generations,
    Pace,
    joined,
    published,
    read,
    renewed,
    to_show,
    written,
)
from tangram.services.scheduler.trust import (
    KINDS,
    TRIES,
    Object,
    Objects,
    Trust,
    configuration_path,
    make_known,
)
from tangram.wire import loose

LOOK_EVERY_S: Final = 30.0
LOOK_AGAIN_S: Final = 0.5
"""Between two looks, however much changes."""
_KEPT: Final = "generations.json"
_BUNDLE: Final = "ca.crt"
"""For people who verify us themselves, such as scrapers of metrics."""

_log = logging.getLogger(__name__)


class WatchedObjects(Objects, Protocol):
    def watch(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[tuple[str, Object]]: ...


class Places(NamedTuple):
    """Where things are in the API."""

    namespace: str
    secret: str
    configuration: str
    """The name of both our MutatingWebhookConfiguration and our ValidatingWebhookConfiguration."""


class OwnAuthority:
    """Keeps one identity in certificates."""

    def __init__(
        self,
        api: WatchedObjects,
        places: Places,
        names: Sequence[str],
        identity: ServingIdentity,
        *,
        now: Now,
        pace: Pace = USUAL_PACE,
    ) -> None:
        self._api = api
        self._places = places
        self._names = names
        self._identity = identity
        self._now = now
        self._pace = pace
        self._known: Generations = ()
        self._looking = asyncio.Lock()
        self._changed = asyncio.Event()
        self._complaint = ""

    async def step(self) -> None:
        """Look once and do what is missing. Raises `ApiError` and `ApiUnreachable`; what could be shown is, even so."""
        async with self._looking:
            await self._step()

    async def _step(self) -> None:
        kept = await self._renew()
        self._known = kept
        try:
            trust = Trust(self._names, [one.trusted for one in kept], self._now(), self._pace)
            await make_known(self._api, self._places.configuration, trust)
            if any(one.published is None for one in kept):
                self._known = await self._mark_published(kept)
        finally:
            self._show()

    async def follow(self) -> None:
        """Step for ever: whenever something changes, and every now and then."""
        paths = [(f"/api/v1/namespaces/{self._places.namespace}/secrets", self._places.secret)]
        paths += [(configuration_path(kind), self._places.configuration) for kind in KINDS]
        async with asyncio.TaskGroup() as tasks:
            for path, name in paths:
                tasks.create_task(self._watch(path, name), name=f"watch of {path}")
            while True:
                self._changed.clear()
                await self._try_step()
                await asyncio.sleep(LOOK_AGAIN_S)
                try:
                    async with asyncio.timeout(LOOK_EVERY_S):
                        await self._changed.wait()
                except TimeoutError:
                    continue

    async def _try_step(self) -> None:
        complaint = ""
        try:
            await self.step()
        except (ApiError, ApiUnreachable) as error:
            complaint = str(error)
            if complaint != self._complaint:
                _log.warning("the webhook's certificates could not be looked after: %s", error)
        self._complaint = complaint

    async def _watch(self, path: str, name: str) -> None:
        while True:
            try:
                query = {"fieldSelector": f"metadata.name={name}", "resourceVersion": "0"}
                async for _event in self._api.watch(path, query):
                    self._changed.set()
            except (ApiError, ApiUnreachable) as error:
                # Looking every now and then goes on, and says what is wrong if it still is.
                _log.debug("%s cannot be watched: %s", path, error)
            await asyncio.sleep(LOOK_EVERY_S / 10)

    async def _renew(self) -> Generations:
        """What is kept, after it was joined with what we know, and renewed."""
        for tries_left in reversed(range(TRIES)):
            kept, version = await self._read()
            wanted = renewed(joined(kept, self._known), self._names, self._now(), self._pace)
            if wanted == kept or await self._write(wanted, version, last=not tries_left):
                return wanted
        raise AssertionError("the last try returns or raises")

    async def _mark_published(self, kept: Generations) -> Generations:
        """The same, marked; unless somebody changed it meanwhile, whose mark or ours comes with the next step."""
        found, version = await self._read()
        marked = published(kept, self._now())
        if found != kept or not await self._write(marked, version, last=False):
            return kept
        return marked

    async def _read(self) -> tuple[Generations, str]:
        """What the Secret holds, and its version; nothing and '' when there is none."""
        try:
            secret = await self._api.get(self._path(self._places.secret))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return (), ""
        try:
            text = base64.b64decode(loose.text(loose.members(secret.get("data")).get(_KEPT)), validate=True)
        except (binascii.Error, ValueError):
            text = b""
        return read(text), loose.text(loose.members(secret.get("metadata")).get("resourceVersion"))

    async def _write(self, generations: Generations, version: str, *, last: bool) -> bool:
        """Whether it was written: not if somebody else was faster, which the last try says by raising."""
        data = {
            _KEPT: _encoded(written(generations)),
            _BUNDLE: _encoded(bundle(one.trusted for one in generations)),
        }
        try:
            if version:
                change = {"metadata": {"resourceVersion": version}, "data": data}
                await self._api.merge(self._path(self._places.secret), change)
            else:
                metadata = {"name": self._places.secret, "namespace": self._places.namespace}
                await self._api.create(
                    self._path(), {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
                )
        except ApiError as error:
            if last or error.status not in (CONFLICT, NOT_FOUND):
                raise
            return False
        return True

    def _path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self._places.namespace}/secrets" + (f"/{name}" if name else "")

    def _show(self) -> None:
        chosen = to_show(self._known, self._names, self._now(), self._pace)
        if chosen is None:
            return
        try:
            self._identity.show(chosen.pair)
        except CertificateError as error:
            _log.warning("the webhook's own certificate cannot be shown, the old one stays: %s", error)


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode("ascii")
