"""Everything a decision about the driver rests on, as it was at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tangram.drivers.modules.protocol import FunctionState, LoadedModule
from tangram.services.driver_manager.journal import EMPTY, Journal, Target
from tangram.services.driver_manager.problems import Problem
from tangram.services.driver_manager.staged import Staged
from tangram.services.driver_manager.unpacking import Installed, LinkState, Owner
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.wire.operator.node_states import Source
from tangram.wire.operator.policies import DeployPolicy

OF_HOST: Final = "host"
"""Stands for the version of a driver of the host's that does not tell it."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What the driver layer says of the cards."""

    well: tuple[str, ...] = ()
    """Bus addresses of cards that are listed and healthy."""
    sick: Mapping[str, str] = {}
    """Bus addresses of cards that are listed and not healthy, each with the reason."""
    version: Maybe[str] = NA
    trouble: str = ""
    """Why nothing could be seen."""
    bad_looks: int = 0
    """How many looks in a row saw no card."""


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds cards of this node."""

    pods: tuple[str, ...] = ()
    trouble: str = ""
    """Why nobody knows; then everything counts as held."""

    @property
    def is_idle(self) -> bool:
        return not self.pods and not self.trouble


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What `driver-config` says for this node, or last said legibly."""

    functions: int | None = None
    parameters: Mapping[str, str] = {}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    policy: DeployPolicy
    journal: Journal = EMPTY
    # ---- the machine
    cards: tuple[str, ...] = ()
    kernel: str = ""
    boot: str = ""
    loaded: LoadedModule | None = None
    of_host: Maybe[str] | None = None
    functions: tuple[FunctionState, ...] = ()
    sight: Sight = Sight()
    # ---- its files
    payload: Staged | Problem | None = None
    """None where none is named."""
    installed: Mapping[str, Installed] = {}
    link: LinkState = LinkState(Owner.NOBODY)
    # ---- what is asked
    wish: Wish = Wish()
    runtime_ready: bool = True
    turn: str = ""
    remove: bool = False
    # ---- who is in the way
    busy: Busy | None = None
    """None where nobody was asked yet."""
    offered: bool = False
    """The kubelet still has units of ours to give."""
    withdrawn: bool = False
    """The node says that its driver is not ready, so that gpu-device leaves."""
    # ---- what was tried, and for how long
    trouble: Problem | None = None
    """What the last step of the present change ended with."""
    refused_for: float = 0.0
    """Seconds for which the kernel has refused to unload."""
    changing_for: float = 0.0
    loaded_for: float = 0.0
    tried_ago: float = 0.0
    """Seconds since the last step that failed."""
    cleaned: bool = False
    left: str = ""
    """What could not be taken away."""


def running_in(facts: Facts) -> Target | None:
    """The driver that is loaded, by whom: ours if we loaded that version since the machine was started."""
    if facts.loaded is None:
        return None
    ours = facts.journal.loaded
    version = facts.loaded.version
    if isinstance(version, NotAvailable):
        version = facts.sight.version
    # In the middle of a change a driver that calls itself otherwise than its payload does is still the one we loaded.
    change = facts.journal.change
    ours_anyway = change is not None and ours in (change.to, change.back)
    same = isinstance(version, NotAvailable) or version == ours.version or ours_anyway
    if ours.source is Source.CLOUD and facts.journal.boot == facts.boot and same:
        return ours
    if isinstance(version, NotAvailable):
        version = facts.of_host if isinstance(facts.of_host, str) else OF_HOST
    return Target(source=Source.HOST, version=version)


def functions_now(facts: Facts) -> int | None:
    """How many each card is split into; None where they differ or nobody knows."""
    counts = {each.now for each in facts.functions}
    return counts.pop() if len(counts) == 1 else None
