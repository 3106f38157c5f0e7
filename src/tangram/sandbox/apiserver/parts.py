"""The parts of the server, put together over one store."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from tangram.sandbox.apiserver.admission import Admission
from tangram.sandbox.apiserver.beginnings import begin
from tangram.sandbox.apiserver.changing import Changing
from tangram.sandbox.apiserver.definitions import Definitions
from tangram.sandbox.apiserver.deleting import Deleter
from tangram.sandbox.apiserver.identities import Identities
from tangram.sandbox.apiserver.journal import FileJournal
from tangram.sandbox.apiserver.kubelet_door import KubeletDoor
from tangram.sandbox.apiserver.pod_parts import PodParts
from tangram.sandbox.apiserver.reading import Reader
from tangram.sandbox.apiserver.registry import Registry
from tangram.sandbox.apiserver.reviews import Reviews
from tangram.sandbox.apiserver.rights.authority import Authority
from tangram.sandbox.apiserver.rights.granting import Granting
from tangram.sandbox.apiserver.scaling import Scaling
from tangram.sandbox.apiserver.store import Store
from tangram.sandbox.apiserver.watching import Watching
from tangram.sandbox.apiserver.writing import Writer
from tangram.wire.timestamps import to_second


def _wall() -> datetime:
    return datetime.now(UTC)


class Parts:
    def __init__(
        self,
        *,
        administrator: str,
        authority: bytes,
        journal: FileJournal | None = None,
        now: Callable[[], datetime] = _wall,
    ) -> None:
        self.now: Final = now
        self.store: Final = Store(journal)
        self.registry: Final = Registry()
        self.identities: Final = Identities(administrator)
        self.admission: Final = Admission(self.store)
        self.reader: Final = Reader(self.store, now)
        self.watching: Final = Watching(self.store, now, time.monotonic)
        self.authority: Final = Authority(self.store)
        granting = Granting(self.authority)
        changing = Changing(self.store, self.registry, self.admission, granting, now)
        self.writer: Final = Writer(self.store, self.registry, changing, self.authority, now)
        self.deleter: Final = Deleter(self.store, self.admission, now)
        self.pods: Final = PodParts(self.store, self.registry, self.admission, self.deleter, now)
        self.scaling: Final = Scaling(self.store, self.registry, self.writer)
        self.reviews: Final = Reviews(self.store, self.identities, self.authority, now)
        self.kubelets: Final = KubeletDoor(self.store, authority)
        self.definitions: Final = Definitions(self.store, self.registry, now)
        if journal is not None:
            journal.load_into(self.store)
            self.definitions.load()
            self.authority.load()
        begin(self.store, lambda: to_second(now()))

    async def close(self) -> None:
        await self.admission.close()
        await self.kubelets.close()
