"""What can be decided about a driver: one small step, and what the node says meanwhile.

Steps are small on purpose. Each is done once, whole, and then everything is looked at again; there is no sequence that
somebody who was killed would have to remember.
"""

from __future__ import annotations

import msgspec

from tangram.services.driver_manager.journal import Change, Failed, Target
from tangram.services.driver_manager.staged import Staged
from tangram.wire.operator.node_states import DriverState, Phase


class AskBusy(msgspec.Struct, frozen=True):
    """Find out who holds cards, then decide again."""


class Unpack(msgspec.Struct, frozen=True):
    """Install a payload beside what is there."""

    staged: Staged


class Begin(msgspec.Struct, frozen=True):
    """Write down a change, before its first step."""

    change: Change


class Drop(msgspec.Struct, frozen=True):
    """Forget a change of which nothing was done."""

    why: str


class Unload(msgspec.Struct, frozen=True):
    """Ask the kernel to unload the driver. It refuses while anybody uses it."""


class Link(msgspec.Struct, frozen=True):
    """Let /opt/mxdriver lead to a version of ours; empty for what the host had."""

    version: str = ""


class Load(msgspec.Struct, frozen=True):
    target: Target


class Split(msgspec.Struct, frozen=True):
    """Split every card into so many virtual functions."""

    count: int


class Undo(msgspec.Struct, frozen=True):
    """Turn the change round."""

    code: str
    why: str


class Finish(msgspec.Struct, frozen=True):
    """The change is done, in whichever direction."""

    failed: Failed | None = None


class Discard(msgspec.Struct, frozen=True):
    """Take away drivers that nobody needs any more."""

    versions: tuple[str, ...]


class Clean(msgspec.Struct, frozen=True):
    """Take away everything that we brought, and restore what we moved."""

    why_loaded: str = ""
    """Why our driver stays loaded."""


Step = AskBusy | Unpack | Begin | Drop | Unload | Link | Load | Split | Undo | Finish | Discard | Clean


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    state: DriverState
    step: Step | None = None
    """None where there is nothing to do, or something to wait for."""
    pending: str = ""
    """What a change waits for that people should end, for the node's condition."""

    @property
    def is_ready(self) -> bool:
        """Whether the node may offer its cards by this driver."""
        return self.state.running != "" and self.state.phase not in (Phase.WORKING, Phase.REMOVED)
