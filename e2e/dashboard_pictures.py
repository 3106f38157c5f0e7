"""Pictures of every page for the documentation: `python -m e2e.dashboard_pictures` with `tests/` on the path.

They are of a real sandbox, so names and moments in them are true.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from playwright.async_api import Browser, expect

from e2e.browser_kit import browsing, looking
from e2e.dashboard_kit import Board, board_in, live
from e2e.dashboard_story import tell

PICTURES: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "dashboard"
DESK: Final = {"width": 1280, "height": 860}
TALL: Final = {"width": 1280, "height": 1200}
PHONE: Final = {"width": 375, "height": 812}
SETTLED_MS: Final = 800


class Picture(NamedTuple):
    name: str
    path: str
    size: dict[str, int] = DESK
    language: str = "en-US"
    dark: bool = False
    press: str = ""
    """What is clicked before."""
    full: bool = False
    """All of the page, and not only what fits the window."""


ALL: Final = (
    Picture("cluster", "/"),
    Picture("cluster-phone", "/", size=PHONE),
    Picture("cluster-zh", "/", language="zh-CN"),
    Picture("node", "/nodes/metax-b", size=TALL),
    Picture("node-dark", "/nodes/metax-a?pod=research/finetune", size=TALL, dark=True),
    Picture("pods", "/pods"),
    Picture("pod-waiting", "/pods/research/foundation"),
    Picture("pod-placed", "/pods/vision/pair"),
    Picture("explain", "/explain?example=linked", press="#ask button.button", full=True),
    Picture("fragmentation", "/fragmentation"),
    Picture("usage", "/usage"),
    Picture("health", "/health"),
    Picture("sign-in", "/sign-in", size={"width": 1280, "height": 560}),
)


async def take(browser: Browser, board: Board, wanted: Picture, folder: Path) -> Path:
    """One picture; the page has come to rest."""
    async with looking(browser, size=wanted.size, language=wanted.language, dark=wanted.dark) as seen:
        await seen.page.goto(board.url + wanted.path)
        if wanted.press:
            await seen.page.locator(wanted.press).first.click()
            await expect(seen.page.locator(".result").first).to_be_visible()
        elif wanted.path != "/sign-in":
            await live(seen.page)
        await seen.page.wait_for_timeout(SETTLED_MS)
        # The head of a page stays with its reader; in a picture of all of it its place is at the top.
        await seen.page.evaluate("scrollTo(0, 0)")
        file = folder / f"{wanted.name}.png"
        await seen.page.screenshot(path=file, full_page=wanted.full, animations="disabled")
        return file


async def take_all(folder: Path) -> list[Path]:
    """Every picture, of a sandbox with the story."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        async with board_in(Path(place)) as board, browsing() as browser:
            await tell(board)
            await past(board, browser)
            return [await take(browser, board, each, folder) for each in ALL]


async def past(board: Board, browser: Browser) -> None:
    """Until what is worked out in the background is there."""
    async with looking(browser) as seen:
        await seen.page.goto(f"{board.url}/fragmentation")
        await expect(seen.page.locator("main")).to_contain_text("16 of 16")
        await seen.page.goto(board.url)
        await expect(seen.page.locator("[data-figure=fragmented]")).to_contain_text("%")


if __name__ == "__main__":
    asyncio.run(take_all(PICTURES))
