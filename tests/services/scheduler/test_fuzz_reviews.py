"""Whatever is sent to the two webhooks: a well-formed AdmissionReview comes back, and the scheduler forgets it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders.odd_json import any_json, bent
from builders.reviews import asking_pod, patch_in, response_in, review_of
from builders.watched_desk import BIG, WatchedDesk
from tangram.services.scheduler.desk import Reply
from tangram.wire.admission_review import CREATE, UPDATE
from tangram.wire.metax_allocated import ALLOCATED

DOORS = ("review", "guard")
HELD = {ALLOCATED: "[]", "hami.io/vgpu-node": "a"}
PODS = (
    asking_pod(BIG),
    asking_pod(BIG, annotations={"hami.io/gpu-scheduler-policy": "binpack"}),
    asking_pod({"mthreads.com/vgpu": "2"}),
    asking_pod({"metax-tech.com/gpu": "1"}, init=[{"name": "first", "resources": {"limits": BIG}}]),
    asking_pod(BIG, annotations=HELD),
    asking_pod({}),
)
QUESTIONS = [
    json.loads(review_of(pod, before=before, door=door, operation=operation))
    for pod in PODS
    for before in (None, PODS[0])
    for door in ("pods", "pods/status", "pods/binding", "bindings")
    for operation in (CREATE, UPDATE)
]
BODIES = st.one_of(
    bent(st.sampled_from(QUESTIONS)), bent(st.sampled_from(QUESTIONS)), any_json(), st.binary(max_size=200)
)


def check(reply: Reply, body: bytes) -> None:
    """An answer that an API server can read, to the question it asked."""
    assert reply.status in (200, 400)
    response = response_in(reply.body)
    if reply.status == 400:
        assert not response["allowed"]
        return
    question: Any = json.loads(body)
    assert response["uid"] == question["request"]["uid"]
    assert json.loads(reply.body)["apiVersion"] == question["apiVersion"]
    for operation in patch_in(response):
        assert operation["op"] in ("add", "remove")


@given(st.lists(st.tuples(st.sampled_from(DOORS), BODIES), min_size=1, max_size=5))
async def test_whatever_is_reviewed_is_answered_and_leaves_no_trace(calls: list[tuple[str, bytes]]) -> None:
    desk = await WatchedDesk().begin()
    before, known = desk.whole.holdings(), len(desk.whole.verdicts)
    for door, body in calls:
        check(await getattr(desk.whole.desk, door)(body), body)
    assert desk.whole.holdings() == before
    assert len(desk.whole.verdicts) == known
    assert not [call for call in desk.whole.world.calls if not call[1].endswith("/binding")]
