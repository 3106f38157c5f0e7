"""The words of `driver.deployPolicy`: the manual's three and those that the shipped chart takes.

The manual and the shipped software disagree about one spelling; both are taken. docs/driver-manager.md has the table of
what each does, and a test compares it with `MEANINGS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from tangram.wire.errors import WireError, shown


class DeployPolicy(StrEnum):
    IF_NOT_PRESENT = "IfNotPresent"
    ALWAYS = "Always"
    NEVER = "Never"
    IF_NEWER = "IfNewer"
    PREFER_CLOUD = "PreferCloud"
    PREFER_HOST = "PreferHost"
    PREFER_NEWER = "PreferNewer"


ALSO: Final[Mapping[str, DeployPolicy]] = {"IfNotExist": DeployPolicy.IF_NOT_PRESENT}
"""Other spellings, each with what it means."""

MEANINGS: Final[Mapping[DeployPolicy, str]] = {
    DeployPolicy.IF_NOT_PRESENT: "the payload's driver where the host has none; a driver of the host is left alone",
    DeployPolicy.ALWAYS: "the payload's driver, whatever the host has",
    DeployPolicy.NEVER: "the host's driver; no payload is needed or looked at",
    DeployPolicy.IF_NEWER: "the payload's driver where the host has none or an older one",
    DeployPolicy.PREFER_CLOUD: "the payload's driver; the host's where the payload does not work on this node",
    DeployPolicy.PREFER_HOST: "the host's driver; the payload's where the host has none or one that does not work",
    DeployPolicy.PREFER_NEWER: "the newer of the two; the other where that one does not work on this node",
}


def read_deploy_policy(text: str) -> DeployPolicy:
    """The policy of that name. Raises `WireError`."""
    try:
        return ALSO.get(text) or DeployPolicy(text)
    except ValueError:
        legal = ", ".join((*DeployPolicy, *ALSO))
        raise WireError(
            "deploy-policy", f"driver.deployPolicy is {shown(text)}: it is one of {legal}; write one of these"
        ) from None
