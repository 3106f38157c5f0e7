"""kube-scheduler's extender protocol: what it asks, and how it is answered.

Its JSON is that of Go structs without tags: names as in Go, read in any case. Whatever cannot be read is a `WireError`,
which the caller answers in the field `Error`: kube-scheduler tries such a pod again by itself, while an answer that
merely lacks names parks the pod in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

Object = dict[str, Any]

_NONE: Final[Mapping[str, str]] = {}

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The last for lists in lists in lists."""
_LONGEST_NAME: Final = 253
_NAME: Final = re.compile(rf"(?=.{{1,{_LONGEST_NAME}}}\Z)[A-Za-z0-9](?:[-.A-Za-z0-9]*[A-Za-z0-9])?")
_LONGEST_UID: Final = 128
"""Kubernetes' own have 36 characters. They are kept in several places, so their length is no caller's to choose."""
_MOST_VIOLATIONS: Final = 1 << 31

NO_POD: Final = "extender args missing pod"
"""HAMi's words for a call without a pod."""


class FilterCall(msgspec.Struct, frozen=True):
    """One question about one pod; the pod's JSON is not read before it is needed."""

    pod: msgspec.Raw
    names: tuple[str, ...]
    nodes: tuple[Object, ...] | None = None
    """Whole nodes, where the caller keeps no cache; `names` are theirs then."""

    def manifest(self) -> Object:
        """The pod as an object. Raises `WireError`."""
        return _object(self.pod, "Pod")

    def uid(self) -> str:
        """The pod's UID, found without reading the rest; empty where no API server could have sent the pod."""
        try:
            found = _UID.decode(self.pod).metadata
        except _UNREADABLE:
            return ""
        named = max(len(found.name), len(found.namespace)) <= _LONGEST_NAME
        return found.uid if named and _could_be_uid(found.uid) else ""


class BindCall(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    uid: str
    node: str


class PreemptCall(msgspec.Struct, frozen=True):
    pod: msgspec.Raw
    victims: dict[str, tuple[str, ...]]
    """Node name to the UIDs of those who would have to go."""
    violations: dict[str, int]
    """Node name to the number of disruption budgets that would be broken."""

    def manifest(self) -> Object:
        """The pod as an object. Raises `WireError`."""
        return _object(self.pod, "Pod")


class _Metadata(msgspec.Struct):
    uid: str = ""
    name: str = ""
    namespace: str = ""


class _PodUid(msgspec.Struct):
    metadata: _Metadata


_UID = msgspec.json.Decoder(_PodUid)


class _NodeList(msgspec.Struct):
    items: tuple[Object, ...] | None = None


class _Filter(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw = msgspec.Raw()
    nodes: _NodeList | None = None
    node_names: tuple[str, ...] | None = None


class _Bind(msgspec.Struct):
    PodName: str = ""
    PodNamespace: str = ""
    PodUID: str = ""
    Node: str = ""


_FILTER = msgspec.json.Decoder(_Filter)
_BIND = msgspec.json.Decoder(_Bind)
_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_filter(body: bytes) -> FilterCall:
    """The question in a filter or prioritize call. Raises `WireError`."""
    try:
        asked = _FILTER.decode(body)
        if not bytes(asked.pod):
            asked = _FILTER.decode(_with_names_of(body, ("Pod", "Nodes", "NodeNames")))
    except _UNREADABLE as error:
        raise _unreadable(error) from error
    if not bytes(asked.pod) or bytes(asked.pod).strip() == b"null":
        raise WireError("extender-no-pod", NO_POD)
    if asked.node_names is not None:
        return FilterCall(asked.pod, asked.node_names)
    if asked.nodes is not None and asked.nodes.items is not None:
        nodes = asked.nodes.items
        return FilterCall(asked.pod, tuple(map(_name, nodes)), nodes)
    raise WireError(
        "extender-no-nodes",
        "the call names no nodes: it has NodeNames, or Nodes with items; send one of the two",
    )


def read_bind(body: bytes) -> BindCall:
    """The order in a bind call. Raises `WireError`."""
    try:
        asked = _BIND.decode(body)
        if not asked.PodName:
            asked = _BIND.decode(_with_names_of(body, ("PodName", "PodNamespace", "PodUID", "Node")))
    except _UNREADABLE as error:
        raise _unreadable(error) from error
    for field, value in (
        ("PodName", asked.PodName), ("PodNamespace", asked.PodNamespace), ("PodUID", asked.PodUID), ("Node", asked.Node)
    ):  # fmt: skip
        if not (_could_be_uid(value) if field == "PodUID" else _NAME.fullmatch(value)):
            raise WireError(
                "extender-bind-incomplete", f"{field} is {shown(value)}: it is a name in Kubernetes; send all of "
                "PodName, PodNamespace, PodUID and Node"
            )  # fmt: skip
    return BindCall(asked.PodName, asked.PodNamespace, asked.PodUID, asked.Node)


def read_preempt(body: bytes) -> PreemptCall:
    """The question in a preempt call, with whole victims or their UIDs alone. Raises `WireError`."""
    try:
        fields = {key.casefold(): value for key, value in _ANY.decode(body).items()}
        by_node = _members(fields.get("nodenametometavictims")) or _members(fields.get("nodenametovictims"))
    except _UNREADABLE as error:
        raise _unreadable(error) from error
    pod = fields.get("pod")
    if pod is None or bytes(pod).strip() == b"null":
        raise WireError("extender-no-pod", NO_POD)
    victims: dict[str, tuple[str, ...]] = {}
    violations: dict[str, int] = {}
    for node, written in by_node.items():
        entry = {key.casefold(): value for key, value in loose.members(written).items()}
        victims[node] = tuple(_victim_uid(each) for each in loose.elements(entry.get("pods")))
        violations[node] = min(max(loose.integer(entry.get("numpdbviolations")) or 0, 0), _MOST_VIOLATIONS)
    return PreemptCall(pod, victims, violations)


def chosen_answer(
    names: Sequence[str],
    nodes: Sequence[Object] | None = None,
    *,
    failed: Mapping[str, str] = _NONE,
    unresolvable: Mapping[str, str] = _NONE,
) -> Object:
    """These nodes, as objects where objects were asked about; of the others, why those given here would not do."""
    chosen = frozenset(names)
    return {
        "Nodes": None if nodes is None else {"items": [node for node in nodes if _name(node) in chosen]},
        "NodeNames": list(names) if nodes is None else None,
        "FailedNodes": dict(failed),
        "FailedAndUnresolvableNodes": dict(unresolvable),
        "Error": "",
    }


def failed_answer(
    reasons: Mapping[str, str], unresolvable: Mapping[str, str], nodes: Sequence[Object] | None = None
) -> Object:
    """No node, and why; those in `unresolvable` would not do even if pods were evicted there."""
    return {
        "Nodes": None if nodes is None else {"items": []},
        "NodeNames": [] if nodes is None else None,
        "FailedNodes": dict(reasons),
        "FailedAndUnresolvableNodes": dict(unresolvable),
        "Error": "",
    }


def error_answer(sentence: str) -> Object:
    """To be tried again soon; the sentence stands in the pod's condition. An empty one would be a yes."""
    return {"Nodes": None, "NodeNames": None, "FailedNodes": {}, "Error": sentence or "unknown error"}


def bind_answer(sentence: str = "") -> Object:
    """Nothing for a pod that is bound, or why it is not."""
    return {"Error": sentence}


def preempt_answer(victims: Mapping[str, Iterable[str]], violations: Mapping[str, int]) -> Object:
    """Who has to go on each node, by UID; a node that is left out is out of the question."""
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations.get(node, 0)}
            for node, uids in victims.items()
        }
    }


def scores_answer(scores: Mapping[str, int]) -> list[Object]:
    """A score from 0 to 10 for every node."""
    return [{"Host": node, "Score": score} for node, score in scores.items()]


def _object(raw: msgspec.Raw, what: str) -> Object:
    try:
        return msgspec.json.decode(raw, type=Object)
    except _UNREADABLE as error:
        raise WireError("extender-malformed", f"{what} is no object ({error!s:.120})") from error


def _members(raw: msgspec.Raw | None) -> Mapping[str, object]:
    return {} if raw is None else loose.members(msgspec.json.decode(raw))


def _could_be_uid(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_UID and text.isprintable()


def _victim_uid(written: object) -> str:
    """The UID in `{"UID": …}`, or that of a whole pod."""
    entry = loose.members(written)
    metadata = loose.members(entry.get("metadata"))
    return loose.text(entry.get("UID")) or loose.text(entry.get("uid")) or loose.text(metadata.get("uid"))


def _with_names_of(body: bytes, names: Sequence[str]) -> bytes:
    """The same object with these names in their usual case."""
    usual = {name.casefold(): name for name in names}
    fields = {usual.get(key.casefold(), key): value for key, value in _ANY.decode(body).items()}
    return msgspec.json.encode(fields)


def _name(node: Object) -> str:
    return loose.text(loose.members(node.get("metadata")).get("name"))


def _unreadable(error: Exception) -> WireError:
    return WireError(
        "extender-malformed",
        f"the call is no JSON object of kube-scheduler's extender protocol ({error!s:.120})",
    )
