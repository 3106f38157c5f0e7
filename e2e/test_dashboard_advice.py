"""Why a pod waits and what would help, taken at its word: what is copied is applied, and what is foretold happens."""

import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from e2e.browser_kit import looking
from e2e.dashboard_kit import Board, board_in, eventually, pod
from e2e.dashboard_story import metax, metax_slice

HOSTILE = "<script>document.title = 'taken'</script>"


@pytest_asyncio.fixture(scope="module")
async def board(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Board]:
    async with board_in(tmp_path_factory.mktemp("advice")) as running:
        yield running


async def copied(page: Page) -> str:
    """What the first button for changed YAML puts on the clipboard."""
    await page.get_by_role("button", name="Copy changed YAML").first.click()
    await expect(page.get_by_role("button", name="Copied").first).to_be_visible()
    return await page.evaluate("navigator.clipboard.readText()")


def yaml_of(manifest: dict[str, Any]) -> str:
    return msgspec.yaml.encode(manifest).decode()


async def asked(page: Page, board: Board, manifest: str) -> None:
    await page.goto(f"{board.url}/explain")
    await page.locator("#manifest").fill(manifest)
    await page.locator("#ask button.button").click()


@pytest.mark.smoke
async def test_a_suggestion_is_copied_applied_with_kubectl_and_the_pod_runs(
    board: Board, chromium: Browser
) -> None:
    await board.create(pod("greedy", metax(16)))
    await board.until_waiting("greedy")
    async with looking(chromium, address=board.url) as seen:
        # Between the old pod and the new one there is none.
        seen.expected.add(404)
        await seen.page.goto(f"{board.url}/pods/default/greedy")
        await expect(seen.page.locator(".offer").first).to_contain_text("cards instead of 16")
        node = await seen.page.locator(".offer-then a").first.inner_text()
        text = await copied(seen.page)
        assert "uid:" not in text
        assert "resourceVersion" not in text
        await board.kubectl("replace", "--force", "-f", "-", stdin=text)
        assert await board.node_of("greedy") == node
        await expect(seen.page.locator("main")).to_contain_text("What it got")
    await board.delete("greedy")


async def test_the_suggestion_for_a_pod_of_a_deployment_changes_the_deployment(
    board: Board, chromium: Browser
) -> None:
    template = pod("ignored", metax_slice(1, 100, 120))
    wanted: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "service"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "service"}},
            "template": {"metadata": {"labels": {"app": "service"}}, "spec": template["spec"]},
        },
    }
    await board.api.create("/apis/apps/v1/namespaces/default/deployments", wanted)

    async def pods() -> list[Any]:
        listed = await board.api.list_all("/api/v1/namespaces/default/pods")
        return [each for each in listed if each["metadata"]["name"].startswith("service-")]

    (waiting,) = await eventually(pods, "the deployment has no pod")
    name = waiting["metadata"]["name"]
    await board.until_waiting(name)
    async with looking(chromium, address=board.url) as seen:
        await seen.page.goto(f"{board.url}/pods/default/{name}")
        text = await copied(seen.page)
    assert "kind: Deployment" in text
    await board.kubectl("apply", "-f", "-", stdin=text)

    async def running() -> bool:
        return any(each["status"].get("phase") == "Running" for each in await pods())

    assert await eventually(running, "no pod of the changed deployment runs")
    await board.kubectl("delete", "deployment", "service", "--wait=true")


@pytest.mark.smoke
async def test_a_pasted_pod_goes_where_explain_said_it_would(board: Board, chromium: Browser) -> None:
    wanted = pod("foretold", metax(2))
    async with looking(chromium) as seen:
        await asked(seen.page, board, yaml_of(wanted))
        result = seen.page.locator("#result-1")
        await expect(result).to_contain_text("default/foretold")
        node = await result.locator("section .panel-head a.name").first.inner_text()
        cards = [int(text) for text in await result.locator("tbody th a.num").all_inner_texts()]
        assert len(cards) == 2
        await board.create(wanted)
        assert await board.node_of("foretold") == node
        (found,) = (await board.status("--node", node))["nodes"]
        held = [
            each["index"]
            for each in found["cards"]
            if any(h["pod"] == "default/foretold" for h in each["holders"])
        ]
        assert sorted(held) == sorted(cards)
        # What was pasted is still there to be changed.
        assert "foretold" in await seen.page.locator("#manifest").input_value()
    await board.delete("foretold")


async def test_a_pasted_pod_that_fits_nowhere_gets_suggestions_that_fit(
    board: Board, chromium: Browser
) -> None:
    async with looking(chromium, address=board.url) as seen:
        await asked(seen.page, board, yaml_of(pod("wide", metax_slice(1, 100, 120))))
        await expect(seen.page.locator("#result-1 .verdict")).to_contain_text("default/wide")
        text = await copied(seen.page)
        node = await seen.page.locator("#result-1 .offer-then a").first.inner_text()
        # The changed one, pasted again, fits; and it does so in the cluster.
        await asked(seen.page, board, text)
        await expect(seen.page.locator("#result-1")).to_contain_text(node)
        await expect(seen.page.locator("#result-1 .offer")).to_have_count(0)
        await board.kubectl("apply", "-f", "-", stdin=text)
        assert await board.node_of("wide") == node
    await board.delete("wide")


@pytest.mark.parametrize(
    "example", ["slice", "whole", "linked", "moore-threads", "koordinator", "deployment"]
)
async def test_every_example_of_the_explain_page_can_be_asked_about(
    board: Board, chromium: Browser, example: str
) -> None:
    async with looking(chromium) as seen:
        await seen.page.goto(f"{board.url}/explain?example={example}")
        await seen.page.locator("#ask button.button").click()
        await expect(seen.page.locator("#result-1")).to_be_visible()
        await expect(seen.page.locator("#fault")).to_have_count(0)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("just words", "manifest|object|Pod", id="words"),
        pytest.param("a: [1,\n b: }", "line|YAML", id="not-yaml"),
        pytest.param("kind: Service\napiVersion: v1\nmetadata: {name: x}", "Service|Pod|pod", id="another-kind"),
        pytest.param("kind: Pod\nmetadata: {name: [1]}", "name", id="name-is-a-list"),
        pytest.param(f"kind: Pod\nmetadata:\n  name: {HOSTILE}\nspec: {{containers: []}}", "refused", id="hostile"),
    ],
)  # fmt: skip
async def test_a_manifest_that_cannot_be_read_gets_a_sentence(
    board: Board, chromium: Browser, manifest: str, said: str
) -> None:
    async with looking(chromium) as seen:
        seen.expected |= {400, 422}
        await asked(seen.page, board, manifest)
        fault = seen.page.locator("main .note-bad").first
        await expect(fault).to_contain_text(re.compile(said))
        assert await seen.page.locator("#manifest").input_value() == manifest
        assert "taken" not in await seen.page.title()
