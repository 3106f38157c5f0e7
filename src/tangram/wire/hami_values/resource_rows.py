"""Values that HAMi's chart writes into its device-config.yaml: what resources are called, and how large cards are."""

from __future__ import annotations

from typing import Final

from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.wire.hami_values.rows import Kind, mapped, not_supported

_NAMES = (
    "Tangram's own agent announces the usual names; others are for nodes on which a vendor's plugin "
    "announces them."
)

RESOURCES: Final = (
    *(
        mapped(
            key,
            f"scheduler.deviceConfig.metax.{name}",
            Kind.TEXT,
            usual=(usual,),
            also=(f"devices.metax.{name}",) if key != f"devices.metax.{name}" else (),
            remark=_NAMES,
        )
        for key, name, usual in (
            ("metaxResourceName", "resourceVCountName", metax.SGPU),
            ("metaxResourceCore", "resourceVCoreName", metax.VCORE),
            ("metaxResourceMem", "resourceVMemoryName", metax.VMEMORY),
            ("devices.metax.resourceCountName", "resourceCountName", metax.GPU),
        )
    ),
    mapped(
        "metaxsGPUTopologyAware",
        "scheduler.config.zoneAware",
        Kind.FLAG,
        usual=(False,),
        also=("devices.metax.sgpuTopologyAware",),
    ),
    mapped(
        "devices.mthreads.memoryPerCard",
        "scheduler.deviceConfig.mthreads.memoryPerCard",
        Kind.SIZES,
        usual=([96],),
        also=("device.mthreads.memoryPerCard",),
        remark="Not needed where nodes say how large their cards are.",
    ),
)
"""What a file in `device-config.content` replaces."""

CONTENT: Final = mapped(
    "device-config.content",
    "scheduler.deviceConfig",
    Kind.ANY,
    remark="Its sections metax and mthreads, as they are; it goes before the names above, as in HAMi.",
)

MTHREADS: Final = (
    mapped(
        "devices.mthreads.enabled",
        "devices.mthreads.enabled",
        Kind.FLAG,
        usual=(True,),
        also=("device.mthreads.enabled",),
        remark="Either spelling is taken here too. Where it is false, pods that ask for those cards are left alone.",
    ),
    not_supported(
        "devices.mthreads.customresources",
        "kube-scheduler is told of the vendor's resources by their usual names.",
        usual=([mthreads.VGPU],),
        kind=Kind.NAMES,
        also=("device.mthreads.customresources",),
    ),
)
