"""Values of HAMi's chart about cards that are none of ours: known, so that nobody is told of a misspelling."""

from __future__ import annotations

from typing import Final

from tangram.wire.hami_values.rows import Outcome, Row

DEVICES: Final = "devices"
"""Under it the chart has a section for each vendor."""

_REMARK = (
    "It is about other vendors' cards, in which Tangram has no part; where nodes have such cards, let HAMi's release "
    "run on for them."
)
_KEYS: Final = (
    ("resourceName", ("resourceMem", "resourceMemPercentage", "resourceCores", "resourcePriority")),
    ("mluResourceName", ("mluResourceMem", "mluResourceCores")),
    ("hcuResourceName", ("hcuResourceMem", "hcuResourceCores")),
    ("dcuResourceName", ("dcuResourceMem", "dcuResourceCores")),
    ("iluvatarResourceName", ("iluvatarResourceMem", "iluvatarResourceCore")),
    ("enflameResourceNameDRSGCU", ("enflameResourceNameGCUMemory", "enflameResourceNameGCUCore")),
    ("kunlunResourceName", ("kunlunResourceVCountName", "kunlunResourceVMemoryName")),
    ("vastaiResourceName", ()),
    ("birenResourceName", ()),
    ("devicePlugin", ()),
    ("mockDevicePlugin", ()),
    ("openshift", ()),
    ("selinux", ()),
    ("scheduler.overwriteEnv", ()),
    ("global.gpuHookPath", ()),
    ("hami-dra", ()),
)


def vendor_row(key: str) -> Row:
    """The row of a value about cards of another vendor."""
    return Row(key=key, way=Outcome.NOT_NEEDED, remark=_REMARK)


OTHER_VENDORS: Final = tuple(vendor_row(key) for first, rest in _KEYS for key in (first, *rest))
