"""A real Chromium on the cluster page: when something is painted, when a change is seen, and what the page weighs."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, cast

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from dashboard_bed import Bed
from dashboard_changes import fail

SIZE: Final = {"width": 1440, "height": 900}
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
MARK_TILES: Final = """
addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("#grid ul.tiles");
  if (!list) return;
  const look = () => {
    if (!list.classList.contains("placed") || window.tilesAt) return;
    requestAnimationFrame(() => { window.tilesAt ??= performance.now(); });
  };
  new MutationObserver(look).observe(list, { attributes: true, childList: true });
  look();
});
"""
"""When the page's own script has put all tiles in their places, and they were painted."""
TILES_AT: Final = """
() => new Promise((done) => {
  const look = () => (window.tilesAt ? done(window.tilesAt) : setTimeout(look, 10));
  look();
})
"""
LOOK_AT: Final = """
(name) => { window.seen = new Promise((done) => {
  const called = (each) => each.querySelector(".tile-name")?.textContent === name;
  const item = [...document.querySelectorAll("#grid li")].find(called);
  const before = item.querySelector(".unseen").textContent;
  const look = () => {
    if (item.querySelector(".unseen").textContent === before) return;
    watching.disconnect();
    done(Date.now() / 1000);
  };
  const watching = new MutationObserver(look);
  watching.observe(item, { childList: true, subtree: true, characterData: true });
}); }
"""
"""From now on `seen` is the moment at which the tile of a node says something else."""


class _Asks(Protocol):
    """Chromium's own interface."""

    async def send(self, method: str) -> dict[str, Any]: ...


class Load(NamedTuple):
    paint_s: float
    """First contentful paint, after the request was begun."""
    tiles_s: float
    """All tiles are the script's own, and painted."""


class PageMemory(NamedTuple):
    heap_mib: float
    """What scripts hold, by `Performance.getMetrics`."""
    resident_mib: float
    """Of the whole renderer process, with the parts of Chromium that all its processes share."""
    own_mib: float
    """Of these, what this process has alone (`Private_Clean` and `Private_Dirty`)."""


def chromium() -> str:
    """The program, or nothing."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""


@asynccontextmanager
async def browsing(program: str) -> AsyncGenerator[Browser]:
    """Chromium meanwhile."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


async def signed_in(browser: Browser, bed: Bed, token: str) -> BrowserContext:
    """A person of their own, with an empty cache."""
    context = await browser.new_context(viewport={"width": SIZE["width"], "height": SIZE["height"]})
    await context.add_init_script(MARK_TILES)
    page = await context.new_page()
    await page.goto(f"{bed.url}/sign-in")
    await page.locator("textarea[name=token], input[name=token]").fill(token)
    await page.locator("main form button").click()
    await page.wait_for_url(f"{bed.url}/")
    await page.close()
    return context


async def load(context: BrowserContext, bed: Bed) -> tuple[Page, Load]:
    """The cluster page, opened."""
    page = await context.new_page()
    await page.goto(f"{bed.url}/", wait_until="commit")
    tiles = await page.evaluate(TILES_AT)
    paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return page, Load(paint / 1000, tiles / 1000)


async def until_live(page: Page) -> None:
    """Until the page listens."""
    await page.wait_for_selector("#pulse[data-state=live]", state="attached")


async def update(page: Page, bed: Bed, number: int, name: str, card: int | None) -> float:
    """Seconds from a card's change at the API server to the tile that shows it."""
    await page.evaluate(LOOK_AT, name)
    began = time.time()
    fail(bed, number, card)
    async with asyncio.timeout(30):
        return max(0.0, await page.evaluate("window.seen") - began)


async def page_memory(browser: Browser, page: Page) -> PageMemory:
    """After its garbage was collected once, as browsers do when nothing is going on."""
    session = cast("_Asks", await page.context.new_cdp_session(page))
    await session.send("Performance.enable")
    await session.send("HeapProfiler.collectGarbage")
    metrics = {
        each["name"]: each["value"] for each in (await session.send("Performance.getMetrics"))["metrics"]
    }
    whole = cast("_Asks", await browser.new_browser_cdp_session())
    processes = (await whole.send("SystemInfo.getProcessInfo"))["processInfo"]
    weights = [_weight(int(each["id"])) for each in processes if each["type"] == "renderer"]
    resident, own = max(weights)
    return PageMemory(metrics["JSHeapUsedSize"] / 2**20, resident, own)


def _weight(process: int) -> tuple[float, float]:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text("utf-8").splitlines()[1:]
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return kib["Rss"] / 1024, (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024
