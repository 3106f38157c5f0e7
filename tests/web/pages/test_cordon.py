"""Cordoning a card from a page: only with the right, only when confirmed, and told to the person before."""

import pytest

from builders.dashboards import FakeKnown, asked, card, dashboard, held, node, viewer
from builders.receptions import ADMIN, Scene, form_token_in
from tangram.web.known import NotKnown
from tangram.web.pages.cordon import page
from tangram.web.reception import WaysIn
from tangram.web.sight import Sight

CARD = "GPU-gpu-1-0000"
FORM = {"node": "gpu-1", "card": CARD, "action": "cordon"}
TENANT = Sight(namespaces=frozenset({"research"}), nodes=True)


def known() -> FakeKnown:
    return FakeKnown(
        node(
            "gpu-1",
            card(0, held("research/train-0"), held("rivals/secret-0"), held("rivals/secret-1")),
            card(1),
        )
    )


async def test_the_first_form_says_what_will_happen_and_to_whom_and_changes_nothing() -> None:
    cluster = known()
    shown = await page(asked(form=FORM, by=viewer(may_act=True, sight=TENANT)), cluster)
    assert shown.values["done"] is False
    assert shown.values["pods"] == ["research/train-0"]
    assert shown.values["others"] == 2
    assert cluster.cordoned == []


@pytest.mark.parametrize("out", [True, False])
async def test_the_second_does_it(out: bool) -> None:  # noqa: FBT001 - a case
    cluster = known()
    form = FORM | {"confirm": "yes", "action": "cordon" if out else "uncordon"}
    shown = await page(asked(form=form, by=viewer(may_act=True)), cluster)
    assert shown.values["done"] is True
    assert cluster.cordoned == [("alice", "gpu-1", CARD, out)]


async def test_nobody_acts_without_the_right() -> None:
    cluster = known()
    with pytest.raises(NotKnown) as refused:
        await page(asked(form=FORM | {"confirm": "yes"}), cluster)
    assert (refused.value.status, refused.value.code) == (403, "may-not-act")
    assert cluster.cordoned == []


@pytest.mark.parametrize(
    ("form", "status", "said"),
    [
        ({"action": ""}, 400, "action is '': it is cordon or uncordon"),
        ({"action": "delete"}, 400, "action is 'delete'"),
        ({"node": "gpu-9"}, 404, "there is no such node here"),
        ({"node": "../x"}, 404, "there is no such node here"),
        ({"card": "7"}, 404, "node gpu-1 has no cards of that name"),
        ({"card": ""}, 404, "node gpu-1 has no cards of that name"),
    ],
)
async def test_what_cannot_be_meant_is_one_sentence(form: dict[str, str], status: int, said: str) -> None:
    cluster = known()
    with pytest.raises(NotKnown) as refused:
        await page(asked(form=FORM | {"confirm": "yes"} | form, by=viewer(may_act=True)), cluster)
    assert refused.value.status == status
    assert said in refused.value.sentence
    assert cluster.cordoned == []


async def test_a_node_that_is_not_seen_is_not_there() -> None:
    with pytest.raises(NotKnown, match="there is no such node here"):
        await page(asked(form=FORM, by=viewer(may_act=True, sight=Sight())), known())


async def test_nothing_happens_by_opening_the_address() -> None:
    cluster = known()
    opened = f"/cards/cordon?node=gpu-1&card={CARD}&action=cordon&confirm=yes"
    async with dashboard(cluster) as session, session.get(opened) as answer:
        assert answer.status == 405
    assert cluster.cordoned == []


@pytest.mark.parametrize(
    ("language", "sure", "done"),
    [("en", "Cordon card 0 of gpu-1?", "is cordoned"), ("zh-CN", "封锁 gpu-1 的 0 号卡", "已封锁")],
)
async def test_the_whole_way_without_a_script(language: str, sure: str, done: str) -> None:
    scene = Scene(known(), WaysIn(actions=True))
    scene.rights.person("anna", *ADMIN, token="annas")  # noqa: S106 - anna's
    async with scene.served() as browser:
        await browser.sign_in("annas")
        browser.cookies["tangram-language"] = language
        token = {"form_token": form_token_in((await browser.get("/pods"))[1])}
        status, first = await browser.post("/cards/cordon", token | FORM | {"card": "0"})
        assert status == 200
        assert f"<h1>{sure}" in first
        assert "rivals/secret-0" in first
        assert f"tangram cordon gpu-1 {CARD}" in first
        assert 'data-stamp=""' in first, "nobody fetches it again in place of the question"
        assert scene.known.cordoned == []
        status, second = await browser.post(
            "/cards/cordon", {"form_token": form_token_in(first), **FORM, "confirm": "yes"}
        )
        assert status == 200
        assert done in second
        assert scene.known.cordoned == [("anna", "gpu-1", CARD, True)]


async def test_without_the_switch_an_administrator_only_looks() -> None:
    scene = Scene(known(), WaysIn())
    scene.rights.person("anna", *ADMIN, token="annas")  # noqa: S106 - anna's
    async with scene.served() as browser:
        await browser.sign_in("annas")
        token = {"form_token": form_token_in((await browser.get("/pods"))[1])}
        status, said = await browser.post("/cards/cordon", token | FORM | {"confirm": "yes"})
        assert status == 403
        assert "--actions" in said
    assert scene.known.cordoned == []
