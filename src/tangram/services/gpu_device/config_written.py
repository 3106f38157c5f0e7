"""A device configuration as somebody wrote it, wherever it stands. Nothing here understands it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.kube.recorder import About


class Written(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    """What people call the place: `ConfigMap kube-system/device-config`, `folder /config`."""
    texts: Mapping[str, str] = {}
    """By key, those that mean something to the agent."""
    trouble: str = ""
    """Why the texts cannot even be had; empty when they are all there."""
    about: About | None = None
    """The ConfigMap, where events about it go."""

    @property
    def says_something(self) -> bool:
        return bool(self.texts or self.trouble)
