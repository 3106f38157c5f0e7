"""What the controllers read of objects: who owns one, whether a pod is ready, active or ended, and moments as text.

An API server has checked what it stores, so fields are taken at their word; only those that may be absent are asked for
with care.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from tangram.kube.objects import Key, Object

Now = dt.datetime


def key_of(thing: Object) -> Key:
    """What it is called."""
    metadata = thing["metadata"]
    return Key(metadata.get("namespace") or "", metadata["name"])


def uid_of(thing: Object) -> str:
    """Which one it is, among all that ever had its name."""
    return thing["metadata"].get("uid") or ""


def version_in(thing: Object) -> str:
    """Which state of it this is."""
    return thing["metadata"].get("resourceVersion") or ""


def labels_of(thing: Object) -> dict[str, str]:
    """Its labels."""
    return thing["metadata"].get("labels") or {}


def annotations_of(thing: Object) -> dict[str, str]:
    """Its annotations."""
    return thing["metadata"].get("annotations") or {}


def finalizers_of(thing: Object) -> list[str]:
    """Who has to agree before it is gone."""
    return thing["metadata"].get("finalizers") or []


def owners_of(thing: Object) -> list[Object]:
    """What it was made for."""
    return thing["metadata"].get("ownerReferences") or []


def controller_of(thing: Object) -> Object | None:
    """The one owner that manages it."""
    return next((owner for owner in owners_of(thing) if owner.get("controller")), None)


def is_going(thing: Object) -> bool:
    """Whether its deletion was asked for."""
    return bool(thing["metadata"].get("deletionTimestamp"))


def part(thing: Object, *names: str) -> Object:
    """An object inside an object, however deep; empty where there is none."""
    for name in names:
        thing = thing.get(name) or {}
    return thing


def items(thing: Object, *names: str) -> list[Object]:
    """A list of objects inside an object; empty where there is none."""
    *way, last = names
    return part(thing, *way).get(last) or []


def spec_of(thing: Object) -> Object:
    """What is asked for."""
    return part(thing, "spec")


def status_of(thing: Object) -> Object:
    """What is the case."""
    return part(thing, "status")


def generation_of(thing: Object) -> int:
    """How often what is asked for has changed."""
    return thing["metadata"].get("generation") or 0


def replicas_of(thing: Object) -> int:
    """How many are asked for; one where nothing is said."""
    wanted = spec_of(thing).get("replicas")
    return 1 if wanted is None else wanted


# ---- pods


def phase_of(pod: Object) -> str:
    """How far a pod is; one without a word has yet to begin."""
    return status_of(pod).get("phase") or "Pending"


def is_ended(pod: Object) -> bool:
    """Whether a pod has run and will not again."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Neither ended nor on its way out."""
    return not is_ended(pod) and not is_going(pod)


def is_ready(thing: Object) -> bool:
    """Whether a pod, or a node, does its work."""
    return holds(thing, "Ready")


def is_available(pod: Object, min_ready_seconds: int, now: Now) -> bool:
    """Ready, and for long enough."""
    return is_ready(pod) and seconds_until_available(pod, min_ready_seconds, now) <= 0


def seconds_until_available(pod: Object, min_ready_seconds: int, now: Now) -> float:
    """Of a pod that is ready: how long it must stay so; nothing to wait for where no time is asked."""
    if not min_ready_seconds:
        return 0.0
    condition = condition_of(pod, "Ready")
    since = moment(condition.get("lastTransitionTime")) if condition else None
    return min_ready_seconds - (now - since).total_seconds() if since else float(min_ready_seconds)


def next_to_be_available(pods: Iterable[Object], min_ready_seconds: int, now: Now) -> float | None:
    """Seconds until the next pod becomes available, which nobody will tell of; None where none is on its way there."""
    waits = [seconds_until_available(pod, min_ready_seconds, now) for pod in pods if is_ready(pod)]
    return min((wait for wait in waits if wait > 0), default=None)


# ---- conditions


def conditions_of(thing: Object) -> list[Object]:
    """All its conditions."""
    return status_of(thing).get("conditions") or []


def condition_of(thing: Object, kind: str) -> Object | None:
    """Its condition of this type, if it has one."""
    return find_condition(conditions_of(thing), kind)


def find_condition(conditions: Iterable[Object], kind: str) -> Object | None:
    """The condition of this type, if there is one."""
    return next((each for each in conditions if each.get("type") == kind), None)


def holds(thing: Object, kind: str) -> bool:
    """Whether a condition is there and true."""
    condition = condition_of(thing, kind)
    return condition is not None and condition.get("status") == "True"


# ---- moments


def moment(text: str | None) -> dt.datetime | None:
    """A moment as Kubernetes writes it, with or without fractions of a second."""
    if not text:
        return None
    try:
        read = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=dt.UTC)


def created_at(thing: Object) -> str:
    """When it was made, as text; later moments are greater."""
    return thing["metadata"].get("creationTimestamp") or ""
