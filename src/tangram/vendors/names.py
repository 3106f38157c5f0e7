"""Names that belong to no single vendor: HAMi's policy annotations, Koordinator's resources, and our own.

A vendor's names are in its own folder. What is only ever written (allocations, locks, times) is in `wire/`.
"""

from typing import Final

NODE_POLICY: Final = "hami.io/node-scheduler-policy"
CARD_POLICY: Final = "hami.io/gpu-scheduler-policy"
CARD_WEIGHTS: Final = "hami.io/device-scoring-weights"

NUMA_BIND: Final = "nvidia.com/numa-bind"
"""HAMi honours it for every vendor's cards, whatever its prefix says."""

REQUIRED_SCOPE: Final = "tangram.dev/required-scope"

KOORDINATOR_GPU: Final = "koordinator.sh/gpu"
KOORDINATOR_SHARED: Final = "koordinator.sh/gpu.shared"
KOORDINATOR_CORE: Final = "koordinator.sh/gpu-core"
KOORDINATOR_MEMORY: Final = "koordinator.sh/gpu-memory"
KOORDINATOR_RATIO: Final = "koordinator.sh/gpu-memory-ratio"

KOORDINATOR_RESOURCES: Final = frozenset(
    {KOORDINATOR_GPU, KOORDINATOR_SHARED, KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO}
)

KOORDINATOR_OTHER_DEVICES: Final = frozenset({"koordinator.sh/rdma", "koordinator.sh/fpga"})
"""Network cards and FPGAs, which only koord-scheduler places."""

KOORDINATOR_OTHER_VENDORS: Final = frozenset(
    {
        "nvidia.com/gpu",
        "amd.com/gpu",
        "dcu.com/gpu",
        "huawei.com/npu-core",
        "huawei.com/npu-cpu",
        "huawei.com/npu-dvpp",
    }
)
"""Other makers' names that koord-scheduler reads as an amount of cards, like its own."""

KOORDINATOR_FORMER_NAMES: Final = {
    "kubernetes.io/gpu": KOORDINATOR_GPU,
    "kubernetes.io/gpu-core": KOORDINATOR_CORE,
    "kubernetes.io/gpu-memory": KOORDINATOR_MEMORY,
    "kubernetes.io/gpu-memory-ratio": KOORDINATOR_RATIO,
    "kubernetes.io/rdma": "koordinator.sh/rdma",
    "kubernetes.io/fpga": "koordinator.sh/fpga",
}
"""Spellings that koord-scheduler still translates and nobody else does."""
