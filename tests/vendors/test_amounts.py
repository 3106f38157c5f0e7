"""Numbers in limits and requests: each bad one is refused under its own code, and none becomes "no request"."""

from collections.abc import Callable

import pytest

from tangram.model.pods import Container, Pod
from tangram.vendors.admission import Admission, admit
from tangram.vendors.codes import Code

Answer = Callable[..., Admission]

COUNTED = {
    "metax-tech.com/gpu": {},
    "metax-tech.com/sgpu": {},
    "metax-tech.com/vcore": {"metax-tech.com/sgpu": "1"},
    "metax-tech.com/vmemory": {"metax-tech.com/sgpu": "1"},
    "mthreads.com/gpu": {},
    "mthreads.com/vgpu": {},
    "mthreads.com/sgpu-core": {"mthreads.com/vgpu": "1"},
    "mthreads.com/sgpu-memory": {"mthreads.com/vgpu": "1"},
    "koordinator.sh/gpu": {"metax-tech.com/sgpu": "1"},
    "koordinator.sh/gpu.shared": {
        "metax-tech.com/sgpu": "1",
        "koordinator.sh/gpu-core": "10",
        "koordinator.sh/gpu-memory": "1Gi",
    },
    "koordinator.sh/gpu-core": {"metax-tech.com/sgpu": "1", "koordinator.sh/gpu-memory": "1Gi"},
    "koordinator.sh/gpu-memory": {"metax-tech.com/sgpu": "1", "koordinator.sh/gpu-core": "10"},
    "koordinator.sh/gpu-memory-ratio": {"metax-tech.com/sgpu": "1", "koordinator.sh/gpu-core": "10"},
}
BAD_NUMBERS = {
    "": Code.AMOUNT_EMPTY,
    "two": Code.AMOUNT_UNREADABLE,
    "1 ": Code.AMOUNT_UNREADABLE,
    "0": Code.AMOUNT_ZERO,
    "-1": Code.AMOUNT_NEGATIVE,
    "500m": Code.AMOUNT_FRACTIONAL,
    "1.5": Code.AMOUNT_FRACTIONAL,
    "99999999999999999999": Code.AMOUNT_TOO_LARGE,
    "1e400": Code.AMOUNT_TOO_LARGE,
}
ZERO_IS_LEGAL = {"metax-tech.com/vcore", "mthreads.com/sgpu-core"}
ZERO_SAYS_NOTHING = {"koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"}


@pytest.mark.parametrize(
    ("resource", "text", "code"),
    [
        pytest.param(resource, text, code, id=f"{resource} {text[:9] or 'empty'}")
        for resource in COUNTED
        for text, code in BAD_NUMBERS.items()
        if code is not Code.AMOUNT_ZERO or resource not in ZERO_IS_LEGAL | ZERO_SAYS_NOTHING
    ],
)
def test_a_bad_number_is_refused_under_its_own_code(
    admitted: Answer, resource: str, text: str, code: Code
) -> None:
    answer = admitted({**COUNTED[resource], resource: text})
    assert [refusal.code for refusal in answer.refusals] == [code]
    assert repr(text) in answer.refusals[0].sentence
    assert answer.refusals[0].container == "main"
    assert answer.ours
    assert answer.request is None
    assert answer.mutations == ()


@pytest.mark.parametrize("resource", COUNTED)
def test_a_resource_under_requests_only_is_refused(pod_of: Callable[..., Pod], resource: str) -> None:
    container = Container("main", limits=COUNTED[resource], requests={resource: "1"})
    codes = [refusal.code for refusal in admit(pod_of(container)).refusals]
    assert codes == [Code.REQUEST_WITHOUT_LIMIT]


@pytest.mark.parametrize("resource", COUNTED)
def test_limits_and_requests_must_agree(pod_of: Callable[..., Pod], resource: str) -> None:
    container = Container("main", limits={**COUNTED[resource], resource: "2"}, requests={resource: "3"})
    (refusal,) = admit(pod_of(container)).refusals
    assert refusal.code == Code.LIMIT_DIFFERS_FROM_REQUEST
    assert "'2'" in refusal.sentence
    assert "'3'" in refusal.sentence


@pytest.mark.parametrize(
    ("limit", "request_"),
    [
        pytest.param("1", "1", id="same text"),
        pytest.param("1", "1000m", id="same number"),
        pytest.param("1", None, id="copied by Kubernetes"),
    ],
)
def test_limits_and_requests_agree_by_number(
    pod_of: Callable[..., Pod], limit: str, request_: str | None
) -> None:
    requests = {} if request_ is None else {"metax-tech.com/gpu": request_}
    container = Container("main", limits={"metax-tech.com/gpu": limit}, requests=requests)
    assert admit(pod_of(container)).refusals == ()


def test_every_bad_number_of_a_container_is_told_at_once(admitted: Answer) -> None:
    answer = admitted(
        {"metax-tech.com/sgpu": "0", "metax-tech.com/vcore": "150", "metax-tech.com/vmemory": "2k"}
    )
    assert [refusal.code for refusal in answer.refusals] == [
        Code.AMOUNT_ZERO,
        Code.CORES_OUT_OF_RANGE,
        Code.MEMORY_AMBIGUOUS,
    ]


def test_a_very_long_text_is_not_echoed_whole(admitted: Answer) -> None:
    answer = admitted({"metax-tech.com/gpu": "x" * 5000})
    assert len(answer.refusals[0].sentence) < 400


@pytest.mark.parametrize(
    ("resource", "text", "lead"),
    [
        pytest.param("mthreads.com/vgpu", "0", "mthreads.com/vgpu must be greater than 0", id="no cards"),
        pytest.param("mthreads.com/vgpu", "-2", "mthreads.com/vgpu must be greater than 0", id="minus cards"),
        pytest.param(
            "mthreads.com/sgpu-memory",
            "0",
            "sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, 64, 96]",
            id="no memory",
        ),
        pytest.param(
            "koordinator.sh/gpu", "0", "the requested GPU must be greater than zero", id="koordinator gpu"
        ),
        pytest.param("koordinator.sh/gpu-core", "0", "gpu core resource is required", id="koordinator core"),
    ],
)
def test_the_peers_own_text_comes_first(admitted: Answer, resource: str, text: str, lead: str) -> None:
    answer = admitted({**COUNTED[resource], resource: text})
    assert answer.refusals[0].sentence.startswith(f"{lead}: container main asks for {resource} '{text}';")
