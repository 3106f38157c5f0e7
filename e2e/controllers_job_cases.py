"""What can become of a Job."""

import asyncio

from e2e.controllers_kit import Scene
from e2e.controllers_objects import has, job, waits


async def job_of_three(scene: Scene) -> None:
    await scene.create(job(completions=3, parallelism=2))
    for _ in range(2):
        first, *_rest = await scene.pods(2, waits)
        await scene.is_now([first], "Succeeded")
    await scene.is_now(await scene.pods(1, waits), "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_fails(scene: Scene) -> None:
    await scene.create(job(backoffLimit=0))
    await scene.is_now(await scene.pods(1), "Failed")
    await scene.until("jobs", "x", has("Failed"))


async def job_fails_while_others_run(scene: Scene) -> None:
    await scene.create(job(completions=3, parallelism=3, backoffLimit=0))
    first, *rest = await scene.pods(3)
    await scene.run(rest)
    await scene.is_now([first], "Failed")
    await scene.until("jobs", "x", has("Failed"))


async def job_past_its_deadline(scene: Scene) -> None:
    await scene.create(job())
    await scene.run_all(1)
    # Only now: a busy machine may take longer than that to make the pod.
    await scene.patch("jobs", "x", {"spec": {"activeDeadlineSeconds": 1}})
    await scene.until("jobs", "x", has("Failed"))


async def job_with_indexes(scene: Scene) -> None:
    await scene.create(job(completions=4, parallelism=2, completionMode="Indexed"))
    for _ in range(4):
        await scene.is_now((await scene.pods_of_any(waits))[:1], "Succeeded")
        await asyncio.sleep(0.3)
    await scene.until("jobs", "x", has("Complete"))


async def job_of_a_work_queue(scene: Scene) -> None:
    await scene.create(job(parallelism=2))
    first, second = await scene.pods(2)
    await scene.is_now([first], "Succeeded")
    await scene.until("jobs", "x", lambda seen: seen["status"].get("succeeded") == 1)
    await scene.is_now([second], "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_suspended_and_resumed(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 2)
    await scene.patch("jobs", "x", {"spec": {"suspend": True}})
    await scene.until("jobs", "x", has("Suspended"))
    await scene.pods(0)
    await scene.patch("jobs", "x", {"spec": {"suspend": False}})
    await scene.is_now(await scene.pods(2), "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_made_smaller(scene: Scene) -> None:
    await scene.create(job(completions=5, parallelism=4))
    await scene.run_all(4)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 4)
    await scene.patch("jobs", "x", {"spec": {"parallelism": 1}})
    await scene.pods(1)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("active") == 1)


async def job_that_does_not_stay(scene: Scene) -> None:
    await scene.create(job(ttlSecondsAfterFinished=1))
    await scene.is_now(await scene.pods(1), "Succeeded")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(0)


async def job_deleted_while_it_runs(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.delete("jobs", "x")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(0)


async def job_that_leaves_its_pods(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 2)
    await scene.delete("jobs", "x", how="Orphan")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(2, lambda pod: not pod["metadata"].get("ownerReferences"))
    await scene.pods(2, lambda pod: not pod["metadata"].get("finalizers"))


async def cron_job_at_every_minute(scene: Scene) -> None:
    body = job()["spec"]
    spec = {
        "schedule": "* * * * *",
        "jobTemplate": {"spec": body},
        "startingDeadlineSeconds": 100,
        "suspend": True,
    }
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": spec}
    await scene.create(cron)


JOBS = {
    "three in turns": job_of_three,
    "one that fails": job_fails,
    "one that fails while others run": job_fails_while_others_run,
    "past its deadline": job_past_its_deadline,
    "with indexes": job_with_indexes,
    "of a work queue": job_of_a_work_queue,
    "suspended and resumed": job_suspended_and_resumed,
    "made smaller": job_made_smaller,
    "deleted after its time": job_that_does_not_stay,
    "deleted while it runs": job_deleted_while_it_runs,
    "deleted without its pods": job_that_leaves_its_pods,
    "a suspended CronJob": cron_job_at_every_minute,
}
