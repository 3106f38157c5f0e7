"""What MetaX users write: resources in limits, annotations on pods."""

from typing import Final

GPU: Final = "metax-tech.com/gpu"
"""Whole cards."""
SGPU: Final = "metax-tech.com/sgpu"
"""Cards to take a slice of."""
VCORE: Final = "metax-tech.com/vcore"
"""Percent of one card's compute, for each card."""
VMEMORY: Final = "metax-tech.com/vmemory"
"""GiB without a suffix, bytes with one, for each card."""

RESOURCES: Final = frozenset({GPU, SGPU, VCORE, VMEMORY})

QOS_POLICY: Final = "metax-tech.com/sgpu-qos-policy"
APP_CLASS: Final = "metax-tech.com/sgpu-app-class"
TOPOLOGY_AWARE: Final = "metax-tech.com/sgpu-topology-aware"

MACA: Final = "tangram.dev/maca"
"""Which MXMACA a container sees where the node brings it."""

USE_UUIDS: Final = "metax-tech.com/use-gpuuuid"
AVOID_UUIDS: Final = "metax-tech.com/nouse-gpuuuid"
USE_PRODUCTS: Final = "metax-tech.com/use-gputype"
AVOID_PRODUCTS: Final = "metax-tech.com/nouse-gputype"
