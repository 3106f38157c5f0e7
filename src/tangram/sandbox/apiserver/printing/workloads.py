"""What keeps so many pods running: sets, deployments, and the templates and revisions they are made from."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.printing.columns import (
    AGE,
    CONTAINERS,
    NAME,
    SELECTOR,
    Cells,
    Heading,
    Printer,
    Printers,
    age_of,
    count,
)
from tangram.sandbox.apiserver.printing.reading import NONE, at, each, name_of, number, text
from tangram.sandbox.apiserver.printing.selectors import container_cells, labels_text, selector_text


def _replicated(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        number(thing, "spec", "replicas"),
        number(thing, "status", "replicas"),
        number(thing, "status", "readyReplicas"),
        age_of(thing, now),
        *container_cells(at(thing, "spec", "template", "spec")),
    ]


def _controller(thing: Object, now: datetime) -> Cells:
    return [*_replicated(thing, now), labels_text(at(thing, "spec", "selector"))]


def _replica_set(thing: Object, now: datetime) -> Cells:
    return [*_replicated(thing, now), selector_text(at(thing, "spec", "selector")) or NONE]


def _deployment(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        f"{number(thing, 'status', 'readyReplicas')}/{number(thing, 'spec', 'replicas')}",
        number(thing, "status", "updatedReplicas"),
        number(thing, "status", "availableReplicas"),
        age_of(thing, now),
        *container_cells(at(thing, "spec", "template", "spec")),
        selector_text(at(thing, "spec", "selector")),
    ]


def _stateful_set(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        f"{number(thing, 'status', 'readyReplicas')}/{number(thing, 'spec', 'replicas')}",
        age_of(thing, now),
        *container_cells(at(thing, "spec", "template", "spec")),
    ]


def _daemon_set(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        number(thing, "status", "desiredNumberScheduled"),
        number(thing, "status", "currentNumberScheduled"),
        number(thing, "status", "numberReady"),
        number(thing, "status", "updatedNumberScheduled"),
        number(thing, "status", "numberAvailable"),
        labels_text(at(thing, "spec", "template", "spec", "nodeSelector")),
        age_of(thing, now),
        *container_cells(at(thing, "spec", "template", "spec")),
        selector_text(at(thing, "spec", "selector")) or NONE,
    ]


def _revision(thing: Object, now: datetime) -> Cells:
    return [name_of(thing), _owner(thing), number(thing, "revision"), age_of(thing, now)]


def _owner(thing: Object) -> str:
    """Its controller as `statefulset.apps/web`."""
    owners = each(thing, "metadata", "ownerReferences")
    owner = next((one for one in owners if one.get("controller") is True), None)
    if owner is None:
        return NONE
    group, slash, _ = text(owner, "apiVersion").rpartition("/")
    kind = f"{text(owner, 'kind')}.{group}" if slash else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}"


def _template(thing: Object, _now: datetime) -> Cells:
    return [
        name_of(thing),
        *container_cells(at(thing, "template", "spec")),
        labels_text(at(thing, "template", "metadata", "labels")),
    ]


def _scale(thing: Object, now: datetime) -> Cells:
    return [
        name_of(thing),
        number(thing, "spec", "replicas"),
        number(thing, "status", "replicas"),
        age_of(thing, now),
    ]


_COUNTED: Final = (NAME, count("Desired"), count("Current"), count("Ready"), AGE, *CONTAINERS, SELECTOR)

PRINTERS: Final[Printers] = {
    ("", "ReplicationController"): Printer(_COUNTED, _controller),
    ("apps", "ReplicaSet"): Printer(_COUNTED, _replica_set),
    ("apps", "Deployment"): Printer(
        (NAME, Heading("Ready"), Heading("Up-to-date"), Heading("Available"), AGE, *CONTAINERS, SELECTOR),
        _deployment,
    ),
    ("apps", "StatefulSet"): Printer((NAME, Heading("Ready"), AGE, *CONTAINERS), _stateful_set),
    ("apps", "DaemonSet"): Printer(
        (
            NAME,
            count("Desired"),
            count("Current"),
            count("Ready"),
            count("Up-to-date"),
            count("Available"),
            Heading("Node Selector"),
            AGE,
            *CONTAINERS,
            SELECTOR,
        ),
        _daemon_set,
    ),
    ("apps", "ControllerRevision"): Printer(
        (NAME, Heading("Controller"), Heading("Revision"), AGE), _revision
    ),
    ("", "PodTemplate"): Printer(
        (NAME, Heading("Containers"), Heading("Images"), Heading("Pod Labels")), _template
    ),
    # Asked for as `kubectl get deployment NAME --subresource=scale`. Its name is not marked as one.
    ("autoscaling", "Scale"): Printer((Heading("Name"), count("Desired"), count("Available"), AGE), _scale),
}
