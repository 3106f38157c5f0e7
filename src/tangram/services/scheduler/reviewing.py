"""The mutating webhook: every new pod is let through, completed or refused, before anybody schedules it.

The rules are `vendors/`'s, the order is HAMi's: pods that name another scheduler are none of our business, a pod that
asks for cards is completed and gets our scheduler's name, and everything wrong with it is said in one answer, which
ends up in a terminal or on the events of the controller that made the pod. A pod that asks for no card is let through
as it came. Nothing is kept, so a dry run is like any other; nothing waits, and pods without cards are not even decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tangram.model.pods import Pod, PodRef
from tangram.model.refusals import Refusal
from tangram.model.requests import Request
from tangram.services.scheduler.completing import containers_of, patch_for
from tangram.services.scheduler.desk import Reply
from tangram.units.ids import Namespace
from tangram.units.refusal import quoted
from tangram.vendors.admission import admit
from tangram.vendors.crowded import MOST_CONTAINERS, crowded
from tangram.vendors.renaming import usual_names
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings
from tangram.vendors.wording import sentence
from tangram.wire import loose
from tangram.wire.admission_review import (
    CREATE,
    Cause,
    Object,
    Review,
    allow,
    deny,
    read_review,
    unreadable,
)
from tangram.wire.errors import WireError
from tangram.wire.pods import read_pod

OWN_NAME: Final = "tangram-scheduler"
SERVED_NAMES: Final = frozenset({OWN_NAME, "hami-scheduler"})
KUBERNETES_NAME: Final = "default-scheduler"
OPT_OUT: Final = ("hami.io/webhook", "ignore")
"""On a pod or its namespace; for namespaces the webhook's registration looks."""

MOST_SENTENCES: Final = 8

_MARKS: Final = tuple(f'"{name}"'.encode() for name in sorted(usual_names()))
_ESCAPES: Final = (rb"\u", rb"\/")
"""In a text with these a name may be spelled in another way."""


def _no_quota(_request: Request) -> str | None:
    return None


class ReviewRules(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator may set, and what the cluster knows that no pod does."""

    settings: AdmissionSettings = DEFAULT_SETTINGS
    scheduler_name: str = OWN_NAME
    """Given to pods that ask for cards and name no scheduler of their own."""
    served: frozenset[str] = SERVED_NAMES
    force_overwrite: bool = True
    """Whether `default-scheduler`, which the API server writes where nothing stood, is overwritten."""
    over_quota: Callable[[Request], str | None] = _no_quota
    """Why the pod's namespace may not have what it asks for."""


def review(body: bytes, rules: ReviewRules) -> Reply:
    """The answer to an AdmissionReview, in its own version. Never raises."""
    try:
        asked = read_review(body)
    except WireError as error:
        return Reply(unreadable(error.sentence), 400)
    try:
        return Reply(_answer(asked, rules))
    except WireError as error:
        return Reply(deny(asked, error.sentence, code=400, reason="BadRequest"))


def _answer(asked: Review, rules: ReviewRules) -> bytes:
    if asked.door != "pods" or asked.operation != CREATE or not _may_ask(asked.object, rules):
        return allow(asked)
    manifest = asked.manifest()
    if _has_opted_out(manifest):
        return allow(asked)
    name = loose.text(loose.members(manifest.get("spec")).get("schedulerName"))
    served = _is_served(name, rules)
    containers = sum(1 for _ in containers_of(manifest))
    if containers > MOST_CONTAINERS:
        refusals = _too_many(manifest, containers, rules) if served else ()
        return _refuse(asked, refusals) if refusals else allow(asked)
    pod = _in_namespace(read_pod(manifest), asked.namespace)
    if not served:
        return allow(asked, warnings=_forgotten(pod, rules))
    admission = admit(pod, rules.settings)
    if not admission.ours:
        unread = [each for each in admission.refusals if each.code == "pod-unreadable"]
        return _refuse(asked, unread) if unread else allow(asked)
    refusals = (*admission.refusals, *_node_assigned(pod))
    if refusals or admission.request is None:
        return _refuse(asked, refusals)
    over = rules.over_quota(admission.request)
    if over is not None:
        return deny(asked, over, code=403, reason="Forbidden", causes=(Cause("resource-quota", over),))
    cautions = [each.sentence for each in admission.cautions]
    wanted_name = rules.scheduler_name if name in ("", KUBERNETES_NAME) else None
    return allow(asked, patch_for(manifest, admission.mutations, wanted_name), cautions)


def _may_ask(raw: bytes, rules: ReviewRules) -> bool:
    """Whether the text of a pod holds one of our names, so that a no is certain and a yes is not."""
    own = (f'"{name}"'.encode() for name in rules.settings.renamed)
    return any(mark in raw for mark in (*_MARKS, *own, *_ESCAPES))


def _in_namespace(pod: Pod, namespace: str) -> Pod:
    """A pod under review need not say its namespace: the request does."""
    ref = PodRef(Namespace(namespace or pod.ref.namespace), pod.ref.name, pod.ref.uid)
    return msgspec.structs.replace(pod, ref=ref)


def _has_opted_out(manifest: Object) -> bool:
    key, value = OPT_OUT
    return loose.members(loose.members(manifest.get("metadata")).get("labels")).get(key) == value


def _is_served(name: str, rules: ReviewRules) -> bool:
    if name in ("", KUBERNETES_NAME):
        return rules.force_overwrite or not name
    return name in rules.served or name == rules.scheduler_name


def _forgotten(pod: Pod, rules: ReviewRules) -> Sequence[str]:
    """A remark for pods that want a part of a card and, probably without knowing, no scheduler that hands out parts."""
    if pod.scheduler_name != KUBERNETES_NAME or not admit(pod, rules.settings).ours:
        return ()
    return (
        sentence(
            f"pod {pod.ref} asks for cards and names no scheduler but {KUBERNETES_NAME}",
            "this cluster leaves such pods to it, and it chooses no cards",
            f"write schedulerName: {rules.scheduler_name}",
        ),
    )


def _node_assigned(pod: Pod) -> tuple[Refusal, ...]:
    if pod.node_name is None:
        return ()
    return (
        Refusal(
            "node-assigned",
            sentence(
                f"spec.nodeName is {quoted(pod.node_name)} in a pod that asks for cards",
                "the scheduler chooses the node together with the cards",
                "remove nodeName, and if it must be that node name it in nodeSelector",
                peer="pod has node assigned",
            ),
        ),
    )


def _too_many(manifest: Object, containers: int, rules: ReviewRules) -> tuple[Refusal, ...]:
    """The refusal of a pod that is not even read, because reading it would keep everybody else waiting."""
    names = usual_names() | frozenset(rules.settings.renamed)
    asking = any(
        name in loose.members(loose.members(entry.get("resources")).get(side))
        for _, _, entry in containers_of(manifest)
        for side in ("limits", "requests")
        for name in names
    )
    return crowded(containers) if asking else ()


def _refuse(asked: Review, refusals: Sequence[Refusal]) -> bytes:
    """All faults in one message, each once; of very many the first, because events and terminals are short."""
    sentences = list(dict.fromkeys(each.sentence for each in refusals))
    told = sentences[:MOST_SENTENCES]
    if len(sentences) > len(told):
        told.append(f"And {len(sentences) - len(told)} more faults of this kind.")
    causes = [Cause(each.code, each.sentence, each.container) for each in refusals[:MOST_SENTENCES]]
    return deny(asked, " ".join(told), code=400, reason="BadRequest", causes=causes)
