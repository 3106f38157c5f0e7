"""Every page of the dashboard in a browser, and what it shows beside what the command prints that it names."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from e2e.browser_kit import looking
from e2e.dashboard_kit import Board, board_in, eventually
from e2e.dashboard_story import CORDONED, FAILED, NOT_FOUND, PAGES, RUNNING, TEAMS, tell

GIB = 1 << 30
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")
"""A word for the reader to replace, as in `tangram explain POD`."""
ELSEWHERE = re.compile(r"tangram topology|changed\.yaml|pod\.yaml|tangram (un)?cordon")
"""On the node itself, with a file of the reader's, or a change: none to try here."""


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    async with board_in(tmp_path_factory.mktemp("pages")) as running:
        await tell(running)
        yield running


async def text_of(page: Page, place: str) -> str:
    return " ".join((await page.locator(place).first.inner_text()).split())


def about(share: float) -> re.Pattern[str]:
    return re.compile("|".join(f"{round(share * 100) + more}%" for more in range(-2, 3)))


async def rows_of(page: Page, table: str) -> list[list[str]]:
    rows = page.locator(f"{table} tbody tr")
    return [
        [" ".join(cell.split()) for cell in await row.locator("th, td").all_inner_texts()]
        for row in await rows.all()
    ]


# --- every page --------------------------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_page_is_shown_in_light_and_dark_without_a_complaint(
    board: Board, chromium: Browser, dark: bool
) -> None:
    async with looking(chromium, dark=dark) as seen:
        seen.expected.add(404)
        for name, path in PAGES.items():
            answer = await seen.page.goto(board.url + path)
            assert answer is not None
            assert answer.status == (404 if name == NOT_FOUND else 200), path
            await expect(seen.page.locator("h1")).to_have_count(1)
            assert "Tangram" in await seen.page.title()
            colour = await seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 300) is dark, (path, colour)


async def test_the_theme_is_chosen_by_hand_against_the_systems_wish(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/pods")
        for theme in ("dark", "light", None):
            await seen.page.locator("button[name=theme]").click()
            here = seen.page.locator("html[data-theme]" if theme is None else f"html[data-theme={theme}]")
            await expect(here).to_have_count(0 if theme is None else 1)
            assert seen.page.url == f"{board.url}/pods"


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("sign-in", NOT_FOUND, "explain")])
async def test_every_number_names_the_command_that_prints_it_and_the_command_works(
    board: Board, chromium: Browser, name: str
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(board.url + PAGES[name])
        leads = await seen.page.locator("a.num").evaluate_all(
            "links => [...new Set(links.map(link => link.getAttribute('href')))]"
        )
        assert leads
        for lead in leads:
            await expect(seen.page.locator(f"{lead}.shown-by")).to_have_count(1)
            await expect(seen.page.locator(f"{lead} code.command, {lead} a")).to_have_count(1)
        for command in set(await seen.page.locator("code.command").all_inner_texts()):
            if not PLACEHOLDER.search(command) and not ELSEWHERE.search(command):
                assert await board.as_shown(command), command


async def test_a_click_on_a_number_shows_its_command_beside_it(board: Board, chromium: Browser) -> None:
    async with looking(chromium, address=board.url) as seen:
        await seen.page.goto(board.url)
        await seen.page.locator("[data-figure=cards] a.num").click()
        shown = seen.page.locator(".popped")
        await expect(shown.locator("code")).to_have_text("tangram status -o json")
        await shown.get_by_role("button", name="Copy").click()
        assert await seen.page.evaluate("navigator.clipboard.readText()") == "tangram status -o json"
        await seen.page.keyboard.press("Escape")
        await expect(shown).to_have_count(0)


# --- cluster -----------------------------------------------------------------------------------------------------


@pytest.mark.smoke
async def test_the_figures_of_the_cluster_are_those_of_status(board: Board, chromium: Browser) -> None:
    totals = (await board.status())["totals"]
    async with looking(chromium) as seen:
        await seen.page.goto(board.url)
        told = {
            name: await text_of(seen.page, f"[data-figure={name}]")
            for name in (
                "cards",
                "nodes",
                "free",
                "memory",
                "compute",
                "pods",
                "waiting",
                "unhealthy",
                "cordoned",
            )
        }
        # Worked out a little later than the rest, and told without being asked. The scheduler weighs pods by the
        # order in which it saw them, the command by a list of them.
        fragmented = seen.page.locator("[data-figure=fragmented]")
        await expect(fragmented).to_have_text(about(totals["fragmented"]))
    assert told == {
        "cards": str(totals["cards"]),
        "nodes": str(totals["nodes_with_cards"]),
        "free": str(totals["cards_free"]),
        "memory": f"{totals['memory_used'] / totals['memory']:.0%}",
        "compute": f"{totals['compute_used'] / totals['compute']:.0%}",
        "pods": str(totals["pods"]),
        "waiting": str(totals["pending"]),
        "unhealthy": str(totals["cards_unhealthy"]),
        "cordoned": str(totals["cards_cordoned"]),
    }


async def test_every_node_with_cards_is_a_tile_that_says_itself(board: Board, chromium: Browser) -> None:
    nodes = (await board.status())["nodes"]
    async with looking(chromium) as seen:
        await seen.page.goto(board.url)
        tiles = seen.page.locator("a.tile")
        await expect(tiles).to_have_count(len(nodes))
        for node in nodes:
            tile = tiles.filter(has_text=node["node"])
            said = await tile.locator(".tile-head .unseen").text_content() or ""
            assert f"{len(node['cards'])} {node['cards'][0]['product']}" in said
            free = sum(card["state"] == "free" for card in node["cards"])
            assert re.search(rf"\b{free} free", said), said
            for state in ("unhealthy", "cordoned"):
                assert (state in said) is any(card["state"] == state for card in node["cards"]), said
            # One shell for each card, and marks of their own where a card is out.
            assert await tile.locator("svg.cells path").count() > 1


async def test_the_filters_leave_the_nodes_that_match_and_stay_in_the_address(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(board.url)
        tiles = seen.page.locator("a.tile .tile-name")
        for field, value, left in (
            ("vendor", "mthreads", {"moore-a", "moore-b"}),
            ("product", "MXC550", {"metax-c"}),
            ("namespace", "serving", {"metax-b", "moore-a"}),
            ("state", "unhealthy", {FAILED[0]}),
            ("state", "cordoned", {CORDONED[0]}),
        ):
            await seen.page.locator(f"#f-{field}").select_option(value)
            await expect(tiles).to_have_count(len(left))
            assert set(await tiles.all_inner_texts()) == left
            await expect(seen.page).to_have_url(f"{board.url}/?{field}={value}")
            # Whoever is sent that address sees the same, made by the server.
            async with looking(chromium) as other:
                await other.page.goto(seen.page.url)
                assert set(await other.page.locator("a.tile .tile-name").all_inner_texts()) == left
            await seen.page.locator("#clear").click()
            await expect(tiles).to_have_count(5)
        await seen.page.locator("#f-q").fill("moore-")
        await expect(tiles).to_have_count(2)


# --- nodes and pods ------------------------------------------------------------------------------------------------


async def test_the_page_of_a_node_has_the_cards_that_status_prints(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/nodes/metax-b")
        command = await text_of(seen.page, "#by-status code")
        (node,) = json.loads(await board.as_shown(command))["nodes"]
        rows = await rows_of(seen.page, "table.node-cards")
        assert len(rows) == len(node["cards"]) == 8
        for row, card in zip(rows, node["cards"], strict=True):
            assert row[:2] == [str(card["index"]), f"{card['product']} {card['uuid']}"]
            assert row[2] == card["state"]
            assert row[3] == {"native": "whole", "sgpu": "sliced"}[card["mode"]]
            assert row[4] == f"{card['memory_used'] // GIB}/{card['memory'] // GIB} GiB"
            assert row[5] == f"{card['cores_used'] / card['cores']:.0%}"
            assert row[6] == f"{card['slots_used']} of {card['slots']}"
            assert set(re.findall(r"\w+/[\w-]+(?= )", row[9])) == {each["pod"] for each in card["holders"]}
        # The picture: both NUMA nodes, every card, every link.
        picture = seen.page.locator(".tp-scroll svg")
        for words in ("NUMA node 0", "NUMA node 1", "PCIe switch"):
            await expect(picture).to_contain_text(words)
        assert "MetaXLink, 12 links" in await text_of(seen.page, "main")


async def test_a_card_that_is_out_says_why_on_the_page_of_its_node(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/nodes/{FAILED[0]}")
        row = seen.page.locator(f"#card-{FAILED[1]}")
        await expect(row).to_contain_text("unhealthy")
        await expect(row).to_contain_text("memory errors could not be corrected")
        await seen.page.goto(f"{board.url}/nodes/{CORDONED[0]}")
        await expect(seen.page.locator(f"#card-{CORDONED[1]}")).to_contain_text("cordoned")


async def test_the_set_chosen_for_a_pod_and_the_runner_up_are_drawn_with_their_scores(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/pods/research/finetune")
        await seen.page.get_by_role("link", name="See the cards on metax-a").click()
        await expect(seen.page.locator("#set")).to_contain_text("research/finetune")
        sets = await rows_of(seen.page, "table.node-sets")
        assert [row[0] for row in sets] == ["chosen", "runner-up"]
        (report,) = json.loads(await board.tangram("explain", "finetune", "-n", "research", "-o", "json"))[
            "pods"
        ]
        given = [str(card["index"]) for container in report["containers"] for card in container["cards"]]
        assert sets[0][1] == ", ".join(given)
        assert sets[1][1] != sets[0][1]
        assert all(float(row[2]) >= 0 and float(row[3]) >= 0 for row in sets)
        outlines = seen.page.locator(".tp-scroll svg .tp-chosen")
        assert await outlines.count() >= 1


async def test_the_page_of_pods_has_each_pod_where_kubectl_says_it_is(
    board: Board, chromium: Browser
) -> None:
    listed = json.loads(await board.kubectl("get", "pods", "-A", "-o", "json"))["items"]
    where = {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"].get("nodeName")
        for each in listed
    }
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/pods")
        waiting = await rows_of(seen.page, "section[aria-labelledby=waiting]")
        placed = await rows_of(seen.page, "section[aria-labelledby=placed]")
        assert {row[0]: row[1] for row in placed} == {pod: node for pod, node in where.items() if node}
        assert {row[1] for row in waiting} == {pod for pod, node in where.items() if not node}
        await seen.page.locator("#f-namespace").select_option("serving")
        await seen.page.locator("main form button").click()
        found = await rows_of(seen.page, "section[aria-labelledby=placed]")
        assert {row[0] for row in found} == {pod for pod in where if pod.startswith("serving/")}


async def test_the_page_of_a_pod_says_what_explain_says(board: Board, chromium: Browser) -> None:
    async with looking(chromium) as seen:
        for pod, namespace in (("pair", "vision"), ("foundation", "research"), ("mosaic", "vision")):
            await seen.page.goto(f"{board.url}/pods/{namespace}/{pod}")
            command = await text_of(seen.page, "#by-explain code")
            assert command == f"tangram explain {pod} -n {namespace} --all-cards"
            told = await board.as_shown(command)
            verdict, *cautions = re.split(r"^  warning, \S+: ", told.split("\n\n")[0], flags=re.MULTILINE)
            assert await text_of(seen.page, ".verdict") == " ".join(verdict.split())
            for caution in cautions:
                await expect(seen.page.locator("main")).to_contain_text(" ".join(caution.split()))
            helped = re.findall(r"^ +\d\. (.*); it then goes to node (\S+)$", told, re.MULTILINE)
            offers = await seen.page.locator(".offer").all_inner_texts()
            assert len(offers) == len(helped)
            for (words, node), offer in zip(helped, offers, strict=True):
                assert words.lower() in offer.lower()
                assert node in offer
        await seen.page.goto(f"{board.url}/pods/research/foundation")
        told = await board.tangram("explain", "foundation", "-n", "research")
        rows = dict(re.findall(r"^(\S+) +no-such-cards +(.*)$", told, re.MULTILINE))
        assert len(rows) == 6
        for node, why in rows.items():
            await expect(seen.page.locator("main")).to_contain_text(why)
            await expect(seen.page.locator("main").get_by_text(node).first).to_be_visible()


# --- figures over time -----------------------------------------------------------------------------------------------


async def test_usage_is_charged_by_what_is_held_and_the_file_says_the_same(
    board: Board, chromium: Browser
) -> None:
    nodes = (await board.status())["nodes"]
    held = dict.fromkeys(TEAMS, 0)
    for each in RUNNING:
        held[each["metadata"]["namespace"]] += 1
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/usage")
        rows = await rows_of(seen.page, "section:has(#by-namespace)")
        shown = {row[0]: row for row in rows}
        assert {team: int(shown[team][2]) for team in TEAMS} == held
        for team in TEAMS:
            assert float(shown[team][1]) == pytest.approx(charged(nodes, team), abs=0.006)
        async with seen.page.expect_download() as coming:
            await seen.page.get_by_role("link", name="Download").first.click()
        file = await coming.value
        assert file.suggested_filename.endswith(".csv")
        written = list(csv.DictReader(io.StringIO((await file.path()).read_text("utf-8"))))
    assert {line["namespace"] for line in written} == set(TEAMS)
    for team in TEAMS:
        lines = [line for line in written if line["namespace"] == team]
        hours = sum(float(line["card_hours"]) for line in lines)
        compute = sum(float(line["compute_card_hours"]) for line in lines)
        assert 0 < compute <= hours * 1.0001
        # Time goes on between the page and the file.
        assert float(shown[team][3]) <= hours + 0.006


def charged(nodes: list[dict[str, Any]], team: str) -> float:
    """Cards' worth that a team holds: of each card the larger of its shares of memory and compute."""
    return sum(
        max(holder["memory"] / card["memory"], holder["cores"] / card["cores"])
        for node in nodes
        for card in node["cards"]
        for holder in card["holders"]
        if holder["pod"].startswith(f"{team}/")
    )


async def test_fragmentation_is_the_share_that_status_prints_with_what_frag_would_have_saved(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/fragmentation")
        fragmented = (await board.status())["totals"]["fragmented"]
        await expect(seen.page.locator(".big-figures")).to_contain_text(about(fragmented))
        assert await seen.page.locator("main svg[role=img]").count() >= 2

        async def compared() -> bool:
            return "frag" in await text_of(seen.page, "main") and "16 of 16" in await text_of(
                seen.page, "main"
            )

        await eventually(compared, "the policies are not compared")
        models = await text_of(seen.page, "main")
        assert all(name in models for name in ("MXC500", "MXC550", "MTT S4000"))


async def test_health_has_the_cards_that_are_out_and_what_doctor_finds(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/health")
        unhealthy = await rows_of(seen.page, "[role=region][aria-labelledby=unhealthy]")
        assert [row[:2] for row in unhealthy] == [[FAILED[0], f"card {FAILED[1]} MXC550"]]
        assert "memory errors could not be corrected" in unhealthy[0][2]
        found = await seen.page.locator("main").inner_text()
        assert CORDONED[0] in found
        printed = json.loads(await board.as_shown(f"{await text_of(seen.page, '#by-doctor code')} -o json"))
        shown = await seen.page.locator("table.findings th code").all_text_contents()
        assert sorted(shown) == sorted(each["check"] for each in printed["findings"])


# --- signing in, and nothing there ---------------------------------------------------------------------------------


async def test_what_is_not_there_is_a_page_with_one_sentence_and_a_way_back(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium) as seen:
        seen.expected.add(404)
        for path in ("/nodes/nowhere", "/pods/research/nobody", "/pods/nowhere/nobody", "/nothing/at/all"):
            answer = await seen.page.goto(board.url + path)
            assert answer is not None
            assert answer.status == 404
            assert len(await text_of(seen.page, "main .note")) > 20
            await seen.page.locator("main a.button").click()
            await expect(seen.page).to_have_url(f"{board.url}/")
