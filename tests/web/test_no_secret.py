"""A token goes in through a form or a header and comes out nowhere: no page, no address, no cookie, no log."""

import io
import logging
from collections.abc import Generator

import pytest

from builders.dashboards import FakeKnown, card, held, node
from builders.receptions import ADMIN, Scene, form_token_in
from tangram.web.pages.all import PAGES
from tangram.web.reception import Guest, WaysIn

SECRET = "eyJhbGciOiJSUzI1NiJ9.do-not-show-me.signature"  # noqa: S105 - a test's own
PATHS = tuple(page.path.format(name="gpu-1", namespace="research") for page in PAGES if "GET" in page.methods)


@pytest.fixture
def written() -> Generator[io.StringIO]:
    """Everything that is logged, from the finest level on."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


async def test_a_token_is_in_no_answer_no_address_and_no_log(written: io.StringIO) -> None:
    scene = Scene(FakeKnown(node("gpu-1", card(0, held("research/train-0")))), WaysIn(actions=True))
    scene.rights.person("anna", *ADMIN, token=SECRET)
    async with scene.served() as browser:
        await browser.sign_in(f"{SECRET}x")
        scene.rights.lost = True
        await browser.sign_in(SECRET)
        scene.rights.lost = False
        await browser.sign_in(SECRET)
        number = browser.cookies["tangram-session"]
        told = len(browser.texts)
        for path in PATHS:
            await browser.get(path)
            await browser.get(path, {"Authorization": f"Bearer {SECRET}"})
            await browser.get(path, {"Authorization": f"Bearer {SECRET}x"})
        _status, page = await browser.get("/pods")
        form = {"form_token": form_token_in(page), "node": "gpu-1", "card": "0", "action": "cordon"}
        await browser.post("/cards/cordon", form)
        await browser.post("/cards/cordon", form | {"confirm": "yes"})
        del scene.rights.users[SECRET]
        await browser.get("/pods")
        answers = "".join(browser.texts)
        assert number not in "".join(browser.texts[told:]), "told once, in a cookie, and never again"
        assert number not in written.getvalue()
        for part in (SECRET, "do-not-show-me"):
            assert part not in answers
            assert part not in written.getvalue()


def test_records_with_a_token_do_not_show_it() -> None:
    assert SECRET not in repr(Guest(None, token=SECRET))  # pyright: ignore[reportArgumentType] - only its text is of interest
