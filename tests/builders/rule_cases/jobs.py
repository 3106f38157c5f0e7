"""Jobs and CronJobs."""

from builders.rule_cases.cases import Case, Object, box, job, merged, thing


def one(name: str, change: Object | None = None, update: Object | None = None, on: str = "") -> Case:
    return Case(f"job-{name}", job(change), update, on)


def spec(**fields: object) -> Object:
    return {"spec": fields}


def cron(name: str, change: Object | None = None, update: Object | None = None, on: str = "") -> Case:
    start = thing(
        "CronJob", spec(schedule="*/5 * * * *", jobTemplate={"spec": job()["spec"]}), version="batch/v1"
    )
    return Case(f"cron-job-{name}", merged(start, change or {}), update, on)


NO_CODES: list[int] = []
TIME = "2030-01-01T00:00:00Z"

CASES = (
    one("plain"),
    one("labelled-template", spec(template={"metadata": {"labels": {"a": "b"}}})),
    one("with-completions", spec(completions=3)),
    one("work-queue", spec(parallelism=2)),
    one("indexed", spec(completionMode="Indexed", completions=2, parallelism=2)),
    one("indexed-per-index", spec(completionMode="Indexed", completions=2, backoffLimitPerIndex=1)),
    one("indexed-without-completions", spec(completionMode="Indexed", parallelism=2)),
    one("completion-mode-unknown", spec(completionMode="Odd")),
    one("restart-always", spec(template={"spec": {"restartPolicy": "Always"}})),
    one("restart-left-out", spec(template={"spec": {"restartPolicy": None}})),
    one("negatives", spec(parallelism=-1, completions=-1, backoffLimit=-1, activeDeadlineSeconds=-1,
                          ttlSecondsAfterFinished=-1)),
    one("own-selector", spec(selector={"matchLabels": {"a": "b"}})),
    one("manual-selector", spec(manualSelector=True, selector={"matchLabels": {"a": "b"}},
                                template={"metadata": {"labels": {"a": "b"}}})),
    one("manual-without-selector", spec(manualSelector=True)),
    one("without-containers", spec(template={"spec": {"containers": []}})),
    one("name-too-long", {"metadata": {"name": "j" * 64}}),
    one("failure-policy", spec(podFailurePolicy={"rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]})),
    one("failure-policy-bad", spec(podFailurePolicy={"rules": [
        {"action": "Odd"}, {"action": "FailJob", "onExitCodes": {"operator": "Is", "values": NO_CODES}}]})),
    one("replacement-unknown", spec(podReplacementPolicy="Odd")),
    one("managed-by", spec(managedBy="example.com/me")),
    one("managed-by-bad", spec(managedBy="me")),
    one("template-changed", None, spec(template={"spec": {"containers": [box(image="app:2")]}})),
    one("parallelism-changed", None, spec(parallelism=5)),
    one("completions-changed", spec(completions=3), spec(completions=4)),
    one("suspended", None, spec(suspend=True)),
    one("suspended-selector-changed", spec(suspend=True), spec(template={"spec": {"nodeSelector": {"a": "b"}}})),
    one("suspended-resources-changed", spec(suspend=True), spec(template={"spec": {"containers": [
        box(resources={"limits": {"cpu": "1"}})]}})),
    one("suspended-image-changed", spec(suspend=True), spec(template={"spec": {"containers": [box(image="app:2")]}})),
    one("mode-changed", None, spec(completionMode="Indexed")),
    one("backoff-changed", None, spec(backoffLimit=3)),
    one("status", None, {"status": {"active": 1, "ready": 0, "startTime": TIME, "uncountedTerminatedPods": {}}},
        "status"),
    one("status-complete", None, {"status": {"succeeded": 1, "startTime": TIME, "completionTime": TIME, "conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}}, "status"),
    one("status-complete-alone", None, {"status": {"startTime": TIME, "conditions": [
        {"type": "Complete", "status": "True"}]}}, "status"),
    one("status-negative", None, {"status": {"active": -1, "failed": -1, "startTime": TIME}}, "status"),
    one("status-failed-alone", None, {"status": {"startTime": TIME, "conditions": [
        {"type": "Failed", "status": "True"}]}}, "status"),
    cron("plain", None, spec(schedule="0 * * * *")),
    cron("schedule-bad", spec(schedule="often")),
    cron("schedule-missing", spec(schedule="")),
    cron("schedule-descriptor", spec(schedule="@hourly")),
    cron("schedule-with-zone", spec(schedule="TZ=UTC 0 * * * *")),
    cron("zone-unknown", spec(timeZone="Nowhere/Land")),
    cron("zone", spec(timeZone="Asia/Shanghai")),
    cron("policy-unknown", spec(concurrencyPolicy="Odd", startingDeadlineSeconds=-1, successfulJobsHistoryLimit=-1)),
    cron("name-too-long", {"metadata": {"name": "c" * 53}}),
    cron("manual-selector", spec(jobTemplate={"spec": {"manualSelector": True}})),
    cron("status", None, {"status": {"lastScheduleTime": TIME}, "spec": {"suspend": True}}, "status"),
)  # fmt: skip
