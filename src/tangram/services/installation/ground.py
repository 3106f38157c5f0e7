"""What `preflight` knows of a cluster when it judges: one record, read once."""

from __future__ import annotations

from typing import Literal

import msgspec

from tangram.services.installation.asking import NOTHING, Told
from tangram.services.installation.created import HOME
from tangram.services.installation.matrix import Minor
from tangram.services.installation.node_reports import LINUX, NodeReport, node_report
from tangram.services.installation.workloads import Workload

Manner = Literal["plugin", "scheduler", "extender", "beside"]
"""Announces cards to kubelets; places pods; advises a scheduler; or works together with Tangram."""


class Neighbour(msgspec.Struct, frozen=True):
    """A program of somebody else's that runs in the cluster."""

    program: str
    manner: Manner
    nodes: tuple[str, ...] = ()


class Neighbours(msgspec.Struct, frozen=True):
    """All of them; or why they are not known."""

    known: tuple[Neighbour, ...] = ()
    unknown: str = ""


class Helm(msgspec.Struct, frozen=True):
    """The `helm` of the person who installs; neither where there is none."""

    version: str = ""
    fault: str = ""
    """Why it does not say its version."""


class Ground(msgspec.Struct, kw_only=True):
    """The cluster before an installation."""

    server: str
    namespace: str = HOME
    """Where Tangram is to be installed."""
    selector: str = ""
    """The nodes it is for; all where it is empty."""
    unreachable: str = ""
    """Why nothing could be read at all."""
    version: Minor | None = None
    spoken_version: str = ""
    """With patch level and whatever its maker adds."""
    nodes: Told = NOTHING
    home: Told = NOTHING
    """The namespace."""
    tried_in: str = ""
    """The namespace in which a privileged pod was tried."""
    tried_in_enforces: str = ""
    """The level of Pod Security that the label of that namespace enforces."""
    privileged: Told = NOTHING
    granting: Told = NOTHING
    """What came of handing out the rights of both schedulers: the first refusal, where there is one."""
    rights: dict[str, bool | None] = {}
    """By kind of object: whether the caller may create it."""
    names: dict[str, Told] = {}
    """By kind and name: what has that name already."""
    workloads: tuple[Workload, ...] = ()
    workloads_unknown: str = ""
    neighbours: Neighbours = Neighbours(unknown="they were not asked for")
    helm: Helm = Helm()

    def described(self) -> list[NodeReport]:
        """The nodes in question."""
        return [node_report(node) for node in self.nodes.items]

    def linux(self) -> list[NodeReport]:
        """Those on which Tangram could run and that are not known to be without cards."""
        return [each for each in self.described() if each.platform == LINUX and each.cards is not False]
