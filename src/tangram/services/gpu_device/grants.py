"""From what a container may have to what must exist and what its CDI file says. Nothing is made here.

A slice is named after the pod's UID and the container, so it is found again after any crash and can never be taken for
somebody else's. Containers that share the kubelet's ids never run at once; they share one slice per card, of the most
that any of them may have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

import msgspec

from tangram.model.allocations import ContainerShares
from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.model.grants import GrantedSlice, SliceWish
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import Bytes
from tangram.vendors.metax.products import whole_steps
from tangram.wire import metax_container, mthreads_container
from tangram.wire.cdi import CdiDeviceNode
from tangram.wire.mthreads_container import card_number

SLICE_PREFIX: Final = "tangram-"
"""A slice whose name begins otherwise was made by somebody else and is left alone."""
_NAME_DIGITS = 22
"""The vendor keeps 31 letters of a slice's name."""
_DEV: Final = "/dev"


class Injection(StrEnum):
    """How a Moore Threads card reaches a container."""

    ENV = "env"
    """By variables, for the vendor's container runtime; slices work only so."""
    NODES = "nodes"
    """As device nodes, for images that carry the user-mode driver."""


class Edits(msgspec.Struct, frozen=True):
    """What is added to a container."""

    env: dict[str, str] = {}
    nodes: tuple[CdiDeviceNode, ...] = ()


def slice_name(pod: PodUid, container: str) -> str:
    """The same for the same container of the same pod, on every card and after every restart."""
    digest = hashlib.sha256(f"{pod}/{container}".encode()).hexdigest()
    return f"{SLICE_PREFIX}{digest[:_NAME_DIGITS]}"


def slice_wishes(
    pod: PodUid, shares: Sequence[ContainerShares], *, online: bool = False
) -> tuple[SliceWish, ...]:
    """The slices that must exist before any of these containers starts; they share the kubelet's ids."""
    peak: dict[CardUuid, tuple[int, int]] = {}
    for container in shares:
        for card, (memory, cores) in slice_sizes(container, online=online).items():
            most_memory, most_cores = peak.get(card, (0, 0))
            peak[card] = (max(memory, most_memory), max(cores, most_cores))
    # Named after the last: it is the one that stays, while slices of init containers go when they are over.
    name = slice_name(pod, shares[-1].name) if shares else ""
    return tuple(
        SliceWish(card=card, name=name, memory=Bytes(memory), cores=cores, online=online)
        for card, (memory, cores) in peak.items()
    )


def slice_sizes(container: ContainerShares, *, online: bool = False) -> dict[CardUuid, tuple[int, int]]:
    """Bytes and percent of the slice that one container needs on each card.

    Memory is rounded down to what the kernel can make, so never more than was promised. Online slices reserve no
    compute, whatever was asked: the scheduler charges them none, and places them on cards of which all is sold. Every
    other slice has one percent at least.
    """
    sizes: dict[CardUuid, tuple[int, int]] = {}
    for share in container.shares:
        memory, cores = sizes.get(share.card, (0, 0))
        sizes[share.card] = (memory + share.memory, cores + share.cores)
    return {
        card: (whole_steps(memory), 0 if online else max(1, cores)) for card, (memory, cores) in sizes.items()
    }


def own_part(
    container: ContainerShares, slices: Sequence[GrantedSlice], *, online: bool = False
) -> tuple[GrantedSlice, ...]:
    """One container's slices as it is told of them: its own size, though one may be larger for another's sake.

    The compute of online ones is what they were made with: one percent where the driver refuses none.
    """
    sizes = slice_sizes(container, online=online)
    return tuple(
        msgspec.structs.replace(
            part, memory=Bytes(sizes[part.card][0]), cores=part.cores if online else sizes[part.card][1]
        )
        for part in slices
        if part.card in sizes
    )


def whole_edits(devices: Sequence[Device], *, device_root: str, injection: Injection) -> Edits:
    """What a container with whole cards or virtual functions is given."""
    mthreads = [device for device in devices if device.vendor is Vendor.MTHREADS]
    by_variables = mthreads if injection is Injection.ENV else []
    env = (
        mthreads_container.whole_environment([card_number(each) for each in by_variables])
        if by_variables
        else {}
    )
    return Edits(env, _nodes([each for each in devices if each not in by_variables], device_root))


def metax_slice_edits(
    slices: Sequence[GrantedSlice], devices: Mapping[CardUuid, Device], *, device_root: str
) -> Edits:
    """What a container with MetaX slices is given. Raises `WireError` for names no variable can carry."""
    parents = [devices[part.card] for part in slices]
    env = metax_container.slice_environment(
        [(parent.bdf, part) for parent, part in zip(parents, slices, strict=True)]
    )
    return Edits(env, _nodes(parents, device_root))


def mthreads_slice_edits(
    shares: ContainerShares, devices: Mapping[CardUuid, Device], *, limited: bool = False
) -> Edits:
    """What a container with Moore Threads slices is given; the vendor's runtime does the rest.

    `limited` says that cards run fixed share.
    """
    numbers = [card_number(devices[share.card]) for share in shares.shares]
    memory = max(share.memory for share in shares.shares)
    cores = max(share.cores for share in shares.shares)
    return Edits(mthreads_container.slice_environment(numbers, memory, cores, limited=limited))


def _nodes(devices: Sequence[Device], device_root: str) -> tuple[CdiDeviceNode, ...]:
    paths = dict.fromkeys(path for device in devices for path in device.nodes.all)
    return tuple(
        CdiDeviceNode(path=path, host_path=_on_host(path, device_root), permissions="rw") for path in paths
    )


def _on_host(path: str, device_root: str) -> str:
    """Where the node is on the host; empty where that is the same place."""
    if device_root.rstrip("/") in ("", _DEV):
        return ""
    return str(PurePosixPath(device_root) / PurePosixPath(path).relative_to(_DEV))
