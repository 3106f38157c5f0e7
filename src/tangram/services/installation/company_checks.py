"""Who is there already: other makers' programs that do the same work, an older Tangram, and names that are taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tangram.drivers.doctor.findings import Finding, Findings, fail, ok, skip, warn
from tangram.services.installation.ground import Ground, Neighbour
from tangram.services.installation.wording import ASK_WITH_MORE, counted, cut, some_of
from tangram.wire import loose
from tangram.wire.agent_state import AGENT

_RELEASE: Final = "meta.helm.sh/release-name"
_RELEASE_HOME: Final = "meta.helm.sh/release-namespace"


def neighbours(ground: Ground) -> Findings:
    """Programs that announce the same cards or place the same pods."""
    check, known = "conflicts", ground.neighbours
    if known.unknown:
        yield skip(check, f"the pods are not known ({cut(known.unknown)})", f"{ASK_WITH_MORE}, or --timeout")
        return
    chosen = {node.name for node in ground.described()} if ground.selector else None
    found = [finding for each in known.known if (finding := _judged(each, chosen)) is not None]
    yield from found
    if not found:
        yield ok(check, "nothing that runs here does Tangram's work")


def _judged(neighbour: Neighbour, chosen: set[str] | None) -> Finding | None:
    check, program = "conflicts", neighbour.program
    nodes = [node for node in neighbour.nodes if chosen is None or node in chosen]
    where = some_of(sorted(nodes)) if nodes else "no node yet"
    match neighbour.manner:
        case "plugin" if nodes or not neighbour.nodes:
            return fail(
                check,
                f"{program} runs on {where}: two plugins that announce the same cards end each other's service, since "
                "a kubelet believes whoever spoke last",
                f"uninstall {program}, or choose with -l the nodes that Tangram's agent is for and keep it off these",
            )
        case "plugin":
            return None
        case "scheduler":
            return fail(
                check,
                f"{program} runs here ({where}), places the same pods and rewrites them when they are made",
                f"move over as docs/scheduler.md says, and uninstall {program} when its pods have ended",
            )
        case "extender":
            return warn(
                check,
                f"{program} runs here ({where}) and advises a scheduler about the same cards",
                f"take it out of that scheduler's configuration, then uninstall {program}",
            )
        case _:
            return ok(check, f"{program} runs here ({where}), and Tangram works with it: docs/koordinator.md")


def installed(ground: Ground) -> Findings:
    """A Tangram that runs already."""
    check = "installed"
    agents = [name for node in ground.nodes.items if (name := _name_with_agent(node))]
    if not ground.workloads:
        if agents:
            yield warn(
                check,
                f"Tangram's agent has been on {some_of(agents)}, and no DaemonSet that can be seen runs it",
                "end it there before the one of an installation starts; of two on a node one waits forever",
            )
        elif ground.workloads_unknown:
            yield skip(check, f"workloads may not be listed ({cut(ground.workloads_unknown)})", ASK_WITH_MORE)
        else:
            yield ok(check, "no Tangram runs here yet")
        return
    here = [each.full_name for each in ground.workloads if each.namespace == ground.namespace]
    elsewhere = [each.full_name for each in ground.workloads if each.namespace != ground.namespace]
    if elsewhere:
        yield fail(
            check,
            f"Tangram runs already in another namespace: {some_of(elsewhere)}; of two agents on a node one waits "
            "forever, and two schedulers bind the same pods",
            "name that namespace with -n to upgrade it, or uninstall it first",
        )
    if here:
        yield warn(
            check,
            f"Tangram runs already in {ground.namespace}: {some_of(here)}",
            "upgrade it instead of installing it again",
        )


def _name_with_agent(node: Mapping[str, Any]) -> str:
    metadata = loose.members(node.get("metadata"))
    return loose.text(metadata.get("name")) if AGENT in loose.text_map(metadata.get("annotations")) else ""


def names(ground: Ground) -> Findings:
    """Names that an installation takes, and who has them."""
    check = "names"
    taken: dict[str, list[str]] = {}
    hidden: list[str] = []
    for name, told in ground.names.items():
        if told.first is not None:
            taken.setdefault(_owner(told.first, ground.namespace), []).append(name)
        elif not told.known:
            hidden.append(name)
    for owner, which in taken.items():
        yield _taken(owner, which, ground.namespace)
    if hidden:
        why = next(told.message for told in ground.names.values() if not told.known)
        yield skip(check, f"{some_of(hidden)} may not be looked up ({cut(why)})", ASK_WITH_MORE)
    elif not taken:
        yield ok(check, f"{counted(len(ground.names), 'name')} that an installation takes are free")


def _taken(owner: str, which: list[str], namespace: str) -> Finding:
    if not owner:
        return fail(
            "names",
            f"{some_of(which)} {'is' if len(which) == 1 else 'are'} there already and of no Helm release, so helm "
            "refuses to take over",
            "delete what is left of an earlier installation, or go on with it by kubectl apply",
        )
    home, _, release = owner.partition("/")
    if home == namespace:
        return warn(
            "names",
            f"{some_of(which)} {'is' if len(which) == 1 else 'are'} of Helm release {release} in {home}",
            f"helm upgrade {release} instead of installing it again",
        )
    return fail(
        "names",
        f"{some_of(which)} {'is' if len(which) == 1 else 'are'} of Helm release {release} in {home}, and a cluster has "
        "such names once",
        f"helm uninstall {release} -n {home} --wait, or name that namespace with -n to upgrade it",
    )


def _owner(thing: Mapping[str, Any], namespace: str) -> str:
    """`NAMESPACE/RELEASE` of Helm, or nothing."""
    annotations = loose.text_map(loose.members(thing.get("metadata")).get("annotations"))
    release = annotations.get(_RELEASE, "")
    return f"{annotations.get(_RELEASE_HOME, namespace)}/{release}" if release else ""
