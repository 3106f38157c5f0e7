"""Every annotation and label of a pod that says which cards it was given, whoever wrote it.

What is in these lists is worth a card: plugins, agents and schedulers believe it. So only those who place pods and the
agent of a pod's node may write it. What a person writes to ask (policies, lists of cards, classes) is not here, nor is
what admission completes in a person's name, such as `mthreads.com/request-gpu-num`: that gives nobody anything.
"""

from __future__ import annotations

from typing import Final

from tangram.wire import hami, metax_allocated, mthreads
from tangram.wire.koordinator import names as koordinator

ANNOTATIONS: Final = (
    hami.NODE,
    hami.TIME,
    hami.BIND_PHASE,
    hami.BIND_TIME,
    hami.METAX_WHOLE_TO_ALLOCATE,
    hami.METAX_WHOLE_ALLOCATED,
    hami.METAX_SLICE_TO_ALLOCATE,
    hami.METAX_SLICE_ALLOCATED,
    hami.MTHREADS_TO_ALLOCATE,
    hami.MTHREADS_ALLOCATED,
    metax_allocated.ALLOCATED,
    metax_allocated.PREDICATE_TIME,
    mthreads.GPU_INDEX,
    mthreads.PREDICATE_NODE,
    mthreads.PREDICATE_TIME,
    koordinator.DEVICE_ALLOCATED,
    koordinator.BIND_TIMESTAMP,
    koordinator.GPU_MINORS,
)
LABELS: Final = (hami.NODE,)
