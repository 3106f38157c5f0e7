"""AdmissionReviews as an API server sends them, answers as it reads them, and a second opinion on JSON patches."""

import base64
import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

Object = dict[str, Any]
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def asking_pod(
    limits: Mapping[str, object] | None = None,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    init: Sequence[Object] = (),
    **spec: object,
) -> Object:
    """A pod with one container, as it is after the API server has filled in what it fills in before admission."""
    resources: Object = {"limits": dict(limits), "requests": dict(limits)} if limits else {}
    metadata: Object = {"name": "demo"}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if labels is not None:
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "main", "image": "busybox", "resources": resources}],
            "schedulerName": "default-scheduler",
            **({"initContainers": list(init)} if init else {}),
            **spec,
        },
    }


def review_of(
    thing: object,
    *,
    before: object = None,
    door: str = "pods",
    operation: str = "CREATE",
    user: str = "alice",
    node: str = "",
    namespace: str = "default",
    version: str = "v1",
) -> bytes:
    resource, _, part = door.partition("/")
    extra = {"authentication.kubernetes.io/node-name": [node]} if node else {}
    request: Object = {
        "uid": UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": resource},
        "namespace": namespace,
        "operation": operation,
        "userInfo": {"username": user, "groups": ["system:authenticated"], "extra": extra},
        "object": thing,
        "oldObject": before,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    if part:
        request["subResource"] = part
    body = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}
    return json.dumps(body, separators=(",", ":")).encode()


def response_in(answer: bytes) -> Object:
    """The response, once the answer around it has the shape that the API server demands."""
    said: Object = json.loads(answer)
    assert said["kind"] == "AdmissionReview"
    response: Object = said["response"]
    assert isinstance(response["allowed"], bool)
    if not response["allowed"]:
        assert response["status"]["code"] >= 400
        assert response["status"]["message"]
    return response


def patch_in(response: Object) -> list[Object]:
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    return json.loads(base64.b64decode(response["patch"]))


def patched(document: Object, operations: Sequence[Object]) -> Object:
    """What the API server makes of the document. RFC 6902, strict: a parent that is missing is an error."""
    result = copy.deepcopy(document)
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        place = _at(result, steps[:-1])
        if operation["op"] == "add":
            place[steps[-1]] = copy.deepcopy(operation["value"])
        elif operation["op"] == "remove":
            del place[steps[-1]]
        else:
            raise AssertionError(f"an operation nobody needs: {operation}")
    return result


def _at(document: Object, steps: Sequence[str]) -> Object:
    places: list[Any] = [document]
    for step in steps:
        within = places[-1]
        places.append(within[int(step)] if isinstance(within, list) else within[step])
    assert isinstance(places[-1], dict)
    return cast("Object", places[-1])
