"""Open pages that follow the cluster by themselves: nobody reloads them here."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from builders.sandbox_process import COMMAND
from e2e.browser_kit import looking
from e2e.dashboard_kit import PATIENCE_S, Board, board_in, eventually, live, pod
from e2e.dashboard_story import metax_slice
from tangram.sandbox.loopback import held_port


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    async with board_in(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture
def address() -> Iterator[str]:
    """Where a dashboard of the test's own answers."""
    with held_port() as port:
        yield f"127.0.0.1:{port}"


async def never_reloaded(page: Page) -> None:
    await page.evaluate("window.same = true")


async def assert_same(page: Page) -> None:
    assert await page.evaluate("window.same") is True


@pytest.mark.smoke
async def test_a_card_that_fails_and_recovers_shows_on_open_pages(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as cluster, looking(chromium) as node:
        await cluster.page.goto(board.url)
        await node.page.goto(f"{board.url}/nodes/metax-b")
        for page in (cluster.page, node.page):
            await live(page)
            await never_reloaded(page)
        tile = cluster.page.locator("a.tile").filter(has_text="metax-b")
        row = node.page.locator("#card-6")
        await expect(tile).not_to_contain_text("unhealthy")
        await expect(row).to_contain_text("free")
        drawn = await tile.locator("svg.cells").inner_html()
        await board.break_card("metax-b", 6)
        await expect(tile).to_contain_text("1 unhealthy")
        await expect(cluster.page.locator("[data-figure=unhealthy]")).to_have_text("1")
        assert await tile.locator("svg.cells").inner_html() != drawn
        await expect(row).to_contain_text("unhealthy")
        await expect(node.page.locator("#history ~ .scroll, section:has(#history)").first).to_contain_text(
            "card 6"
        )
        await board.break_card("metax-b", 6, "recover")
        await expect(tile).not_to_contain_text("unhealthy")
        await expect(cluster.page.locator("[data-figure=unhealthy]")).to_have_text("0")
        await expect(row).to_contain_text("free")
        for page in (cluster.page, node.page):
            await assert_same(page)


@pytest.mark.smoke
async def test_a_pod_goes_from_waiting_to_running_on_its_own_page(board: Board, chromium: Browser) -> None:
    await board.create(pod("holder", {"mthreads.com/gpu": 8}))
    await board.node_of("holder")
    async with looking(chromium) as cluster, looking(chromium) as own:
        await cluster.page.goto(board.url)
        await live(cluster.page)
        await never_reloaded(cluster.page)
        await board.create(pod("patient", {"mthreads.com/gpu": 2}))
        # It appears among those that wait, on a page that was open before it was.
        waits = cluster.page.locator("section.waits")
        await expect(waits).to_contain_text("default/patient")
        await expect(cluster.page.locator("[data-figure=waiting]")).to_have_text("1")
        await waits.get_by_role("link", name="default/patient").click()
        await expect(cluster.page.locator("main .tag").first).to_contain_text("waits")
        await own.page.goto(f"{board.url}/pods/default/patient")
        await live(own.page)
        await never_reloaded(own.page)
        await expect(own.page.locator(".verdict")).to_contain_text("default/patient waits, because")
        await board.delete("holder")
        await expect(own.page.locator("main")).to_contain_text("What it got")
        await expect(own.page.locator(".verdict")).to_contain_text("moore-b")
        await assert_same(own.page)
    assert await board.node_of("patient") == "moore-b"
    await board.delete("patient")


async def test_what_somebody_does_on_a_page_is_left_alone_while_it_follows(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/nodes/moore-b")
        await live(seen.page)
        await seen.page.locator("#labels summary").click()
        await seen.page.locator("#by-status button").focus()
        await board.create(pod("passer", {"mthreads.com/gpu": 1}))
        assert await board.node_of("passer") == "moore-b"
        await expect(seen.page.locator("table.node-cards")).to_contain_text("default/passer")
        await expect(seen.page.locator("#labels")).to_have_attribute("open", "")
        assert await seen.page.evaluate("document.activeElement.closest('#by-status') !== null")
        await seen.page.goto(board.url)
        await live(seen.page)
        await seen.page.locator("#f-q").fill("metax")
        await expect(seen.page.locator("a.tile")).to_have_count(3)
        await board.delete("passer")
        await expect(seen.page.locator("[data-figure=free]")).to_have_text("40")
        assert await seen.page.locator("#f-q").input_value() == "metax"
        await expect(seen.page.locator("a.tile")).to_have_count(3)


async def test_an_answer_to_what_was_asked_before_does_not_undo_a_filter(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        asked, chosen = asyncio.Event(), asyncio.Event()

        async def late(route: Route) -> None:
            if "x-fragment" not in route.request.headers:
                await route.continue_()
                return
            answer = await route.fetch()
            asked.set()
            await chosen.wait()
            await route.fulfill(response=answer)

        await seen.page.goto(board.url)
        await live(seen.page)
        await seen.page.route("**/*", late)
        await board.create(pod("late", {"mthreads.com/gpu": 16}))
        async with asyncio.timeout(PATIENCE_S):
            await asked.wait()
        await seen.page.locator("#f-q").fill("metax")
        await expect(seen.page.locator("#clear")).to_be_visible()
        await seen.page.evaluate(
            """() => {
                const clear = document.getElementById("clear");
                new MutationObserver(() => { window.undone ||= clear.hidden; }).observe(clear, {attributes: true});
            }"""
        )
        async with seen.page.expect_response(lambda answer: "x-fragment" in answer.request.headers):
            chosen.set()
        await expect(seen.page.locator("section.waits")).to_contain_text("default/late")
        assert not await seen.page.evaluate("window.undone")
        await expect(seen.page.locator("#found")).to_have_text("3 of 5")
        await expect(seen.page.locator("a.tile")).to_have_count(3)
        await seen.page.unroute_all(behavior="wait")
    await board.delete("late")


async def test_the_pages_of_pods_and_health_follow_too(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as pods, looking(chromium) as health:
        await pods.page.goto(f"{board.url}/pods")
        await health.page.goto(f"{board.url}/health")
        for page in (pods.page, health.page):
            await live(page)
            await never_reloaded(page)
        await board.create(pod("guest", metax_slice(1, 25, 16)))
        node = await board.node_of("guest")
        row = pods.page.locator("section[aria-labelledby=placed] tr").filter(has_text="default/guest")
        await expect(row).to_contain_text(node)
        await board.break_card("metax-c", 2)
        await expect(health.page.locator("main")).to_contain_text("card 2")
        await board.break_card("metax-c", 2, "recover")
        await board.delete("guest")
        await expect(row).to_have_count(0)
        for page in (pods.page, health.page):
            await assert_same(page)


# --- silence -------------------------------------------------------------------------------------------------------


async def served_alone(board: Board, scheduler: str, address: str) -> asyncio.subprocess.Process:
    """`tangram dashboard` as a process of its own, beside the sandbox."""
    return await asyncio.create_subprocess_exec(
        COMMAND, "dashboard", "--address", address, "--server", scheduler, "--sign-in", "none",
        "--server-ca", board.scheduler_authority, "--kubeconfig", board.kubeconfig,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip


class Line:
    """Bytes between a door of ours and the scheduler's, until somebody cuts it."""

    def __init__(self, at: int, port: int) -> None:
        self.at = at
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def join(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self.at)

    async def cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        both = [asyncio.create_task(_pump(reader, back)), asyncio.create_task(_pump(there, writer))]
        self._tasks.update(both)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
            self._tasks.discard(task)
        writer.transport.abort()
        back.transport.abort()


@pytest_asyncio.fixture
async def line(board: Board) -> AsyncIterator[Line]:
    with held_port() as at:
        joined = Line(at, board.scheduler_port)
        await joined.join()
        yield joined
        await joined.cut()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def test_a_page_says_how_old_it_is_while_the_scheduler_is_silent_and_recovers(
    board: Board, chromium: Browser, line: Line, address: str
) -> None:
    process = await served_alone(board, f"https://127.0.0.1:{line.at}", address)
    try:
        async with looking(chromium) as seen:

            async def answers() -> bool:
                try:
                    answer = await seen.page.goto(f"http://{address}/")
                except Exception:  # noqa: BLE001 - it is not there yet
                    return False
                return answer is not None and answer.ok

            seen.expected.add(503)
            await eventually(answers, "the dashboard does not come")
            await live(seen.page)
            await expect(seen.page.locator("a.tile")).to_have_count(5)
            banner = seen.page.locator("#banner")
            await expect(banner).to_have_text("")
            await line.cut()
            await expect(banner).to_contain_text("seconds ago")
            await expect(banner).to_contain_text("scheduler")
            # What was known stays to be seen, and other pages say the same.
            await expect(seen.page.locator("a.tile")).to_have_count(5)
            async with looking(chromium) as other:
                await other.page.goto(f"http://{address}/pods")
                await expect(other.page.locator("#banner")).to_contain_text("ago")
            await line.join()
            await expect(banner).to_have_text("")
    finally:
        process.terminate()
        await process.wait()


async def test_a_page_whose_dashboard_is_gone_says_so_and_comes_back_with_it(
    board: Board, chromium: Browser, address: str
) -> None:
    scheduler = f"https://127.0.0.1:{board.scheduler_port}"
    process = await served_alone(board, scheduler, address)
    async with looking(chromium) as seen:

        async def answers() -> bool:
            try:
                answer = await seen.page.goto(f"http://{address}/nodes/metax-a")
            except Exception:  # noqa: BLE001 - it is not there yet
                return False
            return answer is not None and answer.ok

        seen.expected |= {404, 503}
        await eventually(answers, "the dashboard does not come")
        await live(seen.page)
        process.kill()
        await process.wait()
        pulse = seen.page.locator("#pulse")
        await expect(pulse).to_have_attribute("data-state", "lost")
        await expect(seen.page.locator("#banner p")).to_have_count(1)
        process = await served_alone(board, scheduler, address)
        try:
            await expect(pulse).to_have_attribute("data-state", "live")
            await expect(seen.page.locator("#banner p")).to_have_count(0)
            await expect(seen.page.locator("h1")).to_contain_text("metax-a")
        finally:
            seen.complaints.clear()
            process.terminate()
            await process.wait()
