"""What our chart takes at the places to which values are carried.

Its schema says the same, for helm. This is for whoever translates: what helm would refuse is left out and told, instead
of stopping an installation later on. A test holds both against each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from tangram.wire import loose
from tangram.wire.errors import WireError, shown
from tangram.wire.scheduler_config import DEFAULT_SCHEDULER, KEY, VERSION, read_scheduler_config

_CONFIG = "scheduler.config."
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"({_NAME}/)?{_WORD}")
_VALUE = re.compile(rf"({_WORD})?")
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_MOST_SECRETS, _MOST_TOLERATIONS, _MOST_NAMESPACES, _MOST_REPLICAS = 16, 64, 256, 5
_LONGEST_NAME = 253


class _Place(NamedTuple):
    legal: str
    takes: Callable[[object], bool]


def refused_at(path: str, value: object) -> str:
    """Why our chart or its scheduler would not take a value at a place of ours; empty if it would."""
    place = _PLACES.get(path)
    if place is not None and not place.takes(value):
        return f"{path} is {shown(value)}: it is {place.legal}"
    if path.startswith(_CONFIG):
        try:
            read_scheduler_config({KEY: VERSION, path.removeprefix(_CONFIG): value})
        except WireError as error:
            return error.sentence
    return ""


def _one_of(*words: str) -> _Place:
    def fits(value: object) -> bool:
        return value in words

    return _Place(" or ".join(words), fits)


def _text(pattern: str, legal: str) -> _Place:
    def fits(value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None

    return _Place(legal, fits)


def _list(most: int, legal: str, takes: Callable[[object], bool]) -> _Place:
    def all_taken(value: object) -> bool:
        found = loose.elements(value)
        once = all(each not in found[:at] for at, each in enumerate(found))
        return loose.is_list(value) and len(found) <= most and once and all(map(takes, found))

    return _Place(f"a list of at most {most} {legal}", all_taken)


def _is_name(value: object) -> bool:
    text = loose.text(value)
    return len(text) <= _LONGEST_NAME and re.fullmatch(_NAME, text) is not None


def _is_namespace(value: object) -> bool:
    return re.fullmatch(_LABEL, loose.text(value)) is not None


def _is_secret(value: object) -> bool:
    members = loose.members(value)
    return set(members) == {"name"} and _is_name(members["name"])


def _is_label(key: object, value: object) -> bool:
    return all(
        isinstance(text, str) and pattern.fullmatch(text) is not None
        for text, pattern in ((key, _KEY), (value, _VALUE))
    )


def _are_labels(value: object) -> bool:
    return loose.is_object(value) and all(_is_label(*each) for each in loose.members(value).items())


def _is_seconds(value: object) -> bool:
    return not isinstance(value, str) and loose.integer(value) is not None


_TOLERATION: Final[Mapping[str, Callable[[object], bool]]] = {
    "key": lambda value: value == "" or _is_label(value, ""),
    "value": lambda value: _is_label("key", value),
    "operator": lambda value: value in ("Exists", "Equal"),
    "effect": lambda value: value in ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "tolerationSeconds": _is_seconds,
}


def _is_toleration(value: object) -> bool:
    return loose.is_object(value) and all(
        key in _TOLERATION and _TOLERATION[key](member) for key, member in loose.members(value).items()
    )


def _is_amount(value: object) -> bool:
    if isinstance(value, str):
        return _AMOUNT.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _are_amounts(value: object) -> bool:
    sides = loose.members(value)
    return set(sides) <= {"requests", "limits"} and all(
        loose.is_object(side) and all(map(_is_amount, loose.members(side).values()))
        for side in sides.values()
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 1 <= value <= _MOST_REPLICAS


def _is_scheduler(value: object) -> bool:
    return value != DEFAULT_SCHEDULER and _is_name(value)


_AMOUNTS: Final = _Place(
    "requests and limits, each amounts such as cpu: 100m and memory: 128Mi", _are_amounts
)
_PLACES: Final[Mapping[str, _Place]] = {
    "pullPolicy": _one_of("IfNotPresent", "Always", "Never"),
    "imagePullSecrets": _list(_MOST_SECRETS, "names of Secrets", _is_secret),
    "scheduler.replicas": _Place(f"a whole number from 1 to {_MOST_REPLICAS}", _is_count),
    "scheduler.name": _Place("the name of a scheduler, in lower case", _is_scheduler),
    "scheduler.config.cardPolicy": _text(r"[a-z-]+( *, *[a-z-]+)*", "words separated by commas"),
    "scheduler.nodeSelector": _Place("labels of nodes, each a text", _are_labels),
    "scheduler.tolerations": _list(_MOST_TOLERATIONS, "tolerations as in a pod, each once", _is_toleration),
    "scheduler.resources": _AMOUNTS,
    "scheduler.kubeScheduler.resources": _AMOUNTS,
    "scheduler.kubeScheduler.image.registry": _text(
        r"[^\s/](\S*[^\s/])?", "DOMAIN or DOMAIN/PROJECT of a registry"
    ),
    "scheduler.kubeScheduler.image.name": _text(r"[^\s:@]+", "the name of an image, without a version"),
    "scheduler.kubeScheduler.image.tag": _text(
        r"[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}", "a version such as v1.36.3"
    ),
    "scheduler.webhook.failurePolicy": _one_of("Fail", "Ignore"),
    "scheduler.webhook.ignoreNamespaces": _list(_MOST_NAMESPACES, "namespaces, each once", _is_namespace),
}
