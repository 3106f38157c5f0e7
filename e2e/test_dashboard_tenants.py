"""Two tenants and an administrator: everything a browser of one received is searched for what is another's."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import aiohttp
import pytest
import pytest_asyncio
from playwright._impl._api_structures import SetCookieParam
from playwright.async_api import Browser, Error, Page, Request, Response, expect

from e2e.browser_kit import looking
from e2e.dashboard_kit import Board, board_in, eventually, live, pod, sign_in
from e2e.dashboard_story import metax, metax_slice

OURS, THEIRS = "amber", "cobalt"
STRANGE = "quasar"
"""Part of every name of the other tenant."""


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    async with board_in(tmp_path_factory.mktemp("tenants")) as running:
        for namespace in (OURS, THEIRS):
            await running.namespace(namespace)
        await running.create(pod("garnet", metax_slice(1, 25, 16), OURS))
        await running.create(pod("garnet-waits", metax(16), OURS))
        await running.create(pod(f"{STRANGE}-one", metax_slice(1, 25, 16), THEIRS))
        await running.create(pod(f"{STRANGE}-two", metax(2), THEIRS))
        await running.create(pod(f"{STRANGE}-waits", metax(12), THEIRS))
        for name, namespace in (("garnet", OURS), (f"{STRANGE}-one", THEIRS), (f"{STRANGE}-two", THEIRS)):
            await running.node_of(name, namespace)
        for name, namespace in (("garnet-waits", OURS), (f"{STRANGE}-waits", THEIRS)):
            await running.until_waiting(name, namespace)
        yield running


@pytest_asyncio.fixture(scope="module")
async def tokens(board: Board) -> Mapping[str, str]:
    return {
        OURS: await board.tenant("ann", OURS),
        THEIRS: await board.tenant("bob", THEIRS),
        "admin": await board.administrator("chief"),
    }


class Received:
    """Every answer a page got, with its text; of streams, what came until now is asked for apart."""

    def __init__(self, page: Page) -> None:
        self._answers: list[Response] = []
        self._requests: list[Request] = []
        page.on("response", self._answered)
        page.on("request", self._asked)

    def _answered(self, answer: Response) -> None:
        self._answers.append(answer)

    def _asked(self, request: Request) -> None:
        self._requests.append(request)

    async def texts(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for number, answer in enumerate(self._answers):
            found[f"{number} {answer.url}"] = json.dumps(await answer.all_headers())
            if "/events" in answer.url or answer.status in (301, 302, 303):
                continue
            with suppress(Error):
                found[f"{number} {answer.url}"] += await answer.text()
        return found

    def addresses(self) -> list[str]:
        return [each.url for each in self._requests]


def of_another(text: str) -> list[str]:
    return re.findall(rf".{{0,40}}(?:{STRANGE}|{THEIRS}).{{0,40}}", text)


async def everything_linked(page: Page, url: str) -> set[str]:
    """Pages that are linked from the pages of the navigation."""
    found = {"/", "/pods", "/explain", "/fragmentation", "/usage", "/health"}
    for path in sorted(found):
        await page.goto(url + path)
        for lead in await page.locator("main a[href^='/']").evaluate_all(
            "links => links.map(link => link.getAttribute('href'))"
        ):
            found.add(lead)
    return {each for each in found if "sign-in" not in each}


@pytest.mark.smoke
async def test_a_tenant_receives_nothing_of_another_on_any_page(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with looking(chromium) as seen:
        # Fragmentation and health of the whole cluster are not theirs to see, and say so.
        seen.expected.add(403)
        received = Received(seen.page)
        await sign_in(seen.page, board.url, tokens[OURS])
        for path in sorted(await everything_linked(seen.page, board.url)):
            if ".csv" in path:
                continue
            await seen.page.goto(board.url + path)
        await seen.page.goto(f"{board.url}/pods")
        await expect(seen.page.locator("main")).to_contain_text(f"{OURS}/garnet")
        await expect(seen.page.locator("main")).to_contain_text(f"{OURS}/garnet-waits")
        texts = await received.texts()
        assert len(texts) > 20
        assert {where: of_another(text) for where, text in texts.items() if of_another(text)} == {}


async def test_another_tenants_pod_is_not_found_like_one_that_does_not_exist(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with looking(chromium) as seen:
        seen.expected.add(404)
        await sign_in(seen.page, board.url, tokens[OURS])
        told: list[str] = []
        for name in (f"{STRANGE}-one", "no-such-pod"):
            answer = await seen.page.goto(f"{board.url}/pods/{THEIRS}/{name}")
            assert answer is not None
            assert answer.status == 404
            told.append((await seen.page.locator("main").inner_text()).replace(name, "POD"))
        assert told[0] == told[1]


async def test_files_streams_and_data_hold_nothing_of_another_either(
    board: Board, tokens: Mapping[str, str]
) -> None:
    headers = {"Authorization": f"Bearer {tokens[OURS]}"}
    async with aiohttp.ClientSession(board.url, headers=headers) as session:
        for path in ("/usage.csv", "/cluster.json", "/pods", "/usage"):
            async with session.get(path) as answer:
                assert answer.status == 200
                assert of_another(await answer.text()) == []
        streams = [asyncio.create_task(heard(session, page)) for page in ("/", "/pods", "/usage")]
        await asyncio.sleep(1)
        await board.create(pod(f"{STRANGE}-three", metax_slice(1, 10, 8), THEIRS))
        await board.create(pod("garnet-two", metax_slice(1, 10, 8), OURS))
        await board.node_of(f"{STRANGE}-three", THEIRS)
        await board.node_of("garnet-two", OURS)
        texts = await asyncio.gather(*streams)
    assert "event:" in texts[0]
    assert [of_another(text) for text in texts] == [[], [], []]
    async with (
        aiohttp.ClientSession(board.url, headers={"Authorization": f"Bearer {tokens['admin']}"}) as session,
        session.get("/usage.csv") as answer,
    ):
        text = await answer.text()
    assert OURS in text
    assert THEIRS in text


async def heard(session: aiohttp.ClientSession, page: str) -> str:
    """What a stream tells in some seconds."""
    told = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(6), session.get("/events", params={"page": page}) as answer:
            async for piece in answer.content.iter_any():
                told += piece
    return told.decode()


async def test_the_administrator_sees_both_and_each_tenant_only_their_own(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    for who, sees in (("admin", {OURS, THEIRS}), (OURS, {OURS}), (THEIRS, {THEIRS})):
        async with looking(chromium) as seen:
            await sign_in(seen.page, board.url, tokens[who])
            await seen.page.goto(f"{board.url}/pods")
            text = await seen.page.locator("main").inner_text()
            assert {each for each in (OURS, THEIRS) if f"{each}/" in text} == sees
            await seen.page.goto(f"{board.url}/usage")
            text = await seen.page.locator("main table").first.inner_text()
            assert {each for each in (OURS, THEIRS) if each in text} == sees


# --- signing in and out ----------------------------------------------------------------------------------------------


async def test_a_token_is_in_no_address_page_or_storage_and_the_session_ends_with_signing_out(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with looking(chromium) as seen:
        received = Received(seen.page)
        await sign_in(seen.page, board.url, tokens[OURS])
        await expect(seen.page.locator(".who")).to_contain_text("ann")
        for path in ("/", "/pods", f"/pods/{OURS}/garnet", "/sign-in"):
            await seen.page.goto(board.url + path)
        kept = await seen.page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
        )
        token = tokens[OURS]
        assert token not in kept
        assert all(token not in address for address in received.addresses())
        assert [where for where, text in (await received.texts()).items() if token in text] == []
        kept_there = await seen.page.context.storage_state()
        (session,) = (each for each in kept_there.get("cookies", ()) if "session" in each.get("name", ""))
        assert session.get("httpOnly")
        assert session.get("sameSite") == "Strict"
        assert token not in json.dumps(kept_there)
        log = (board.folder / "box" / "sandbox.log").read_text("utf-8")
        assert token not in log
        await seen.page.goto(f"{board.url}/pods")
        await live(seen.page)
        await seen.page.get_by_role("button", name="Sign out").click()
        await expect(seen.page.locator("main")).to_contain_text("signed out")
        # The number that the browser had is worth nothing any more.
        again = SetCookieParam(name=session.get("name", ""), value=session.get("value", ""), url=board.url)
        await seen.page.context.add_cookies([again])
        await seen.page.goto(f"{board.url}/pods/{OURS}/garnet")
        await expect(seen.page.locator(".who")).not_to_contain_text("ann")


async def test_a_wrong_token_is_refused_with_a_sentence_and_shows_nothing(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        seen.expected.add(403)
        await seen.page.goto(f"{board.url}/sign-in")
        await seen.page.locator("#token").fill("not-a-token-of-this-cluster")
        await seen.page.locator("main form button").click()
        await expect(seen.page.get_by_role("alert")).to_be_visible()
        await expect(seen.page.locator("#token")).to_have_value("")
        assert OURS not in await seen.page.content()


async def test_a_right_that_is_taken_away_ends_on_a_page_that_is_open(
    board: Board, chromium: Browser
) -> None:
    token = await board.tenant("guest", OURS)
    async with looking(chromium) as seen:
        seen.expected |= {401, 403, 404}
        await sign_in(seen.page, board.url, token)
        await seen.page.goto(f"{board.url}/pods")
        await live(seen.page)
        await expect(seen.page.locator("main")).to_contain_text(f"{OURS}/garnet")
        await board.kubectl("delete", "rolebinding", "guest", "-n", OURS)
        await expect(seen.page.locator("main")).not_to_contain_text("garnet")


# --- cordoning -------------------------------------------------------------------------------------------------------


async def test_cordoning_is_neither_offered_to_a_tenant_nor_done_for_them(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with looking(chromium) as seen:
        seen.expected |= {403, 404}
        await sign_in(seen.page, board.url, tokens[OURS])
        await seen.page.goto(f"{board.url}/pods/{OURS}/garnet")
        node = await seen.page.locator("main .panel-head a.name").first.inner_text()
        await seen.page.goto(f"{board.url}/nodes/{node}")
        await expect(seen.page.locator("table.node-cards")).to_be_visible()
        await expect(seen.page.locator("form[action='/cards/cordon']")).to_have_count(0)
        # With the form's own token, as if somebody had written the button themselves.
        status = await seen.page.evaluate(
            """async node => {
                const token = document.querySelector("input[name=form_token]").value;
                const body = new URLSearchParams({form_token: token, node, action: "cordon", card: "0", confirm: "yes"})
                return (await fetch("/cards/cordon", {method: "POST", body})).status;
            }""",
            node,
        )
        assert status == 403
    (found,) = (await board.status("--node", node))["nodes"]
    assert all(card["state"] != "cordoned" for card in found["cards"])


@pytest.mark.smoke
async def test_the_administrator_cordons_a_card_after_confirming_and_an_event_names_them(
    board: Board, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with looking(chromium) as seen:
        await sign_in(seen.page, board.url, tokens["admin"])
        await seen.page.goto(f"{board.url}/nodes/moore-b")
        await seen.page.get_by_role("button", name="Cordon card 5").click()
        await expect(seen.page.locator("main")).to_contain_text("chief")
        assert await state_of(board, "moore-b", 5) == "free"
        await seen.page.locator("main form button").click()
        await expect(seen.page.get_by_role("status").filter(has_text="pods").first).to_be_visible()

        async def cordoned() -> bool:
            return await state_of(board, "moore-b", 5) == "cordoned"

        await eventually(cordoned, "the card is not cordoned")
        command = (
            "get events -A --field-selector involvedObject.kind=Node,involvedObject.name=moore-b -o json"
        )

        async def told() -> list[str]:
            events = json.loads(await board.kubectl(*command.split()))["items"]
            return [each["message"] for each in events if each["reason"] == "CardCordoned"]

        (message,) = await eventually(told, "there is no event")
        assert "system:serviceaccount:kube-system:chief" in message
        await seen.page.goto(f"{board.url}/nodes/moore-b")
        await expect(seen.page.locator("#card-5")).to_contain_text("cordoned")
        await seen.page.get_by_role("button", name="Uncordon card 5").click()
        await seen.page.locator("main form button").click()
        await seen.page.goto(f"{board.url}/nodes/moore-b")
        await expect(seen.page.locator("#card-5")).to_contain_text("free")


async def state_of(board: Board, node: str, card: int) -> str:
    (found,) = (await board.status("--node", node))["nodes"]
    return str(found["cards"][card]["state"])
