"""How devices reach a container: by a CDI name that is filled later, or, without CDI, in the answer itself.

With CDI the answer to Allocate promises nothing but a name, so it needs no knowledge of the pod and cannot fail.
Without it everything must be in the answer, before the kubelet says for whom; what was answered is compared with what
the container may have when it starts, and a container that was answered wrongly never starts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tangram.services.gpu_device.grants import Edits
from tangram.wire.cdi_grants import claim_name, claim_of
from tangram.wire.kubelet.deviceplugin import CDIDevice, ContainerAllocateResponse, DeviceSpec

ANNOTATION_PREFIX: Final = "cdi.k8s.io/"
_READ_WRITE: Final = "rw"


class Delivery(StrEnum):
    FIELD = "field"
    """CDI names in the answer's own field: kubelet 1.29 and newer."""
    ANNOTATIONS = "annotations"
    """CDI names as container annotations, for older kubelets over a runtime that knows CDI."""
    DIRECT = "off"
    """No CDI: variables and device nodes in the answer."""


def named_answer(claim: str, delivery: Delivery) -> ContainerAllocateResponse:
    """The answer that promises a CDI name."""
    name = claim_name(claim)
    if delivery is Delivery.ANNOTATIONS:
        return ContainerAllocateResponse(annotations={f"{ANNOTATION_PREFIX}tangram_{claim}": name})
    return ContainerAllocateResponse(cdi_devices=[CDIDevice(name=name)])


def claim_in(answer: ContainerAllocateResponse) -> str | None:
    """The claim of ours that an answer promised, in its field or in an annotation.

    None where another plugin answered, or without CDI; and where there are several, which we never answer.
    """
    names = [device.name for device in answer.cdi_devices]
    for key, value in answer.annotations.items():
        if key.startswith(ANNOTATION_PREFIX):
            names += value.split(",")
    found = {claim for name in names if (claim := claim_of(name.strip())) is not None}
    return found.pop() if len(found) == 1 else None


def direct_answer(edits: Edits) -> ContainerAllocateResponse:
    """The answer that carries everything itself."""
    return ContainerAllocateResponse(
        envs=edits.env,
        devices=[
            DeviceSpec(
                container_path=node.path, host_path=node.host_path or node.path, permissions=_READ_WRITE
            )
            for node in edits.nodes
        ],
    )


def carries(answer: ContainerAllocateResponse, edits: Edits) -> bool:
    """Whether an answer gives exactly these edits: nothing missing, nothing of somebody else."""
    return answer.SerializeToString(deterministic=True) == direct_answer(edits).SerializeToString(
        deterministic=True
    )
