"""How an administrator says what the scheduler does for pods that do not say: our own configuration file.

Whoever edits it wants something to change, so nothing in it is passed over. A key nobody knows, a word that does not
exist and a number out of range are refused with a sentence, all of the file with them; half a configuration would be
one that nobody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from tangram.model.cards import SERVED, QosPolicy, Vendor
from tangram.model.requests import CardOrder, NodePolicy
from tangram.wire import loose
from tangram.wire.errors import WireError, shown

KEY: Final = "tangram"
VERSION: Final = "scheduler/v1"
OWN_NAME: Final = "tangram-scheduler"
HAMI_NAME: Final = "hami-scheduler"
DEFAULT_SCHEDULER: Final = "default-scheduler"

_NODE_POLICIES = (NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG)
_MOST_NAMES = 16
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_ACCOUNT = re.compile(
    r"system:serviceaccount:[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?:[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
)


class SchedulerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is in force. The defaults are HAMi's, where it has the same thing."""

    node_policy: NodePolicy = NodePolicy.BINPACK
    card_order: tuple[CardOrder, ...] = (CardOrder.SPREAD,)
    zone_aware: bool | None = None
    """`None`: what HAMi's device configuration says."""
    qos_policy: QosPolicy = QosPolicy.BEST_EFFORT
    """Written onto new pods with MetaX slices that name none."""
    vendors: tuple[Vendor, ...] = SERVED
    """Whose cards are this scheduler's business."""
    scheduler_names: tuple[str, ...] = (OWN_NAME, HAMI_NAME)
    """Whose pods are placed, beside the names on the command line."""
    overwrite_default_scheduler: bool = True
    """A pod that names the cluster's default scheduler and asks for cards is given ours."""
    reservation_seconds: int = 60
    gang_seconds: int = 600
    """The same for pods that may take long between filter and bind: members of a gang, pods with volumes."""
    demote_seconds: int = 60
    """How long a node on which a promise came to nothing is tried last for that pod."""
    node_lock_seconds: int = 300
    """After which the lock of a node counts as forgotten."""
    trusted_accounts: tuple[str, ...] = ()
    """Service accounts beside our own that may write allocations, such as a peer's scheduler."""
    quota: bool = True


def read_scheduler_config(document: object) -> SchedulerConfig:
    """The configuration a parsed file stands for. Raises `WireError` for anything in it that has no meaning."""
    if not loose.is_object(document):
        raise WireError(
            "scheduler-config-malformed",
            f"the file is {shown(document)}: it is a map; write for example {KEY}: {VERSION}",
        )
    written = loose.members(document)
    if written.get(KEY) != VERSION:
        raise WireError(
            "scheduler-config-version",
            f"{KEY} is {shown(written.get(KEY))}: only {VERSION} is known; write {KEY}: {VERSION}",
        )
    unknown = [key for key in written if key != KEY and key not in _READERS]
    if unknown:
        raise WireError(
            "scheduler-config-key",
            f"{shown(unknown[0])} is no key of this file: those are {', '.join(_READERS)}; "
            "correct the spelling, or remove it",
        )
    # What stands in the file without a value is not said.
    said = {key: value for key, value in written.items() if key != KEY and value is not None}
    fields = {_READERS[key][0]: _READERS[key][1](key, value) for key, value in said.items()}
    return msgspec.convert(fields, SchedulerConfig)


def _refused(key: str, value: object, legal: str, instead: str) -> WireError:
    return WireError("scheduler-config-value", f"{key} is {shown(value)}: {legal}; write {instead}")


def _node_policy(key: str, value: object) -> NodePolicy:
    if value not in _NODE_POLICIES:
        raise _refused(key, value, f"it is one of {', '.join(_NODE_POLICIES)}", "one of these")
    return NodePolicy(loose.text(value))


def _card_policy(key: str, value: object) -> tuple[CardOrder, ...]:
    """As in the annotation `hami.io/gpu-scheduler-policy`, or as a list."""
    words = loose.elements(value) if loose.is_list(value) else loose.text(value).split(",")
    order = [loose.text(word).strip() for word in words]
    if not order or any(word not in tuple(CardOrder) for word in order) or len(set(order)) < len(order):
        legal = f"it is one or several of {', '.join(CardOrder)}, each once, separated by commas"
        raise _refused(key, value, legal, "for example binpack,numa")
    return tuple(map(CardOrder, order))


def _qos_policy(key: str, value: object) -> QosPolicy:
    if value not in tuple(QosPolicy):
        raise _refused(key, value, f"it is one of {', '.join(QosPolicy)}", "one of these")
    return QosPolicy(loose.text(value))


def _vendors(key: str, value: object) -> tuple[Vendor, ...]:
    found = [loose.text(each) for each in loose.elements(value)] if loose.is_list(value) else []
    if not found or any(each not in SERVED for each in found) or len(set(found)) < len(found):
        legal = f"it is a list of {' or '.join(SERVED)}, or of both, each once"
        raise _refused(key, value, legal, f"for example [{SERVED[0]}]")
    return tuple(vendor for vendor in SERVED if vendor in found)


def _flag(key: str, value: object) -> bool:
    found = loose.flag(value)
    if found is None:
        raise _refused(key, value, "it is true or false", "one of these")
    return found


def _seconds(least: int, most: int, usual: int) -> Callable[[str, object], int]:
    def read(key: str, value: object) -> int:
        found = loose.integer(value)
        if found is None or not least <= found <= most:
            raise _refused(
                key, value, f"it is a whole number of seconds from {least} to {most}", f"for example {usual}"
            )
        return found

    return read


def _scheduler_names(key: str, value: object) -> tuple[str, ...]:
    names = _texts(key, value, _NAME, "scheduler names in lower case", f"[{OWN_NAME}]")
    if not names or DEFAULT_SCHEDULER in names:
        legal = f"it lists at least one name, and {DEFAULT_SCHEDULER} belongs to the cluster's own scheduler"
        raise _refused(key, value, legal, f"for example [{OWN_NAME}]")
    return names


def _accounts(key: str, value: object) -> tuple[str, ...]:
    example = "[system:serviceaccount:kube-system:hami-scheduler]"
    return _texts(key, value, _ACCOUNT, "accounts spelled system:serviceaccount:NAMESPACE:NAME", example)


def _texts(key: str, value: object, pattern: re.Pattern[str], what: str, example: str) -> tuple[str, ...]:
    legal = f"it is a list of up to {_MOST_NAMES} {what}, each once"
    if not loose.is_list(value) or len(loose.elements(value)) > _MOST_NAMES:
        raise _refused(key, value, legal, f"for example {example}")
    found = [loose.text(each) for each in loose.elements(value)]
    for position, each in enumerate(found):
        if not pattern.fullmatch(each) or each in found[:position]:
            written = loose.elements(value)[position]
            raise _refused(f"{key}[{position}]", written, legal, f"for example {example}")
    return tuple(found)


_READERS: Final[Mapping[str, tuple[str, Callable[[str, object], object]]]] = {
    "nodePolicy": ("node_policy", _node_policy),
    "cardPolicy": ("card_order", _card_policy),
    "zoneAware": ("zone_aware", _flag),
    "qosPolicy": ("qos_policy", _qos_policy),
    "vendors": ("vendors", _vendors),
    "schedulerNames": ("scheduler_names", _scheduler_names),
    "forceOverwriteDefaultScheduler": ("overwrite_default_scheduler", _flag),
    "reservationSeconds": ("reservation_seconds", _seconds(5, 3600, 60)),
    "gangSeconds": ("gang_seconds", _seconds(5, 86_400, 600)),
    "demoteSeconds": ("demote_seconds", _seconds(0, 3600, 60)),
    "nodeLockSeconds": ("node_lock_seconds", _seconds(30, 3600, 300)),
    "trustedAccounts": ("trusted_accounts", _accounts),
    "quota": ("quota", _flag),
}
KEYS: Final = tuple(_READERS)
