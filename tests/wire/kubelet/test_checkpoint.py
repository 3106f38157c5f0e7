"""Checkpoints here were written, checksum included, by the kubelet's own code (k8s.io/kubernetes v1.36.3)."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import (
    NO_NUMA,
    Checkpoint,
    NumaIds,
    RegisteredResource,
    parse_checkpoint,
)
from tangram.wire.kubelet.deviceplugin import CDIDevice, ContainerAllocateResponse, DeviceSpec, Mount

EMPTY = b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
NOTHING_ALLOCATED = (
    b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a.b/c":null,"tangram.dev/sgpu":["card0-0","card0-1"],'
    b'"tangram.dev/vgpu":[]}},"Checksum":315932279}'
)
FULL = (
    r'{"Data":{"PodDeviceEntries":[{"PodUID":"7c0a5c2e-94a2-4f6d-8a50-0d7f6c8f9b11","ContainerName":"main",'
    r'"ResourceName":"tangram.dev/sgpu","DeviceIDs":{"-1":["card0-0"],"0":["card0-7","card0-15"],"10":["x"],'
    r'"2":["card1-0"]},"AllocResp":"CgYKAUESATEKEgoBQhINendlaSAiw7wiIDwmPhIKCgIveBICL3kYARoUCgYvZGV2L2ESBi9kZXYvYhoC'
    r'cnciBgoBbhIBdioUChJ0YW5ncmFtLmRldi90ZXN0PTE="},{"PodUID":"7c0a5c2e-94a2-4f6d-8a50-0d7f6c8f9b11",'
    r'"ContainerName":"warm-up","ResourceName":"tangram.dev/sgpu","DeviceIDs":{"-1":["card0-0"]},"AllocResp":""},'
    r'{"PodUID":"u","ContainerName":"c","ResourceName":"r/ü\"\u003c\u003e\u0026%s{} nested","DeviceIDs":{},'
    r'"AllocResp":null},{"PodUID":"","ContainerName":"","ResourceName":"","DeviceIDs":null,"AllocResp":""},'
    r'{"PodUID":"q","ContainerName":"","ResourceName":"","DeviceIDs":{"3":null,"4":[]},"AllocResp":null}],'
    r'"RegisteredDevices":{"B":["1"],"a":["2"],"tangram.dev/sgpu":["card0-0","card0-1"],"é":["3"]}},'
    r'"Checksum":2813110323}'
).encode()
ANSWER_NO_MESSAGE = (
    b'{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r/s","DeviceIDs":{"-1":["x"]},'
    b'"AllocResp":"AP8="}],"RegisteredDevices":{}},"Checksum":2287752322}'
)
# The form of Kubernetes 1.19 and before: ids without NUMA nodes.
OLD = (
    b'{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r/s","DeviceIDs":["x"],'
    b'"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1}'
)


def code_of(content: bytes) -> str:
    with pytest.raises(WireError) as caught:
        parse_checkpoint(content)
    assert "the kubelet's device checkpoint" in caught.value.sentence
    return caught.value.code


def test_a_checkpoint_says_who_holds_what_and_what_they_were_answered() -> None:
    main, warm_up, *_ = parse_checkpoint(FULL).allocations
    assert main.pod_uid == warm_up.pod_uid == "7c0a5c2e-94a2-4f6d-8a50-0d7f6c8f9b11"
    assert (main.container, main.resource) == ("main", "tangram.dev/sgpu")
    assert main.by_numa == (
        NumaIds(NO_NUMA, ("card0-0",)),
        NumaIds(0, ("card0-7", "card0-15")),
        NumaIds(2, ("card1-0",)),
        NumaIds(10, ("x",)),
    )
    assert main.ids == ("card0-0", "card0-7", "card0-15", "card1-0", "x")
    assert main.response() == ContainerAllocateResponse(
        envs={"A": "1", "B": 'zwei "ü" <&>'},
        mounts=[Mount(container_path="/x", host_path="/y", read_only=True)],
        devices=[DeviceSpec(container_path="/dev/a", host_path="/dev/b", permissions="rw")],
        annotations={"n": "v"},
        cdi_devices=[CDIDevice(name="tangram.dev/test=1")],
    )
    assert (warm_up.ids, warm_up.response()) == (("card0-0",), ContainerAllocateResponse())


def test_what_go_left_empty_or_nil_is_read_as_nothing() -> None:
    assert parse_checkpoint(EMPTY) == Checkpoint((), ())
    assert parse_checkpoint(NOTHING_ALLOCATED).registered == (
        RegisteredResource("a.b/c", ()),
        RegisteredResource("tangram.dev/sgpu", ("card0-0", "card0-1")),
        RegisteredResource("tangram.dev/vgpu", ()),
    )
    assert [entry.ids for entry in parse_checkpoint(FULL).allocations[2:]] == [(), (), ()]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(FULL[:-1], id="cut-off"),
        pytest.param(b"\xff" + FULL, id="not-utf8"),
        pytest.param(OLD, id="kubernetes-1.19"),
        pytest.param(FULL.replace(b'"PodUID":"u",', b""), id="field-missing"),
        pytest.param(FULL.replace(b'"PodUID":"u",', b'"PodUID":"u","Claims":[],'), id="field-added"),
        pytest.param(FULL.replace(b'"10":', b'"ten":'), id="numa-not-a-number"),
        pytest.param(FULL.replace(b"2813110323", b"-1"), id="checksum-negative"),
        pytest.param(b'{"V2":' + FULL + b"}", id="other-wrapping"),
        pytest.param(b"[" * 100_000, id="nested-without-end"),
    ],
)
def test_a_form_that_is_not_known_is_refused(content: bytes) -> None:
    assert code_of(content) == "checkpoint-unknown"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(FULL.replace(b"card0-15", b"card0-16"), id="an-id"),
        pytest.param(FULL.replace(b'"DeviceIDs":null', b'"DeviceIDs":{}'), id="nil-made-empty"),
        pytest.param(FULL.replace("é".encode(), b"e"), id="a-resource"),
        pytest.param(FULL.replace(b"2813110323", b"2813110324"), id="the-checksum"),
        pytest.param(FULL.replace(b"2813110323", b"9" * 400), id="a-checksum-without-end"),
    ],
)
def test_a_change_the_kubelet_did_not_make_is_noticed(content: bytes) -> None:
    assert code_of(content) in {"checkpoint-checksum", "checkpoint-unknown"}


def test_an_answer_that_is_no_message_is_refused() -> None:
    assert code_of(ANSWER_NO_MESSAGE) == "checkpoint-answer"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    field=st.sampled_from(["PodUID", "ContainerName", "ResourceName", "DeviceIDs", "AllocResp"]), value=JSON
)
def test_no_value_in_any_field_is_met_with_anything_but_a_refusal(field: str, value: object) -> None:
    file = cast("dict[str, dict[str, list[dict[str, object]]]]", json.loads(FULL))
    entry = file["Data"]["PodDeviceEntries"][0]
    unchanged = entry[field] == value
    entry[field] = value
    assert is_readable(json.dumps(file).encode()) == unchanged


def is_readable(content: bytes) -> bool:
    try:
        parse_checkpoint(content)
    except WireError:
        return False
    return True
