"""What Moore Threads users write: resources in limits, annotations on pods.

The resources are under `mthreads.com`, the lists of cards under `mthreads.ai`: that is how HAMi spells them.
"""

from typing import Final

GPU: Final = "mthreads.com/gpu"
"""Whole cards of the vendor plugin's own pool."""
VGPU: Final = "mthreads.com/vgpu"
"""Cards of the sliced pool; more than one means whole ones."""
SGPU_CORE: Final = "mthreads.com/sgpu-core"
"""Sixteenths of a card's compute, summed over the cards."""
SGPU_MEMORY: Final = "mthreads.com/sgpu-memory"
"""Units of 512 MiB, summed over the cards."""

RESOURCES: Final = frozenset({GPU, VGPU, SGPU_CORE, SGPU_MEMORY})

REQUEST_GPU_NUM: Final = "mthreads.com/request-gpu-num"
"""Written at admission for more than one card; the vendor's toolkit reads it."""

USE_UUIDS: Final = "mthreads.ai/use-gpuuuid"
AVOID_UUIDS: Final = "mthreads.ai/nouse-gpuuuid"
USE_PRODUCTS: Final = "mthreads.ai/use-gputype"
AVOID_PRODUCTS: Final = "mthreads.ai/nouse-gputype"
