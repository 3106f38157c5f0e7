"""Whoever looks: with a keyboard alone, on a phone, in another language, without scripts, or listening to the page."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from e2e.browser_kit import DESKTOP, PHONE, looking, violations
from e2e.dashboard_kit import Board, board_in, live, sign_in
from e2e.dashboard_story import NOT_FOUND, PAGES, tell

CHINESE = re.compile(r"[\u4e00-\u9fff]")
RAW_KEY = re.compile(
    r"\b(?:cluster|node|pods?|explain|fragmentation|usage|health|sign_in|error|common|cordon|rules|periods|charts)"
    r"\.[a-z_]+(?:\.[a-z_-]+)*\b"
)
"""A key of a sentence that nobody wrote; names of labels, files and hosts have more than that around them."""


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    async with board_in(tmp_path_factory.mktemp("people")) as running:
        await tell(running)
        yield running


# --- keyboard --------------------------------------------------------------------------------------------------------


async def tab_to(page: Page, what: str, *, most: int = 80) -> None:
    """Press Tab until the focus is there; every stop on the way is to be seen."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        seen = await page.evaluate(
            """() => {
                const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
                const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
                return {tag: at.outerHTML.slice(0, 120), ring: ring || style.boxShadow !== "none",
                        there: box.width > 0 && box.height > 0};
            }"""
        )
        assert seen["ring"], f"no focus to be seen on {seen['tag']}"
        assert seen["there"], seen["tag"]
        if await page.evaluate("what => document.activeElement.matches(what)", what):
            return
    raise AssertionError(f"{what} is not reached by Tab")


@pytest.mark.smoke
async def test_everything_is_reached_by_keyboard_alone(board: Board, chromium: Browser) -> None:
    async with looking(chromium, address=board.url) as seen:
        page, press = seen.page, seen.page.keyboard.press
        await page.goto(board.url)
        await live(page)
        await expect(page.locator("ul.tiles.placed")).to_have_count(1)
        # The first stop leads past the navigation.
        await tab_to(page, "a.skip", most=1)
        await press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"
        await press("/")
        await expect(page.locator("#f-q")).to_be_focused()
        await page.keyboard.type("metax")
        await expect(page.locator("a.tile")).to_have_count(3)
        await expect(page.locator("#clear")).to_be_visible()
        await tab_to(page, "#clear")
        await press("Enter")
        await expect(page.locator("a.tile")).to_have_count(5)
        await tab_to(page, "a.tile")
        first = await page.evaluate("document.activeElement.querySelector('.tile-name').textContent")
        await press("ArrowRight")
        await expect(page.locator("a.tile:focus .tile-name")).not_to_have_text(first)
        await press("End")
        await expect(page.locator("a.tile:focus .tile-name")).to_have_text("moore-b")
        await press("Home")
        await press("ArrowDown")
        await press("Enter")
        await expect(page.locator("h1")).to_contain_text("Node")
        await tab_to(page, "#by-status button", most=120)
        await press("Enter")
        await expect(page.locator("#by-status button[data-done]")).to_have_count(1)
        assert "tangram status --node" in await page.evaluate("navigator.clipboard.readText()")
        # A number opens its command, Escape gives the focus back.
        await page.goto(board.url)
        await live(page)
        await tab_to(page, "a.num")
        await press("Enter")
        await expect(page.locator(".popped button")).to_be_focused()
        await press("Escape")
        await expect(page.locator("a.num:focus")).to_have_count(1)


async def test_language_signing_in_and_out_and_suggestions_need_no_mouse(
    board: Board, chromium: Browser
) -> None:
    token = await board.administrator("keys")
    async with looking(chromium, address=board.url) as seen:
        page, press = seen.page, seen.page.keyboard.press
        await page.goto(f"{board.url}/sign-in")
        await expect(page.locator("#token")).to_be_focused()
        await page.keyboard.insert_text(token)
        await press("Enter")
        await expect(page.locator(".who")).to_contain_text("keys")
        await page.goto(f"{board.url}/pods/research/foundation")
        await live(page)
        await tab_to(page, ".offer button.copy")
        await press("Enter")
        await expect(page.locator(".offer button[data-done]")).to_have_count(1)
        assert "kind: Pod" in await page.evaluate("navigator.clipboard.readText()")
        await page.reload()
        await tab_to(page, "button[name=language]")
        await press("Enter")
        await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        await tab_to(page, "form[action='/sign-out'] button")
        await press("Enter")
        await expect(page.locator("#token")).to_be_visible()


# --- phone -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
async def test_no_page_scrolls_sideways_on_a_phone(board: Board, chromium: Browser, language: str) -> None:
    async with looking(chromium, size=PHONE, language=language) as seen:
        seen.expected.add(404)
        for name, path in PAGES.items():
            await seen.page.goto(board.url + path)
            wide = await seen.page.evaluate("document.scrollingElement.scrollWidth")
            assert wide <= PHONE["width"], (name, wide)


async def test_the_navigation_works_on_a_phone(board: Board, chromium: Browser) -> None:
    async with looking(chromium, size=PHONE) as seen:
        await seen.page.goto(board.url)
        for name in ("Pods", "Explain", "Fragmentation", "Usage", "Health", "Cluster"):
            await seen.page.locator("nav.nav").get_by_role("link", name=name).click()
            current = seen.page.locator("nav.nav a[aria-current=page]")
            await expect(current).to_have_text(name)
            # What is current is not left of or right of what one sees.
            await expect(current).to_be_in_viewport()
        await seen.page.locator("a.tile").first.click()
        await expect(seen.page.locator("h1")).to_contain_text("Node")


# --- languages -------------------------------------------------------------------------------------------------------


async def test_every_page_is_there_in_both_languages_and_no_key_is_left(
    board: Board, chromium: Browser
) -> None:
    for language, tag in (("en-US", "en"), ("zh-CN", "zh-CN")):
        async with looking(chromium, language=language) as seen:
            seen.expected.add(404)
            for name, path in PAGES.items():
                await seen.page.goto(board.url + path)
                await expect(seen.page.locator("html")).to_have_attribute("lang", tag)
                title, text = await seen.page.title(), await seen.page.locator("body").inner_text()
                assert RAW_KEY.findall(re.sub(r"[\w.-]*/[\w./-]*|\S+\.(?:yaml|com)\S*", "", text)) == [], name
                headings = await seen.page.locator("h2, h3").all_inner_texts()
                if tag == "zh-CN":
                    assert CHINESE.search(await seen.page.locator("main").inner_text()), name
                    # A pod is called so in both.
                    assert CHINESE.search(title) or title.startswith("Pod"), (name, title)
                    # Headings that only name something, such as a pod, are in no language.
                    assert [
                        each for each in headings if not CHINESE.search(each) and "/" not in each
                    ] == [], name
                else:
                    assert not CHINESE.search(re.sub("中文", "", text)), name


async def test_the_language_is_switched_on_the_page_and_stays(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/usage?period=7d")
        where = seen.page.url
        await seen.page.get_by_role("button", name="中文").click()
        await expect(seen.page.locator("html")).to_have_attribute("lang", "zh-CN")
        assert seen.page.url == where
        await seen.page.goto(f"{board.url}/pods")
        await expect(seen.page.locator("html")).to_have_attribute("lang", "zh-CN")
        await seen.page.get_by_role("button", name="English").click()
        await expect(seen.page.locator("h1")).to_have_text("Pods")


# --- without scripts -------------------------------------------------------------------------------------------------


async def test_without_scripts_pages_filters_forms_and_signing_in_work(
    board: Board, chromium: Browser
) -> None:
    token = await board.administrator("plain")
    context = await chromium.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    try:
        page = await context.new_page()
        for name, path in PAGES.items():
            answer = await page.goto(board.url + path)
            assert answer is not None
            assert answer.status == (404 if name == NOT_FOUND else 200)
            await expect(page.locator("h1")).to_have_count(1)
        await page.goto(board.url)
        await expect(page.locator("a.tile")).to_have_count(5)
        await page.locator("#f-vendor").select_option("mthreads")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator("a.tile")).to_have_count(2)
        await page.locator("a.tile").first.click()
        await expect(page.locator("h1")).to_contain_text("moore-a")
        await page.locator("a.num").first.click()
        assert "#by-" in page.url
        await page.goto(f"{board.url}/explain?example=slice")
        await page.locator("#ask button.button").click()
        await expect(page.locator("#result-1")).to_be_visible()
        await page.goto(f"{board.url}/sign-in")
        await page.locator("#token").fill(token)
        await page.locator("main form button").click()
        await expect(page.locator(".who")).to_contain_text("plain")
        await page.get_by_role("button", name="中文").click()
        await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    finally:
        await context.close()


# --- axe -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "language", "who"),
    [
        pytest.param(DESKTOP, "en-US", "light", id="light"),
        pytest.param(DESKTOP, "en-US", "dark", id="dark"),
        pytest.param(DESKTOP, "zh-CN", "light", id="chinese"),
        pytest.param(PHONE, "en-US", "light", id="phone"),
        pytest.param(PHONE, "zh-CN", "dark tenant", id="tenant-chinese-phone-dark"),
        pytest.param(DESKTOP, "en-US", "light tenant", id="tenant"),
    ],
)
async def test_axe_finds_nothing_on_any_page(
    board: Board, chromium: Browser, size: dict[str, int], language: str, who: str
) -> None:
    found: dict[str, list[str]] = {}
    async with looking(chromium, size=size, language=language, dark="dark" in who, checked=True) as seen:
        seen.expected |= {403, 404}
        if "tenant" in who:
            name = f"axe-{language.lower()}"
            await sign_in(seen.page, board.url, await board.tenant(name, "vision"))
        for name, path in PAGES.items():
            await seen.page.goto(board.url + path)
            if name == "explain":
                await seen.page.locator("#ask button.button").click()
                await expect(seen.page.locator("#result-1")).to_be_visible()
            found[name] = await violations(seen.page)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
