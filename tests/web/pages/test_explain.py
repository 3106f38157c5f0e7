"""Pasted manifests: where they would go, in the language of the viewer, whatever was pasted."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.dashboard_engine import EngineKnown, some_ledger
from builders.dashboard_pages import chinese, explain_page, html_of
from builders.dashboards import FORM_TOKEN, FakeReception, asked, dashboard, viewer
from builders.tenants import Part, ledger_of, tenant
from tangram.model.cards import CardMode
from tangram.model.requests import AskKind
from tangram.units.memory import from_gib
from tangram.web.examples import EXAMPLES
from tangram.web.known import NotKnown
from tangram.web.pages.explain import CARD_POLICIES, NODE_POLICIES, moment, page
from tangram.web.sight import Sight

TENANT = Sight(nodes=True, namespaces=frozenset({"research"}))


def known() -> EngineKnown:
    return EngineKnown(some_ledger())


async def test_the_form_is_there_without_a_question() -> None:
    question = asked("/explain")
    html = html_of(await page(question, known()), question, known())
    assert "<textarea" in html
    assert f'value="{FORM_TOKEN}"' in html
    assert "tangram explain -f" not in html


@pytest.mark.parametrize("word", EXAMPLES)
async def test_every_example_can_be_loaded_and_is_understood(word: str) -> None:
    question = asked("/explain", query={"example": word})
    html = html_of(await page(question, known()), question, known())
    assert EXAMPLES[word].splitlines()[3] in html
    shown, _ = await explain_page(known(), EXAMPLES[word])
    assert shown.status == 200
    (report,) = shown.values["reports"]
    assert report.verdict in ("fits", "waits")


async def test_an_example_that_is_not_there_is_said() -> None:
    question = asked("/explain", query={"example": "<b>"})
    html = html_of(await page(question, known()), question, known())
    assert "There is no example “&lt;b&gt;”" in html


async def test_a_manifest_that_fits_shows_where_and_the_runner_up() -> None:
    _, html = await explain_page(known(), EXAMPLES["linked"])
    assert "default/linked fits: node metax-c01" in html
    assert "runner-up" in html
    assert 'class="cell cell-chosen"' in html
    assert "tangram explain -f pod.yaml -n default" in html


async def test_what_would_cost_the_other_cards_least_is_a_row_of_its_own() -> None:
    node = metax_node("metax-c01", 8, mode=CardMode.WHOLE)
    ledger = ledger_of(node)
    for at in (0, 1, 2):
        ledger.put_tenant(tenant(f"t{at}", node, Part(at, from_gib(64), 100, AskKind.WHOLE)))
    pod = EXAMPLES["linked"].replace(
        "tangram.dev/required-scope: link", "hami.io/node-scheduler-policy: binpack"
    )
    pod = re.sub(r"metax-tech.com/gpu: .*", 'metax-tech.com/gpu: "2"', pod)
    _, html = await explain_page(EngineKnown(ledger), pod)
    sets = html.split("Sets of cards that were weighed</caption>")[1].split("</table>")[0]
    assert re.findall(r'<th scope="row">(.*?)</th>', sets) == ["6, 7", "5, 7", "3, 7"]
    assert sets.count("runner-up") == sets.count("least loss") == 1


async def test_one_that_waits_shows_what_would_help_with_the_changed_text() -> None:
    shown, html = await explain_page(known(), EXAMPLES["too-much"])
    (report,) = shown.values["reports"]
    offer = next(each for each in report.offers if each.code == "tolerate")
    assert yaml.safe_load(offer.yaml)["metadata"]["name"] == "too-much"
    assert "Put it in the place of what you pasted." in html
    assert "verified just now" in html


async def test_what_was_typed_stays() -> None:
    typed = "# mine\nkind: Pod\n\tx"
    shown, html = await explain_page(
        known(), typed.replace("\n", "\r\n"), more={"namespace": "team-a", "node_policy": "spread"}
    )
    assert shown.status == 400
    assert f">\n{typed}</textarea>" in html
    assert 'value="team-a"' in html
    assert '<option value="spread" selected>' in html
    assert "Line 3, column 1" in html


async def test_several_documents_are_several_answers_and_the_rest_is_passed_over() -> None:
    text = "\n---\n".join([EXAMPLES["slice"], "kind: Service\nmetadata: {name: x}", EXAMPLES["deployment"]])
    shown, html = await explain_page(known(), text)
    assert [each.pod for each in shown.values["reports"]] == ["default/slice", "default/serving"]
    assert "1 object that makes no pods was passed over." in html
    found = re.findall(r'\bid="([^"]+)"', html)
    assert len(found) == len(set(found))


async def test_a_policy_of_choice_is_asked_for() -> None:
    cluster = known()
    await explain_page(cluster, EXAMPLES["slice"], more={"node_policy": "spread", "card_policy": "mutex"})
    assert cluster.asked[0][0]["metadata"]["annotations"] == {
        "hami.io/node-scheduler-policy": "spread",
        "hami.io/gpu-scheduler-policy": "mutex",
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"namespace": "No"}, "The namespace is &#39;No&#39;"),
        ({"node_policy": "best"}, "Node policy is “best”, which is none of binpack, spread, frag"),
        ({"card_policy": "x" * 99}, f"Card policy is “{'x' * 40}”"),
    ],
)
async def test_fields_that_cannot_be_meant_are_said(more: dict[str, str], expected: str) -> None:
    shown, html = await explain_page(known(), EXAMPLES["slice"], more=more)
    assert shown.status == 400
    assert expected in html


def test_the_policies_offered_are_those_that_pods_may_name() -> None:
    for policy in NODE_POLICIES:
        assert policy in ("binpack", "spread", "frag")
    assert len(CARD_POLICIES) == 5


async def test_a_tenant_asks_about_own_namespaces_only_and_reads_no_names_of_others() -> None:
    cluster = known()
    cluster.rights = set()
    shown, html = await explain_page(
        cluster, EXAMPLES["too-much"], by=viewer(sight=TENANT), more={"namespace": "research"}
    )
    assert shown.status == 200
    assert "default/" not in html
    shown, html = await explain_page(
        cluster, EXAMPLES["slice"], by=viewer(sight=TENANT), more={"namespace": "vision"}
    )
    assert shown.status == 400
    assert "You may not see pods of namespace vision" in html


async def test_the_first_namespace_of_a_tenant_is_the_usual_one_for_them() -> None:
    shown = await page(asked("/explain", by=viewer(sight=TENANT)), known())
    assert shown.values["namespace"] == "research"


async def test_a_namespace_without_pods_on_cards_may_be_asked_about_with_the_right() -> None:
    cluster = known()
    cluster.rights = {("alice", "list", "pods")}
    shown, _ = await explain_page(
        cluster, EXAMPLES["slice"], by=viewer(sight=TENANT), more={"namespace": "new"}
    )
    assert shown.status == 200


async def test_a_scheduler_that_does_not_answer_is_said_and_the_text_stays() -> None:
    cluster = known()
    cluster.trouble = NotKnown("away", "the scheduler is <away>.", 503)
    shown, html = await explain_page(cluster, EXAMPLES["slice"])
    assert shown.status == 503
    assert "the scheduler is &lt;away&gt;." in html
    assert "name: slice" in html


async def test_in_chinese() -> None:
    _, html = await explain_page(known(), EXAMPLES["too-much"], by=chinese())
    assert "default/too-much 正在等待" in html
    assert "复制修改后的 YAML" in html
    _, html = await explain_page(known(), "a: [", by=chinese())
    assert "第 1 行" in html or "第 2 行" in html


def test_an_answer_stays_as_it_was() -> None:
    assert moment(asked("/explain"), known()) is None


async def test_nothing_pasted_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    form = {"manifest": "kind: Pod\nmetadata: {name: top-secret}\nspec: [", "form_token": FORM_TOKEN}
    with caplog.at_level("DEBUG"):
        async with dashboard(known(), FakeReception(viewer())) as session:
            answer = await session.post("/explain", data=form)
            assert answer.status == 400
            assert "top-secret" in await answer.text()
    assert "top-secret" not in caplog.text


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes.update(name for name, _ in attrs)


EVIL = '<x-evil onload="x()">&lt;'
words = st.one_of(st.text(max_size=6), st.just(EVIL), st.sampled_from(["Pod", "Job", "main", "1", "64Gi"]))
keys = st.one_of(
    words,
    st.sampled_from(
        [
            "kind",
            "metadata",
            "name",
            "namespace",
            "annotations",
            "spec",
            "template",
            "containers",
            "resources",
            "limits",
            "requests",
            "metax-tech.com/sgpu",
            "metax-tech.com/vmemory",
            "mthreads.com/vgpu",
            "koordinator.sh/gpu",
            "tolerations",
            "nodeSelector",
            "affinity",
        ]
    ),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def pods(draw: st.DrawFn) -> object:
    """Near enough to a pod to get past the first question."""
    amounts = draw(st.dictionaries(keys, st.one_of(words, st.integers(0, 99)), max_size=3))
    limits = {"metax-tech.com/sgpu": draw(st.integers(-1, 9)), **amounts}
    return {
        "kind": "Pod",
        "metadata": {"name": draw(words), "annotations": draw(values)},
        "spec": {
            "containers": [{"name": draw(words), "resources": {"limits": limits}, "x": draw(values)}],
            "nodeSelector": draw(values),
        },
    }


CLUSTER = EngineKnown(ledger_of(metax_node("n", 1)))


@given(
    st.one_of(st.text(), words, values.map(json.dumps), pods().map(json.dumps), pods().map(yaml.safe_dump))
)
def test_whatever_is_pasted_there_is_a_page_and_no_markup_of_its_own(text: str) -> None:
    shown, html = asyncio.run(explain_page(CLUSTER, text, by=chinese() if len(text) % 2 else viewer()))
    assert shown.status in (200, 400)
    seen = Elements()
    seen.feed(html)
    assert "x-evil" not in seen.found
    assert not [name for name in seen.attributes if name.startswith("on") or name == "style"]
