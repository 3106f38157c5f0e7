"""What the scheduler tells a dashboard: its own view of the cluster, first whole and then what changed.

The records of nodes are those of `tangram status -o json`, so a number on a page and the one a command prints are the
same field of the same record. An answer is bounded; whoever asks with the last `version` gets what came after it.
Within `view/v1` fields are added, never renamed or taken away. Names of pods are told only to who may read all of
them, and it is on them to show each person what that person may see.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.reports import shape
from tangram.reports.status_shape import NodeStatus

VERSION: Final = "view/v1"
PATH: Final = "/view"
"""`GET /view?epoch=E&since=V&wait=S` waits up to S seconds for something newer than version V of epoch E."""
NODE_PATH: Final = "/view/nodes"
"""`GET /view/nodes/NAME?pod=NAMESPACE/NAME`: one node in full, with the sets of cards considered for that pod."""
MOST_NODES: Final = 256
"""In one answer: it is written in the process that places everybody's pods."""
MOST_PODS: Final = 2000
MOST_UNREAD: Final = 50
LONGEST_WAIT_S: Final = 20.0


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod of ours without a node."""

    pod: str
    """`namespace/name`."""
    uid: str
    since: float
    """Unix seconds, from when on the scheduler has known it."""
    priority: int = 0
    vendor: str = ""
    cards: int = 0
    memory: int = 0
    """Bytes of each card; 0 for whole cards."""
    cores: int = 0
    stage: str = ""
    """How far it has come, as in the `last` of an explanation; empty before the first try."""
    word: str = ""
    sentence: str = ""
    at: float = 0.0
    """When that was decided, in Unix seconds."""


class IdleRoom(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Idle capacity of the cluster in cards' worth, and what of it the expected pods cannot use."""

    at: float
    idle: float
    fragmented: float
    """Each kind of pod is measured against cards that it could use if nothing ran on their node."""
    without_demand: float = 0.0
    """Of `idle`, what none of these pods could use even then: not fragmented."""
    shapes: int
    """How many kinds of pods the expectation was learned from; 0 says that nobody knows what is typical yet."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How pods are placed that do not say."""

    node_policy: str
    card_policy: list[str]
    scheduler_names: list[str]
    renamed: dict[str, str] = {}
    """From this cluster's own name of a resource to the usual one, for those that are not called as usual."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of `/view`."""

    tangram: str = VERSION
    epoch: str
    """Of the process that answers. Another one than asked about means: this is a beginning, forget the rest."""
    version: int
    more: bool
    """Not everything is told yet: ask again at once."""
    at: float
    """Unix seconds at which this was true."""
    active: bool
    """False for a standby, which knows who sits where and nothing of promises and verdicts."""
    behind_s: float
    """How long ago the API server was last heard."""
    nodes: list[NodeStatus]
    """New or changed."""
    gone_nodes: list[str]
    waiting: list[WaitingPod]
    """New or changed."""
    gone_waiting: list[str]
    """Uids of pods that wait no longer."""
    untold_waiting: int = 0
    """Pods that wait beyond those that are told of."""
    room: IdleRoom | None = None
    rules: Rules | None = None
    """None when as before."""
    unread: dict[str, list[str]] | None = None
    """By node, what of it could not be read, in sentences; the first `MOST_UNREAD` nodes. None when as before."""


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    """What joins two cards, by their numbers on the node."""

    a: int
    b: int
    kind: str
    """`MX`, `MT` or empty where only PCIe joins them."""
    pcie: str
    """`internal`, `single-switch`, `multiple-switches`, `host-bridge`, `numa-node`, `system` or `unknown`."""
    lanes: int = 1


CardSet = shape.CardSet


class NodeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of `/view/nodes/NAME`."""

    tangram: str = VERSION
    at: float
    node: NodeStatus
    links: list[LinkView]
    links_known: bool
    labels: dict[str, str]
    taints: list[str]
    cpu_milli: int | None
    host_memory: int | None
    problems: list[str]
    pod: str = ""
    sets: list[CardSet] = []
    """For that pod: what it holds or would be given, then the runner-up. Empty where there was nothing to choose."""
