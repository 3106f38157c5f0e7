import pytest

from tangram.units.memory import GIB, Bytes, from_gib, from_mib
from tangram.wire.errors import WireError
from tangram.wire.koordinator.allocated import (
    AllocatedDevice,
    GpuShare,
    decode_allocated,
    encode_allocated,
    gpu_share,
)
from tangram.wire.koordinator.partitions import Partition, decode_partitions, encode_partitions

CORE, MEMORY, RATIO = (f"koordinator.sh/gpu-{part}" for part in ("core", "memory", "memory-ratio"))


def test_the_user_pages_pod_is_written_byte_for_byte() -> None:
    share = GpuShare.of_bytes(10, from_gib(1), from_gib(64))
    assert encode_allocated(
        {"gpu": [AllocatedDevice(minor=0, resources=share.resources(), id="<uuid>")]}
    ) == (
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"10","koordinator.sh/gpu-memory":"1Gi",'
        '"koordinator.sh/gpu-memory-ratio":"1"},"id":"<uuid>"}]}'
    )


@pytest.mark.parametrize(
    ("memory", "ratio"), [(from_gib(1), 1), (from_mib(512), 0), (from_gib(4), 6), (from_gib(64), 100)]
)
def test_percent_is_what_is_left_of_bytes_after_truncation(memory: Bytes, ratio: int) -> None:
    assert GpuShare.of_bytes(10, memory, from_gib(64)).ratio == ratio


@pytest.mark.parametrize(
    ("ratio", "memory"), [(100, 64 * GIB), (50, 32 * GIB), (30, 20615843020), (1, 687194767)]
)
def test_bytes_are_the_whole_part_of_the_percentage(ratio: int, memory: int) -> None:
    assert GpuShare.of_ratio(10, ratio, from_gib(64)).memory == memory


def test_fields_and_names_are_in_koordinators_order() -> None:
    full = AllocatedDevice(
        minor=1,
        resources={"b": "2", "a": "1"},
        id="x",
        extension={"vfs": [{"minor": 3, "busID": "0000:01:00.2"}]},
    )
    assert encode_allocated({"rdma": [full], "gpu": []}) == (
        '{"gpu":[],"rdma":[{"minor":1,"resources":{"a":"1","b":"2"},"id":"x",'
        '"extension":{"vfs":[{"minor":3,"busID":"0000:01:00.2"}]}}]}'
    )


def test_amounts_may_be_numbers_as_in_koordinators_own_comment() -> None:
    text = (
        '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":100,"koordinator.sh/gpu-memory":"16Gi"}}]}'
    )
    (device,) = decode_allocated(text)["gpu"]
    assert gpu_share(device, None) == GpuShare(100, from_gib(16), 100)
    assert gpu_share(device, from_gib(64)) == GpuShare(100, from_gib(16), 25)


def test_a_share_in_percent_needs_to_know_its_card() -> None:
    device = AllocatedDevice(minor=0, resources={CORE: "30", RATIO: "30"})
    assert gpu_share(device, from_gib(64)) == GpuShare.of_ratio(30, 30, from_gib(64))
    with pytest.raises(WireError):
        gpu_share(device, None)


@pytest.mark.parametrize(
    "resources", [{}, {MEMORY: "x"}, {MEMORY: "-1"}, {MEMORY: "1e80"}, {CORE: "?", MEMORY: "1Gi"}]
)
def test_a_device_that_does_not_say_how_much_is_an_error(resources: dict[str, str]) -> None:
    with pytest.raises(WireError):
        gpu_share(AllocatedDevice(minor=0, resources=resources), from_gib(64))


@pytest.mark.parametrize("text", ["null", "{}", '{"gpu":null}', '{"gpu":[]}'])
def test_nothing_allocated_is_read_as_nothing(text: str) -> None:
    assert not decode_allocated(text).get("gpu")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"gpu":{}}',
        '{"gpu":[7]}',
        '{"gpu":[{"resources":{}}]}',
        '{"gpu":[{"minor":-1}]}',
        '{"gpu":[{"minor":0,"resources":[]}]}',
        '{"gpu":[{"minor":0,"resources":{"a":[]}}]}',
    ],
)
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(WireError):
        decode_allocated(text)


def test_a_device_without_a_minor_is_not_written() -> None:
    with pytest.raises(WireError):
        encode_allocated({"gpu": [AllocatedDevice(minor=-1)]})


def test_the_documented_partition_table_is_written_and_read() -> None:
    text = '{"4":[{"minors":[0,1,2,3],"gpuLinkType":"HCCS","allocationScore":1}]}'
    table = {4: (Partition(minors=(0, 1, 2, 3), link="HCCS", score=1),)}
    assert encode_partitions(table) == text
    assert decode_partitions(text) == table


def test_bandwidth_is_kept_as_text() -> None:
    text = '{"1":[{"minors":[0],"ringBusBandwidth":"200Gi"}]}'
    assert encode_partitions(decode_partitions(text)) == text


@pytest.mark.parametrize(
    "text", ["", "[]", '{"x":[]}', '{"0":[]}', '{"1":{}}', '{"1":[{}]}', '{"1":[{"minors":[-1]}]}']
)
def test_an_unreadable_partition_table_is_an_error(text: str) -> None:
    with pytest.raises(WireError):
        decode_partitions(text)


def test_a_group_is_only_written_under_its_own_size() -> None:
    with pytest.raises(WireError):
        encode_partitions({2: [Partition(minors=(0,))]})
