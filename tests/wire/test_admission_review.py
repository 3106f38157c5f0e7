"""Questions of an API server are read whatever their version, and anything else is told what it should have been."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reviews import UID, asking_pod, patch_in, response_in, review_of
from tangram.wire.admission_review import MOST_WARNINGS, Cause, allow, deny, read_review, unreadable
from tangram.wire.errors import WireError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_answer_has_the_version_and_the_uid_of_its_question(version: str) -> None:
    asked = read_review(review_of(asking_pod(), version=version))
    for answer in (allow(asked), deny(asked, "no.", code=403, reason="Forbidden")):
        assert json.loads(answer)["apiVersion"] == f"admission.k8s.io/{version}"
        assert response_in(answer)["uid"] == UID


@pytest.mark.parametrize("door", ["pods", "pods/status", "pods/binding", "bindings"])
def test_a_door_is_named_as_rules_name_it(door: str) -> None:
    assert read_review(review_of(asking_pod(), door=door)).door == door


def test_a_resource_of_another_group_is_no_pod() -> None:
    body = json.loads(review_of(asking_pod()))
    body["request"]["resource"]["group"] = "metrics.k8s.io"
    assert read_review(json.dumps(body).encode()).door == "metrics.k8s.io/pods"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b"", "no AdmissionReview", id="nothing"),
        pytest.param(b"\xff\xfe", "no AdmissionReview", id="no text"),
        pytest.param(b"[" * 100_000, "no AdmissionReview", id="nesting without end"),
        pytest.param(b'{"kind":"AdmissionReview"}', "no AdmissionReview", id="no request"),
        pytest.param(
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}',
            "no AdmissionReview",
            id="null for a request",
        ),
        pytest.param(review_of(asking_pod(), version="v2"), "admission.k8s.io/v1beta1", id="another version"),
        pytest.param(
            review_of(asking_pod()).replace(b'"AdmissionReview"', b'"PodList"'), "PodList", id="another kind"
        ),
    ],
)
def test_what_is_no_question_is_told_what_one_is(body: bytes, told: str) -> None:
    with pytest.raises(WireError, match=told) as failed:
        read_review(body)
    answer = response_in(unreadable(failed.value.sentence))
    assert (answer["allowed"], answer["status"]["code"]) == (False, 400)


def test_an_object_that_cannot_be_read_is_told_when_it_is_needed() -> None:
    things: tuple[object, ...] = (None, [], "pod")
    for thing in things:
        with pytest.raises(WireError, match="send the pod"):
            read_review(review_of(thing)).manifest()
    assert read_review(review_of(asking_pod())).old_manifest() == {}


@given(JSON, st.text(max_size=20), st.text(max_size=20))
def test_any_json_is_a_question_or_a_wire_error(thing: object, kind: str, operation: str) -> None:
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": thing}
    inner = {**whole, "kind": kind, "request": {"uid": "u", "operation": operation, "object": thing}}
    for body in (thing, whole, inner):
        try:
            asked = read_review(json.dumps(body).encode())
        except WireError:
            continue
        response_in(allow(asked))


def test_a_patch_travels_as_text_in_base64_and_an_empty_one_not_at_all() -> None:
    asked = read_review(review_of(asking_pod()))
    operations: list[dict[str, Any]] = [{"op": "add", "path": "/metadata/annotations", "value": {}}]
    assert patch_in(response_in(allow(asked, operations))) == operations
    assert set(response_in(allow(asked))) == {"uid", "allowed"}


def test_remarks_are_few_and_short_and_say_how_many_more_there_were() -> None:
    asked = read_review(review_of(asking_pod()))
    told = response_in(allow(asked, warnings=["x" * 100_000] * (MOST_WARNINGS + 3)))["warnings"]
    assert len(told) == MOST_WARNINGS + 1
    assert told[-1] == "and 3 more remarks of this kind"
    assert sum(map(len, told)) < 4096, "the API server drops what is beyond"


def test_a_no_is_bounded_and_carries_its_codes_for_programs() -> None:
    asked = read_review(review_of(asking_pod()))
    answer = deny(
        asked, "y" * 10**6, code=400, reason="BadRequest", causes=[Cause("code", "z" * 10**6, "main")]
    )
    status = response_in(answer)["status"]
    assert len(answer) < 8192
    (cause,) = status["details"]["causes"]
    assert (status["reason"], cause["reason"], cause["field"]) == ("BadRequest", "code", "main")
