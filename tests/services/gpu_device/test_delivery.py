"""How devices reach a container: a promise, or the things themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.gpu_device.delivery import Delivery, carries, claim_in, direct_answer, named_answer
from tangram.services.gpu_device.grants import Edits
from tangram.wire.cdi import CdiDeviceNode
from tangram.wire.kubelet.deviceplugin import CDIDevice, ContainerAllocateResponse

NODE = CdiDeviceNode(path="/dev/mxcd", permissions="rw")
MOVED = CdiDeviceNode(path="/dev/mxcd", host_path="/sim/mxcd", permissions="rw")


@pytest.mark.parametrize("delivery", [Delivery.FIELD, Delivery.ANNOTATIONS])
@given(claim=st.from_regex(r"c[0-9a-f]{32}", fullmatch=True))
def test_a_promise_is_read_back_from_the_answer(delivery: Delivery, claim: str) -> None:
    answer = named_answer(claim, delivery)
    assert claim_in(answer) == claim
    assert bool(answer.cdi_devices) is (delivery is Delivery.FIELD)
    assert not answer.devices
    assert not answer.envs


def test_an_annotation_of_a_promise_is_one_that_runtimes_read() -> None:
    ((key, value),) = named_answer("c1", Delivery.ANNOTATIONS).annotations.items()
    assert key == "cdi.k8s.io/tangram_c1"
    assert value == "tangram.dev/gpu=c1"


def test_promises_of_others_are_none_of_ours() -> None:
    other = ContainerAllocateResponse(
        cdi_devices=[CDIDevice(name="nvidia.com/gpu=0"), CDIDevice(name="tangram.dev/gpu=")],
        annotations={"cdi.k8s.io/other": "metax-tech.com/gpu=1", "elsewhere": "tangram.dev/gpu=c9"},
    )
    assert claim_in(other) is None


def test_without_cdi_the_answer_has_everything_itself() -> None:
    answer = direct_answer(Edits({"A": "1"}, (NODE, MOVED)))
    assert dict(answer.envs) == {"A": "1"}
    assert [(each.host_path, each.container_path, each.permissions) for each in answer.devices] == [
        ("/dev/mxcd", "/dev/mxcd", "rw"),
        ("/sim/mxcd", "/dev/mxcd", "rw"),
    ]


def test_an_answer_carries_what_is_given_only_if_nothing_is_missing_and_nothing_is_anothers() -> None:
    edits = Edits({"A": "1", "B": "2"}, (NODE,))
    assert carries(direct_answer(Edits({"B": "2", "A": "1"}, (NODE,))), edits)
    for other in (
        Edits(),
        Edits({"A": "1"}, (NODE,)),
        Edits(edits.env, (MOVED,)),
        Edits(edits.env, (NODE, NODE)),
    ):
        assert not carries(direct_answer(other), edits)
    assert not carries(named_answer("c1", Delivery.FIELD), Edits())
