"""Every annotation that admission reads, so that pods which differ in nothing else can share one reading."""

from typing import Final

from tangram.vendors import names
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads

READ_AT_ADMISSION: Final = frozenset(
    {
        names.NODE_POLICY,
        names.CARD_POLICY,
        names.CARD_WEIGHTS,
        names.NUMA_BIND,
        names.REQUIRED_SCOPE,
        metax.QOS_POLICY,
        metax.APP_CLASS,
        metax.TOPOLOGY_AWARE,
        metax.MACA,
        metax.USE_UUIDS,
        metax.AVOID_UUIDS,
        metax.USE_PRODUCTS,
        metax.AVOID_PRODUCTS,
        mthreads.REQUEST_GPU_NUM,
        mthreads.USE_UUIDS,
        mthreads.AVOID_UUIDS,
        mthreads.USE_PRODUCTS,
        mthreads.AVOID_PRODUCTS,
    }
)
