"""The real HAMi webhook's answers, replayed: the same answer, or a difference that is named here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tangram.model.requests import AskKind, Vocabulary
from tangram.units.memory import from_gib
from tangram.vendors.admission import Admission
from tangram.vendors.codes import Code
from tangram.vendors.protocol import Mutation, SetAnnotation, SetLimit

Answer = Callable[..., Admission]

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
HAMI: dict[str, list[dict[str, Any]]] = json.loads((CAPTURES / "hami.json").read_text("utf-8"))
KOORDINATOR: dict[str, Any] = json.loads((CAPTURES / "koordinator.json").read_text("utf-8"))


def told(case: dict[str, Any]) -> str:
    texts = [f"{name}={text}" for limits in case["limits"] for name, text in limits.items()]
    return " ".join([*texts, *case["annotations"].values()])


STRICTER = {
    "metax-tech.com/vcore=10 metax-tech.com/vmemory=4": Code.SLICE_WITHOUT_COUNT,
    "mthreads.com/sgpu-memory=32 mthreads.com/sgpu-core=8": Code.SLICE_WITHOUT_COUNT,
    "mthreads.com/vgpu=2 mthreads.com/sgpu-memory=32 mthreads.com/sgpu-core=8": Code.SEVERAL_CARDS_IN_SLICES,
}
"""Pods HAMi admits and we do not: it runs the first two without a card and gives the third two whole ones."""

ADMISSION = [pytest.param(case, id=told(case)) for case in HAMI["admission"]]


def patch_of(mutation: Mutation) -> tuple[str, str]:
    match mutation:
        case SetAnnotation(key, value):
            return f"/metadata/annotations/{key.replace('/', '~1')}", value
        case SetLimit(_, resource, value):
            return f"/spec/containers/0/resources/limits/{resource.replace('/', '~1')}", value
        case _:
            raise AssertionError(mutation)


@pytest.mark.parametrize("case", ADMISSION)
def test_hamis_answer_is_ours_unless_we_are_stricter_by_name(admitted: Answer, case: dict[str, Any]) -> None:
    answer = admitted(*case["limits"], annotations=case["annotations"])
    if told(case) in STRICTER:
        assert case["allowed"]
        assert [refusal.code for refusal in answer.refusals] == [STRICTER[told(case)]]
    elif case["allowed"]:
        assert answer.refusals == ()
    else:
        (refusal,) = answer.refusals
        assert refusal.sentence.startswith(f"{case['message']}: ")


@pytest.mark.parametrize("case", ADMISSION)
def test_we_write_what_hami_writes(admitted: Answer, case: dict[str, Any]) -> None:
    """The scheduler's name aside, which is the webhook's business and not admission's."""
    if told(case) in STRICTER:
        return
    answer = admitted(*case["limits"], annotations=case["annotations"])
    expected = {
        (op["path"], op["value"]) for op in case["patch"] or () if op["path"] != "/spec/schedulerName"
    }
    assert {patch_of(mutation) for mutation in answer.mutations} == expected


def test_every_named_difference_was_captured() -> None:
    assert set(STRICTER) <= {told(case) for case in HAMI["admission"]}


@pytest.mark.parametrize("placed", [pytest.param(pod, id=pod["pod"]) for pod in HAMI["placement"]])
def test_every_pod_hami_placed_is_understood(admitted: Answer, placed: dict[str, Any]) -> None:
    answer = admitted(*placed["limits"], annotations=placed["asked"])
    assert answer.refusals == ()
    assert answer.request is not None
    assert all(container.asks for container in answer.request.containers)


def test_the_pod_koordinator_placed_is_understood(admitted: Answer) -> None:
    pod = KOORDINATOR["pod"]
    answer = admitted(pod["limits"], annotations=pod["annotations"])
    assert answer.request is not None
    (ask,) = answer.request.containers[0].asks
    assert (ask.kind, ask.vocabulary, ask.count) == (AskKind.SLICE, Vocabulary.KOORDINATOR, 1)
    assert (ask.cores, ask.memory) == (10, from_gib(4))
    assert answer.mutations == ()
