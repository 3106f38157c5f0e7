"""Which version a kube-scheduler has, and which API versions of its configuration file that version reads.

The version is read from the tag of the image that the manifest names, because nothing else on the host says it. A tag
that is not one of Kubernetes is never guessed at: a kube-scheduler that cannot read its file ends, so one that is not
known must be named by a person.
"""

from __future__ import annotations

import re
from typing import Final

from tangram.wire.errors import WireError, shown

Minor = tuple[int, int]

_READ: Final[tuple[tuple[str, Minor, Minor | None], ...]] = (
    ("v1", (1, 25), None),
    ("v1beta3", (1, 23), (1, 28)),
    ("v1beta2", (1, 22), (1, 27)),
)
"""API version, the first kube-scheduler that reads it and the last; the newest API version first."""
OLDEST: Final[Minor] = min(first for _, first, _ in _READ)
OPTION: Final = "--scheduler-version"

_TAG = re.compile(r"v?(1)\.([0-9]{1,3})(?:\.[0-9]{1,4})?(?:[-_+.][A-Za-z0-9._+-]*)?")
_KUBERNETES: Final = "kube"
"""In the last part of the names of images that have kube-scheduler and Kubernetes' own version as their tag:
kube-scheduler, kube-scheduler-amd64, hyperkube, hardened-kubernetes."""


def api_versions_read(scheduler: Minor | None = None) -> tuple[str, ...]:
    """The API versions that such a kube-scheduler reads, the newest first; of all kube-schedulers without one."""
    return tuple(
        version
        for version, first, last in _READ
        if scheduler is None or (first <= scheduler and (last is None or scheduler <= last))
    )


def api_version_for(scheduler: Minor) -> str:
    """The API version to write for such a kube-scheduler. Raises `WireError`."""
    found = api_versions_read(scheduler)
    if not found:
        raise WireError(
            "scheduler-too-old",
            f"kube-scheduler {_text(scheduler)} reads no configuration that can be written here: it is to be "
            f"{_text(OLDEST)} or newer; upgrade Kubernetes, or write the real version with {OPTION} if this is not it",
        )
    return found[0]


def version_of_image(image: str) -> Minor:
    """The version that the tag of an image says. Raises `WireError`."""
    repository, tag = _split(image)
    if not tag:
        raise _unknown(image, "has no tag")
    if _KUBERNETES not in repository.rpartition("/")[2]:
        raise _unknown(image, "is not called like one of Kubernetes, so its tag may count something else")
    found = _TAG.fullmatch(tag)
    if found is None:
        raise _unknown(image, f"has the tag {shown(tag)}, which is no version of Kubernetes")
    return int(found[1]), int(found[2])


def read_version(text: str) -> Minor:
    """The version as a person writes it. Raises `WireError`."""
    found = _TAG.fullmatch(text)
    if found is None:
        raise WireError(
            "scheduler-version",
            f"{OPTION} is {shown(text)}: it is a version of Kubernetes with its two first numbers at least; write for "
            "example 1.30, as 'kubectl version' shows it for the server",
        )
    return int(found[1]), int(found[2])


def _split(image: str) -> tuple[str, str]:
    """Repository and tag. A colon before the last slash is a registry's port."""
    named = image.partition("@")[0]
    slash = named.rfind("/")
    colon = named.find(":", slash + 1)
    return (named, "") if colon < 0 else (named[:colon], named[colon + 1 :])


def _unknown(image: str, why: str) -> WireError:
    written = shown(image) if image else "of its container"
    return WireError(
        "scheduler-version-unknown",
        f"the manifest is not one that says kube-scheduler's version: the image {written} {why}, and which apiVersion "
        f"the configuration must have follows from it; write {OPTION} 1.30, with the version that 'kubectl version' "
        "shows for the server",
    )


def _text(version: Minor) -> str:
    return ".".join(map(str, version))
