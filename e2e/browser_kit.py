"""A real Chromium of Debian's, driven by playwright, for the tests of the dashboard.

Pages that a test opens may not complain: whatever a page prints as an error, whatever its security policy refuses, and
every answer of 500 is kept, and `Watched.complaints` is expected to be empty at the end. Nothing but loopback is
reached: any other address is refused by the browser itself.
"""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Response,
    async_playwright,
)

from shipping.image.cachefolder import cache_folder, filled, only_builder
from testbed.debian import Need, find_program, provide

AXE: Final = "4.14.0"
DESKTOP: Final = {"width": 1440, "height": 900}
PHONE: Final = {"width": 375, "height": 812}
CHINESE: Final = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
NEEDS: Final = (
    Need("`chromium`", ("chromium",), lambda: find_program("chromium") is not None),
    Need("a Chinese font", ("fonts-noto-cjk",), CHINESE.exists),
)
FOR_AXE: Final = (Need("`npm`", ("npm",), lambda: find_program("npm") is not None),)
_FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Chromium's own wishes (updates, component lists) lead nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_SEVERE: Final = frozenset({"error"})


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


@dataclass
class Watched:
    """A page with everything it complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list[str])
    expected: set[int] = field(default_factory=set[int])
    """Statuses that are asked for; Chromium prints each as if the page were at fault."""

    def _console(self, message: ConsoleMessage) -> None:
        asked_for = any(f"with a status of {status} " in message.text for status in self.expected)
        if message.type in _SEVERE and not asked_for:
            self.complaints.append(f"console: {message.text}")

    def _answered(self, answer: Response) -> None:
        if answer.status >= 500 and answer.status != 503:
            self.complaints.append(f"{answer.status} of {answer.url}")

    def listen(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("response", self._answered)


@asynccontextmanager
async def browsing() -> AsyncGenerator[Browser]:
    """Chromium meanwhile."""
    provide(NEEDS, say=_say)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=str(find_program("chromium")), args=list(_FLAGS)
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def looking(
    browser: Browser,
    *,
    size: dict[str, int] = DESKTOP,
    language: str = "en-US",
    dark: bool = False,
    checked: bool = False,
    address: str = "",
) -> AsyncGenerator[Watched]:
    """A page of a person of their own: nobody else's cookies. At the end it must not have complained.

    `checked` pages can be looked at by axe-core, which their policy would refuse; `address` may use the clipboard.
    """
    context: BrowserContext = await browser.new_context(
        viewport={"width": size["width"], "height": size["height"]},
        locale=language,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        bypass_csp=checked,
    )
    if address:
        await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    try:
        watched = Watched(await context.new_page())
        watched.listen()
        yield watched
        assert watched.complaints == [], watched.complaints
    finally:
        await context.close()


def axe_source() -> str:
    """axe-core as npm has it, fetched once."""

    def fill(folder: Path) -> None:
        provide(FOR_AXE, say=_say)
        npm = str(find_program("npm"))
        subprocess.run(  # noqa: S603 - a package by its name and version
            [npm, "pack", "--silent", f"axe-core@{AXE}"], cwd=folder, check=True, capture_output=True
        )
        archive = folder / f"axe-core-{AXE}.tgz"
        with tarfile.open(archive) as packed:
            member = packed.extractfile("package/axe.min.js")
            if member is None:
                raise RuntimeError("the package has no axe.min.js")
            with (folder / "axe.min.js").open("wb") as file:
                shutil.copyfileobj(member, file)
        archive.unlink()

    with only_builder(cache_folder(), lambda _line: None):
        return (filled(cache_folder() / "programs" / f"axe-core-{AXE}", fill) / "axe.min.js").read_text(
            "utf-8"
        )


async def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page that is `checked`, one line each."""
    await page.evaluate(axe_source())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']} ({each['impact']}): {json.dumps([node['html'][:160] for node in each['nodes'][:3]])}"
        for each in found["violations"]
    ]
