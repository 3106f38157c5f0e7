"""Who answers after an installation: the scheduler and its pages, the kube-scheduler beside it, admission."""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.installation.asking import FORBIDDEN, Told, untried
from tangram.services.installation.doors import EXPLAIN, METRICS, READY
from tangram.services.installation.standing import Door, Page, Standing
from tangram.services.installation.wording import ASK_WITH_MORE, cut, some_of
from tangram.wire import loose

UNAUTHORIZED: Final = 401
OK_STATUS: Final = 200
NOT_OURS: Final = "default-scheduler"
"""What Kubernetes writes where nobody else did."""
_MAY_NOT: Final = "forbidden: User"
_NO_POD_BEHIND: Final = ("no endpoints available", "not found")
"""How the API server says that it has no pod to lead a caller to."""
_DENIED: Final = "denied the request: "
_NOT_CALLED: Final = "failed calling webhook"
_WRONG_TRUST: Final = ("x509", "certificate verify failed", "CERTIFICATE_VERIFY_FAILED")


def scheduler(standing: Standing) -> Findings:
    """Ready, by its own account; and its two pages that ask who you are."""
    check = "scheduler"
    if not standing.doors:
        yield skip(
            check, "no webhook of Tangram says where the scheduler is", "see the finding about the webhook"
        )
    for door in standing.doors:
        if door.closed:
            yield skip(check, f"{door.where} cannot be asked from here: {door.closed}")
            continue
        yield from _ready(check, door, webhook_answers=bool(standing.refused.message.partition(_DENIED)[2]))
        if door.pages.get(READY, Page()).status == OK_STATUS:
            yield from _guarded("explain", door, EXPLAIN)
            yield from _guarded("metrics", door, METRICS)


def _ready(check: str, door: Door, *, webhook_answers: bool) -> Findings:
    page = door.pages.get(READY, Page())
    if page.status == OK_STATUS:
        yield ok(check, f"the scheduler at {door.where} is ready")
    elif page.status == FORBIDDEN and _MAY_NOT in page.text:
        yield skip(
            check, f"{door.where} may not be asked through the API server ({cut(page.text)})", ASK_WITH_MORE
        )
    elif any(word in page.text for word in _WRONG_TRUST):
        yield fail(
            check,
            f"{door.where} shows a certificate that the caBundle of its webhook does not vouch for",
            "restart the scheduler, which writes its authority there; with cert-manager, look at its injector",
        )
    elif webhook_answers and any(word in page.text for word in _NO_POD_BEHIND):
        yield skip(
            check,
            f"{door.where} cannot be asked through the API server ({cut(page.text)}), which leads nobody to what is no "
            "pod; the webhook, which is the same program, answers",
        )
    elif page.status == 0:
        yield skip(
            check,
            f"{door.where} cannot be reached from here ({cut(page.text)})",
            "ask from within the cluster",
        )
    else:
        yield fail(
            check,
            f"the scheduler at {door.where} is not ready: {page.status} {cut(page.text)}",
            "see its pods and their logs; it is ready when it has read the cluster and has a certificate",
        )


def _guarded(check: str, door: Door, path: str) -> Findings:
    """Either it answers, or it asks who wants to know."""
    page = door.pages.get(path, Page())
    if page.status in (OK_STATUS, UNAUTHORIZED):
        yield ok(check, f"{path} of {door.where} answers, to those who say who they are")
    else:
        yield fail(
            check, f"{path} of {door.where} answers {page.status} {cut(page.text)}", "see the scheduler's log"
        )


def lease(standing: Standing) -> Findings:
    """The kube-scheduler that asks ours."""
    check, seen = "kube-scheduler-lease", standing.lease
    if seen is None:
        return
    if seen.renewed:
        yield ok(check, f"{seen.holder} holds Lease {seen.name} and renews it")
    elif seen.told.absent:
        yield warn(
            check,
            f"there is no Lease {seen.name}, so no kube-scheduler asks for pods under that name",
            "start the kube-scheduler beside the scheduler; nothing must be done if its election is off",
        )
    elif not seen.told.known:
        yield skip(check, f"Lease {seen.name} may not be read ({cut(seen.told.message)})", ASK_WITH_MORE)
    else:
        by = f"was last held by {seen.holder}" if seen.holder else "is held by nobody"
        yield fail(
            check,
            f"Lease {seen.name} {by} and nobody renews it: no kube-scheduler serves Tangram's profiles",
            "see the kube-scheduler container of the scheduler's pods",
        )


def completing(standing: Standing) -> Findings:
    """A pod that names no scheduler must come out with one that is served."""
    check, told = "webhook-completes", standing.completed
    if not told.items:
        yield from _not_let_in(check, told, standing.tried_in)
        return
    given = loose.text(loose.members((told.first or {}).get("spec")).get("schedulerName"))
    if given in ("", NOT_OURS):
        yield fail(
            check,
            f"a pod in {standing.tried_in} that asks for cards is let in as it was written: no webhook of Tangram is "
            "asked about it",
            "see its MutatingWebhookConfiguration: rules, namespaceSelector and objectSelector; or try another -n",
        )
    elif standing.served is not None and given not in standing.served:
        yield fail(
            check,
            f"the webhook gives pods schedulerName {given}, and the kube-scheduler that asks Tangram serves "
            f"{some_of(sorted(standing.served))}",
            f"add a profile for {given} to its configuration, or start the scheduler with another --scheduler-name",
        )
    else:
        yield ok(check, f"a pod in {standing.tried_in} that asks for cards is given schedulerName {given}")


def refusing(standing: Standing) -> Findings:
    """A pod that asks for the impossible must be refused with a sentence."""
    check, told = "webhook-refuses", standing.refused
    if told.items:
        yield fail(
            check,
            f"a pod in {standing.tried_in} that asks for more than a card has is let in",
            "see the finding about webhook-completes: both are the work of one webhook",
        )
    elif _DENIED in told.message:
        yield ok(check, f"a pod that cannot be is refused: {cut(told.message.partition(_DENIED)[2])}")
    else:
        yield from _not_let_in(check, told, standing.tried_in)


def _not_let_in(check: str, told: Told, where: str) -> Findings:
    """Neither completed nor refused by our own webhook."""
    if told.status == FORBIDDEN and _MAY_NOT in told.message:
        yield skip(
            check,
            f"a pod in {where} may not be tried ({cut(told.message)})",
            f"{ASK_WITH_MORE}, or in another -n",
        )
    elif _NOT_CALLED in told.message and any(word in told.message for word in _WRONG_TRUST):
        yield fail(
            check,
            f"the API server does not trust the webhook: {cut(told.message)}",
            "restart the scheduler, which writes its authority into caBundle; with cert-manager, look at its injector",
        )
    elif _NOT_CALLED in told.message:
        yield fail(
            check,
            f"the API server does not reach the webhook: {cut(told.message)}",
            "see that the scheduler's pods are ready, that its Service has endpoints, and that control plane nodes "
            "reach pods",
        )
    elif (finding := untried(check, told, where)) is not None:
        yield finding
    else:
        yield warn(
            check, f"a pod in {where} is refused by somebody else: {cut(told.message)}", "try another -n"
        )


def agent_metrics(standing: Standing) -> Findings:
    """The metrics of the agents, one pod of each workload."""
    check = "agent-metrics"
    for each in standing.agent_pages:
        page = each.page
        if page.status == OK_STATUS:
            yield ok(check, f"{each.pod} serves its metrics")
        elif page.status == FORBIDDEN and _MAY_NOT in page.text:
            yield skip(
                check, f"{each.pod} may not be asked through the API server ({cut(page.text)})", ASK_WITH_MORE
            )
        else:
            yield warn(
                check,
                f"the metrics of {each.pod} are not answered: {page.status} {cut(page.text)}",
                "see its --metrics-address; nothing but monitoring depends on it",
            )
