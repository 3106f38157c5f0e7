"""Calls with whole nodes: read sparingly, answered with the bytes that came, and the same as the patient reader's."""

import json

import msgspec
import pytest

from builders.gpu_aware import Object, asking_pod, names_call, offering_node, whole_call
from tangram.wire.errors import WireError
from tangram.wire.extender import FilterCall
from tangram.wire.whole_nodes import (
    WholeCall,
    answer_without,
    manifest_of,
    names_of,
    nodes_of,
    read_call,
)

NODES = [offering_node("a", scores={1: 0}), offering_node("b", 4)]


def encoded(answer: Object) -> Object:
    return msgspec.json.decode(msgspec.json.encode(answer), type=Object)


def test_whole_nodes_stay_bytes_and_come_back_as_they_were() -> None:
    nodes = b'{"items": [{"metadata": {"name":"a"},  "odd" : 1.50e1}]}'
    body = b'{"Pod": {"spec": {}}, "Nodes": ' + nodes + b', "NodeNames": null}'
    call = read_call(body)
    assert isinstance(call, WholeCall)
    assert nodes in msgspec.json.encode(answer_without(call, {}, {}))


def test_nodes_that_fail_are_left_out_and_named_with_their_reason() -> None:
    answer = encoded(answer_without(read_call(whole_call(asking_pod(), NODES)), {"a": "busy"}, {}))
    assert answer["Nodes"] == {"items": [NODES[1]]}
    assert answer["NodeNames"] is None
    assert answer["FailedNodes"] == {"a": "busy"}
    assert answer["Error"] == ""


def test_of_a_node_what_placement_reads_is_kept() -> None:
    call = read_call(whole_call(asking_pod(2), NODES))
    assert names_of(call) == ("a", "b")
    assert manifest_of(call) == asking_pod(2)
    nodes = nodes_of(call)
    assert nodes is not None
    for short, long in zip(nodes, NODES, strict=True):
        assert short["metadata"]["annotations"] == long["metadata"]["annotations"]
        assert short["status"]["allocatable"] == long["status"]["allocatable"]
        assert "images" not in short["status"]


def test_names_alone_are_answered_with_names() -> None:
    call = read_call(names_call(asking_pod(), ["a", "b"]))
    assert isinstance(call, FilterCall)
    assert nodes_of(call) is None
    answer = encoded(answer_without(call, {}, {"b": "too small"}))
    assert (answer["NodeNames"], answer["Nodes"]) == (["a"], None)
    assert answer["FailedAndUnresolvableNodes"] == {"b": "too small"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"metadata": {"name": "a", "annotations": {"x": 5}}}, id="an annotation that is a number"
        ),
        pytest.param({"metadata": {"name": "a", "annotations": None}}, id="no annotations"),
        pytest.param({"status": {"capacity": {"cpu": 4}}}, id="a capacity that is a number"),
        pytest.param({"status": None}, id="no status"),
    ],
)
def test_an_odd_node_is_read_by_the_patient_reader(change: Object) -> None:
    odd = NODES[0] | change
    call = read_call(whole_call(asking_pod(), [odd, NODES[1]]))
    assert names_of(call) == ("a", "b")
    assert nodes_of(call) is not None
    assert encoded(answer_without(call, {}, {}))["Nodes"]["items"] == [odd, NODES[1]]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"pod": asking_pod(), "nodes": {"items": NODES}}, id="other case"),
        pytest.param(
            {"Pod": asking_pod(), "Nodes": {"items": [{"metadata": {"uid": "u"}}]}},
            id="a node without a name",
        ),
    ],
)
def test_an_unusual_form_is_read_all_the_same(body: Object) -> None:
    call = read_call(json.dumps(body).encode())
    assert isinstance(call, FilterCall)
    nodes = nodes_of(call)
    assert nodes is not None
    assert len(nodes) == len(names_of(call))


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"{", b'{"Pod": null, "Nodes": {"items": []}}', b'{"Pod": {}}', b"\xff"],
)
def test_what_is_no_call_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        read_call(body)


@pytest.mark.parametrize("pod", [[], 5, "x"])
def test_a_pod_that_is_no_object_is_refused(pod: object) -> None:
    for body in ({"Pod": pod, "NodeNames": ["a"]}, {"Pod": pod, "Nodes": {"items": NODES}}):
        with pytest.raises(WireError, match="Pod is no object"):
            manifest_of(read_call(json.dumps(body).encode()))
