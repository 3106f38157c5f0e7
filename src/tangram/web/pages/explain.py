"""A pasted manifest, and where it would go: the dry run of the live engine.

What was pasted is in the form and in the answer, and nowhere else: not in an address, not in a log. Nothing is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.units.ids import IdError, namespace
from tangram.web.catalogue import said
from tangram.web.examples import EXAMPLES
from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Shown
from tangram.web.pasted import Unreadable, read_pasted
from tangram.web.reporting.offers import offers_for, source_of_manifest
from tangram.web.reporting.saying import sentence_said
from tangram.web.reporting.shown import ShownPod, shown_pod
from tangram.web.sight import Sight
from tangram.wire import loose
from tangram.wire.changing.suggested import with_policies
from tangram.wire.errors import shown

PATH: Final = "/explain"
NODE_POLICIES: Final = ("binpack", "spread", "frag")
CARD_POLICIES: Final = ("binpack", "spread", "numa", "topology-aware", "mutex")
USUAL_NAMESPACE: Final = "default"
_THREAD_FROM: Final = 32 * 1024
"""Texts from this length on are read beside the others' pages."""
_reader: Final = ThreadPoolExecutor(1, "pasted")
"""One such text at a time: several at once would leave the pages of others no time."""


async def page(asked: Asked, known: Known) -> Shown:
    """The form, as it was sent, and what the scheduler says to it."""
    form = asked.form
    values: dict[str, Any] = {
        "text": _text_of(asked),
        "namespace": form.get("namespace", "") or _usual_namespace(asked.viewer.sight),
        "node_policy": form.get("node_policy", ""),
        "card_policy": form.get("card_policy", ""),
        "node_policies": NODE_POLICIES,
        "card_policies": CARD_POLICIES,
        "examples": tuple(EXAMPLES),
        "fault": _unknown_example(asked),
        "reports": (),
        "passed_over": 0,
        "unasked": None,
    }
    if "manifest" not in form:
        return Shown(template="explain.html", values=values)
    try:
        return Shown(template="explain.html", values={**values, **await _answer(asked, known, values)})
    except Unreadable as error:
        values["fault"] = said(asked.viewer.language, error.key, **error.values)
        return Shown(template="explain.html", values=values, status=400)
    except NotKnown as error:
        values["unasked"] = sentence_said(asked.viewer.language, error.sentence)
        return Shown(template="explain.html", values=values, status=error.status)


def moment(_asked: Asked, _known: Known) -> Hashable:
    """An answer stays what it was when it was asked for."""
    return None


async def _answer(asked: Asked, known: Known, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises `Unreadable` and `NotKnown`."""
    text, viewer = values["text"], asked.viewer
    home = _namespace(values["namespace"])
    node_policy = _policy(asked, "node_policy", values["node_policy"], NODE_POLICIES)
    card_policy = _policy(asked, "card_policy", values["card_policy"], CARD_POLICIES)
    pasted = (
        await asyncio.get_running_loop().run_in_executor(_reader, read_pasted, text, home)
        if len(text) >= _THREAD_FROM
        else read_pasted(text, home)
    )
    workloads: list[Object] = [
        dict(with_policies(each, node_policy, card_policy)) for each in pasted.workloads
    ]
    spaces = sorted({loose.text(each["metadata"]["namespace"]) for each in workloads})
    sight = await _sight(asked, known, spaces)
    report = await known.explain_manifest(workloads, sight, spaces)
    sources = [source_of_manifest(each) for each in workloads]
    # One report for each workload, in their order; whatever else comes is shown without changed manifests.
    paired = sources if len(report.pods) == len(sources) else [None] * len(report.pods)
    offers = await offers_for(
        known, viewer.language, sight, list(zip(report.pods, paired, strict=True)), spaces
    )
    reports: Sequence[ShownPod] = [
        shown_pod(viewer.language, pod, found) for pod, found in zip(report.pods, offers, strict=True)
    ]
    return {"reports": reports, "passed_over": pasted.passed_over}


async def _sight(asked: Asked, known: Known, spaces: Sequence[str]) -> Sight:
    """The viewer's, with the namespaces asked about. Raises `Unreadable` for one that may not be seen."""
    sight = asked.viewer.sight
    more: set[str] = set()
    for space in spaces:
        if sight.of_namespace(space):
            continue
        # A sight knows the namespaces that have pods on cards, and somebody's first one may not be among them.
        if not await known.may(asked.viewer.user, "list", "pods", space):
            raise Unreadable("explain.bad.sight", namespace=space)
        more.add(space)
    return Sight(everything=sight.everything, nodes=sight.nodes, namespaces=sight.namespaces | more)


def _text_of(asked: Asked) -> str:
    if "manifest" in asked.form:
        # Browsers send line ends as for Windows.
        return asked.form["manifest"].replace("\r\n", "\n")
    return EXAMPLES.get(asked.query.get("example", ""), "")


def _unknown_example(asked: Asked) -> str:
    word = asked.query.get("example", "")
    if not word or word in EXAMPLES or asked.form:
        return ""
    return said(asked.viewer.language, "explain.example.none", word=word[:40], known=", ".join(EXAMPLES))


def _usual_namespace(sight: Sight) -> str:
    if sight.of_namespace(USUAL_NAMESPACE) or not sight.namespaces:
        return USUAL_NAMESPACE
    return min(sight.namespaces)


def _namespace(written: str) -> str:
    try:
        return namespace(written.strip())
    except IdError:
        raise Unreadable("explain.bad.namespace", read=shown(written)) from None


def _policy(asked: Asked, field: str, written: str, legal: Sequence[str]) -> str:
    if written and written not in legal:
        raise Unreadable(
            "explain.bad.policy",
            field=said(asked.viewer.language, f"explain.{field}"),
            read=written[:40],
            legal=", ".join(legal),
        )
    return written
