"""The page of a node: its cards for those who may see them, and nothing at all for those who may not."""

import msgspec
import pytest

from builders.dashboards import NOW, FakeHistory, FakeKnown, FakeReception, asked, dashboard, view, viewer
from builders.node_details import LAYOUTS, holder, node_detail, seen_card, two_groups_of_four
from tangram.reports.shape import CardSet
from tangram.reports.view_shape import NodeDetail
from tangram.web.history.keeping import Moment
from tangram.web.known import NotKnown
from tangram.web.language import Language
from tangram.web.page import Shown, Viewer
from tangram.web.pages.node import moment, page
from tangram.web.sight import Sight
from tangram.web.topology.speech import Speech

POD = "research/train-0"
TENANT = Sight(namespaces=frozenset({"web"}))


def known(detail: NodeDetail | None = None) -> FakeKnown:
    detail = detail or two_groups_of_four()
    cluster = FakeKnown(detail.node)
    cluster.details[detail.node.node, ""] = detail
    cluster.details[detail.node.node, POD] = two_groups_of_four(POD)
    return cluster


async def shown(cluster: FakeKnown, *, by: Viewer | None = None, name: str = "gpu-1", pod: str = "") -> Shown:
    return await page(asked(f"/nodes/{name}", parts={"name": name}, query={"pod": pod}, by=by), cluster)


async def html(cluster: FakeKnown, by: Viewer | None = None, path: str = "/nodes/gpu-1") -> str:
    async with dashboard(cluster, FakeReception(by or viewer())) as session, session.get(path) as answer:
        return await answer.text()


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("name", LAYOUTS)
async def test_every_kind_of_server_has_a_page_in_both_languages(name: str, language: Language) -> None:
    detail = LAYOUTS[name]()
    text = await html(known(detail), viewer(language=language, may_act=True))
    assert 'data-card="0"' in text
    assert text.count('<tr id="card-') == len(detail.node.cards)
    assert " style=" not in text


async def test_everything_of_a_card_is_in_its_row() -> None:
    text = await html(known())
    row = text.split('<tr id="card-4">')[1].split("</tr>")[0]
    for words in ("MXC500", "GPU-metax-0004", "48/64 GiB", "60%", "6 of 16", "fixed-share", "batch/worker-5"):
        assert words in row


@pytest.mark.parametrize("name", ["gpu-2", "GPU-1", "..", "a b", "x" * 300, "gpu-1\n"])
async def test_a_node_that_is_not_there_is_one_sentence(name: str) -> None:
    with pytest.raises(NotKnown) as refused:
        await shown(known(), name=name)
    assert refused.value.status == 404


async def test_a_node_outside_the_sight_is_answered_exactly_as_one_that_is_not_there() -> None:
    cluster = known(node_detail([seen_card(0, holder("rivals/secret"))]))
    blind = viewer(sight=TENANT)
    async with dashboard(cluster, FakeReception(blind)) as session:
        hidden, missing = [await session.get(f"/nodes/gpu-{number}") for number in (1, 2)]
        text = await hidden.text()
        assert (hidden.status, missing.status) == (404, 404)
        assert text.replace("gpu-1", "gpu-2") == await missing.text()
    assert "secret" not in text


async def test_a_node_from_which_the_last_own_pod_has_just_gone_is_hidden_too() -> None:
    cluster = known()
    cluster.details["gpu-1", ""] = node_detail([seen_card(0, holder("rivals/secret"))])
    with pytest.raises(NotKnown):
        await shown(cluster, by=viewer(sight=TENANT))


async def test_who_may_not_list_nodes_sees_the_cards_of_their_pod_and_nothing_else_of_the_node() -> None:
    detail = msgspec.structs.replace(
        two_groups_of_four(),
        labels={"zone": "secret-hall", "metax-tech.com/x": "secret-label"},
        taints=["secret-taint"],
        problems=["secret-problem"],
    )
    cluster = known(detail)
    cluster.history = FakeHistory(
        {
            "gpu-1": [
                Moment(at=NOW, node="gpu-1", kind="given", card=1, pod="research/secret", detail="secret")
            ]
        }
    )
    text = await html(cluster, viewer(sight=TENANT))
    assert "embed-7c9f" in text
    assert "secret" not in text
    assert not any(name in text for name in ("train-0", "worker-", "notebook", "chat-1"))
    assert "6 pods of other namespaces" in text
    assert "a pod of another namespace" in text


async def test_the_set_of_a_pod_is_shown_with_the_runner_up_and_why() -> None:
    text = await html(known(), path=f"/nodes/gpu-1?pod={POD}")
    assert "both score 100; the runner-up would cost the remaining cards 40 more" in text
    assert "tp-runner-up" in text
    assert "tangram explain train-0 -n research --node gpu-1" in text


@pytest.mark.parametrize("language", Language)
async def test_the_set_with_the_least_loss_has_a_row_where_it_is_neither(language: Language) -> None:
    detail = two_groups_of_four(POD)
    mildest = CardSet(cards=[1, 7], chosen=False, score=10, loss=20, least_loss=True)
    cluster = known()
    cluster.details["gpu-1", POD] = msgspec.structs.replace(detail, sets=[*detail.sets, mildest])
    text = await html(cluster, viewer(language=language), path=f"/nodes/gpu-1?pod={POD}")
    row = text.split("<td>1, 7</td>")[0].rsplit("<tr>", 1)[1]
    assert Speech(language).say("node.least_loss") in row
    assert text.count(Speech(language).say("node.least_loss")) == 1


async def test_each_pod_with_several_cards_leads_to_its_set() -> None:
    assert 'href="/nodes/gpu-1?pod=research%2Ftrain-0"' in await html(known())


async def test_a_pod_outside_the_sight_is_as_one_for_which_nothing_was_weighed() -> None:
    seen = await shown(known(), by=viewer(sight=TENANT), pod=POD)
    assert seen.values["weighed"] == []
    assert seen.values["why"] == ""
    assert not seen.values["scene"].chosen


@pytest.mark.parametrize("pod", ["train", "a/b/c", "A/b", "a/<script>", "/", "a/" + "b" * 300])
async def test_a_pod_that_cannot_be_one_is_said_to_be_so(pod: str) -> None:
    seen = await shown(known(), pod=pod)
    assert seen.values["pod"] == ""
    assert seen.values["pod_illegible"] == pod


async def test_when_the_scheduler_does_not_answer_the_last_picture_is_shown_with_the_reason() -> None:
    cluster = known()
    cluster.trouble = NotKnown("no-answer", "the scheduler does not answer: refused", 503)
    text = await html(cluster)
    assert "without its links: the scheduler does not answer: refused" in text
    assert text.count('<tr id="card-') == 8
    assert "Nothing reports how" not in text


async def test_a_node_that_was_never_told_of_passes_the_trouble_on() -> None:
    cluster = FakeKnown()
    cluster.trouble = NotKnown("no-answer", "the scheduler does not answer", 503)
    with pytest.raises(NotKnown, match="does not answer"):
        await shown(cluster)


@pytest.mark.parametrize(("may_act", "forms"), [(True, 8), (False, 0)])
async def test_cards_are_cordoned_from_here_by_those_who_may(*, may_act: bool, forms: int) -> None:
    text = await html(known(), viewer(may_act=may_act))
    assert text.count('action="/cards/cordon"') == forms
    assert ('value="uncordon"' in text) is may_act


async def test_hostile_names_stay_text() -> None:
    evil = "</title><script>alert(1)</script>"
    cards = [seen_card(0, holder(f"x/{evil}"), state="unhealthy", reason=evil)]
    detail = msgspec.structs.replace(node_detail(cards, labels={evil: evil}, taints=[evil], problems=[evil]))
    assert "<script>alert" not in await html(known(detail))


async def test_every_number_names_a_command_that_is_on_the_page() -> None:
    text = await html(known(), viewer(may_act=True), f"/nodes/gpu-1?pod={POD}")
    asked_for = {part.split('"')[0] for part in text.split('class="num" href="#')[1:]}
    assert asked_for
    assert all(f'id="{each}"' in text for each in asked_for)


def test_the_moment_is_another_when_the_node_or_its_past_is() -> None:
    cluster = known()
    question = asked(parts={"name": "gpu-1"})
    first = moment(question, cluster)
    assert moment(question, cluster) == first
    cluster.history = FakeHistory({"gpu-1": [Moment(at=NOW, node="gpu-1", kind="healthy", card=0)]})
    second = moment(question, cluster)
    assert second != first
    cluster.picture.trouble = "gone"
    assert moment(question, cluster) != second


def test_a_node_outside_the_sight_never_becomes_another() -> None:
    cluster = known(node_detail([seen_card(0, holder("rivals/secret"))]))
    hidden = asked(parts={"name": "gpu-1"}, by=viewer(sight=TENANT))
    missing = asked(parts={"name": "gpu-2"}, by=viewer(sight=TENANT))
    first = moment(hidden, cluster)
    again = node_detail([seen_card(0, holder("rivals/secret"), holder("rivals/another"))]).node
    cluster.picture.take(view(again, version=cluster.picture.told + 1))
    assert cluster.picture.version_of("gpu-1") > 1
    cluster.history = FakeHistory({"gpu-1": [Moment(at=NOW, node="gpu-1", kind="given", card=0)]})
    assert moment(hidden, cluster) == first == moment(missing, cluster)
    theirs = node_detail([seen_card(0, holder("web/page"))]).node
    cluster.picture.take(view(theirs, version=cluster.picture.told + 1))
    assert moment(hidden, cluster) != first
