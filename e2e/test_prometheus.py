"""Alerts and dashboards in a real Prometheus: Debian's, reading a sandbox by the file that the sandbox writes."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from builders.sandbox_process import COMMAND, READY, sandbox_process
from e2e.debian_kit import environment_of, programs_of
from tangram.kube.api import Api
from tangram.kube.connection import from_kubeconfig
from tangram.sandbox.loopback import held_port
from testbed.box import REPOSITORY

CHART = REPOSITORY / "deploy" / "charts" / "tangram"
RULES = CHART / "rules" / "tangram.yaml"
CASES = REPOSITORY / "tests" / "data" / "prometheus" / "tangram.test.yaml"
SLICE = REPOSITORY / "examples" / "10-share-a-card" / "pod.yaml"
PODS = "/api/v1/namespaces/default/pods"
PATIENCE_S = 90.0
UNANSWERED_HERE = re.compile(
    r"tangram_gpu_aware|quota|refus|evict|ecc_uncorrected|koordinator_reporter|preempt"
)
"""What nothing has happened of in this sandbox, or what nobody runs there; every other query has an answer."""

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def programs() -> Path:
    return programs_of("prometheus", ("prometheus",))


def promtool(programs: Path, *words: str | Path) -> str:
    told = subprocess.run(  # noqa: S603 - a program of Debian's
        [programs / "usr" / "bin" / "promtool", *words],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        env=environment_of(programs),
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


class Prometheus:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def ask(self, path: str, **query: str) -> Any:  # noqa: ANN401 - whatever it tells
        async with self._session.get(f"{self._url}/api/v1/{path}", params=query) as answer:
            told = await answer.json()
        assert told["status"] == "success", (path, query, told)
        return told["data"]

    async def value_of(self, query: str) -> list[Any]:
        return (await self.ask("query", query=query))["result"]

    async def firing(self, alert: str) -> list[dict[str, Any]]:
        found = (await self.ask("alerts"))["alerts"]
        return [each for each in found if each["labels"]["alertname"] == alert and each["state"] == "firing"]


@asynccontextmanager
async def prometheus(programs: Path, configuration: Path, folder: Path) -> AsyncGenerator[Prometheus]:
    """Meanwhile it reads what the file names."""
    with held_port() as port:
        address = f"127.0.0.1:{port}"
        with (folder / "prometheus.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                programs / "usr" / "bin" / "prometheus",
                f"--config.file={configuration}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address={address}",
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                env=environment_of(programs),
            )
        try:
            async with aiohttp.ClientSession() as session:
                yield Prometheus(session, f"http://{address}")
        finally:
            process.terminate()
            await process.wait()


async def eventually(question: Any, what: str) -> Any:  # noqa: ANN401 - an async function of no arguments
    """Its first answer that is not empty."""
    last: object = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    last = await question()
                except (aiohttp.ClientError, AssertionError) as error:
                    last = error
                else:
                    if last:
                        return last
                await asyncio.sleep(0.5)
    except TimeoutError:
        raise AssertionError(f"{what}: {last!r}") from None


@pytest_asyncio.fixture(scope="module")
async def reading(
    programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Prometheus, Path]]:
    """A sandbox with pods on slices and one that fits nowhere, read by Prometheus with alerts that do not wait."""
    folder = tmp_path_factory.mktemp("prometheus")
    box = folder / "box"
    async with sandbox_process(folder, "--port", "0", "--data", str(box)) as sandbox:
        await sandbox.until(READY)
        hurried = re.sub(r"^( +for:).*$", r"\1 0s", RULES.read_text("utf-8"), flags=re.MULTILINE)
        (box / "tangram.rules.yaml").write_text(hurried, "utf-8")
        async with Api(from_kubeconfig(box / "kubeconfig")) as api:
            await api.create(PODS, pod("held", {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": 8}))
            for number in range(4):
                # More than the sandbox has: the last of them is told why by our scheduler.
                await api.create(
                    PODS, pod(f"large-{number}", {"metax-tech.com/sgpu": 4, "metax-tech.com/vmemory": 64})
                )
            await eventually(lambda: runs(api), "the pod does not run")
            async with prometheus(programs, box / "prometheus.yml", folder) as reader:
                yield reader, box


def pod(name: str, wants: dict[str, int]) -> dict[str, Any]:
    main = {"name": "main", "image": "any", "command": ["sleep", "infinity"], "resources": {"limits": wants}}
    return {"metadata": {"name": name}, "spec": {"containers": [main]}}


async def runs(api: Api) -> bool:
    return (await api.get(f"{PODS}/held")).get("status", {}).get("phase") == "Running"


def test_the_rules_are_rules_and_each_is_raised_by_what_it_is_for(programs: Path, tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path / "tangram.rules.yaml")
    shutil.copy(CASES, tmp_path)
    assert "SUCCESS" in promtool(programs, "check", "rules", tmp_path / "tangram.rules.yaml")
    assert "SUCCESS" in promtool(programs, "test", "rules", tmp_path / CASES.name)


async def test_every_part_of_a_sandbox_is_read_by_the_file_it_writes(
    reading: tuple[Prometheus, Path], programs: Path
) -> None:
    reader, box = reading
    assert "SUCCESS" in promtool(programs, "check", "config", box / "prometheus.yml")

    async def all_up() -> list[Any]:
        targets = (await reader.ask("targets"))["activeTargets"]
        return targets if targets and all(each["health"] == "up" for each in targets) else []

    targets = await eventually(all_up, "a target is down")
    assert {each["labels"]["job"] for each in targets} == {"tangram-scheduler", "tangram-nodes"}
    nodes = {each["labels"].get("node") for each in targets} - {None}
    assert len(nodes) == 6
    cards = await reader.value_of("sum by (vendor) (tangram_scheduler_cards)")
    assert {each["metric"]["vendor"] for each in cards} == {"metax", "mthreads"}


@pytest.mark.parametrize("board", sorted(path.stem for path in (CHART / "dashboards").glob("*.json")))
async def test_every_panel_of_a_dashboard_has_an_answer(reading: tuple[Prometheus, Path], board: str) -> None:
    reader, _ = reading
    written = json.loads((CHART / "dashboards" / f"{board}.json").read_text("utf-8"))
    queries = [target["expr"] for panel in written["panels"] for target in panel.get("targets", [])]
    assert queries
    for query in queries:
        asked = re.sub(r"\$(?!__)\w+", ".*", query.replace("$__rate_interval", "1m"))
        if UNANSWERED_HERE.search(query):
            await reader.value_of(asked)
        else:
            await eventually(lambda asked=asked: reader.value_of(asked), f"nothing answers {asked}")


async def test_a_card_that_fails_raises_its_alert_and_one_that_recovers_ends_it(
    reading: tuple[Prometheus, Path],
) -> None:
    reader, box = reading
    assert not await reader.firing("TangramCardUnhealthy")
    await break_card(box, "fail")
    (alert,) = await eventually(lambda: reader.firing("TangramCardUnhealthy"), "no alert")
    assert (alert["labels"]["node"], alert["labels"]["index"]) == ("metax-b", "7")
    assert "gets no new pods" in alert["annotations"]["description"]
    assert alert["annotations"]["runbook_url"].endswith("#tangramcardunhealthy")
    await break_card(box, "recover")

    async def over() -> bool:
        return not await reader.firing("TangramCardUnhealthy")

    assert await eventually(over, "the alert does not end")


async def break_card(box: Path, how: str) -> None:
    process = await asyncio.create_subprocess_exec(
        COMMAND, "simulate-cards", "ctl", "--socket", box / "cards" / "metax-b.sock", how, "GPU-7",
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
