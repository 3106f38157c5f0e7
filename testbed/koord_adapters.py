"""What koord-scheduler writes for device plugins before it binds (its gate DevicePluginAdaption): annotations of the
pod, and for MetaX the lock of the node.

A vendor it has no word for, Moore Threads among them, gets what every card gets and no more.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from testbed.api import Object
from testbed.koord_devices import ALLOCATED, Given, allocation_text
from testbed.koord_requests import CORE, MEMORY

LOCK: Final = "hami.io/mutex.lock"
LOCK_LASTS_S: Final = 300.0
BIND_TIMESTAMP: Final = "scheduling.koordinator.sh/bind-timestamp"
MINORS: Final = "scheduling.koordinator.sh/gpu-minors"
METAX: Final = "metax"
METAX_ALLOCATED: Final = "metax-tech.com/gpu-devices-allocated"
_MIB = 1 << 20


class BindError(Exception):
    """The bind of this pod came to nothing; the text is Koordinator's own."""


def annotations_for(vendor: str, given: Sequence[Given], now_ns: int) -> dict[str, str]:
    """What goes on the pod. Raises `BindError` for what a vendor's plugin could not serve."""
    written = {
        ALLOCATED: allocation_text(given),
        BIND_TIMESTAMP: str(now_ns),
        MINORS: ",".join(str(each.minor) for each in given),
    }
    if vendor == METAX:
        written[METAX_ALLOCATED] = json.dumps([[_metax(each) for each in given]], separators=(",", ":"))
    return written


def _metax(given: Given) -> Object:
    trouble = f'failed to adapt for GPU device plugin of vendor "{METAX}": '
    if CORE not in given.amounts:
        raise BindError(trouble + "gpu core resource is required")
    if given.amounts.get(MEMORY, 0) < _MIB:
        raise BindError(trouble + f"gpu memory must not be less than {_MIB} bytes")
    return {
        "uuid": given.uuid,
        "compute": given.amounts[CORE],
        "vRam": given.amounts[MEMORY] // _MIB,
    }


def lock_over(
    present: str | None, pod: Object, node: str, now: float, known: Callable[[str, str], bool]
) -> str:
    """The lock to write over the one that is there. Raises `BindError` where that one stands.

    `known` says whether there is a pod of that namespace and name. Whose lock it is makes no difference: a pod that
    failed after it took the lock waits for its own.
    """
    if present is not None and not _abandoned(present, now, known):
        raise BindError(f'failed to lock node: node "{node}" has been locked')
    time = datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{time},{pod['metadata'].get('namespace', '')},{pod['metadata']['name']}"


def _abandoned(lock: str, now: float, known: Callable[[str, str], bool]) -> bool:
    parts = lock.split(",")
    if len(parts) != 3:
        raise BindError(f'failed to lock node: invalid node lock value "{lock}"')
    time, namespace, name = parts
    try:
        taken = datetime.fromisoformat(time)
        age = now - taken.timestamp()
    except ValueError as error:
        raise BindError(f"failed to lock node: {error}") from None
    return age > LOCK_LASTS_S or not known(namespace, name)
