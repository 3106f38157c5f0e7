"""Taking back what nobody needs any more: slices, CDI files, and notes about them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.model.cards import CardMode, Vendor
from tangram.model.devices import Slice
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.claims import Claims
from tangram.services.gpu_device.grant_files import GrantFiles
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.kubelet_view import KubeletView, Sight
from tangram.services.gpu_device.leftovers import (
    dead_claims,
    living_pods,
    living_slices,
    sizes_after_init,
)
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.resources import ALL
from tangram.services.gpu_device.slices import Slices, is_ours, use_unknown
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import Bytes
from tangram.units.na import NotAvailable, known

log = logging.getLogger("tangram.gpu-device")

NAMELESS_S: Final = 90.0
"""A slice that was made and never named is a crash's half-done work; one that is idle for so long is removed."""


class Tidying:
    def __init__(
        self,
        *,
        stock: Callable[[], Inventory],
        pods: BoundPods,
        fresh: Callable[[], bool],
        kubelet: KubeletView,
        hardware: Hardware,
        slices: Slices,
        files: GrantFiles,
        claims: Claims,
        counted: Callable[[str], None] = lambda _action: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stock = stock
        self._pods = pods
        self._fresh = fresh
        self._kubelet = kubelet
        self._hardware = hardware
        self._slices = slices
        self._files = files
        self._claims = claims
        self._counted = counted
        self._clock = clock
        self._nameless: dict[tuple[CardUuid, int], float] = {}
        self._silent: dict[CardUuid, str] = {}
        """Cards that could not be asked last time, and why."""

    async def tidy(self, sight: Sight) -> bool:
        """One round. Whether something is left that should go soon: the kubelet still shows it, or it is in use.

        Nothing goes while the API server's news are old or the kubelet tells nothing.
        """
        if self._living(sight) is None:
            return False
        left: set[str] = set()
        unreached: set[str] = set()
        present: dict[CardUuid, frozenset[str]] = {}
        for card in self._sliced_cards():
            try:
                parts = await self._hardware.slices(card)
                ours = [part for part in parts if is_ours(part)]
                await self._shrink(ours)
                present[card] = frozenset(known(part.name, "") for part in ours)
                await self._remove_nameless(card, parts)
                self._silent.pop(card, None)
            except DriverError as error:
                self._complain(card, error.sentence)
                unreached |= {
                    part.name for grant in self._files.all() for part in grant.slices if part.card == card
                }
        # Once more: a slice that was made while the cards were asked belongs to a pod that is known by now.
        living = self._living(sight)
        if living is None:
            return False
        keep = living_slices(living, self._pods.by_kubelet_uid, self._files.all(), sight)
        over = dead_claims(living, self._files.all())
        for card, names in present.items():
            dead = names - keep
            gone = await self._slices.remove(card, dead) if dead else ()
            left |= dead - set(gone)
        for claim in over:
            grant = self._files.find(claim)
            # The file goes last: while a slice of it is left, it tells whose that was.
            if grant is not None and not {part.name for part in grant.slices} & (left | unreached):
                self._remove_file(claim)
        if sight.allocations or sight.held is not None:
            self._keep_claims(sight)
        pods = self._pods.by_kubelet_uid
        return bool(left) or any(
            grant.pod.uid not in pods or pods[grant.pod.uid].pod.ended for grant in self._files.all()
        )

    async def dead_on(self, card: CardUuid) -> Collection[str]:
        """Names of slices on a card that may go now, for whoever needs the room at once."""
        sight = await self._kubelet.look()
        living = self._living(sight)
        if living is None:
            return ()
        keep = living_slices(living, self._pods.by_kubelet_uid, self._files.all(), sight)
        try:
            return {known(part.name, "") for part in await self._slices.ours(card)} - keep
        except DriverError:
            return ()

    def _living(self, sight: Sight) -> frozenset[PodUid] | None:
        if not self._fresh():
            return None
        return living_pods(sight, self._pods.by_kubelet_uid, self._pods.by_name, self._files.all())

    def _sliced_cards(self) -> list[CardUuid]:
        return [
            card.uuid
            for card in self._stock().cards
            if card.vendor is Vendor.METAX and card.mode is CardMode.SLICED
        ]

    def _complain(self, card: CardUuid, sentence: str) -> None:
        """Once for each reason: a card may be lost for days."""
        if self._silent.get(card) != sentence:
            log.warning("a card cannot be tidied", extra={"card": card, "error": sentence})
        self._silent[card] = sentence

    def _remove_file(self, claim: str) -> None:
        try:
            self._files.remove(claim)
        except OSError as error:
            log.warning("a CDI file cannot be removed", extra={"claim": claim, "error": error.strerror})
            return
        self._counted("file-removed")

    def _keep_claims(self, sight: Sight) -> None:
        noted = ((each.resource, frozenset(each.ids)) for each in sight.allocations)
        shown = ((each.resource, frozenset(each.ids)) for each in sight.held or ())
        self._claims.keep(key for keys in (noted, shown) for key in keys if key[0] in ALL)

    async def _shrink(self, present: Sequence[Slice]) -> None:
        """Slices that were made for an init container's peak: it is over, and the cluster counts the rest as free."""
        sizes = sizes_after_init(self._pods.all())
        for part in present:
            size = sizes.get((part.card, known(part.name, "")))
            if size is None:
                continue
            # Online slices need no compute and keep what they were made with.
            memory, cores = size[0], size[1] or part.cores
            if (part.memory, part.cores) == (memory, cores):
                continue
            try:
                await self._hardware.ask(
                    "shrinking a slice",
                    lambda driver, part=part, memory=memory, cores=cores: driver.resize_slice(
                        part.card, part.id, memory=Bytes(memory), cores=cores
                    ),
                )
            except DriverError as error:
                # In use beyond that, perhaps; it is tried again.
                log.info("a slice cannot be shrunk", extra={"card": part.card, "error": error.sentence})
                continue
            self._counted("slice-shrunk")

    async def _remove_nameless(self, card: CardUuid, parts: Sequence[Slice]) -> None:
        now = self._clock()
        # A name that cannot be read is not an empty one: that slice may be a container's.
        nameless = {(card, part.id): part for part in parts if part.name == "" and part.busy is not True}
        for key in [key for key in self._nameless if key[0] == card and key not in nameless]:
            del self._nameless[key]
        for key, part in nameless.items():
            if now - self._nameless.setdefault(key, now) < NAMELESS_S:
                continue
            if isinstance(part.busy, NotAvailable):
                log.warning("a slice cannot be removed", extra={"card": card, "error": use_unknown(part)})
                continue
            try:
                await self._hardware.remove_slice(card, part.id)
            except DriverError:
                continue
            self._counted("nameless-removed")
