"""Manifests for the comparison of controllers, and what is looked for in objects."""

from collections.abc import Callable

from e2e.controllers_kit import Scene, is_going
from testbed.api import Object


def template(**spec: object) -> Object:
    made: Object = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    }
    made["spec"] |= spec
    return made


def workload(kind: str, name: str = "x", **spec: object) -> Object:
    base: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    if kind == "StatefulSet":
        base["serviceName"] = "svc"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": base | spec}


def job(name: str = "x", **spec: object) -> Object:
    body = {"template": {"spec": template(restartPolicy="Never")["spec"]}} | spec
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def has(kind: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == kind and each["status"] == "True"
        for each in seen.get("status", {}).get("conditions", [])
    )


def progressed(reason: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == "Progressing" and each["reason"] == reason
        for each in seen.get("status", {}).get("conditions", [])
    )


def waits(pod: Object) -> bool:
    return pod["status"]["phase"] == "Pending"


def of_image(image: str) -> Callable[[Object], bool]:
    return lambda pod: pod["spec"]["containers"][0]["image"] == image


def new_image(image: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


async def all_new(scene: Scene, image: str, count: int) -> bool:
    pods = [pod for pod in await scene.all("pods") if not is_going(pod)]
    return len(pods) == count and all(map(of_image(image), pods)) and all(not waits(pod) for pod in pods)
