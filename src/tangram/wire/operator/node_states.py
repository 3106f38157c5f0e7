"""What the operator and the agents of a node write about it, each as one annotation of compact JSON.

A state that cannot be read is as good as none: its writer writes it again, and its reader must not act on half of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from tangram.wire import jsontext
from tangram.wire.errors import WireError, shown

LONGEST_WHY: Final = 500
"""Characters of a sentence: annotations of a node are read by everybody who watches nodes."""


class Phase(StrEnum):
    """How far an agent is with its part of a node."""

    WAITING = "waiting"
    """Nothing is being changed; `why` says what for it waits."""
    WORKING = "working"
    """Something is being changed, and the part is not ready meanwhile."""
    READY = "ready"
    FAILED = "failed"
    """The last change failed and was taken back. What ran before runs, if anything did (`running`)."""
    REMOVED = "removed"
    """Everything this agent brought is gone; it does nothing more here."""


class Source(StrEnum):
    """Who brought a driver."""

    NONE = ""
    HOST = "host"
    CLOUD = "cloud"


class DriverState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    phase: Phase
    wanted: str = ""
    """The version that this node should run by its payload and policy; empty where the host's own is to stay."""
    running: str = ""
    """The version that is loaded and was verified; empty for none."""
    source: Source = Source.NONE
    needs_turn: bool = False
    """A working driver would have to be replaced: nothing happens before the operator gives this node its turn."""
    code: str = ""
    """A stable word for `why`, such as `payload-corrupt`."""
    why: str = ""
    """A sentence for people."""
    functions: int | None = None
    """Virtual functions of each card now; None where that is not known or differs between cards."""
    since: str = ""
    """When this phase began, to the second, in UTC. A turn that fails again is a new phase, whatever was before."""

    @property
    def outcome(self) -> str:
        """What tells one end of a turn from an earlier one."""
        return f"{self.phase} {self.running} {self.code} {self.since}"


class MacaState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    phase: Phase
    versions: tuple[str, ...] = ()
    """That are there, the default first."""
    default: str = ""
    code: str = ""
    why: str = ""
    since: str = ""


class RuntimeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    phase: Phase
    engine: str = ""
    """`containerd`, `cri-o` or `docker`."""
    version: str = ""
    way: str = ""
    """How containers get MXMACA: `cdi` (the runtime reads CDI files) or `wrapper` (runtime `metax` is the default)."""
    code: str = ""
    why: str = ""
    since: str = ""


class UpgradePhase(StrEnum):
    """Steps of one node, in their order. Each is written before it is begun."""

    CORDONED = "cordoned"
    """We have cordoned the node, and wait for its GPU pods to leave."""
    UPDATING = "updating"
    """It has its turn; driver-manager works."""
    FAILED = "failed"
    """It was rolled back and is in service again. Not tried again for the same version unless somebody asks."""


class Upgrade(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Written in the same patch that cordons the node and removed in the one that uncordons it.

    So a node that we cordoned always says so, and a node without this is cordoned by somebody else.
    """

    to: str
    """The version of the driver."""
    phase: UpgradePhase
    began: str = ""
    """When this phase began, by the operator's clock, to the second, in UTC."""
    seen: str = ""
    """What the driver's state said when the turn was given (`DriverState.outcome`): the same is no answer to it."""
    code: str = ""
    why: str = ""


State = TypeVar("State", DriverState, MacaState, RuntimeState, Upgrade)


def state_text(state: DriverState | MacaState | RuntimeState | Upgrade) -> str:
    """The annotation for a state. Raises `WireError` for text that UTF-8 cannot carry."""
    if len(state.why) > LONGEST_WHY:
        state = msgspec.structs.replace(state, why=f"{state.why[: LONGEST_WHY - 3]}...")
    return jsontext.compact(state, "a node's state")


def read_state(kind: type[State], text: str) -> State:
    """The state in an annotation. Raises `WireError`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError) as error:
        raise WireError("node-state", f"{shown(text)} is no {kind.__name__}: {error}") from error


def state_of(kind: type[State], annotations: dict[str, str], key: str) -> State | None:
    """The state under a key; None where there is none, or none that can be read."""
    try:
        return read_state(kind, annotations[key]) if key in annotations else None
    except WireError:
        return None
