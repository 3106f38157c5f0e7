"""The same manifests under kube-controller-manager and under the sandbox's controllers: both must end alike."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.controllers_kit import BothTruths, Scene, both_truths, is_going
from testbed.api import Object

pytestmark = pytest.mark.xdist_group("sandbox controllers")


@pytest_asyncio.fixture(scope="module")
async def truths() -> AsyncIterator[BothTruths]:
    async with both_truths() as running:
        yield running


def template(**spec: object) -> Object:
    made: Object = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    made["spec"] |= spec
    return made


def workload(kind: str, name: str = "x", **spec: object) -> Object:
    base: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    if kind == "StatefulSet":
        base["serviceName"] = "svc"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": base | spec}


def job(name: str = "x", **spec: object) -> Object:
    body = {"template": {"spec": template(restartPolicy="Never")["spec"]}} | spec
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def has(kind: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == kind and each["status"] == "True" for each in seen.get("status", {}).get("conditions", [])
    )


def progressed(reason: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == "Progressing" and each["reason"] == reason
        for each in seen.get("status", {}).get("conditions", [])
    )


# ---- Jobs


async def job_of_three(scene: Scene) -> None:
    await scene.create(job(completions=3, parallelism=2))
    for left in (2, 1):
        first, *_ = await scene.pods(2, lambda pod: pod["status"]["phase"] == "Pending")
        await scene.is_now([first], "Succeeded")
        del left
    rest = await scene.pods(1, lambda pod: pod["status"]["phase"] == "Pending")
    await scene.is_now(rest, "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


CASES_OF_JOBS = {"three in turns": job_of_three}


@pytest.mark.parametrize("case", CASES_OF_JOBS.values(), ids=CASES_OF_JOBS)
async def test_jobs_end_alike(truths: BothTruths, case: Callable, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("jobs"))
