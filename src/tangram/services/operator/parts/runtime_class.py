"""The RuntimeClass `metax`, for pods that ask for the runtime by name: it runs where the runtime is registered."""

from __future__ import annotations

from typing import Final

from tangram.services.operator.parts import pods
from tangram.services.operator.parts.pods import Object, Site
from tangram.wire.operator.names import RUNTIME_CLASS, RUNTIME_READY
from tangram.wire.operator.spec import Spec

NAME: Final = "runtime-class"


def manifests(spec: Spec, site: Site) -> tuple[Object, ...]:  # noqa: ARG001 - as every part
    """The class. Pods with it go to nodes whose runtime knows the name."""
    return (
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME_CLASS, "labels": pods.labels(NAME, site)},
            "handler": RUNTIME_CLASS,
            "scheduling": {"nodeSelector": {RUNTIME_READY: "true"}},
        },
    )
