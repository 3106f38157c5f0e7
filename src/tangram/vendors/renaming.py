"""Clusters that call our resources by other names: what they mean here, and how they are said back.

Vendors know one name for each resource. A cluster whose plugin announces another is translated at the border, once for
pods and once for nodes, so that no rule ever meets two names for one thing. The usual name of a resource that was
renamed means nothing in such a cluster; a pod that still writes it is refused, because a kubelet that does not know the
name starts the pod without a card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from tangram.model.pods import Container, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.vendors.codes import Code
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.protocol import Mutation, RemoveResource, SetLimit
from tangram.vendors.wording import asked, sentence

Renamed = Mapping[str, str]
"""From the cluster's own name of a resource to the usual one."""
NOTHING_RENAMED: Final[Renamed] = MappingProxyType({})

_Value = TypeVar("_Value")
_Remark = TypeVar("_Remark", Refusal, Caution)


def usual_names() -> frozenset[str]:
    """Every resource of ours as it is called where nobody renamed it."""
    return metax.RESOURCES | mthreads.RESOURCES | KOORDINATOR_RESOURCES


def abandoned(renamed: Renamed) -> frozenset[str]:
    """Usual names that stand for nothing here."""
    return frozenset(renamed.values()) - frozenset(renamed)


def own_name(usual: str, renamed: Renamed) -> str:
    """What this cluster calls the resource."""
    return next((own for own, meant in renamed.items() if meant == usual), usual)


def with_usual_names(amounts: Mapping[str, _Value], renamed: Renamed) -> Mapping[str, _Value]:
    """A map by resource name, as the rest of the program reads it; abandoned names are gone from it."""
    if not renamed:
        return amounts
    left_out = abandoned(renamed)
    return {renamed.get(name, name): amount for name, amount in amounts.items() if name not in left_out}


def pod_with_usual_names(pod: Pod, renamed: Renamed) -> Pod:
    """The pod as vendors read it."""
    return msgspec.structs.replace(
        pod,
        containers=tuple(
            msgspec.structs.replace(
                container,
                limits=dict(with_usual_names(container.limits, renamed)),
                requests=dict(with_usual_names(container.requests, renamed)),
            )
            for container in pod.containers
        ),
    )


def running_with_usual_names(pod: Pod, renamed: Renamed) -> Pod:
    """The same of a pod that has its node: abandoned names stay, because its kubelet counted them before the renaming.

    Where a container has a resource under both names, the cluster's own counts.
    """
    if not renamed:
        return pod

    def usual(amounts: Mapping[str, str]) -> dict[str, str]:
        own = {renamed[name]: amount for name, amount in amounts.items() if name in renamed}
        return {**{name: amount for name, amount in amounts.items() if name not in renamed}, **own}

    return msgspec.structs.replace(
        pod,
        containers=tuple(
            msgspec.structs.replace(
                container, limits=usual(container.limits), requests=usual(container.requests)
            )
            for container in pod.containers
        ),
    )


def abandoned_names(pod: Pod, renamed: Renamed) -> tuple[Refusal, ...]:
    """Refuse every name that meant a card elsewhere and means none here."""
    return tuple(
        _abandoned_name(container, usual, own_name(usual, renamed))
        for container in pod.containers
        for usual in sorted(abandoned(renamed))
        if usual in container.limits or usual in container.requests
    )


def mutations_with_own_names(mutations: Iterable[Mutation], renamed: Renamed) -> tuple[Mutation, ...]:
    """Changes to a pod, in the names it was written in."""
    return tuple(
        msgspec.structs.replace(each, resource=own_name(each.resource, renamed))
        if isinstance(each, SetLimit | RemoveResource)
        else each
        for each in mutations
    )


def told_with_own_names(remarks: Iterable[_Remark], renamed: Renamed) -> tuple[_Remark, ...]:
    """Sentences for a person, who must not be told of names that do nothing in this cluster."""
    own = {usual: mine for mine, usual in renamed.items()}
    # The longest first, and never the beginning of a longer name.
    usual = sorted(map(re.escape, own), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w./-])(?:{'|'.join(usual)})(?![\w-]|[./]\w)")
    return tuple(
        msgspec.structs.replace(each, sentence=pattern.sub(lambda found: own[found[0]], each.sentence))
        for each in remarks
    )


def _abandoned_name(container: Container, usual: str, own: str) -> Refusal:
    return Refusal(
        Code.RESOURCE_RENAMED,
        sentence(
            asked(container, usual),
            f"this cluster's device configuration calls that resource {own}",
            f"write {own} instead",
        ),
        container.name,
    )
