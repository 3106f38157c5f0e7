"""What `verify` knows of an installation when it judges: one record, read once a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tangram.kube.errors import NOT_FOUND
from tangram.services.installation.asking import NOTHING, Told
from tangram.services.installation.matrix import Minor
from tangram.services.installation.node_reports import has_cards
from tangram.services.installation.workloads import Workload
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.wire import loose, metax_labels, mthreads_labels
from tangram.wire.agent_state import AGENT
from tangram.wire.hami import CORDONED_CARDS
from tangram.wire.inventory import INVENTORY
from tangram.wire.node_facts import read_facts

VENDORS: Final = metax.RESOURCES | mthreads.RESOURCES


class Amount(msgspec.Struct, frozen=True):
    capacity: int
    allocatable: int


class NodeStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A node after an installation. `docs/preflight.md` promises this shape to programs."""

    name: str
    cordoned: bool
    agent: str
    """What Tangram's agent says of itself: serving, stopping, or nothing."""
    cards_cordoned: bool
    """Whether single cards of it are taken out of placement."""
    resources: dict[str, Amount]
    labels: dict[str, str]

    @property
    def usable(self) -> bool:
        return any(amount.allocatable > 0 for amount in self.resources.values())

    @property
    def has_cards(self) -> bool | None:
        return has_cards(self.labels)

    @property
    def driver_ready(self) -> bool:
        keys = (metax_labels.DRIVER_READY, mthreads_labels.DRIVER_READY)
        return any(self.labels.get(key) == "true" for key in keys)


def node_standing(node: Mapping[str, Any]) -> NodeStanding:
    """The facts of a Node object. Never raises."""
    facts = read_facts(node)
    counted = {name: facts.counted(name) for name in sorted(VENDORS) if name in facts.capacity}
    ours = metax_labels.OURS | mthreads_labels.OURS
    return NodeStanding(
        name=facts.name,
        cordoned=loose.members(node.get("spec")).get("unschedulable") is True,
        agent=facts.annotations.get(AGENT, ""),
        cards_cordoned=bool(facts.annotations.get(CORDONED_CARDS, "").strip()),
        resources={name: Amount(each.announced, each.usable) for name, each in counted.items()},
        labels={key: value for key, value in sorted(facts.labels.items()) if key in ours},
    )


def is_expected(node: Mapping[str, Any]) -> bool:
    """Whether anything on a node speaks of cards: a label, an agent, or an amount that was ever announced."""
    facts = read_facts(node)
    return (
        has_cards(facts.labels) is True
        or AGENT in facts.annotations
        or INVENTORY in facts.annotations
        or any(facts.counted(name).announced for name in VENDORS)
    )


class Page(msgspec.Struct, frozen=True):
    """What one path of a service answered."""

    status: int = 0
    """0 where no answer came."""
    text: str = ""


class Door(msgspec.Struct, frozen=True):
    """Where the API server finds the scheduler."""

    where: str
    """For a sentence."""
    pages: dict[str, Page] = {}
    """By path; empty where none could be asked."""
    closed: str = ""
    """Why none could be asked."""


class LeaseSeen(msgspec.Struct, frozen=True):
    """The Lease of the kube-scheduler beside ours."""

    name: str
    told: Told = NOTHING
    holder: str = ""
    renewed: bool = False
    """Whether it was renewed while somebody looked."""


class AgentPage(msgspec.Struct, frozen=True):
    """The metrics of one agent's pod."""

    pod: str
    page: Page


class Standing(msgspec.Struct, kw_only=True):
    """The cluster after an installation."""

    server: str
    unreachable: str = ""
    version: Minor | None = None
    selector: str = ""
    nodes: Told = NOTHING
    workloads: tuple[Workload, ...] = ()
    workloads_unknown: str = ""
    doors: tuple[Door, ...] = ()
    lease: LeaseSeen | None = None
    tried_in: str = ""
    """The namespace of the pods below."""
    completed: Told = NOTHING
    """A pod that admission must complete."""
    refused: Told = NOTHING
    """A pod that admission must refuse."""
    agent_pages: tuple[AgentPage, ...] = ()
    operator: Told = Told(status=NOT_FOUND)
    """The GPU Operator's object; absent where there is none."""
    served: frozenset[str] | None = None
    """Names in the profiles of the kube-scheduler that asks ours; None where no configuration can be seen."""

    def expected(self) -> list[NodeStanding]:
        """The nodes that must have cards: those that were chosen, else those that speak of cards."""
        return [node_standing(node) for node in self.nodes.items if self.selector or is_expected(node)]
