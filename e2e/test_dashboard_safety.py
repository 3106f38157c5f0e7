"""What others send, and what others are called, stays text: no script of theirs runs, and nothing ends in a 500."""

import random
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import quote, urlencode

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, expect

from e2e.browser_kit import looking
from e2e.dashboard_kit import Board, board_in, pod
from e2e.dashboard_story import metax, metax_slice
from tangram.web.headers import ALWAYS

HOSTILE = (
    "<script>window.taken = 1</script>",
    '"><img src=x onerror="window.taken = 1">',
    "'-window.taken=1-'",
    "javascript:window.taken=1",
    "{{ 7 * 7 }}{% set taken = 1 %}",
    "</textarea><script>window.taken = 1</script>",
    "\u202etaken\u202c \u0000 \ufeff 😀 \ud83d",
    "%3Cscript%3Ewindow.taken%3D1%3C/script%3E",
    "../../../etc/passwd",
    "x" * 5000,
)
NAME = "a" * 63
ROUTES = (
    "/", "/cluster.json", "/nodes/metax-a", "/pods", f"/pods/{NAME}/{NAME}", "/explain", "/fragmentation", "/health",
    "/usage", "/usage.csv", "/sign-in", "/events", "/static/x/live.js", "/nothing",
)  # fmt: skip
FIELDS = ("vendor", "product", "namespace", "policy", "state", "q", "page", "pod", "example", "period", "from", "to",
          "waiting", "back", "why", "since")  # fmt: skip


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    """With the longest names that Kubernetes allows, and labels and annotations that it does not look into."""
    async with board_in(tmp_path_factory.mktemp("safety")) as running:
        await running.namespace(NAME)
        odd = pod(f"{'p' * 200}.{'q' * 50}", metax_slice(1, 10, 8), NAME)
        odd["metadata"]["annotations"] = {"note": HOSTILE[0], "tangram.dev/note": HOSTILE[1]}
        odd["metadata"]["labels"] = {"x": "a.-_B"}
        await running.create(odd)
        waits = pod("0.1.2", metax(16), NAME)
        waits["metadata"]["annotations"] = {"note": HOSTILE[0]}
        waits["spec"]["containers"][0]["env"] = [{"name": "A", "value": HOSTILE[1]}]
        await running.create(waits)
        await running.node_of(odd["metadata"]["name"], NAME)
        await running.until_waiting("0.1.2", NAME)
        yield running


@pytest.mark.smoke
async def test_a_script_that_is_put_into_a_page_does_not_run(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(board.url)
        for put in (
            """() => { const it = document.createElement("script"); it.textContent = "window.taken = 1";
                       document.body.append(it); }""",
            """() => { document.body.innerHTML = "<img src=x onerror='window.taken = 1'>"; }""",
            """() => { const it = document.createElement("a"); it.setAttribute("onclick", "window.taken = 1");
                       document.body.append(it); it.click(); }""",
            """() => { const it = document.createElement("script"); it.src = "http://localhost:1/x.js";
                       document.body.append(it); }""",
            "() => { setTimeout('window.taken = 1', 0); }",
        ):
            # Some of it is refused by raising.
            with suppress(Error):
                await seen.page.evaluate(put)
            await seen.page.wait_for_timeout(50)
            assert await seen.page.evaluate("window.taken") is None, put
        # It was the policy that refused them.
        assert len(seen.complaints) >= 3
        assert all("Content Security Policy" in each or "Trusted" in each for each in seen.complaints)
        seen.complaints.clear()


async def test_the_headers_are_on_every_kind_of_answer(board: Board) -> None:
    async with aiohttp.ClientSession(board.url) as session:
        style = re.search(r"/static/[^\"]+\.css", await (await session.get("/")).text())
        assert style is not None
        asked = [
            ("GET", path) for path in (*ROUTES, style[0], "/healthz", "/readyz", "/metrics", "/usage.csv")
        ]
        asked += [
            ("POST", "/"),
            ("POST", "/sign-out"),
            ("POST", "/explain"),
            ("DELETE", "/pods"),
            ("HEAD", "/"),
        ]
        for method, path in asked:
            async with session.request(method, path, allow_redirects=False) as answer:
                assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS, (method, path)
                assert "Server" not in answer.headers
                assert answer.status < 500


async def test_odd_names_of_the_cluster_are_text_on_every_page(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        for path in ("/", "/pods", f"/pods?namespace={NAME}", f"/pods/{NAME}/0.1.2", "/usage", "/health"):
            await seen.page.goto(board.url + path)
            assert await seen.page.evaluate("window.taken") is None
        await seen.page.goto(f"{board.url}/pods/{NAME}/0.1.2")
        await seen.page.locator("details.changed summary").first.click()
        await expect(seen.page.locator("pre.yaml").first).to_contain_text(HOSTILE[0])
        assert await seen.page.evaluate("window.taken") is None
        await seen.page.set_viewport_size({"width": 375, "height": 812})
        for path in ("/", "/pods", f"/pods/{NAME}/0.1.2", "/usage"):
            await seen.page.goto(board.url + path)
            assert await seen.page.evaluate("document.scrollingElement.scrollWidth") <= 375, path


@pytest.mark.parametrize("number", range(len(HOSTILE)))
async def test_what_is_pasted_or_asked_for_never_runs(board: Board, chromium: Browser, number: int) -> None:
    text = HOSTILE[number].encode("utf-8", "replace").decode()
    manifest = f"""
apiVersion: v1
kind: Pod
metadata:
  name: {text!r}
  namespace: {text!r}
  labels: {{x: {text!r}}}
spec:
  containers: [{{name: {text!r}, image: {text!r}, resources: {{limits: {{metax-tech.com/gpu: {text!r}}}}}}}]
"""
    async with looking(chromium) as seen:
        seen.expected |= {400, 404, 413, 414, 422}
        for pasted in (text, manifest, f"# {text}\n" + manifest.replace(repr(text), "fine", 1)):
            await seen.page.goto(f"{board.url}/explain")
            await seen.page.locator("#manifest").fill(pasted)
            await seen.page.locator("#ask button.button").click()
            await expect(seen.page.locator("h1")).to_be_visible()
            assert await seen.page.evaluate("window.taken") is None
        for path in ("/?q=", "/?vendor=", "/pods?q=", "/pods?namespace=", "/nodes/", "/nodes/metax-a?pod=",
                     "/explain?example=", "/usage?from=", "/sign-in?back=", "/sign-in?why="):  # fmt: skip
            await seen.page.goto(board.url + path + quote(text, safe=""))
            assert await seen.page.evaluate("window.taken") is None, path
            assert "taken" not in await seen.page.title() or "script" in await seen.page.title()


@pytest.mark.smoke
async def test_two_hundred_strange_questions_and_bodies_are_all_answered_without_a_500(board: Board) -> None:
    dice = random.Random(13)  # noqa: S311 - the same questions every time

    def value() -> str:
        chosen = dice.choice(
            (*HOSTILE, "", "0", "-1", "1e9", "2026-13-45", "NaN", "9" * 30, "a/b/c", "//x", "\r\nX: y")
        )
        return chosen.encode("utf-8", "replace").decode()

    def odd_path() -> str:
        return dice.choice(
            (*ROUTES, f"/nodes/{quote(value()[:300], safe='')}", f"/pods/{quote(value()[:200], safe='')}/x")
        )

    statuses: dict[int, int] = {}
    async with aiohttp.ClientSession(board.url) as session:
        token = re.search(r'name="form_token" value="(\w+)"', await (await session.get("/explain")).text())
        assert token is not None
        for number in range(200):
            fields = [(dice.choice(FIELDS), value()) for _ in range(dice.randrange(5))]
            limit = aiohttp.ClientTimeout(total=20)
            path = ""
            try:
                if number % 4:
                    path = f"{odd_path()}?{urlencode(fields)[:7000]}"
                    answer = await session.get(path, allow_redirects=False, timeout=limit)
                else:
                    body = {"form_token": token[1], "manifest": broken(dice, value()), **dict(fields)}
                    path = dice.choice(("/explain", "/explain", "/cards/cordon", "/preferences", "/sign-in"))
                    answer = await session.post(path, data=body, allow_redirects=False, timeout=limit)
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status < 500, (path, fields)
                if "/events" not in path:
                    assert b"Traceback" not in await answer.read()
                answer.close()
            except TimeoutError:
                raise AssertionError(f"no answer to {path[:200]}") from None
        async with session.get("/healthz") as answer:
            assert answer.status == 200
    assert statuses[200] > 20
    assert "could not be answered" not in (board.folder / "box" / "sandbox.log").read_text("utf-8")


def broken(dice: random.Random, piece: str) -> str:
    """A manifest with something in it that nobody expects there."""
    lines = ["apiVersion: v1", "kind: Pod", "metadata:", "  name: fine", "spec:", "  containers:", "    - name: main",
             "      image: x", "      resources: {limits: {metax-tech.com/gpu: 1}}"]  # fmt: skip
    at = dice.randrange(len(lines))
    odd = dice.choice(
        (piece, "[]", "{}", "null", "&a [*a, *a]", "!!python/object:os.system x", "- - -", "\t", "? :")
    )
    lines[at] = lines[at].split(":")[0] + ": " + odd
    return "\n".join(lines * dice.choice((1, 1, 40)))
