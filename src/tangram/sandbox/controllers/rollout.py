"""How large each ReplicaSet of a Deployment should be next: pure arithmetic on what was asked for and what there is.

A rolling update moves in steps that never leave fewer pods available, nor more pods in all, than was allowed. A change
of size while two templates run is shared among them in proportion, so that neither runs ahead of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import (
    annotations_of,
    created_at,
    part,
    replicas_of,
    spec_of,
    status_of,
)
from tangram.sandbox.controllers.shares import surge_and_unavailable

REVISION: Final = "deployment.kubernetes.io/revision"
REVISIONS_BEFORE: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"

Sizes = list[tuple[Object, int]]
"""ReplicaSets with the number of replicas each is to have."""


def is_rolling(deployment: Object) -> bool:
    """Whether pods are replaced step by step and not all at once."""
    return part(spec_of(deployment), "strategy").get("type", "RollingUpdate") == "RollingUpdate"


def allowances(deployment: Object) -> tuple[int, int]:
    """How many pods may come on top and how many may be missing; nothing of either where pods are replaced at once."""
    if not is_rolling(deployment):
        return 0, 0
    rolling = part(spec_of(deployment), "strategy", "rollingUpdate")
    wanted = replicas_of(deployment)
    surge, unavailable = surge_and_unavailable(
        rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%"), wanted
    )
    return surge, min(unavailable, wanted)


def available(replica_set: Object) -> int:
    """How many of its pods work."""
    return status_of(replica_set).get("availableReplicas") or 0


def active(sets: Sequence[Object]) -> list[Object]:
    """Those that are to have pods."""
    return [each for each in sets if replicas_of(each) > 0]


def by_age(sets: Sequence[Object]) -> list[Object]:
    """The oldest first."""
    return sorted(sets, key=lambda each: (created_at(each), each["metadata"]["name"]))


def total(sets: Sequence[Object]) -> int:
    """How many pods they are to have together."""
    return sum(map(replicas_of, sets))


def number_in(thing: Object, annotation: str) -> int | None:
    """A number kept in an annotation."""
    text = annotations_of(thing).get(annotation, "")
    return int(text) if text.isdecimal() else None


def size_of_new(deployment: Object, every: Sequence[Object], new_size: int) -> int:
    """How far the newest ReplicaSet may grow now."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment) or new_size > wanted:
        return wanted
    room = wanted + allowances(deployment)[0] - total(every)
    return new_size + min(room, wanted - new_size) if room > 0 else new_size


def shrink_old(deployment: Object, new: Object, olds: Sequence[Object]) -> Sizes:
    """What the old ReplicaSets can give up: first pods that do not work anyway, then as many as are not needed."""
    olds = by_age(active(olds))
    least = replicas_of(deployment) - allowances(deployment)[1]
    spare = total(olds) + replicas_of(new) - least - (replicas_of(new) - available(new))
    if not olds or spare <= 0:
        return []
    sizes = {each["metadata"]["name"]: replicas_of(each) for each in olds}
    cleaned = 0
    for old in olds:
        broken = min(spare - cleaned, replicas_of(old) - available(old))
        if broken > 0:
            sizes[old["metadata"]["name"]] -= broken
            cleaned += broken
    dispensable = sum(map(available, olds)) + available(new) - least
    for old in olds:
        name = old["metadata"]["name"]
        given = min(sizes[name], max(dispensable, 0))
        sizes[name] -= given
        dispensable -= given
    return [(old, size) for old in olds if (size := sizes[old["metadata"]["name"]]) != replicas_of(old)]


def is_resized(deployment: Object, every: Sequence[Object]) -> bool:
    """Whether the Deployment was given another size since its ReplicaSets were last sized."""
    noted = (number_in(each, DESIRED) for each in active(every))
    return any(each is not None and each != replicas_of(deployment) for each in noted)


def resize(deployment: Object, new: Object | None, olds: Sequence[Object]) -> Sizes:
    """The sizes after a change of the Deployment's own size, outside of a rollout or in the midst of one."""
    every = [*olds, *([new] if new is not None else [])]
    running, wanted = active(every), replicas_of(deployment)
    if not every:
        return []
    if len(running) <= 1:
        only = running[0] if running else (new if new is not None else by_age(olds)[-1])
        return [(only, wanted)]
    if new is not None and _is_saturated(deployment, new):
        return [(old, 0) for old in active(olds)]
    return _in_proportion(deployment, running) if is_rolling(deployment) else []


def _is_saturated(deployment: Object, new: Object) -> bool:
    wanted = replicas_of(deployment)
    return number_in(new, DESIRED) == replicas_of(new) == available(new) == wanted


def _in_proportion(deployment: Object, running: Sequence[Object]) -> Sizes:
    wanted = replicas_of(deployment)
    allowed = wanted + allowances(deployment)[0] if wanted > 0 else 0
    to_add = allowed - total(running)
    # The largest first; among equals the newest gains first and the oldest loses first.
    ordered = sorted(by_age(running)[:: -1 if to_add > 0 else 1], key=lambda each: -replicas_of(each))
    sizes: Sizes = []
    added = 0
    for each in ordered:
        portion = _portion(deployment, each, allowed, to_add - added)
        sizes.append((each, replicas_of(each) + portion))
        added += portion
    first, size = sizes[0]
    sizes[0] = (first, max(size + to_add - added, 0))
    return sizes


def _portion(deployment: Object, each: Object, allowed: int, left: int) -> int:
    if left == 0:
        return 0
    size = replicas_of(each)
    if replicas_of(deployment) == 0:
        fraction = -size
    else:
        before = number_in(each, MOST) or status_of(deployment).get("replicas") or 0
        fraction = _rounded(size * allowed, before) - size if before else 0
    return min(fraction, left) if left > 0 else max(fraction, left)


def _rounded(numerator: int, denominator: int) -> int:
    """To the nearest, halves upwards."""
    return (2 * numerator + denominator) // (2 * denominator)
