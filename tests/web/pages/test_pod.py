"""The page of a pod: what it got, or why it waits, to those who may see it and to nobody else."""

from __future__ import annotations

import re

import pytest

from builders.dashboard_engine import EngineKnown, node_of, some_ledger
from builders.dashboard_pages import chinese, pod_page
from builders.dashboards import asked, card, held, node, view, viewer
from builders.tenants import Part
from tangram.kube.objects import Object
from tangram.units.memory import from_gib
from tangram.web.known import NotKnown
from tangram.web.pages.pod import moment, page
from tangram.web.sight import Sight
from tangram.wire.pods import read_pod

LIMITS = {"metax-tech.com/sgpu": "2", "metax-tech.com/vcore": "70", "metax-tech.com/vmemory": "48Gi"}
TENANT = Sight(nodes=True, namespaces=frozenset({"research"}))
OTHERS = Sight(nodes=True, namespaces=frozenset({"vision"}))


def manifest(name: str = "train", limits: Object | None = None) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "research", "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits or LIMITS}}]},
    }


def cluster(*pods: Object) -> EngineKnown:
    known = EngineKnown(some_ledger())
    for each in pods or (manifest(),):
        known.put(each)
    return known


async def test_a_pod_that_waits_is_told_why_how_far_and_what_would_help() -> None:
    html = await pod_page(cluster(), "research/train")
    assert "waits, because none of 6 nodes fits" in html
    assert "a taint is not tolerated" in html
    assert "4 GiB short on card 0" in html
    assert "tolerate taint team=vision:NoSchedule" in html
    assert "verified just now" in html
    assert "kubectl replace --force -f changed.yaml" in html
    assert "1 of 1" in html
    assert "CardInsufficientMemory" in html
    assert "tangram explain train -n research" in html


async def test_every_number_leads_to_a_command_on_the_page() -> None:
    html = await pod_page(cluster(), "research/train")
    targets = set(re.findall(r'href="#(by-[a-z]+)"', html))
    assert targets
    assert all(f'id="{target}"' in html for target in targets)


async def test_identifiers_on_the_page_are_unique() -> None:
    found = re.findall(r'\bid="([^"]+)"', await pod_page(cluster(), "research/train"))
    assert len(found) == len(set(found))


async def test_nothing_in_it_needs_a_loose_content_security_policy() -> None:
    html = await pod_page(cluster(), "research/train")
    assert not re.search(r"<script(?! type=\"module\" src=)|\sstyle=|\son[a-z]+=|javascript:", html)


async def test_in_chinese_only_what_has_no_code_is_english_and_marked() -> None:
    html = await pod_page(cluster(), "research/train", by=chinese())
    assert "research/train 正在等待" in html
    assert "卡 0 还差 4 GiB 显存" in html
    assert "刚刚验证通过" in html
    assert '<span lang="en">none of the nodes fits</span>' in html


async def test_a_pod_that_has_its_place_shows_its_cards() -> None:
    known = cluster(manifest())
    pod = read_pod(manifest())
    known.run(pod.ref, node_of(known.ledger, "metax-b01"), Part(3, from_gib(4), 10))
    html = await pod_page(known, "research/train")
    assert "has its place already: node metax-b01" in html
    assert "GPU-metax-b01-3" in html
    assert 'href="/nodes/metax-b01?pod=research%2Ftrain"' in html
    assert "What would help" not in html


async def test_faults_are_shown_with_their_codes() -> None:
    known = cluster(manifest("bad", {"metax-tech.com/sgpu": "x"}))
    html = await pod_page(known, "research/bad")
    assert "amount-unreadable" in html
    assert "Unreadable amount" in html
    assert "数量无法识别" in await pod_page(known, "research/bad", by=chinese())


@pytest.mark.parametrize(
    "name",
    [
        "research/nobody",
        "research/UPPER",
        "research/..",
        "no such/train",
        "<b>/train",
    ],
)
async def test_what_does_not_exist_and_what_may_not_be_seen_are_the_same(name: str) -> None:
    home, _, own = name.partition("/")
    with pytest.raises(NotKnown) as missing:
        await page(asked(parts={"namespace": home, "name": own}), cluster())
    with pytest.raises(NotKnown) as hidden:
        await page(
            asked(by=viewer(sight=OTHERS), parts={"namespace": "research", "name": "train"}), cluster()
        )
    assert (missing.value.code, missing.value.sentence, missing.value.status) == (
        hidden.value.code,
        hidden.value.sentence,
        hidden.value.status,
    )
    assert missing.value.status == 404
    assert own not in missing.value.sentence


async def test_a_tenant_reads_no_names_of_others() -> None:
    known = cluster()
    html = await pod_page(known, "research/train", by=viewer(sight=TENANT))
    assert "default/" not in html
    assert "wait until a pod of another namespace ends" in html
    assert "default/" not in await pod_page(known, "research/train", by=chinese(TENANT))


async def test_without_the_right_to_read_the_pod_suggestions_stay_sentences() -> None:
    known = cluster()
    known.manifests.clear()
    html = await pod_page(known, "research/train")
    assert "tolerate taint" in html
    assert "The pod could not be read, so there is no changed YAML" in html
    assert "Copy changed YAML" not in html


async def test_when_the_scheduler_is_away_the_page_says_so_and_not_that_there_is_no_pod() -> None:
    known = cluster()
    known.trouble = NotKnown("away", "the scheduler is away.", 503)
    with pytest.raises(NotKnown, match="the scheduler is away") as error:
        await pod_page(known, "research/train")
    assert error.value.status == 503


def test_the_page_is_another_when_the_pod_is_and_not_when_the_cluster_is() -> None:
    known = cluster()
    question = asked(parts={"namespace": "research", "name": "train"})
    seen = [moment(question, known)]
    known.picture.take(view(node("n9", card(0, held("vision/x"))), version=known.picture.told + 1))
    seen.append(moment(question, known))
    known.picture.take(
        view(
            node("n9", card(0, held("research/train"))),
            gone_waiting=["uid-train"],
            version=known.picture.told + 1,
        )
    )
    seen.append(moment(question, known))
    known.picture.take(view(node("n9", card(0)), version=known.picture.told + 1))
    seen.append(moment(question, known))
    assert seen[0] == seen[1]
    assert len(set(seen[1:])) == 3


def test_nobody_is_told_when_a_pod_of_others_changes() -> None:
    question = asked(by=viewer(sight=OTHERS), parts={"namespace": "research", "name": "train"})
    assert moment(question, cluster()) is None
