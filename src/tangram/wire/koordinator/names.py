"""Keys and labels that Koordinator's components agree on; its resource names are in `vendors.names`."""

from __future__ import annotations

from typing import Final

GPU: Final = "gpu"
"""The device type under which every accelerator is reported, whoever made it."""

DEVICE_ALLOCATED: Final = "scheduling.koordinator.sh/device-allocated"
ALLOCATE_HINT: Final = "scheduling.koordinator.sh/device-allocate-hint"
JOINT_ALLOCATE: Final = "scheduling.koordinator.sh/device-joint-allocate"
PARTITION_SPEC: Final = "scheduling.koordinator.sh/gpu-partition-spec"
NUMA_TOPOLOGY_SPEC: Final = "scheduling.koordinator.sh/numa-topology-spec"
BIND_TIMESTAMP: Final = "scheduling.koordinator.sh/bind-timestamp"
GPU_MINORS: Final = "scheduling.koordinator.sh/gpu-minors"
GPU_PARTITIONS: Final = "scheduling.koordinator.sh/gpu-partitions"

LABEL_VENDOR: Final = "node.koordinator.sh/gpu-vendor"
LABEL_MODEL: Final = "node.koordinator.sh/gpu-model"
LABEL_DRIVER_VERSION: Final = "node.koordinator.sh/gpu-driver-version"
ISOLATION_PROVIDER: Final = "koordinator.sh/gpu-isolation-provider"
LABEL_PARTITION_POLICY: Final = "node.koordinator.sh/gpu-partition-policy"

METAXLINK: Final = "MetaXLink"
MTLINK: Final = "MTLink"
"""Link types, free text to Koordinator, as our own agent spells them."""
