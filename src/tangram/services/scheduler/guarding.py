"""The validating webhook: nobody but schedulers and agents says which cards a pod holds.

It is the charts' policy for clusters that cannot enforce a ValidatingAdmissionPolicy (before Kubernetes 1.30), and
must answer every request as the policy would: an end-to-end test compares the two. Requests that touch nothing it
guards are let through, among them all that kubelets and kube-scheduler itself write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.services.scheduler.desk import Reply
from tangram.vendors.wording import sentence
from tangram.wire import loose
from tangram.wire.admission_review import (
    CREATE,
    UPDATE,
    Cause,
    Object,
    Review,
    allow,
    deny,
    read_review,
    unreadable,
)
from tangram.wire.allocation_keys import ANNOTATIONS, LABELS
from tangram.wire.errors import WireError
from tangram.wire.trust_policy import (
    DOORS,
    INSTEAD_OF_BINDING,
    INSTEAD_OF_CREATING,
    INSTEAD_OF_UPDATING,
    NODE_OF_TOKEN,
    WRITERS,
    TrustedAccounts,
)

_MARKS: Final = tuple(f'"{key}"'.encode() for key in dict.fromkeys((*ANNOTATIONS, *LABELS)))
_ESCAPES: Final = (rb"\u", rb"\/")
"""In a text with these a key may be spelled in another way."""


def guard(body: bytes, accounts: TrustedAccounts) -> Reply:
    """The answer to an AdmissionReview of any request in `trust_policy.guarded_requests`. Never raises."""
    try:
        asked = read_review(body)
    except WireError as error:
        return Reply(unreadable(error.sentence), 400)
    try:
        objection = _objection(asked, accounts)
    except WireError as error:
        return Reply(deny(asked, error.sentence, code=400, reason="BadRequest"))
    if objection is None:
        return Reply(allow(asked))
    cause = Cause("allocation-not-yours", objection)
    return Reply(deny(asked, objection, code=403, reason="Forbidden", causes=(cause,)))


def _objection(asked: Review, accounts: TrustedAccounts) -> str | None:
    if asked.door not in DOORS or asked.operation not in (CREATE, UPDATE):
        return None
    if asked.user.username in accounts.everywhere or not _may_touch(asked):
        return None
    before = asked.old_manifest()
    touched = _touched(asked.manifest(), before)
    if not touched or _is_agent_of(asked, before, accounts):
        return None
    return sentence(f"{asked.user.username} writes {', '.join(touched)}", WRITERS, _instead(asked))


def _may_touch(asked: Review) -> bool:
    """Whether a guarded key stands in the object or stood in it, so that a no is certain and a yes is not."""
    marks = (*_MARKS, *_ESCAPES)
    return any(mark in text for text in (asked.object, asked.old_object) for mark in marks)


def _touched(now: Object, before: Object) -> list[str]:
    """What the request adds, changes or removes."""
    return [
        f"{word} {key}"
        for word, field, keys in (("annotation", "annotations", ANNOTATIONS), ("label", "labels", LABELS))
        for key in keys
        if _metadata(now, field).get(key) != _metadata(before, field).get(key)
    ]


def _metadata(thing: Object, field: str) -> Mapping[str, object]:
    return loose.members(loose.members(thing.get("metadata")).get(field))


def _is_agent_of(asked: Review, before: Object, accounts: TrustedAccounts) -> bool:
    """Whether the agent of the node that the pod is bound to writes, by a token that names that node."""
    node = loose.text(loose.members(before.get("spec")).get("nodeName"))
    return (
        asked.user.username in accounts.agents
        and asked.operation == UPDATE
        and bool(node)
        and asked.user.extra.get(NODE_OF_TOKEN) == (node,)
    )


def _instead(asked: Review) -> str:
    if asked.operation == UPDATE:
        return INSTEAD_OF_UPDATING
    return INSTEAD_OF_CREATING if asked.door == "pods" else INSTEAD_OF_BINDING
