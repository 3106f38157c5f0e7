"""The pods of a Job: how one is made, and which of them are too many."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.job_indexes import INDEX, index_of
from tangram.sandbox.controllers.job_view import TRACKING, JobView, is_indexed
from tangram.sandbox.controllers.pods import first_to_go, pod_from
from tangram.sandbox.controllers.reading import items, spec_of
from tangram.sandbox.controllers.resources import JOBS

ENVIRONMENT: Final = "JOB_COMPLETION_INDEX"


def job_pod(job: Object, index: int | None) -> Object:
    """A pod of the Job; of an Indexed one with its index as annotation, label, host name and variable."""
    pod = pod_from(spec_of(job)["template"], JOBS, job)
    metadata, spec = pod["metadata"], pod["spec"]
    if TRACKING not in metadata["finalizers"]:
        metadata["finalizers"].append(TRACKING)
    if index is None:
        return pod
    name = job["metadata"]["name"]
    metadata["generateName"] = f"{name}-{index}-"
    metadata["annotations"][INDEX] = metadata["labels"][INDEX] = str(index)
    spec["hostname"] = f"{name}-{index}"
    told = {"name": ENVIRONMENT, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        if all(each["name"] != ENVIRONMENT for each in items(container, "env")):
            container["env"] = [*items(container, "env"), told]
    return pod


def to_remove(view: JobView, count: int) -> list[Object]:
    """Pods too many: second ones of an index, those of an index the Job has not, and then as many as asked for."""
    if not is_indexed(view.job):
        return first_to_go(view.active)[:count]
    completions = spec_of(view.job).get("completions") or 0
    seen: set[int] = set()
    doomed: list[Object] = []
    kept: list[Object] = []
    for pod in reversed(first_to_go(view.active)):
        index = index_of(pod)
        if index is None or index >= completions or index in seen:
            doomed.append(pod)
        else:
            seen.add(index)
            kept.append(pod)
    return doomed + first_to_go(kept)[: max(count - len(doomed), 0)]
