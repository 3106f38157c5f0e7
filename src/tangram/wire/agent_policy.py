"""What the agents of a node may write, as ValidatingAdmissionPolicies that the API server itself enforces.

Roles cannot say "its own node": who may patch one node may patch all, taints among them, and who may patch a pod may
change its image. A token names the node of its pod since Kubernetes 1.30, so a policy can. It lets an agent write to
that node, to pods that are bound to it and to the `Device` of its name, and there exactly what the agents' code writes;
root on one node is then nothing on another. Only requests of their accounts are looked at, so nobody else can be
stopped by a mistake here.

Under the operator a node has two more agents, and whether its driver is ready is for driver-manager to say and no
longer for gpu-label.

Which cards a pod holds is guarded against everybody by `trust_policy`; here it is about everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.wire import allocation_keys, metax_labels, mthreads_labels
from tangram.wire.admission_policy import literal, literals, policy_manifests, validation
from tangram.wire.agent_state import AGENT
from tangram.wire.inventory import INVENTORY
from tangram.wire.koordinator import definition
from tangram.wire.koordinator.node_resources import NODE_LABELS
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES, ZONES
from tangram.wire.mthreads_cards import LABEL_COUNT, LABEL_SLICED
from tangram.wire.nodelock import NODE_LOCK
from tangram.wire.operator import names
from tangram.wire.trust_policy import NODE_OF_TOKEN

Object = dict[str, Any]

OWN_NODE: Final = "an agent writes to its own node, to pods that are bound to it and to its Device, alone"
OWN_WORDS: Final = "an agent writes what it knows of cards and nothing else"
CONDITION: Final = "GpuModeChangePending"

_AMOUNTS: Final = (KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO, KOORDINATOR_SHARED)
_NODES: Final[Object] = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["UPDATE"],
    "resources": ["nodes"],
    "scope": "Cluster",
}
_OF_DEVICE: Final = (
    _NODES | {"resources": ["nodes", "nodes/status"]},
    _NODES | {"resources": ["pods"], "scope": "Namespaced"},
    {
        "apiGroups": [definition.GROUP],
        "apiVersions": [definition.VERSION],
        "operations": ["CREATE", "UPDATE"],
        "resources": [definition.PLURAL],
        "scope": "Cluster",
    },
)


class _Agent(msgspec.Struct, frozen=True, kw_only=True):
    requests: tuple[Object, ...]
    """Everything that its role lets it write, events apart."""
    words: Mapping[str, tuple[str, ...]]
    """By resource, what it writes there; of a resource that is not here it writes all."""


def _words(**kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{kind} {key}" for kind, keys in kinds.items() for key in keys)


_DEVICE: Final = _Agent(
    requests=_OF_DEVICE,
    words={
        "nodes": _words(
            annotation=(AGENT, INVENTORY, NODE_DEVICES, SCORES, LOSSES, ZONES, NODE_LOCK),
            label=(LABEL_COUNT, LABEL_SLICED, *NODE_LABELS),
            capacity=_AMOUNTS,
            allocatable=_AMOUNTS,
            condition=(CONDITION,),
        ),
        "pods": _words(annotation=allocation_keys.ANNOTATIONS),
    },
)
_LABEL: Final = _Agent(
    requests=(_NODES,),
    words={"nodes": _words(label=sorted((*metax_labels.OURS, *mthreads_labels.OURS)))},
)
_LABEL_UNDER_OPERATOR: Final = _Agent(
    requests=(_NODES,),
    words={
        "nodes": _words(
            label=sorted(
                {*metax_labels.OURS, *mthreads_labels.OURS}
                - {*names.DRIVER_MANAGER_LABELS, *names.RUNTIME_LABELS}
            )
        )
    },
)
_DRIVER_MANAGER: Final = _Agent(
    requests=(_NODES | {"resources": ["nodes", "nodes/status"]},),
    words={
        "nodes": _words(
            annotation=names.DRIVER_MANAGER_ANNOTATIONS,
            label=names.DRIVER_MANAGER_LABELS,
            condition=(names.DRIVER_CHANGE_PENDING,),
        )
    },
)
_CONTAINER_RUNTIME: Final = _Agent(
    requests=(_NODES,),
    words={"nodes": _words(annotation=names.RUNTIME_ANNOTATIONS, label=names.RUNTIME_LABELS)},
)
_NUMBERED: Final = "^label mthreads[.]com/gpu[0-9]{1,9}[.]memory$"
"""Labels of gpu-device that have the number of a card in them."""


def device_agent_policy(name: str, account: str) -> list[Object]:
    """The policy and its binding for the account of gpu-device."""
    return _manifests(name, account, _DEVICE)


def label_agent_policy(name: str, account: str) -> list[Object]:
    """The same for the account of gpu-label."""
    return _manifests(name, account, _LABEL)


def operated_label_agent_policy(name: str, account: str) -> list[Object]:
    """The same where driver-manager says whether the driver is ready, and who brought it."""
    return _manifests(name, account, _LABEL_UNDER_OPERATOR)


def driver_manager_policy(name: str, account: str) -> list[Object]:
    """The same for the account of driver-manager."""
    return _manifests(name, account, _DRIVER_MANAGER)


def container_runtime_policy(name: str, account: str) -> list[Object]:
    """The same for the account of container-runtime."""
    return _manifests(name, account, _CONTAINER_RUNTIME)


def _manifests(name: str, account: str, agent: _Agent) -> list[Object]:
    return policy_manifests(
        name,
        requests=agent.requests,
        conditions=[
            {"name": "its-account", "expression": f"request.userInfo.username == {literal(account)}"}
        ],
        variables=_variables(agent),
        validations=[
            validation("variables.place != '' && variables.place == variables.node", OWN_NODE, _elsewhere()),
            validation("variables.foreign.size() == 0", OWN_WORDS, _foreign()),
        ],
    )


def _variables(agent: _Agent) -> list[Object]:
    bound = "oldObject.spec.?nodeName.orValue('')"
    return [
        {
            "name": "node",
            # One name; two would be no node's.
            "expression": f"request.userInfo.?extra[?'{NODE_OF_TOKEN}'].orValue([]).join(' ')",
        },
        {
            "name": "place",
            "expression": f"{_is('pods')} ? {bound} : object.metadata.name"
            if "pods" in agent.words
            else "object.metadata.name",
        },
        {"name": "touched", "expression": _touched(agent)},
        {"name": "foreign", "expression": _not_its_own(agent)},
    ]


def _touched(agent: _Agent) -> str:
    """Everything of the object that is another than before, each by what it is called."""
    resources = {name for each in agent.requests for name in each["resources"]}
    of_status = (
        _of_map("capacity", "?status.?capacity"),
        _of_map("allocatable", "?status.?allocatable"),
        _of_conditions(),
        _of_field("?status.?addresses"),
        _of_field("?status.?daemonEndpoints"),
    )
    listed = " + ".join(
        (
            _of_map("label", "metadata.?labels"),
            _of_map("annotation", "metadata.?annotations"),
            _of_field("metadata.?finalizers"),
            _of_field("metadata.?ownerReferences"),
            _of_field("spec"),
            *(of_status if "nodes/status" in resources else ()),
        )
    )
    free = sorted(resources - agent.words.keys() - {"nodes/status"})
    return f"{_is(*free)} ? [] : {listed}" if free else listed


def _of_map(word: str, path: str) -> str:
    now, before = (f"{each}.{path}.orValue({{}})" for each in ("object", "oldObject"))
    named = f".map(key, '{word} ' + key)"
    return f"{now}.filter(key, {now}[?key] != {before}[?key]){named} + {before}.filter(key, !(key in {now})){named}"


def _of_conditions() -> str:
    now, before = (f"{each}.?status.?conditions.orValue([])" for each in ("object", "oldObject"))
    named = ".map(each, 'condition ' + each.type)"
    return (
        f"{now}.filter(each, !(each in {before})){named}"
        f" + {before}.filter(each, !{now}.exists(other, other.type == each.type)){named}"
    )


def _of_field(path: str) -> str:
    return f"(object.{path} == oldObject.{path} ? [] : ['{path.rpartition('.')[2].removeprefix('?')}'])"


def _not_its_own(agent: _Agent) -> str:
    (first, words), *others = agent.words.items()
    own = literals(words)
    for resource, more in others:
        own = f"({_is(resource)} ? {literals(more)} : {own})"
    numbered = f" && !({_is(first)} && each.matches('{_NUMBERED}'))" if agent is _DEVICE else ""
    return f"variables.touched.filter(each, !(each in {own}){numbered})"


def _is(*resources: str) -> str:
    return " || ".join(f"request.resource.resource == '{each}'" for each in resources)


_WRITER: Final = "request.userInfo.username + ' writes '"
_THING: Final = "request.kind.kind + ' ' + object.metadata.name"


def _elsewhere() -> str:
    where = (
        "(variables.place == object.metadata.name ? '' : "
        "variables.place == '' ? ' of no node' : ' of node ' + variables.place)"
    )
    here = "(variables.node == '' ? 'no node' : 'node ' + variables.node)"
    instead = "(variables.node == '' ? 'run it as a pod, whose token names its node' : 'leave it to the agent there')"
    return (
        f"{_WRITER} + {_THING} + {where} + ' with a token of ' + {here} + '; {OWN_NODE}; ' + {instead} + '.'"
    )


def _foreign() -> str:
    return (
        f"{_WRITER} + variables.foreign.join(', ') + ' of ' + {_THING} + '; {OWN_WORDS}; leave it as it is.'"
    )
