"""The pods of a StatefulSet: their names and claims, and what the set says of itself with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.hands import copied
from tangram.sandbox.controllers.pods import pod_from
from tangram.sandbox.controllers.reading import (
    Now,
    generation_of,
    is_available,
    is_going,
    is_ready,
    items,
    labels_of,
    part,
    phase_of,
    replicas_of,
    spec_of,
    status_of,
)
from tangram.sandbox.controllers.resources import STATEFUL_SETS
from tangram.sandbox.controllers.revisions import HASH, template_in

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_NUMBERED: Final = re.compile(r"(.*)-([0-9]+)")


def numbered_pod(owner: Object, place: int, revision: Object) -> Object:
    """The pod of this number, with its name as host name and its claims as volumes."""
    name = f"{owner['metadata']['name']}-{place}"
    pod = pod_from(template_in(revision), STATEFUL_SETS, owner)
    metadata, spec = pod["metadata"], pod["spec"]
    del metadata["generateName"]
    metadata["name"] = name
    metadata["labels"] |= {POD_NAME: name, POD_INDEX: str(place), HASH: revision["metadata"]["name"]}
    spec["hostname"] = name
    if spec_of(owner).get("serviceName"):
        spec["subdomain"] = spec_of(owner)["serviceName"]
    claims = {each["metadata"]["name"]: each for each in items(spec_of(owner), "volumeClaimTemplates")}
    kept = [each for each in items(spec, "volumes") if each["name"] not in claims]
    made = [
        {"name": volume, "persistentVolumeClaim": {"claimName": claim_name(owner, template, place)}}
        for volume, template in claims.items()
    ]
    if kept or made:
        spec["volumes"] = kept + copied({"volumes": made})["volumes"]
    return pod


def claim_name(owner: Object, template: Object, place: int) -> str:
    """The name of one pod's claim."""
    return f"{template['metadata']['name']}-{owner['metadata']['name']}-{place}"


def number_of(owner: Object, pod: Object) -> int | None:
    """A pod's number within its set; None for one that has another name."""
    found = _NUMBERED.fullmatch(pod["metadata"]["name"])
    return int(found[2]) if found and found[1] == owner["metadata"]["name"] else None


def place_of(owner: Object, pod: Object) -> int:
    """The same, for ordering."""
    number = number_of(owner, pod)
    return -1 if number is None else number


def first_place(owner: Object) -> int:
    """The number of its first pod."""
    return part(spec_of(owner), "ordinals").get("start") or 0


def status_after(owner: Object, pods: Sequence[Object], current: Object, update: Object, now: Now) -> Object:
    """What a StatefulSet with these pods says of itself."""
    least, wanted = spec_of(owner).get("minReadySeconds") or 0, replicas_of(owner)
    running = [pod for pod in pods if phase_of(pod) == "Running" and is_ready(pod)]
    staying = [pod for pod in pods if not is_going(pod)]
    now_name, then_name = current["metadata"]["name"], update["metadata"]["name"]
    of_current = sum(labels_of(pod).get(HASH) == now_name for pod in staying)
    of_update = sum(labels_of(pod).get(HASH) == then_name for pod in staying)
    rolls = part(spec_of(owner), "updateStrategy").get("type") != "OnDelete"
    if rolls and of_update == len(running) == len(pods) == wanted:
        of_current, now_name = of_update, then_name
    counts = {
        "readyReplicas": len(running),
        "currentReplicas": of_current,
        "updatedReplicas": of_update,
    }
    kept = {key: value for key, value in status_of(owner).items() if key == "conditions"}
    return {
        "observedGeneration": generation_of(owner),
        "replicas": len(pods),
        **{key: value for key, value in counts.items() if value},
        "availableReplicas": sum(is_available(pod, least, now) for pod in running),
        "currentRevision": now_name,
        "updateRevision": then_name,
        "collisionCount": status_of(owner).get("collisionCount") or 0,
        **kept,
    }
