"""Everything the engine and admission can say has words in both languages, and nothing is translated by guessing."""

from __future__ import annotations

import re

import pytest

from builders.dashboard_engine import EngineKnown, some_ledger
from tangram.model.verdicts import CardRule, NodeRule
from tangram.reports import shape
from tangram.reports.words import rule_word
from tangram.services.scheduler.verdicts import Stage
from tangram.vendors.codes import CautionCode, Code
from tangram.web.language import Language
from tangram.web.reporting.saying import (
    Said,
    advice_said,
    card_said,
    heading_of,
    known,
    node_said,
    reason_said,
    stage_said,
    verdict_said,
)
from tangram.web.sight import Sight
from tangram.wire.changing.suggested import CODES
from wire.manifests import Json, container, pod

GIB = 2**30
ENGLISH, CHINESE = Language.ENGLISH, Language.CHINESE


@pytest.mark.parametrize("rule", [each for each in NodeRule if each is not NodeRule.FITS])
def test_every_rule_of_nodes_has_words(rule: NodeRule) -> None:
    assert known(f"rules.reason.{rule_word(rule)}")
    assert known(f"rules.node.{rule_word(rule)}")


@pytest.mark.parametrize("rule", CardRule)
def test_every_rule_of_cards_has_words(rule: CardRule) -> None:
    assert known(f"rules.reason.{rule_word(rule)}")
    assert known(f"rules.card.{rule_word(rule)}")


@pytest.mark.parametrize("code", [*Code, *CautionCode])
def test_every_code_has_a_heading(code: str) -> None:
    assert heading_of(CHINESE, code) != code
    assert heading_of(ENGLISH, "of-tomorrow") == "of-tomorrow"


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_words(stage: Stage) -> None:
    assert stage_said(CHINESE, stage).lang == ""


def test_every_suggestion_has_words() -> None:
    assert all(known(f"rules.advice.{code}") for code in {*CODES, "when-pod-ends"})


@pytest.mark.parametrize(
    ("code", "change", "expected"),
    [
        (
            "less-memory",
            {"memory": str(20 * GIB), "was": str(32 * GIB)},
            "每张卡少申请 12 GiB 显存\uff0c即 20 GiB",
        ),
        ("less-compute", {"cores": "30", "was": "50"}, "将算力由 50 减为 30"),
        ("fewer-cards", {"count": "3", "was": "8"}, "将卡数由 8 张减为 3 张"),
        (
            "other-qos",
            {"qos": "burst-share", "was": "best-effort"},
            "将 QoS 策略由 best-effort 改为 burst-share",
        ),
        ("tolerate", {"key": "a", "value": "b", "effect": "NoSchedule"}, "容忍污点 a=b:NoSchedule"),
        ("tolerate", {"key": "a", "value": "", "effect": "NoExecute"}, "容忍污点 a:NoExecute"),
        ("drop-scope", {"scope": "link"}, "去掉“所有卡位于同一 link 内”的要求"),
        ("when-pod-ends", {"pod": "a/b"}, "等待 Pod a/b 结束"),
        ("when-pod-ends", {}, "等待其他命名空间的一个 Pod 结束"),
    ],
)
def test_a_suggestion_is_put_into_chinese_from_its_amounts(
    code: str, change: dict[str, str], expected: str
) -> None:
    assert advice_said(CHINESE, shape.Advice(code, "in English", "n", change)) == Said(expected)
    assert advice_said(ENGLISH, shape.Advice(code, "in English", "n", change)) == Said("in English")


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("of-tomorrow", {}),
        ("less-memory", {}),
        ("less-memory", {"memory": "x", "was": "y"}),
        ("tolerate", {}),
    ],
)
def test_what_nobody_here_knows_stays_english_and_is_marked(code: str, change: dict[str, str]) -> None:
    assert advice_said(CHINESE, shape.Advice(code, "do it", "n", change)) == Said("do it", ENGLISH)


def test_reasons_and_verdicts_of_tomorrow_stay_english() -> None:
    assert reason_said(CHINESE, shape.Reason("so it is", 3, "of-tomorrow")) == Said("so it is", ENGLISH)
    report = shape.PodReport(pod="a/b", verdict="of-tomorrow", sentence="so it is")
    assert verdict_said(CHINESE, report, live=True) == Said("so it is", ENGLISH)


@pytest.mark.parametrize(
    ("need", "have", "expected"),
    [
        (16 * GIB, 15 * GIB, "空闲显存 15 GiB\uff08共 63 GiB\uff09\uff0c需要 16 GiB\uff0c还差 1 GiB"),
        (64 * GIB, 63 * GIB, "该卡可切分的显存共 63 GiB\uff0c需要 64 GiB"),
    ],
)
def test_too_little_memory_is_said_with_what_the_card_can_slice(need: int, have: int, expected: str) -> None:
    card = shape.CardReport(
        index=0,
        uuid="GPU-0",
        verdict="memory",
        sentence="",
        need=need,
        have=have,
        detail="",
        memory=63 * GIB,
        memory_free=have,
        cores=100,
        cores_free=100,
        pods=0,
    )
    assert card_said(CHINESE, card) == Said(expected)


def asking(limits: Json, **spec: object) -> Json:
    made = pod(container(limits=limits))
    return {**made, "spec": {"containers": [container(limits=limits)], **spec}}


@pytest.mark.parametrize(
    "manifest",
    [
        asking({"metax-tech.com/sgpu": 2, "metax-tech.com/vcore": 70, "metax-tech.com/vmemory": "48Gi"}),
        asking({"metax-tech.com/sgpu": 1}, nodeSelector={"a": "b"}),
        asking({"metax-tech.com/gpu": 9}),
        asking({"mthreads.com/vgpu": 1, "mthreads.com/sgpu-core": 12, "mthreads.com/sgpu-memory": 96}),
        asking({"metax-tech.com/sgpu": 1, "cpu": 9, "metax-tech.com/vcore": 1, "metax-tech.com/vmemory": 60}),
    ],
)
async def test_in_chinese_no_english_sentence_is_left_of_a_real_report(manifest: Json) -> None:
    cluster = EngineKnown(some_ledger())
    report = await cluster.explain_manifest([manifest], Sight(everything=True), ["default"])
    (found,) = report.pods
    said = [
        verdict_said(CHINESE, found, live=False),
        *(reason_said(CHINESE, each) for each in found.reasons),
        *(advice_said(CHINESE, each) for each in found.suggestions),
        *(node_said(CHINESE, each) for each in found.nodes),
        *(card_said(CHINESE, card) for each in found.nodes for card in each.cards),
    ]
    assert {each.lang for each in said} == {""}
    # Names of the trade stay as they are; sentences do not.
    assert not [each.text for each in said if re.search(r"[a-z]{2,} (free|of|needed|is|not|are) ", each.text)]
