"""What is written on a pod that waits, and that the same is not written twice."""

import datetime as dt
from typing import Any, cast

from builders.placing import SCHEDULER, pod
from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.kube.recorder import Event, Recorder
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.telling import UNSCHEDULABLE, Telling


class Written:
    """Everything that would have gone to the API server."""

    def __init__(self) -> None:
        self.patches: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.events: list[Event] = []
        self.refusal: ApiError | None = None

    async def call(self, _method: str, _path: str, body: dict[str, Any], *, content: str) -> dict[str, Any]:
        assert content == "application/strategic-merge-patch+json"
        if self.refusal is not None:
            raise self.refusal
        self.patches.append(body["status"])
        return {}

    async def delete(self, path: str) -> dict[str, Any]:
        self.deleted.append(path)
        return {}

    def record(self, event: Event) -> None:
        self.events.append(event)


def told() -> tuple[Written, Telling]:
    written = Written()
    recorders = {SCHEDULER: cast("Recorder", written)}
    return written, Telling(cast("Api", written), recorders, lambda: dt.datetime(2026, 5, 1, tzinfo=dt.UTC))


def waiting(message: str, nominated: str = "") -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": UNSCHEDULABLE, "message": message}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    return pod("p", status={"conditions": [condition], "nominatedNodeName": nominated})


async def test_the_condition_says_since_when_and_is_not_written_again_for_the_same() -> None:
    written, telling = told()
    await telling.waits(pod("p"), UNSCHEDULABLE, "no room", "")
    (change,) = written.patches
    assert change["conditions"][0]["lastTransitionTime"] == "2026-05-01T00:00:00Z"
    await telling.waits(waiting("no room"), UNSCHEDULABLE, "no room", "")
    assert len(written.patches) == 1
    await telling.waits(waiting("no room"), UNSCHEDULABLE, "no card", "")
    assert written.patches[1]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert [event.message for event in written.events] == ["no room", "no room", "no card"]


async def test_a_nomination_is_written_taken_away_or_left_as_it_is() -> None:
    written, telling = told()
    await telling.waits(waiting("m"), UNSCHEDULABLE, "m", "there")
    await telling.waits(waiting("m", "there"), UNSCHEDULABLE, "m", "")
    await telling.waits(waiting("m", "there"), UNSCHEDULABLE, "m", None)
    assert written.patches == [{"nominatedNodeName": "there"}, {"nominatedNodeName": None}]


async def test_a_victim_that_is_gone_already_counts_as_going_and_one_that_may_not_be_deleted_does_not() -> (
    None
):
    written, telling = told()
    assert await telling.evict(pod("victim", on="n"), pod("p"), "n")
    assert written.deleted == ["/api/v1/namespaces/default/pods/victim"]
    assert written.patches[0]["conditions"][0]["message"] == (
        "default-scheduler: preempting to accommodate a higher priority pod"
    )
    assert written.events[0].message == "Preempted by pod uid-p on node n"
    written.refusal = ApiError(404, "NotFound", "gone")
    assert await telling.evict(pod("victim", on="n"), pod("p"), "n")
    written.refusal = ApiError(403, "Forbidden", "no")
    assert not await telling.evict(pod("victim", on="n"), pod("p"), "n")
    assert len(written.events) == 1


async def test_an_event_is_cut_to_what_the_api_server_takes() -> None:
    written, telling = told()
    await telling.waits(pod("p"), UNSCHEDULABLE, "é" * 2000, None)
    assert len(written.events[0].message.encode()) <= 1024
    assert written.events[0].message.endswith(" ...")
