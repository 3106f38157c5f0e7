"""Why a container was not given its devices, on the way to the people who must know."""

from __future__ import annotations

from collections.abc import Sequence

from tangram.drivers.errors import DriverError, Kind
from tangram.model.pods import PodRef
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.codes import StartCode
from tangram.vendors.metax.names import MACA
from tangram.vendors.wording import sentence


class Refused(Exception):  # noqa: N818 - an answer; nothing here went wrong
    """The container must not start now. The kubelet asks again every ten to fifteen seconds."""

    def __init__(self, refusal: Refusal, pod: PodRef | None = None, named: str = "") -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal
        self.pod = pod
        self.named = named
        """`namespace/name` where the pod is known by name alone."""


_WHAT_HELPS = {
    Kind.NO_LIBRARY: "install the vendor's driver on this node",
    Kind.NO_DRIVER: "load the vendor's driver on this node",
    Kind.CARD_GONE: "look at the card with tangram doctor; delete the pod to have it placed elsewhere",
    Kind.NOT_PERMITTED: "run the agent with the rights its chart gives it",
    Kind.BUSY: "it is tried again when the card is free",
    Kind.FULL: "it is tried again when another container ends; tangram devices shows who holds what",
    Kind.STUCK: "look at the card with tangram doctor; the node may need a restart",
    Kind.OUTDATED: "the agent starts again by itself and tries once more",
}


_ADMITTED_AGAIN = "delete the pod, so that it is made and admitted again"


def claim_unknown(container: str) -> Refusal:
    """The kubelet replays an answer that is not ours: another plugin served this node when the pod came."""
    return Refusal(
        StartCode.CLAIM_UNKNOWN,
        sentence(
            f"container {container} was admitted with devices of another plugin, and nothing tells which",
            "a container starts with what the plugin answered that admitted it",
            _ADMITTED_AGAIN,
        ),
        container,
    )


def grant_changed(container: str) -> Refusal:
    """A CDI name never gets a second meaning."""
    return Refusal(
        StartCode.GRANT_CHANGED,
        sentence(
            f"container {container} was given other devices before",
            "what a container is given does not change while its pod lives",
            "delete the pod, so that it is made and placed again",
        ),
        container,
    )


def cdi_unwritable(container: str, why: str) -> Refusal:
    """The disk is full, or the folder is not ours to write."""
    return Refusal(
        StartCode.CDI_UNWRITABLE,
        sentence(
            f"the CDI file of container {container} cannot be written ({why})",
            "the container runtime reads there what the container is given",
            "free the disk, or correct the rights of the CDI folder on this node",
        ),
        container,
    )


def maca_absent(container: str, version: str, folder: str, there: Sequence[str]) -> Refusal:
    """The pod names a version of MXMACA that this node does not have."""
    has = f"this node has {' and '.join(there)}" if there else "this node has none"
    return Refusal(
        StartCode.MACA_ABSENT,
        sentence(
            f"container {container} wants MXMACA {version} (annotation {MACA}), and {folder} is not on this node",
            has,
            f"write a version that it has, add that one to maca.payload.images, or remove {MACA}",
        ),
        container,
    )


def memory_missing(container: str, resource: str) -> Refusal:
    """Compute alone would start a container with nothing."""
    return Refusal(
        StartCode.MEMORY_MISSING,
        sentence(
            f"container {container} asks for {resource} alone, which brings no card",
            "a slice has memory, and its compute comes along with it",
            "write mthreads.com/vgpu: 1 and mthreads.com/sgpu-memory beside it",
        ),
        container,
    )


def answered_otherwise(container: str) -> Refusal:
    """Without CDI: what the kubelet will replay is not what the container may have."""
    return Refusal(
        StartCode.ANSWERED_OTHERWISE,
        sentence(
            f"when container {container} was admitted it could not be told whose it is, so it was given nothing",
            "without CDI devices are given at admission or never",
            f"{_ADMITTED_AGAIN}, or switch CDI on in the container runtime",
        ),
        container,
    )


def driver_refusal(error: DriverError, doing: str) -> Refusal:
    """A driver's failure as a sentence for the pod's owner."""
    helps = _WHAT_HELPS.get(error.kind, "look at the node with tangram doctor")
    return Refusal(f"driver-{error.kind.value}", f"{doing}: {error.sentence.rstrip('.')}; {helps}")
