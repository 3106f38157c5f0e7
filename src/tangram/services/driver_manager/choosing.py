"""Whose driver a node should run: `driver.deployPolicy` as a pure choice between the host's and the payload's.

What a policy means stands in `policies.MEANINGS`; this is that table as code. Two things are the same under all of
them. A driver of the wanted version is never replaced by itself, whoever brought it. And a choice that cannot be
carried out leaves what runs running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from tangram.services.driver_manager.facts import OF_HOST, Facts, running_in
from tangram.services.driver_manager.journal import NOTHING, Failed, Target
from tangram.services.driver_manager.judging import is_broken
from tangram.services.driver_manager.problems import Problem
from tangram.services.driver_manager.staged import Staged
from tangram.services.driver_manager.versions import is_newer
from tangram.wire.operator.node_states import Source
from tangram.wire.operator.policies import DeployPolicy

ABSENT: Final = "payload-absent"
"""Of a payload that is still being brought; if it cannot be, its own pod says why."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    target: Target = NOTHING
    """`NOTHING` where no driver can be had."""
    problem: Problem | None = None
    """Why it is not the one that the policy would rather have, or why there is none."""


class _Sides(msgspec.Struct, frozen=True, kw_only=True):
    """Both drivers, each usable or with what is the matter with it."""

    cloud: Target | Problem
    failed: Problem | None = None
    """How the payload's driver failed here, for policies that have another choice."""
    host: Target | Problem | None
    """None where the host has none."""
    host_version: str = ""

    @property
    def cloud_works(self) -> bool:
        return isinstance(self.cloud, Target) and self.failed is None

    @property
    def cloud_problem(self) -> Problem | None:
        return self.cloud if isinstance(self.cloud, Problem) else self.failed

    @property
    def cloud_is_newer(self) -> bool:
        """A driver of the host's that does not tell its version is never called the older one."""
        if not isinstance(self.cloud, Target):
            return False
        return self.host is None or (
            self.host_version != OF_HOST and is_newer(self.cloud.version, self.host_version)
        )


def choose(facts: Facts) -> Choice:
    """The driver that this node should run."""
    cloud = _cloud(facts)
    failed = failure_of(facts, cloud) if isinstance(cloud, Target) and cloud != running_in(facts) else None
    sides = _Sides(
        cloud=cloud,
        failed=None if failed is None else Problem(failed.code, failed.why),
        host=_host(facts),
        host_version=_host_version(facts),
    )
    choice = _POLICIES[facts.policy](sides)
    refused = facts.payload
    if not isinstance(refused, Problem) or refused.code == ABSENT or choice.target.source is not Source.CLOUD:
        return choice
    # What runs goes on without its image; that the next one is no good must be said all the same.
    return msgspec.structs.replace(choice, problem=choice.problem or refused)


def failure_of(facts: Facts, target: Target) -> Failed | None:
    """The failure for which this is not tried again; a new turn, policy, payload or start of the machine lifts it."""
    for failed in facts.journal.failed:
        if failed.key == target.key and failed.policy == facts.policy and failed.boot == facts.boot:
            asked_again = facts.turn == target.version and failed.turn != facts.turn
            return None if asked_again else failed
    return None


def _cloud(facts: Facts) -> Target | Problem:
    payload, ours = facts.payload, facts.journal.loaded
    if isinstance(payload, Staged):
        return Target(
            source=Source.CLOUD,
            version=payload.version,
            digest=payload.digest,
            parameters=facts.wish.parameters,
        )
    # What was loaded before a restart of the machine is loaded again without its image.
    kept = facts.installed.get(ours.version) if ours.source is Source.CLOUD else None
    if payload is not None and kept is not None and kept.modules(facts.kernel):
        return msgspec.structs.replace(ours, digest=kept.digest, parameters=facts.wish.parameters)
    if payload is not None:
        return payload
    return Problem(
        "no-payload", "no driver payload is named: set driver.payload.version, or driver.deployPolicy Never"
    )


def _host(facts: Facts) -> Target | Problem | None:
    running = running_in(facts)
    runs = running is not None and running.source is Source.HOST
    if facts.of_host is None and not runs:
        return None
    target = running if running is not None and runs else _of_host(facts)
    if runs and is_broken(facts):
        return Problem(
            "host-driver-broken",
            f"the host's driver {target.version} is loaded and shows no card: {facts.sight.trouble or 'none listed'}",
        )
    failed = failure_of(facts, target)
    return Problem(failed.code, failed.why) if failed is not None and not runs else target


def _of_host(facts: Facts) -> Target:
    return Target(source=Source.HOST, version=facts.of_host if isinstance(facts.of_host, str) else OF_HOST)


def _host_version(facts: Facts) -> str:
    running = running_in(facts)
    return (
        running.version if running is not None and running.source is Source.HOST else _of_host(facts).version
    )


def _only_host(sides: _Sides) -> Choice:
    if isinstance(sides.host, Target):
        return Choice(target=sides.host)
    return Choice(
        problem=sides.host
        or Problem(
            "no-driver", "the host has no driver, and driver.deployPolicy Never brings none: install one"
        )
    )


def _only_cloud(sides: _Sides) -> Choice:
    return Choice(target=sides.cloud) if isinstance(sides.cloud, Target) else Choice(problem=sides.cloud)


def _if_not_present(sides: _Sides) -> Choice:
    return _only_cloud(sides) if sides.host is None else _only_host(sides)


def _if_newer(sides: _Sides) -> Choice:
    if sides.host is None or sides.cloud_is_newer:
        return _only_cloud(sides)
    # Where the payload cannot be read, whether it is newer cannot be told.
    problem = sides.cloud if isinstance(sides.cloud, Problem) else None
    host = _only_host(sides)
    return host if host.problem is not None else msgspec.structs.replace(host, problem=problem)


def _cloud_first(sides: _Sides) -> Choice:
    if not sides.cloud_works and isinstance(sides.host, Target):
        return Choice(target=sides.host, problem=sides.cloud_problem)
    return _only_cloud(sides)


def _host_first(sides: _Sides) -> Choice:
    if isinstance(sides.host, Target):
        return Choice(target=sides.host)
    if isinstance(sides.cloud, Target):
        return Choice(target=sides.cloud, problem=sides.host)
    return Choice(problem=sides.host or sides.cloud)


def _newer_first(sides: _Sides) -> Choice:
    return _cloud_first(sides) if sides.cloud_is_newer or sides.host is None else _host_first(sides)


_POLICIES: Final[Mapping[DeployPolicy, Callable[[_Sides], Choice]]] = {
    DeployPolicy.IF_NOT_PRESENT: _if_not_present,
    DeployPolicy.ALWAYS: _only_cloud,
    DeployPolicy.NEVER: _only_host,
    DeployPolicy.IF_NEWER: _if_newer,
    DeployPolicy.PREFER_CLOUD: _cloud_first,
    DeployPolicy.PREFER_HOST: _host_first,
    DeployPolicy.PREFER_NEWER: _newer_first,
}
