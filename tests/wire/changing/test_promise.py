"""The promise of a copied manifest: read by the same admission and asked of the same engine, the pod fits."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from hypothesis import assume, event, given
from hypothesis import strategies as st

from builders.clusters import metax_node, mthreads_node
from builders.requests import DEFAULTS
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.suggest import suggest
from tangram.model.cards import CardMode, QosPolicy
from tangram.model.nodes import Taint
from tangram.model.requests import AskKind, Request
from tangram.model.verdicts import Suggestion
from tangram.units.memory import from_512mib_units, from_gib
from tangram.vendors.admission import admit
from tangram.wire.changing.cleaning import applicable
from tangram.wire.changing.suggested import changed
from tangram.wire.workloads import read_workload
from wire.manifests import Json, container, pod

METAX, MTHREADS, KOORDINATOR = "metax-tech.com", "mthreads.com", "koordinator.sh"

NOT_KEPT = {"drop-app-class"}
"""An online pod has no policy; without the class admission gives it one, which the engine did not try."""


def amounts(*pairs: tuple[str, int | str | None]) -> Json:
    return {name: amount for name, amount in pairs if amount is not None}


VENDORS = st.sampled_from([f"{METAX}/sgpu", f"{MTHREADS}/vgpu"])


@st.composite
def limits(draw: st.DrawFn) -> Json:
    """What a container asks for, in one of the vocabularies."""
    vendor, cards = draw(VENDORS), draw(st.integers(1, 4))
    words = draw(st.sampled_from(["metax", "mthreads", "whole", "koordinator", "one number"]))
    match words:
        case "metax":
            return amounts(
                (f"{METAX}/sgpu", cards),
                (f"{METAX}/vcore", draw(st.sampled_from([None, 10, 60, 100]))),
                (f"{METAX}/vmemory", draw(st.sampled_from([None, "8Gi", 48, "65536Mi"]))),
            )
        case "mthreads":
            return amounts(
                (f"{MTHREADS}/vgpu", 1),
                (f"{MTHREADS}/sgpu-core", draw(st.sampled_from([None, 2, 12, 16]))),
                (f"{MTHREADS}/sgpu-memory", draw(st.sampled_from([None, 16, 64, 96]))),
            )
        case "koordinator":
            return amounts(
                (f"{KOORDINATOR}/gpu-core", draw(st.sampled_from([25, 75, 100]))),
                (f"{KOORDINATOR}/gpu-memory", draw(st.sampled_from(["8Gi", "32Gi"]))),
                (vendor, 1),
            )
        case "one number":
            share = draw(st.sampled_from([50, 100])) if cards == 1 else 100 * cards
            return amounts((f"{KOORDINATOR}/gpu", share), (vendor, cards))
        case _:
            name = draw(st.sampled_from([f"{METAX}/gpu", f"{MTHREADS}/gpu", f"{MTHREADS}/vgpu"]))
            return amounts((name, cards))


ANNOTATIONS = st.sampled_from(
    [
        {},
        {"hami.io/gpu-scheduler-policy": "mutex"},
        {"hami.io/gpu-scheduler-policy": "binpack,mutex"},
        {"metax-tech.com/sgpu-qos-policy": "fixed-share"},
        {"metax-tech.com/sgpu-app-class": "offline"},
        {"metax-tech.com/use-gputype": "C280"},
        {"tangram.dev/required-scope": "link"},
        {"scheduling.koordinator.sh/gpu-partition-spec": "{}"},
    ]
)


@st.composite
def manifests(draw: st.DrawFn) -> Json:
    entry = container(limits=draw(limits()))
    made = pod(entry, annotations=dict(draw(ANNOTATIONS)))
    if draw(st.integers(0, 7)) == 0:
        made["spec"] = {"containers": [entry], "nodeSelector": {"zone": "b"}}
    if draw(st.booleans()):
        return made
    template = {"metadata": made["metadata"], "spec": made["spec"]}
    return {
        "kind": "Deployment",
        "metadata": {"name": "demo", "namespace": "default"},
        "spec": {"template": template},
    }


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    mode = draw(st.sampled_from([CardMode.SLICED, CardMode.SLICED, CardMode.WHOLE]))
    taints = (Taint("team", draw(st.sampled_from(["", "blue"]))),) if draw(st.integers(0, 7)) == 0 else ()
    nodes = [
        msgspec.structs.replace(each, taints=taints)
        for each in (
            metax_node("a", draw(st.sampled_from([2, 8])), mode=mode),
            mthreads_node("b", 2, mode=mode),
        )
    ]
    ledger = ledger_of(*nodes)
    qos = draw(st.sampled_from(list(QosPolicy)))
    for node in nodes if mode is CardMode.SLICED else ():
        of_metax = node.name == "a"
        for at in range(len(node.cards)):
            if draw(st.integers(0, 3)):
                held = from_gib(draw(st.sampled_from([1, 30]))) if of_metax else from_512mib_units(32)
                part = Part(at, held, draw(st.sampled_from([1, 8])), AskKind.SLICE)
                ledger.put_tenant(tenant(f"{node.name}-{at}", node, part, qos=qos if of_metax else None))
    return ledger


def asked(manifest: Json) -> Request | None:
    (read,) = read_workload(manifest)
    return admit(read).request


def followed(manifest: Json, suggestions: Iterable[Suggestion]) -> Iterable[tuple[str, Json]]:
    for each in suggestions:
        after = changed(applicable(manifest), each.code, dict(each.change))
        if after is not None:
            yield each.code, after


@given(manifests(), ledgers())
def test_a_pod_that_waits_fits_once_its_manifest_is_changed(manifest: Json, ledger: Ledger) -> None:
    request = asked(manifest)
    assume(request is not None)
    assert request is not None
    assume(filter_nodes(ledger, request, DEFAULTS).node is None)
    for code, after in followed(manifest, suggest(ledger, request, DEFAULTS, most=99)):
        again = asked(after)
        assert again is not None, (code, after)
        event(code)
        assert code in NOT_KEPT or filter_nodes(ledger, again, DEFAULTS).node is not None, (code, after)
