"""Who tells Koordinator of this node's cards. Exactly one may: what two tell, koordlet counts twice or undoes.

koordlet, where it runs, writes the node's `Device` from the files it finds, and koord-manager the node's amounts from
that. koord-device-daemon writes such a file for the vendors it knows; where it does not, ours is the file. Where no
koordlet runs, the `Device` and the amounts are ours to write, unless somebody else has written that `Device`.

Only facts go in and a word comes out, so the same facts always mean the same writer. What is not known yet decides
nothing: a report that is late is repaired by the next look, one too many is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Pod
from tangram.services.gpu_device.records import BoundPod
from tangram.vendors.wording import sentence

_APP_LABEL: Final = "koord-app"
_KOORDLET: Final = "koordlet"
_DAEMON: Final = "koord-device-daemon"
_KNOWN_TO_DAEMON: Final = frozenset({Vendor.METAX})
"""Of our vendors, those whose cards koord-device-daemon finds."""


class Reporter(StrEnum):
    """Who reports the cards."""

    UNDECIDED = "undecided"
    """Something that decides is not known yet; what was written stays as it is."""
    NOBODY = "nobody"
    """There is no Koordinator to tell."""
    DAEMON = "koord-device-daemon"
    FILE = "file"
    """We do, in a file for koordlet."""
    OBJECT = "object"
    """We do, in the `Device` and on the node."""
    FOREIGN = "foreign"
    """Somebody whom we cannot see here wrote the `Device`; it is left alone."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    served: bool | None = None
    """Whether the API server knows the kind `Device`; None before it was asked."""
    koordlet: bool = False
    daemon: bool = False
    """koord-device-daemon runs here, and knows cards like these."""
    listed_in: str = ""
    """The file of somebody else in which one of our cards is listed."""
    written_by: str = ""
    """Who wrote the `Device`, where it was not us."""


def reporter(facts: Facts) -> Reporter:
    """Who reports the cards, from everything that bears on it."""
    if facts.koordlet:
        return Reporter.DAEMON if facts.daemon or facts.listed_in else Reporter.FILE
    if facts.served is None:
        return Reporter.UNDECIDED
    if not facts.served:
        return Reporter.NOBODY
    return Reporter.FOREIGN if facts.written_by else Reporter.OBJECT


def koordlet_in(pods: Iterable[BoundPod]) -> bool:
    """Whether koordlet is among a node's pods."""
    # The daemon's own manifest labels its pods as koordlet's; their containers tell them apart.
    return any(
        pod.labels.get(_APP_LABEL) == _KOORDLET and not _is_daemon(pod) for pod in _able_to_report(pods)
    )


def daemon_in(pods: Iterable[BoundPod], vendors: Iterable[Vendor]) -> bool:
    """Whether koord-device-daemon is among a node's pods and finds cards of those vendors."""
    return not _KNOWN_TO_DAEMON.isdisjoint(vendors) and any(map(_is_daemon, _able_to_report(pods)))


def foreign_sentence(node: str, written_by: str) -> str:
    """Why a `Device` that is somebody else's is not written."""
    return sentence(
        f"the Device {node} was written by {written_by}, and no koordlet runs on this node",
        "only one may write it, so it is left alone and this node's cards are not reported",
        f"delete it (kubectl delete device {node}) and it is written anew from what the node has",
    )


def unwritable_sentence(error: str) -> str:
    """Why nothing was written, where the API server did not let us."""
    return sentence(
        f"this node's cards are not reported to Koordinator: {error}",
        "the agent reads and applies devices.scheduling.koordinator.sh and patches nodes and nodes/status",
        "give its account these rights, or correct what the API server names; it is tried again",
    )


def folder_sentence(folder: Path, error: OSError) -> str:
    """Why koordlet cannot be told anything."""
    return sentence(
        f"the device-info file in {folder} cannot be written ({error.strerror or error})",
        "koordlet runs on this node and reports the cards it finds in that directory",
        "mount koordlet's directory of the host there, writable, into the agent's container",
    )


def _able_to_report(pods: Iterable[BoundPod]) -> Iterator[Pod]:
    """Both work in folders of the host. Names and labels alone are anybody's, and would silence the report."""
    return (each.pod for each in pods if each.on_host and not each.pod.ended)


def _is_daemon(pod: Pod) -> bool:
    return pod.labels.get(_APP_LABEL) == _DAEMON or any(each.name == _DAEMON for each in pod.containers)
