"""The templates of a Deployment, each as a ReplicaSet: which is the newest, and what a new one looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.hands import copied
from tangram.sandbox.controllers.pods import template_hash
from tangram.sandbox.controllers.reading import annotations_of, part, replicas_of, spec_of, status_of, uid_of
from tangram.sandbox.controllers.resources import DEPLOYMENTS
from tangram.sandbox.controllers.rollout import (
    DESIRED,
    MOST,
    REVISION,
    REVISIONS_BEFORE,
    allowances,
    by_age,
    number_in,
    size_of_new,
)

HASH: Final = "pod-template-hash"
NOT_HANDED_ON: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISIONS_BEFORE,
        DESIRED,
        MOST,
        "deprecated.deployment.rollback.to",
    }
)
LONGEST_NAME: Final = 253


def new_set(found: Object, olds: Sequence[Object]) -> Object:
    """The ReplicaSet of the template as it is now."""
    spec = spec_of(found)
    template = copied(spec["template"])
    digest = template_hash(template, status_of(found).get("collisionCount"))
    template.setdefault("metadata", {}).setdefault("labels", {})[HASH] = digest
    selector = copied(spec["selector"])
    selector.setdefault("matchLabels", {})[HASH] = digest
    name = f"{found['metadata']['name'][: LONGEST_NAME - 1 - len(digest)]}-{digest}"
    body: Object = {
        "metadata": {
            "name": name,
            "namespace": found["metadata"]["namespace"],
            "labels": dict(template["metadata"]["labels"]),
            "ownerReferences": [DEPLOYMENTS.reference(found)],
        },
        "spec": {
            "replicas": size_of_new(found, olds, 0),
            "minReadySeconds": spec.get("minReadySeconds") or 0,
            "selector": selector,
            "template": template,
        },
    }
    body["metadata"]["annotations"] = annotations_for(found, body, olds) | sizes_noted(found)
    return body


def newest(found: Object, sets: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    """The ReplicaSet with the Deployment's template, if there is one, and the others."""
    new = next((each for each in by_age(sets) if has_template(found, each)), None)
    return new, [each for each in sets if new is None or uid_of(each) != uid_of(new)]


def has_template(found: Object, replica_set: Object) -> bool:
    """Whether a ReplicaSet has the Deployment's template, but for the label that tells the two apart."""
    return _bare(spec_of(found)["template"]) == _bare(spec_of(replica_set)["template"])


def _bare(template: Object) -> tuple[Object, Object]:
    metadata = {key: value for key, value in part(template, "metadata").items() if value is not None}
    labels = {key: value for key, value in part(metadata, "labels").items() if key != HASH}
    return {**metadata, "labels": labels}, part(template, "spec")


def _highest(sets: Sequence[Object]) -> int:
    return max((number_in(each, REVISION) or 0 for each in sets), default=0)


def annotations_for(found: Object, new: Object, olds: Sequence[Object]) -> dict[str, str]:
    """What the newest ReplicaSet is to carry: the Deployment's own annotations and the highest revision."""
    revision = _highest(olds) + 1
    handed = {key: value for key, value in annotations_of(found).items() if key not in NOT_HANDED_ON}
    merged = annotations_of(new) | handed
    before = number_in(new, REVISION)
    if before is None or before < revision:
        merged[REVISION] = str(revision)
        if before is not None:
            earlier = [each for each in merged.get(REVISIONS_BEFORE, "").split(",") if each]
            merged[REVISIONS_BEFORE] = ",".join([*earlier, str(before)])
    return merged


def sizes_noted(found: Object) -> dict[str, str]:
    """By which a later change of the Deployment's size is recognised."""
    wanted = replicas_of(found)
    return {DESIRED: str(wanted), MOST: str(wanted + allowances(found)[0])}


def with_revision(found: Object, revision: str) -> Object:
    """The Deployment with the number of its newest template."""
    if not revision or annotations_of(found).get(REVISION) == revision:
        return found
    metadata = {**found["metadata"], "annotations": annotations_of(found) | {REVISION: revision}}
    return {**found, "metadata": metadata}
