"""In which language and theme a browser is shown pages."""

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import FakeKnown
from builders.receptions import ADMIN, Scene, form_token_in
from tangram.web.language import Language
from tangram.web.preferences import language_of, theme_of
from tangram.web.reception import Way, WaysIn


def language(accept: str = "", cookie: str = "") -> Language:
    headers = {"Accept-Language": accept} if accept else {}
    if cookie:
        headers["Cookie"] = f"tangram-language={cookie}"
    return language_of(make_mocked_request("GET", "/", headers))


@pytest.mark.parametrize(
    ("accept", "cookie", "expected"),
    [
        ("", "", Language.ENGLISH),
        ("zh-CN,zh;q=0.9,en;q=0.8", "", Language.CHINESE),
        ("ZH-hans-cn", "", Language.CHINESE),
        ("en-US,en;q=0.9,zh-CN;q=0.8", "", Language.ENGLISH),
        ("de,fr;q=0.9,zh;q=0.1", "", Language.CHINESE),
        ("de, fr;q=0.9", "", Language.ENGLISH),
        ("zh;q=0, en", "", Language.ENGLISH),
        ("zh;q=nonsense,en;q=0.1", "", Language.ENGLISH),
        ("zh;q=7,en;q=0.1", "", Language.ENGLISH),
        ("zh", "en", Language.ENGLISH),
        ("en", "zh-CN", Language.CHINESE),
        ("zh", "klingon", Language.CHINESE),
    ],
)
def test_the_choice_counts_first_then_the_browsers_wish_then_english(
    accept: str, cookie: str, expected: Language
) -> None:
    assert language(accept, cookie) is expected


@given(st.text(alphabet="zhen-,;q=.019 *\t", max_size=60))
def test_whatever_a_browser_asks_for_there_is_a_language(accept: str) -> None:
    assert language(accept.strip()) in tuple(Language)


@pytest.mark.parametrize(("cookie", "theme"), [("dark", "dark"), ("light", "light"), ("pink", ""), ("", "")])
def test_a_theme_is_one_of_ours_or_the_browsers(cookie: str, theme: str) -> None:
    assert theme_of(make_mocked_request("GET", "/", {"Cookie": f"tangram-theme={cookie}"})) == theme


async def test_a_choice_is_kept_for_a_year_and_leads_back_to_the_page() -> None:
    scene = Scene(FakeKnown(), WaysIn(way=Way.NONE))
    scene.rights.person("kubeconfig-owner", *ADMIN)
    async with scene.served() as browser:
        form = {"form_token": form_token_in((await browser.get("/pods"))[1])}
        place = {"back": "/pods?q=x"}
        assert await browser.post("/preferences", form | place | {"language": "zh-CN", "theme": "dark"}) == (
            303,
            "/pods?q=x",
        )
        assert browser.cookies == {"tangram-language": "zh-CN", "tangram-theme": "dark"}
        assert all("HttpOnly" in cookie and "Max-Age=31536000" in cookie for cookie in browser.set_cookies)
        assert '<html lang="zh-CN" data-theme="dark">' in (await browser.get("/pods"))[1]
        await browser.post("/preferences", form | {"theme": "auto"})
        assert browser.cookies == {"tangram-language": "zh-CN"}
        assert await browser.post("/preferences", form | {"back": "//evil.example"}) == (303, "/")
        status, page = await browser.post("/preferences", form | {"language": "<b>"})
        assert status == 400
        assert "language is &#39;&lt;b&gt;&#39;: it is en, zh-CN or auto." in page


async def test_a_stranger_chooses_a_language_on_the_page_to_sign_in_and_loses_nothing() -> None:
    async with Scene(FakeKnown(), WaysIn()).served() as browser:
        _status, page = await browser.get("/sign-in?back=/pods%3Fq%3Dx")
        back = "/sign-in?back=%2Fpods%3Fq%3Dx"
        assert f'name="back" value="{back}"' in page
        form = {"form_token": form_token_in(page), "language": "zh-CN", "back": back}
        assert await browser.post("/preferences", form) == (303, back)
        page = (await browser.get(back))[1]
        assert "登录" in page
        assert 'value="/pods?q=x"' in page
