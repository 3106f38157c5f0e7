"""One answer for many who ask for the same: never another's, never an old one."""

from __future__ import annotations

import msgspec
import pytest
from aiohttp import web

from builders.dashboards import FakeKnown, asked, card, held, node, view, viewer
from builders.dashboards import dashboard as running
from tangram.reports.view_shape import WaitingPod
from tangram.web.pages.all import PAGES, Page
from tangram.web.rendering import Rendering
from tangram.web.sharing import KEPT_S, MOST, Sharing


class Kitchen:
    """Makes answers that say how many were made before."""

    def __init__(self) -> None:
        self.made = 0

    async def make(self) -> web.Response:
        self.made += 1
        return web.Response(body=b"%d" % self.made, headers={"Vary": "X-Fragment"})


async def test_whoever_asks_for_the_same_at_once_gets_the_same_in_an_answer_of_their_own() -> None:
    sharing, kitchen = Sharing(), Kitchen()
    first = await sharing.answer("one", "key", 0.0, kitchen.make)
    second = await sharing.answer("one", "key", KEPT_S / 2, kitchen.make)
    assert (first.body, second.body) == (b"1", b"1")
    assert second is not first
    assert second.headers["Vary"] == "X-Fragment"


async def test_another_key_another_moment_and_a_second_later_are_made_anew() -> None:
    sharing, kitchen = Sharing(), Kitchen()
    told = [
        await sharing.answer("one", "key", 0.0, kitchen.make),
        await sharing.answer("one", "other", 0.0, kitchen.make),
        await sharing.answer("two", "key", 0.0, kitchen.make),
        await sharing.answer("two", "key", KEPT_S, kitchen.make),
        await sharing.answer("one", "key", KEPT_S, kitchen.make),
    ]
    assert [each.body for each in told] == [b"1", b"2", b"3", b"4", b"5"]


async def test_a_clock_that_was_set_back_makes_anew() -> None:
    sharing, kitchen = Sharing(), Kitchen()
    await sharing.answer("one", "key", 100.0, kitchen.make)
    assert (await sharing.answer("one", "key", 50.0, kitchen.make)).body == b"2"


async def test_no_more_than_so_many_are_kept() -> None:
    sharing, kitchen = Sharing(), Kitchen()
    for key in range(MOST + 1):
        await sharing.answer("one", key, 0.0, kitchen.make)
    assert (await sharing.answer("one", 0, 0.0, kitchen.make)).body == b"%d" % (MOST + 2)


@pytest.mark.parametrize("page", [page for page in PAGES if page.shared], ids=lambda page: page.path)
async def test_a_shared_part_says_nothing_about_who_asked(page: Page) -> None:
    known = FakeKnown()
    waits = WaitingPod(
        pod="research/late", uid="late", since=1.0, word="CardInsufficientMemory", sentence="No."
    )
    known.picture.take(view(node("gpu-1", card(0, held("research/train"))), waiting=[waits]))
    rendering = Rendering(lambda name: f"/static/0/{name}")
    told: set[bytes] = set()
    for each in (viewer("alice"), viewer("bob", theme="dark", may_act=True)):
        by = msgspec.structs.replace(each, form_token=f"form of {each.user.name}", signed_in=each.may_act)
        question = asked(page.path, by=by)
        shown = await page.make(question, known)
        told.add(
            rendering.page(shown.template, shown.values, question, fragment=True, known=known, stamp="one.1")
        )
    assert len(told) == 1


async def test_a_part_of_a_page_is_handed_out_again_until_something_changes() -> None:
    known = FakeKnown()
    known.picture.take(view(node("gpu-1", card(0))))
    async with running(known) as http:

        async def part() -> str:
            async with http.get("/pods", headers={"X-Fragment": "main"}) as answer:
                assert answer.status == 200
                return await answer.text()

        first = await part()
        assert await part() == first
        known.picture.take(view(node("gpu-1", card(0, held("research/train"))), version=2))
        assert "research/train" in await part()
