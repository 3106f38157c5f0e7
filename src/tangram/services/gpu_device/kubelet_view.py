"""What the kubelet says about who holds what, from its two mouths at one moment."""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.kubelet.notebook import Notebook, NotebookUnreadable
from tangram.kubelet.podresources import KubeletSilent, PodResourcesClient
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices

WITHIN_S: Final = 5.0
"""How long the kubelet is waited for before it counts as silent."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    notes: Checkpoint | WireError
    """The kubelet's own checkpoint, or why it cannot be read."""
    held: tuple[HeldDevices, ...] | None
    """Its pod resources, or None while it is silent."""

    @property
    def allocations(self) -> tuple[CheckpointedAllocation, ...]:
        return self.notes.allocations if isinstance(self.notes, Checkpoint) else ()


class KubeletView:
    def __init__(self, resources: PodResourcesClient, notebook: Notebook, within: float = WITHIN_S) -> None:
        self._within = within
        self._resources = resources
        self._notebook = notebook

    async def look(self) -> Sight:
        """Both at once. The notebook is read last: what pod resources show is in it by then."""
        try:
            held = await self._resources.held(self._within)
        except KubeletSilent:
            held = None
        return Sight(notes=await self.notes(), held=held)

    async def notes(self) -> Checkpoint | WireError:
        try:
            return await self._notebook.read()
        except WireError as error:
            return error
        except NotebookUnreadable as error:
            return WireError("checkpoint-unreadable", str(error))
