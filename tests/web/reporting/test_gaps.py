"""How far nodes are from fitting, the nearest first."""

from __future__ import annotations

import msgspec

from builders.dashboard_engine import EngineKnown, some_ledger
from tangram.reports import shape
from tangram.web.language import Language
from tangram.web.reporting.gaps import Near, nearest
from tangram.web.sight import Sight
from wire.manifests import Json, container, pod


async def found(limits: Json, language: Language = Language.ENGLISH) -> dict[str, Near]:
    cluster = EngineKnown(some_ledger())
    report = await cluster.explain_manifest([pod(container(limits=limits))], Sight(everything=True), [])
    return {near.node: near for near in nearest(language, report.pods[0].nodes)}


async def test_the_node_that_lacks_least_comes_first_with_what_each_card_lacks() -> None:
    near = await found(
        {"metax-tech.com/sgpu": 2, "metax-tech.com/vcore": 70, "metax-tech.com/vmemory": "48Gi"}
    )
    assert next(iter(near)) == "metax-a02"
    assert [gap.words for gap in near["metax-a02"].gaps] == [
        "4 GiB short on card 0",
        "8 GiB short on card 1",
        "12 GiB short on card 2",
    ]
    assert [gap.words for gap in near["metax-d01"].gaps] == [
        "34 GiB short on card 0",
        "60% compute short on card 1",
    ]


async def test_a_rule_without_amounts_has_no_distance() -> None:
    near = await found(
        {"metax-tech.com/sgpu": 2, "metax-tech.com/vcore": 100, "metax-tech.com/vmemory": "64Gi"}
    )
    assert near["metax-b01"].met is None
    assert near["metax-b01"].said.text == "taint team=vision:NoSchedule"


def node(verdict: str, need: int, have: int) -> shape.NodeReport:
    return shape.NodeReport(
        node=verdict,
        verdict=verdict,
        chosen=False,
        sentence="",
        score=None,
        container="",
        need=need,
        have=have,
        detail="",
        containers=[],
        cards=[],
    )


def test_compute_of_moore_threads_is_in_sixteenths() -> None:
    card = shape.CardReport(
        index=3,
        uuid="GPU-3",
        verdict="cores",
        sentence="",
        need=12,
        have=8,
        detail="",
        memory=1,
        memory_free=1,
        cores=16,
        cores_free=8,
        pods=1,
    )
    (near,) = nearest(Language.CHINESE, [msgspec.structs.replace(node("cards", 1, 0), cards=[card])])
    assert [gap.words for gap in near.gaps] == ["卡 3 还差 4/16 算力"]


def test_the_host_lacks_processors_and_memory_in_their_units() -> None:
    near = nearest(Language.CHINESE, [node("host-cpu", 4000, 2500), node("host-memory", 2**33, 2**32)])
    assert [gap.words for each in near for gap in each.gaps] == ["还差 1.5 核 CPU", "还差 4 GiB 主机内存"]


def test_amounts_that_make_no_sense_are_no_trouble() -> None:
    for verdict in ("cards", "no-such-cards", "scope", "host-cpu", "of-tomorrow"):
        for need, have in ((0, 0), (-1, 5), (3, -2), (1, 9)):
            (near,) = nearest(Language.ENGLISH, [node(verdict, need, have)])
            assert near.met is None or 0 <= near.met < 1
