"""Our admission webhooks, registered with whichever API server there is.

By URL, because the scheduler runs on this machine and behind no Service; with our own guard of allocations instead of a
ValidatingAdmissionPolicy, because the embedded server has no CEL. Both are among the documented ways to install it.
"""

from __future__ import annotations

import base64
from typing import Final

from tangram.kube.api import Api
from tangram.kube.objects import Object
from tangram.sandbox.our_services import MANAGER
from tangram.wire.trust_policy import guarded_requests

NAME: Final = "tangram-scheduler"
_GROUP: Final = "admissionregistration.k8s.io"
_OUTSIDE_THE_SYSTEM: Final = {
    "key": "kubernetes.io/metadata.name",
    "operator": "NotIn",
    "values": ["kube-system"],
}
_NEW_PODS: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
    "scope": "Namespaced",
}
_NOT_IGNORED: Final = {"key": "hami.io/webhook", "operator": "NotIn", "values": ["ignore"]}


async def register(api: Api, url: str, authority: bytes) -> None:
    """Have the API server ask our scheduler about pods."""
    bundle = base64.b64encode(authority).decode()
    for thing in (_mutating(url, bundle), _validating(url, bundle)):
        path = f"/apis/{_GROUP}/v1/{thing['kind'].lower()}s/{NAME}"
        await api.apply(path, thing, MANAGER)


def _mutating(url: str, bundle: str) -> Object:
    return _configuration(
        "MutatingWebhookConfiguration",
        {
            "name": "pods.tangram.dev",
            "clientConfig": {"url": f"{url}/webhook", "caBundle": bundle},
            "rules": [_NEW_PODS],
            "namespaceSelector": {"matchExpressions": [_OUTSIDE_THE_SYSTEM, _NOT_IGNORED]},
            "objectSelector": {"matchExpressions": [_NOT_IGNORED]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "timeoutSeconds": 5,
        },
    )


def _validating(url: str, bundle: str) -> Object:
    return _configuration(
        "ValidatingWebhookConfiguration",
        {
            "name": "allocations.tangram.dev",
            "clientConfig": {"url": f"{url}/guard", "caBundle": bundle},
            "rules": guarded_requests(),
            "namespaceSelector": {"matchExpressions": [_OUTSIDE_THE_SYSTEM]},
            # An installation has to weigh this; here the webhook is away only when everything is.
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
        },
    )


def _configuration(kind: str, webhook: Object) -> Object:
    usual = {"matchPolicy": "Equivalent", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "webhooks": [webhook | usual],
    }
