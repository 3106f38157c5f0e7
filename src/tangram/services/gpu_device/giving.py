"""Giving a container its devices, when the kubelet is about to start it.

Everything that can be refused is refused here, because here a refusal only delays. What is merely late (the API
server's news of the pod, the kubelet's own notes) is waited for: a refusal costs ten to fifteen seconds, waiting costs
milliseconds. Every step may be repeated, and a container that comes back finds what it had.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from tangram.drivers.errors import DriverError
from tangram.kubelet.news import News
from tangram.model.allocations import ContainerShares, Tenant
from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.grants import Grant, GrantedMount, GrantedSlice
from tangram.model.pods import Role
from tangram.model.refusals import Refusal
from tangram.services.gpu_device import grants, refusing
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.claims import Claims
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.delivery import Delivery, carries, claim_in
from tangram.services.gpu_device.folders import HostFolders
from tangram.services.gpu_device.grant_files import GrantFiles, NameTaken
from tangram.services.gpu_device.grants import Edits, Injection
from tangram.services.gpu_device.guard import check, check_whole
from tangram.services.gpu_device.identify import identify, only_name
from tangram.services.gpu_device.kubelet_view import KubeletView, Sight
from tangram.services.gpu_device.records import BoundPod, Inventory, Late, Starting
from tangram.services.gpu_device.refusing import Refused, driver_refusal
from tangram.services.gpu_device.resources import CARRIERS, SLOTS, WHOLE, unit_uuid
from tangram.services.gpu_device.slices import Slices
from tangram.units.ids import CardUuid, PodUid
from tangram.wire.cdi_grants import grant_text
from tangram.wire.errors import WireError

PATIENCE_S: Final = 25.0
"""How long a late answer is waited for; the kubelet gives a call thirty seconds."""
_LOOK_AGAIN_S: Final = 0.25


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a call led to."""

    starting: Starting
    cards: tuple[CardUuid, ...]
    """The cards of whole units, which the pod's annotation is corrected by; none for slices."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """How this node hands devices over."""

    delivery: Delivery = Delivery.FIELD
    device_root: str = "/dev"
    injection: Injection = Injection.ENV
    limited: bool = False
    """Moore Threads cards are to hold slices to their compute."""


class Giving:
    """Answers PreStartContainer."""

    def __init__(
        self,
        *,
        stock: Callable[[], Inventory],
        pods: BoundPods,
        kubelet: KubeletView,
        files: GrantFiles,
        claims: Claims,
        slices: Slices,
        way: Callable[[], Way],
        removable: Callable[[CardUuid], Awaitable[Collection[str]]],
        news: News,
        folders: HostFolders | None = None,
        took: Callable[[str, float], None] = lambda _step, _seconds: None,
        patience: float = PATIENCE_S,
    ) -> None:
        self._stock = stock
        self._pods = pods
        self._kubelet = kubelet
        self._files = files
        self._claims = claims
        self._slices = slices
        self._way = way
        self._removable = removable
        self._news = news
        self._folders = folders or HostFolders()
        self._took = took
        self._patience = patience
        self._turns = WeakValueDictionary[PodUid, asyncio.Lock]()
        """Of pods that are being served now; nobody remembers the others."""

    async def give(self, resource: str, ids: Sequence[str]) -> Given | None:
        """Have everything in place for the container that holds these ids; None when it was already.

        Raises `Refused`.
        """
        with self._timed("found-standing"):
            if await self._stands(resource, ids):
                return None
        with self._timed("identified"):
            starting, sight = await self._who(resource, ids)
        if resource not in CARRIERS:
            _check_carried(starting, sight)
            return None
        async with self._turns.setdefault(starting.bound.kubelet_uid, asyncio.Lock()):
            return await self.hand_over(starting, sight)

    @contextmanager
    def _timed(self, step: str) -> Generator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self._took(step, time.monotonic() - begun)

    async def hand_over(self, starting: Starting, sight: Sight) -> Given:
        """Everything for a container that is known. Raises `Refused`."""
        inventory = self._stock()
        if starting.resource in WHOLE:
            cards = check_whole(starting, inventory, self._pods.all(), self._files.pods())
            if isinstance(cards, Refusal):
                raise Refused(cards, starting.bound.pod.ref)
            edits = self.whole_edits(inventory, starting.ids)
            for container in starting.containers:
                self._deliver(starting, sight, container, edits, cards=cards)
            return Given(starting=starting, cards=cards)
        with self._timed("sliced"):
            shares, slices = await self.sliced(starting, inventory)
        _, online = _manner(starting.bound)
        for mine in shares:
            cards = tuple(dict.fromkeys(share.card for share in mine.shares))
            own = grants.own_part(mine, slices, online=online)
            edits = self.slice_edits(starting, inventory, mine, own)
            self._deliver(starting, sight, mine.name, edits, cards=cards, slices=own)
        self._pods.keep(starting.bound)
        return Given(starting=starting, cards=())

    async def sliced(
        self, starting: Starting, inventory: Inventory
    ) -> tuple[tuple[ContainerShares, ...], tuple[GrantedSlice, ...]]:
        """What each container may have, and the slices for it, made. Raises `Refused`."""
        bound = starting.bound
        shares = check(starting, inventory, self._pods.all(), self._files.pods())
        if isinstance(shares, Refusal):
            raise Refused(shares, bound.pod.ref)
        if SLOTS[starting.resource] is not Vendor.METAX:
            return shares, ()
        policy, online = _manner(bound)
        # Init containers that are over need nothing any more, and what they had may be somebody else's by now.
        needed = [each for each in shares if each.role is not Role.INIT or not bound.pod.init_done] or shares
        wishes = grants.slice_wishes(bound.kubelet_uid, needed, online=online)
        over = self._over_before(starting)
        promised = bound.holds.allocation.cards if over and isinstance(bound.holds, Tenant) else ()
        for card in dict.fromkeys((*(wish.card for wish in wishes), *promised)):
            await self._slices.remove(card, over)

        async def removable(card: CardUuid) -> Collection[str]:
            return {*await self._removable(card), *self._resting(starting)}

        try:
            return shares, await self._slices.ensure(wishes, policy, removable)
        except DriverError as error:
            raise Refused(driver_refusal(error, "the slice cannot be made"), bound.pod.ref) from error

    def whole_edits(self, inventory: Inventory, ids: Sequence[str]) -> Edits:
        devices = [device for unit in ids if (device := inventory.device(unit_uuid(unit))) is not None]
        way = self._way()
        return grants.whole_edits(devices, device_root=way.device_root, injection=way.injection)

    def slice_edits(
        self, starting: Starting, inventory: Inventory, shares: ContainerShares, own: Sequence[GrantedSlice]
    ) -> Edits:
        devices = {device.uuid: device for device in inventory.devices}
        if SLOTS[starting.resource] is not Vendor.METAX:
            return grants.mthreads_slice_edits(shares, devices, limited=self._way().limited)
        try:
            return grants.metax_slice_edits(own, devices, device_root=self._way().device_root)
        except WireError as error:
            raise Refused(Refusal(error.code, error.sentence), starting.bound.pod.ref) from error

    # ---- who is it

    async def _stands(self, resource: str, ids: Sequence[str]) -> bool:
        """Whether the container was given everything before and it is all still there: a restart, mostly."""
        if resource not in CARRIERS or self._way().delivery is Delivery.DIRECT:
            return False
        notes = await self._kubelet.notes()
        sight = Sight(notes=notes, held=None)
        holders = [
            each for each in sight.allocations if each.resource == resource and set(each.ids) == set(ids)
        ]
        if len({each.pod_uid for each in holders}) != 1:
            return False
        standing = [
            grant
            for holder in holders
            if (claim := claim_in(holder.response())) is not None
            and (grant := self._files.find(claim)) is not None
            and (grant.pod.uid, grant.container) == (holder.pod_uid, holder.container)
            and self._all_healthy(grant.cards)
        ]
        if len(standing) != len(holders):
            return False
        return await self._slices.standing(
            [part for grant in standing for part in grant.slices]
        ) and self._files.are_there(grant.claim for grant in standing)

    def _all_healthy(self, cards: Sequence[CardUuid]) -> bool:
        inventory = self._stock()
        return all((card := inventory.card(uuid)) is not None and card.healthy for uuid in cards)

    async def _who(self, resource: str, ids: Sequence[str]) -> tuple[Starting, Sight]:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while True:
            edition = self._news.edition
            # The kubelet writes its notes before it calls, so they alone name most containers. Its other mouth is
            # asked where they do not: it is slow while many pods start.
            sight = Sight(notes=await self._kubelet.notes(), held=None)
            found = self._identified(resource, ids, sight)
            if not isinstance(found, Starting):
                sight = await self._kubelet.look()
                found = self._identified(resource, ids, sight)
            if isinstance(found, Starting):
                return found, sight
            if isinstance(found, Refusal):
                # Where it is in doubt whose the ids are, nobody's pod is told.
                doubtful = found.code in (StartCode.HOLDERS_SEVERAL, StartCode.HOLDERS_DISAGREE)
                raise Refused(found, named="" if doubtful else only_name(resource, ids, sight.held))
            left = until - loop.time()
            if left <= 0:
                raise _too_late(found)
            await self._news.after(edition, min(left, _LOOK_AGAIN_S))

    def _identified(self, resource: str, ids: Sequence[str], sight: Sight) -> Starting | Late | Refusal:
        self._pods.all()
        return identify(
            resource,
            ids,
            notes=sight.notes,
            held=sight.held,
            pods=self._pods.by_kubelet_uid,
            named=self._pods.by_name,
        )

    # ---- what is there already

    def _over_before(self, starting: Starting) -> frozenset[str]:
        """Slices of this pod's init containers that must have ended before the one that starts now."""
        bound = starting.bound
        return frozenset(
            grants.slice_name(bound.kubelet_uid, container.name)
            for container in bound.pod.containers
            if container.role is Role.INIT and container.name not in starting.containers
        )

    def _resting(self, starting: Starting) -> frozenset[str]:
        """Slices of containers of this pod that cannot run while an ordinary init container starts."""
        bound = starting.bound
        roles = {container.name: container.role for container in bound.pod.containers}
        if roles.get(starting.containers[0]) is not Role.INIT:
            return frozenset()
        return frozenset(
            grants.slice_name(bound.kubelet_uid, name) for name, role in roles.items() if role is Role.APP
        )

    # ---- handing over

    def _mounts(self, starting: Starting, container: str, claim: str) -> tuple[GrantedMount, ...]:
        """Folders of the host for a container; those of its first start, if it had one. Raises `Refused`."""
        given = self._files.find(claim)
        if given is not None:
            return given.mounts or ()
        bound = starting.bound
        if (WHOLE | SLOTS)[starting.resource] is not Vendor.METAX:
            return ()
        found = self._folders.mounts(container, bound.pod.annotations, bound.mounts.get(container, ()))
        if isinstance(found, Refusal):
            raise Refused(found, bound.pod.ref)
        return found

    def _deliver(
        self,
        starting: Starting,
        sight: Sight,
        container: str,
        edits: Edits,
        *,
        cards: tuple[CardUuid, ...],
        slices: tuple[GrantedSlice, ...] = (),
    ) -> None:
        pod = starting.bound.pod
        if self._way().delivery is Delivery.DIRECT:
            _check_answered(starting, sight, container, edits)
            return
        claim = starting.claims.get(container) or self._claims.find(starting.resource, starting.ids)
        if claim is None:
            raise Refused(refusing.claim_unknown(container), pod.ref)
        grant = Grant(
            claim=claim,
            pod=msgspec.structs.replace(pod.ref, uid=starting.bound.kubelet_uid),
            container=container,
            resource=starting.resource,
            ids=starting.ids,
            cards=cards,
            slices=slices,
            mounts=self._mounts(starting, container, claim) or msgspec.UNSET,
        )
        try:
            self._files.write(grant, grant_text(grant, edits.env, edits.nodes))
        except WireError as error:
            # Such as a card whose device nodes are missing: a container would start without it.
            raise Refused(Refusal(error.code, error.sentence), pod.ref) from error
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise Refused(refusing.cdi_unwritable(container, why), pod.ref) from error
        except NameTaken:
            raise Refused(refusing.grant_changed(container), pod.ref) from None


def _manner(bound: BoundPod) -> tuple[QosPolicy | None, bool]:
    """The policy a card must run for this pod, and whether its slices go first."""
    tenant = bound.holds
    if not isinstance(tenant, Tenant):
        return None, False
    return tenant.qos, tenant.app_class is AppClass.ONLINE


def _check_carried(starting: Starting, sight: Sight) -> None:
    """Compute of Moore Threads comes with memory; alone it brings nothing, and a container must not start so."""
    ref = starting.bound.pod.ref
    noted = {
        each.resource
        for each in sight.allocations
        if each.pod_uid == starting.bound.kubelet_uid and each.container in starting.containers
    }
    shown = {
        each.resource
        for each in sight.held or ()
        if (each.namespace, each.pod) == (ref.namespace, ref.name) and each.container in starting.containers
    }
    if not (noted | shown) & CARRIERS:
        raise Refused(refusing.memory_missing(starting.containers[0], starting.resource), ref)


def _check_answered(starting: Starting, sight: Sight, container: str, edits: Edits) -> None:
    answers = [
        each.response()
        for each in sight.allocations
        if (each.pod_uid, each.container, each.resource)
        == (starting.bound.kubelet_uid, container, starting.resource)
    ]
    if not answers or not all(carries(answer, edits) for answer in answers):
        raise Refused(refusing.answered_otherwise(container), starting.bound.pod.ref)


def _too_late(late: Late) -> Refused:
    return Refused(late.refusal, named=late.ref)
