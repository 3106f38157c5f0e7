"""How an administrator says how the driver is to run on each node: the vendor's ConfigMap `driver-config`.

It says above all into how many virtual functions the cards of a node are split. Two forms of it are about, and both
are read, together or alone: the manual's (v1) has a map of nodes under `node-vfnums`, the later one (v2) a list under
`nodes-config`. Parameters of the kernel module are maps of names and
values: `module-params` for every node, `node-module-params` for single ones.

    node-vfnums: |                nodes-config: |            module-params: |
      nodes:                        - nodeName: foo            gpu_model: 1
        foo:                          vfNum: 2
          vfnum: 2

A word that is known but wrong is refused, and so is a key that is not known: a card that quietly stays whole is what
somebody finds out days later. An entry about another node is that node's business where a node reads it for itself. A
refusal names its place, so that a reader who has the text can say the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

import msgspec

from tangram.units.ids import NodeName
from tangram.vendors.metax.products import VIRTUAL_FUNCTION_COUNTS
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.device_config import ConfigError, Place
from tangram.wire.errors import shown

VERSION_KEY: Final = "version"
VFNUMS_KEY: Final = "node-vfnums"
NODES_KEY: Final = "nodes-config"
PARAMETERS_KEY: Final = "module-params"
NODE_PARAMETERS_KEY: Final = "node-module-params"
KEYS: Final = (VERSION_KEY, VFNUMS_KEY, NODES_KEY, PARAMETERS_KEY, NODE_PARAMETERS_KEY)
"""The keys of the ConfigMap."""

FUNCTION_COUNTS: Final = (0, *VIRTUAL_FUNCTION_COUNTS)

_VERSIONS = ("v1", "v2")
_NODES, _VFNUM, _NODE_NAME, _VF_NUM = "nodes", "vfnum", "nodeName", "vfNum"
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_VALUE = re.compile(r"[!#-&(-~]{1,256}")
"""Visible ASCII without quotes: the kernel splits its line at blanks and knows quotes of its own."""


class DriverConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of the driver, on every node that is mentioned."""

    functions: Mapping[NodeName, int] = {}
    parameters: Mapping[str, str] = {}
    """Of the kernel module, on every node."""
    node_parameters: Mapping[NodeName, Mapping[str, str]] = {}

    def functions_for(self, node: NodeName) -> int | None:
        """Virtual functions of each card; None where the node is not mentioned."""
        return self.functions.get(node)

    def parameters_for(self, node: NodeName) -> dict[str, str]:
        """What the module is loaded with there; what is said of the node itself counts before what is said of all."""
        return {**self.parameters, **self.node_parameters.get(node, {})}


def sample_data() -> dict[str, str]:
    """The ConfigMap as it is created: the manual's sample, which names no node that anybody has."""
    return {VFNUMS_KEY: "nodes:\n  sample-node:\n    vfnum: 4\n  sample-node2:\n    vfnum: 2\n"}


def read_driver_config(data: Mapping[str, object], node: NodeName | None = None) -> DriverConfig:
    """What the ConfigMap's parsed values say; of one node, or of all where none is named. Raises `ConfigError`.

    Values that are empty say nothing, as the vendor's chart leaves the keys of the form that it does not use.
    """
    _check_keys(data, KEYS, "the ConfigMap", ())
    _check_version(data.get(VERSION_KEY))
    said = _read_vfnums(data.get(VFNUMS_KEY), node)
    listed = _read_list(data.get(NODES_KEY), node)
    for name, count in listed.items():
        if said.get(name, count) != count:
            raise ConfigError(
                "driver-config-contradicts",
                f"node {name} has vfNum {count} under {NODES_KEY} and vfnum {said[name]} under {VFNUMS_KEY}; "
                "leave one of the two",
                (NODES_KEY,),
            )
    own = _nodes_of(data.get(NODE_PARAMETERS_KEY), NODE_PARAMETERS_KEY, node)
    return DriverConfig(
        functions={**said, **listed},
        parameters=_read_parameters(data.get(PARAMETERS_KEY), PARAMETERS_KEY, (PARAMETERS_KEY,)),
        node_parameters={
            name: _read_parameters(value, f"{NODE_PARAMETERS_KEY} of node {name}", place)
            for name, (value, place) in own.items()
        },
    )


def _check_version(value: object) -> None:
    if not _says_nothing(value) and value not in _VERSIONS:
        raise ConfigError(
            "driver-config-version",
            f"{VERSION_KEY} is {shown(value)}: it is {either(_VERSIONS)}; write one of these, or remove it",
        )


def _read_vfnums(value: object, node: NodeName | None) -> dict[NodeName, int]:
    found: dict[NodeName, int] = {}
    for name, (entry, place) in _nodes_of(value, VFNUMS_KEY, node).items():
        where = f"{VFNUMS_KEY} of node {name}"
        members = _map(entry, where, place, f"{_VFNUM}: 2")
        _check_keys(members, (_VFNUM,), where, place)
        found[name] = _count(members.get(_VFNUM), _VFNUM, where, place)
    return found


def _read_list(value: object, node: NodeName | None) -> dict[NodeName, int]:
    if _says_nothing(value):
        return {}
    if not loose.is_list(value):
        raise ConfigError(
            "driver-config-malformed",
            f"{NODES_KEY} is {shown(value)}: it is a list; write for example - {_NODE_NAME}: foo",
            (NODES_KEY,),
        )
    found: dict[NodeName, int] = {}
    for position, row in enumerate(loose.elements(value)):
        where, place = f"{NODES_KEY}[{position}]", (NODES_KEY, position)
        entry = _map(row, where, place, f"{_NODE_NAME}: foo")
        name = NodeName(loose.scalar_text(entry.get(_NODE_NAME)) or "")
        if node is not None and name not in ("", node):
            continue
        _check_keys(entry, (_NODE_NAME, _VF_NUM), where, place)
        if not _NAME.fullmatch(name):
            read = f"{_NODE_NAME} {shown(name)}" if name else f"no {_NODE_NAME}"
            raise ConfigError(
                "driver-config-node-name",
                f"{where} has {read}: it is the name of a node; write one as kubectl get nodes prints it",
                place,
            )
        if name in found:
            raise ConfigError(
                "driver-config-node-twice",
                f"{where} names node {name} a second time; leave one entry of the two",
                place,
            )
        found[name] = _count(entry.get(_VF_NUM), _VF_NUM, f"{where} (node {name})", place)
    return found


def _nodes_of(value: object, key: str, node: NodeName | None) -> dict[NodeName, tuple[object, Place]]:
    """What stands below `nodes`, by node, each with its place."""
    if _says_nothing(value):
        return {}
    document = _map(value, key, (key,), f"{_NODES}:")
    _check_keys(document, (_NODES,), key, (key,))
    nodes = document.get(_NODES)
    if nodes is None:
        return {}
    entries = _map(nodes, f"{_NODES} in {key}", (key, _NODES), "the name of a node")
    found: dict[NodeName, tuple[object, Place]] = {}
    for written, entry in entries.items():
        # YAML makes numbers of names that look like one.
        name = NodeName(loose.scalar_text(written) or "")
        place = (key, _NODES, str(written))
        if node is not None and name != node:
            continue
        if name in found or not _NAME.fullmatch(name):
            what = "stands there twice" if name in found else "is no name of a node"
            raise ConfigError(
                "driver-config-node-name",
                f"{_NODES} in {key} has {shown(written)}, which {what}; write every node once, as kubectl get nodes "
                "prints it",
                place,
            )
        found[name] = (entry, place)
    return found


def _read_parameters(value: object, where: str, place: Place) -> dict[str, str]:
    if _says_nothing(value):
        return {}
    found: dict[str, str] = {}
    for name, entry in _map(value, where, place, "gpu_model: 1").items():
        written = str(name)
        if not _PARAMETER.fullmatch(written):
            raise ConfigError(
                "driver-config-parameter",
                f"{where} has the parameter {shown(written)}: a name is letters, digits and _; write for example "
                "gpu_model",
                (*place, written),
            )
        # As the kernel itself writes and reads truth values.
        text = ("1" if entry else "0") if isinstance(entry, bool) else loose.scalar_text(entry) or ""
        if not _VALUE.fullmatch(text):
            raise ConfigError(
                "driver-config-parameter",
                f"{written} in {where} is {shown(entry)}: a value is a number or a word without blanks and quotes; "
                "write for example 1",
                (*place, written),
            )
        found[written] = text
    return found


def _count(value: object, key: str, where: str, place: Place) -> int:
    count = loose.integer(value)
    if count is None or count not in FUNCTION_COUNTS:
        read = "is missing" if value is None else f"is {shown(value)}"
        counts = ", ".join(map(str, FUNCTION_COUNTS[:-1]))
        raise ConfigError(
            "driver-config-vfnum",
            f"{key} in {where} {read}: it is {counts} or {FUNCTION_COUNTS[-1]}; write one of these",
            (*place, key),
        )
    return count


def _check_keys(members: Mapping[str, object], keys: Sequence[str], where: str, place: Place) -> None:
    for key in members:
        if key not in keys:
            close = get_close_matches(str(key), keys, n=1)
            instead = f"write {close[0]}" if close else "remove it"
            legal = (
                f"the only key there is {keys[0]}" if len(keys) == 1 else f"the keys are {', '.join(keys)}"
            )
            raise ConfigError(
                "driver-config-key",
                f"{where} has the key {shown(key)}, which is not known: {legal}; {instead}",
                (*place, str(key)),
            )


def _map(value: object, where: str, place: Place, example: str) -> Mapping[str, object]:
    if not loose.is_object(value):
        raise ConfigError(
            "driver-config-malformed",
            f"{where} is {shown(value)}: it is a map; write for example {example}",
            place,
        )
    return loose.members(value)


def _says_nothing(value: object) -> bool:
    return value is None or value in ("", [], {})
