"""The test bed's hands on a node: CDI specs, the kubelet's checkpoint, the PodResources socket."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tangram.kubelet.sockets import Refusal, answering, serve
from tangram.wire.cdi import CdiDevice, CdiSpec
from tangram.wire.kubelet import podresources
from testbed.cdi import remove_spec, write_spec
from testbed.checkpoint import read_checkpoint
from testbed.errors import BedError
from testbed.podresources import PodResourcesClient, PodResourcesError

SGPU = "tangram.dev/sgpu"
SPEC = CdiSpec(kind="tangram.dev/test", devices=(CdiDevice(name="1", env={"A": "1"}),))
OTHER = CdiSpec(kind="tangram.dev/test", devices=(CdiDevice(name="1", env={"A": "2"}),))


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short path, as sockets need it."""
    made = Path(tempfile.mkdtemp(prefix="node-"))
    yield made
    shutil.rmtree(made)


# ---- CDI


def test_a_spec_appears_whole_under_a_name_runtimes_read(directory: Path) -> None:
    path = write_spec(directory, SPEC, "call-1")
    assert [found.name for found in directory.iterdir()] == ["tangram.dev-test_call-1.json"]
    assert json.loads(path.read_text())["kind"] == "tangram.dev/test"
    remove_spec(path)
    remove_spec(path)
    assert list(directory.iterdir()) == []


def test_a_spec_is_replaced_only_on_purpose(directory: Path) -> None:
    path = write_spec(directory, SPEC, "call-1")
    with pytest.raises(BedError, match="is there already: remove it first"):
        write_spec(directory, OTHER, "call-1")
    assert "A=1" in path.read_text()
    assert write_spec(directory, OTHER, "call-1", replace=True) == path
    assert "A=2" in path.read_text()
    assert len(list(directory.iterdir())) == 1


def test_a_spec_that_cannot_be_written_is_explained(directory: Path) -> None:
    with pytest.raises(BedError, match=r"no CDI spec could be written to .*none': No such file"):
        write_spec(directory / "none", SPEC, "call-1")
    with pytest.raises(BedError, match="it needs devices"):
        write_spec(directory, CdiSpec(kind="tangram.dev/test", devices=()), "call-1")


# ---- checkpoint


def test_a_checkpoint_is_read_from_the_plugins_directory(directory: Path) -> None:
    written = b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
    (directory / "kubelet_internal_checkpoint").write_bytes(written)
    assert read_checkpoint(directory).allocations == ()


def test_a_checkpoint_that_is_missing_or_strange_is_explained(directory: Path) -> None:
    with pytest.raises(
        BedError, match=r"cannot be read .*: the kubelet writes it when a device plugin has registered"
    ):
        read_checkpoint(directory)
    (directory / "kubelet_internal_checkpoint").write_bytes(b"{}")
    with pytest.raises(
        BedError, match="kubelet_internal_checkpoint': the kubelet's device checkpoint has a form"
    ):
        read_checkpoint(directory)


# ---- PodResources


def pod(name: str, *ids: str) -> podresources.PodResources:
    devices = [podresources.ContainerDevices(resource_name=SGPU, device_ids=[device_id]) for device_id in ids]
    container = podresources.ContainerResources(name="main", devices=devices)
    return podresources.PodResources(name=name, namespace="team-a", containers=[container])


async def on_list(_asked: podresources.ListPodResourcesRequest) -> podresources.ListPodResourcesResponse:
    return podresources.ListPodResourcesResponse(pod_resources=[pod("one", "a", "b"), pod("two", "c")])


async def on_get(asked: podresources.GetPodResourcesRequest) -> podresources.GetPodResourcesResponse:
    if (asked.pod_namespace, asked.pod_name) != ("team-a", "one"):
        raise Refusal(grpc.StatusCode.NOT_FOUND, f"pod {asked.pod_name} not found")
    return podresources.GetPodResourcesResponse(pod_resources=pod("one", "a", "b"))


async def on_allocatable(
    _asked: podresources.AllocatableResourcesRequest,
) -> podresources.AllocatableResourcesResponse:
    devices = [podresources.ContainerDevices(resource_name=SGPU, device_ids=[name]) for name in "abcd"]
    return podresources.AllocatableResourcesResponse(devices=devices)


async def test_the_kubelet_says_who_holds_what(directory: Path) -> None:
    socket = directory / "kubelet.sock"
    server = await serve(
        socket,
        [
            answering(podresources.LIST, on_list),
            answering(podresources.GET, on_get),
            answering(podresources.GET_ALLOCATABLE_RESOURCES, on_allocatable),
        ],
    )
    kubelet = PodResourcesClient(socket)
    one, two = await kubelet.list()
    assert (one.namespace, one.pod, one.container, one.resource, one.ids) == (
        "team-a",
        "one",
        "main",
        SGPU,
        ("a", "b"),
    )
    assert (two.pod, two.ids) == ("two", ("c",))
    assert await kubelet.get("team-a", "one") == (one,)
    assert await kubelet.allocatable() == {SGPU: ("a", "b", "c", "d")}
    with pytest.raises(PodResourcesError, match=r"did not answer Get .* NOT_FOUND, pod gone") as caught:
        await kubelet.get("team-a", "gone")
    assert caught.value.code is grpc.StatusCode.NOT_FOUND
    await server.stop()


async def test_a_kubelet_that_is_away_is_reported_at_once_and_found_when_it_is_back(directory: Path) -> None:
    socket = directory / "kubelet.sock"
    kubelet = PodResourcesClient(socket)
    with pytest.raises(PodResourcesError, match="UNAVAILABLE"):
        await kubelet.list()
    server = await serve(socket, [answering(podresources.LIST, on_list)])
    assert len(await kubelet.list()) == 2
    await server.stop()
    with pytest.raises(PodResourcesError, match="UNAVAILABLE"):
        await kubelet.list()
