"""kube-scheduler's calls that carry whole nodes, read no further than an answer needs.

A thousand nodes are twelve megabytes, of which a few annotations matter, and they come with every pod of the cluster,
also with those that ask for no card. So the nodes stay bytes, and go back as the bytes they came in: kube-scheduler
puts the objects of the answer in place of its own. Whatever is not in its usual form is left to `extender.read_filter`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from tangram.wire.extender import FilterCall, chosen_answer, read_filter

Object = dict[str, Any]


class _Call(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw = msgspec.Raw()
    nodes: msgspec.Raw = msgspec.Raw()
    node_names: msgspec.Raw = msgspec.Raw()


class _Name(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Name


class _NamedList(msgspec.Struct):
    items: tuple[_Named, ...]


class _Metadata(msgspec.Struct):
    name: str
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


class _Status(msgspec.Struct):
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}


class _Brief(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


class _BriefList(msgspec.Struct):
    items: tuple[_Brief, ...]


class _RawList(msgspec.Struct):
    items: tuple[msgspec.Raw, ...]


_CALL = msgspec.json.Decoder(_Call)
_NAMES = msgspec.json.Decoder(_NamedList)
_BRIEFS = msgspec.json.Decoder(_BriefList)
_RAWS = msgspec.json.Decoder(_RawList)


class WholeCall(msgspec.Struct, frozen=True):
    """A question about a pod and whole nodes; every node has a name."""

    question: FilterCall
    """The pod, and the nodes' names."""
    listed: msgspec.Raw
    """The list of nodes as it came."""

    def nodes(self) -> tuple[Object, ...]:
        """The nodes in the order of their names: metadata and resources as far as placement reads them."""
        try:
            return tuple(_manifest(each) for each in _BRIEFS.decode(self.listed).items)
        except msgspec.DecodeError:
            # Odd in a way that only a patient reader can take.
            return tuple(msgspec.json.decode(self.listed)["items"])


def read_call(body: bytes) -> WholeCall | FilterCall:
    """The question in a filter or prioritize call, in whichever form. Raises `WireError`."""
    try:
        call = _CALL.decode(body)
        if bytes(call.node_names) in (b"", b"null") and bytes(call.pod) not in (b"", b"null"):
            names = tuple(each.metadata.name for each in _NAMES.decode(call.nodes).items)
            return WholeCall(FilterCall(call.pod, names), call.nodes)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return read_filter(body)


def names_of(call: WholeCall | FilterCall) -> tuple[str, ...]:
    """The nodes to choose from."""
    return call.question.names if isinstance(call, WholeCall) else call.names


def manifest_of(call: WholeCall | FilterCall) -> Object:
    """The pod. Raises `WireError`."""
    return call.question.manifest() if isinstance(call, WholeCall) else call.manifest()


def nodes_of(call: WholeCall | FilterCall) -> tuple[Object, ...] | None:
    """The nodes in the order of their names; None where only names came."""
    return call.nodes() if isinstance(call, WholeCall) else call.nodes


def answer_without(
    call: WholeCall | FilterCall, failed: Mapping[str, str], unresolvable: Mapping[str, str]
) -> Object:
    """All nodes but those that failed, in the form they came in."""
    out = failed.keys() | unresolvable.keys()
    left = [name for name in names_of(call) if name not in out]
    if not isinstance(call, WholeCall):
        return chosen_answer(left, call.nodes, failed=failed, unresolvable=unresolvable)
    answer = chosen_answer(left, failed=failed, unresolvable=unresolvable)
    return answer | {"Nodes": _left(call, out), "NodeNames": None}


def _left(call: WholeCall, out: Collection[str]) -> msgspec.Raw | Object:
    if not out:
        return call.listed
    nodes = zip(call.question.names, _RAWS.decode(call.listed).items, strict=True)
    return {"items": [node for name, node in nodes if name not in out]}


def _manifest(brief: _Brief) -> Object:
    metadata, status = brief.metadata, brief.status
    return {
        "metadata": {"name": metadata.name, "annotations": metadata.annotations, "labels": metadata.labels},
        "status": {"capacity": status.capacity, "allocatable": status.allocatable},
    }
