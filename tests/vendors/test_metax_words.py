"""What MetaX users may write, and what it means."""

from collections.abc import Callable

import pytest

from tangram.model.cards import AppClass, QosPolicy, Vendor
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.vendors.admission import Admission
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.protocol import SetAnnotation
from tangram.vendors.settings import AdmissionSettings

Answer = Callable[..., Admission]

GPU = "metax-tech.com/gpu"
SGPU = "metax-tech.com/sgpu"
VCORE = "metax-tech.com/vcore"
VMEMORY = "metax-tech.com/vmemory"
QOS = "metax-tech.com/sgpu-qos-policy"
CLASS = "metax-tech.com/sgpu-app-class"


def slice_of(cores: int, memory: Bytes | None, count: int = 1) -> Ask:
    return Ask(
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        cores=cores,
        vocabulary=Vocabulary.METAX,
    )


def asks(answer: Admission) -> list[tuple[Ask, ...]]:
    assert answer.refusals == ()
    assert answer.request is not None
    return [container.asks for container in answer.request.containers]


def test_whole_cards_take_all_of_each(admitted: Answer) -> None:
    whole = Ask(vendor=Vendor.METAX, kind=AskKind.WHOLE, count=4, vocabulary=Vocabulary.METAX)
    answer = admitted({GPU: "4"})
    assert asks(answer) == [(whole,)]
    assert (whole.memory, whole.memory_percent, whole.cores) == (None, 100, None)
    assert answer.mutations == ()


@pytest.mark.parametrize(
    ("limits", "meant"),
    [
        pytest.param({}, slice_of(100, None), id="alone is a card of its own"),
        pytest.param({VCORE: "30"}, slice_of(30, None), id="compute only"),
        pytest.param({VMEMORY: "16"}, slice_of(100, from_gib(16)), id="memory only takes all compute"),
        pytest.param({VCORE: "60", VMEMORY: "16"}, slice_of(60, from_gib(16)), id="bare memory is GiB"),
        pytest.param({VCORE: "60", VMEMORY: "16Gi"}, slice_of(60, from_gib(16)), id="memory with a suffix"),
        pytest.param({VCORE: "60", VMEMORY: "1024Mi"}, slice_of(60, from_gib(1)), id="memory in MiB"),
        pytest.param({VCORE: "60", VMEMORY: "150000k"}, slice_of(60, from_mib(143)), id="floored to MiB"),
        pytest.param({VCORE: "0", VMEMORY: "1"}, slice_of(0, from_gib(1)), id="no compute"),
        pytest.param({VCORE: "100", VMEMORY: "64"}, slice_of(100, from_gib(64)), id="all of a card"),
    ],
)
def test_a_slice_means(admitted: Answer, limits: dict[str, str], meant: Ask) -> None:
    assert asks(admitted({SGPU: "1", **limits})) == [(meant,)]


def test_parts_of_several_cards_count_for_each_card(admitted: Answer) -> None:
    answer = admitted({SGPU: "2", VCORE: "30", VMEMORY: "16"})
    assert asks(answer) == [(slice_of(30, from_gib(16), count=2),)]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({SGPU: "1", VCORE: "101"}, Code.CORES_OUT_OF_RANGE, id="more than a card's compute"),
        pytest.param({SGPU: "1", VMEMORY: "512Ki"}, Code.MEMORY_BELOW_ONE_MIB, id="below 1 MiB"),
        pytest.param({SGPU: "1", VMEMORY: "100Mi"}, Code.MEMORY_BELOW_ONE_STEP, id="below a step"),
        pytest.param({SGPU: "1", VMEMORY: "2k"}, Code.MEMORY_AMBIGUOUS, id="2000 as stored"),
        pytest.param({SGPU: "1", VMEMORY: "2000"}, Code.MEMORY_AMBIGUOUS, id="2000 as written"),
        pytest.param({SGPU: "1", VMEMORY: "2097152"}, Code.AMOUNT_TOO_LARGE, id="two exbibytes"),
        pytest.param({VCORE: "10"}, Code.SLICE_WITHOUT_COUNT, id="compute of no card"),
        pytest.param({VMEMORY: "4"}, Code.SLICE_WITHOUT_COUNT, id="memory of no card"),
        pytest.param({GPU: "1", SGPU: "1"}, Code.WHOLE_AND_SLICE, id="whole and sliced"),
        pytest.param({GPU: "1", VCORE: "10"}, Code.WHOLE_AND_SLICE, id="part of a whole"),
    ],
)
def test_what_makes_no_slice_is_refused(admitted: Answer, limits: dict[str, str], code: Code) -> None:
    (refusal,) = admitted(limits).refusals
    assert refusal.code == code
    assert all(f"{name} '{text}'" in refusal.sentence for name, text in limits.items() if text != "1")


def test_what_was_meant_is_offered(admitted: Answer) -> None:
    sentences = [
        admitted(limits).refusals[0].sentence
        for limits in ({VCORE: "10"}, {SGPU: "1", VMEMORY: "2k"}, {SGPU: "1", VMEMORY: "1.5"})
    ]
    assert [sentence.rpartition("; ")[2] for sentence in sentences] == [
        "add metax-tech.com/sgpu: 1.",
        "write 2000Gi or 2Gi.",
        "write 1536Mi.",
    ]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({VMEMORY: "4"}, CautionCode.COMPUTE_DEFAULTS_TO_WHOLE_CARD, id="memory without compute"),
        pytest.param({VCORE: "30"}, CautionCode.MEMORY_DEFAULTS_TO_WHOLE_CARD, id="compute without memory"),
        pytest.param({VCORE: "0", VMEMORY: "4"}, CautionCode.NO_COMPUTE_RESERVED, id="compute of 0"),
        pytest.param({VCORE: "9", VMEMORY: "200Mi"}, CautionCode.MEMORY_ROUNDED_DOWN, id="between steps"),
    ],
)
def test_what_is_rarely_meant_is_taken_with_a_caution(
    admitted: Answer, limits: dict[str, str], code: CautionCode
) -> None:
    answer = admitted({SGPU: "1", **limits}, annotations={QOS: "fixed-share"})
    assert [caution.code for caution in answer.cautions] == [code]
    assert answer.cautions[0].container == "main"
    assert answer.request is not None


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({}, id="a card of its own"),
        pytest.param({VCORE: "100"}, id="all compute"),
        pytest.param({VCORE: "50", VMEMORY: "32"}, id="both parts"),
        pytest.param({VCORE: "50", VMEMORY: "384Mi"}, id="whole steps"),
    ],
)
def test_what_is_usually_meant_earns_no_caution(admitted: Answer, limits: dict[str, str]) -> None:
    assert admitted({SGPU: "1", **limits}, annotations={QOS: "fixed-share"}).cautions == ()


@pytest.mark.parametrize("words", [{VCORE: "25", VMEMORY: "64"}, {VCORE: "25", VMEMORY: "64Gi"}])
def test_memory_above_the_largest_slice_is_warned_of_only_when_that_is_known(
    admitted: Answer, words: dict[str, str]
) -> None:
    known = AdmissionSettings(largest_memory={Vendor.METAX: from_gib(63)})
    other = AdmissionSettings(largest_memory={Vendor.MTHREADS: from_gib(48)})
    fixed = {QOS: "fixed-share"}
    answer = admitted({SGPU: "1", **words}, annotations=fixed, settings=known)
    (caution,) = answer.cautions
    assert (caution.code, caution.container) == (CautionCode.MEMORY_ABOVE_LARGEST_CARD, "main")
    assert "more than 63 GiB" in caution.sentence
    assert answer.request is not None, "the next node may have a larger card"
    assert admitted({SGPU: "1", **words}, annotations=fixed).cautions == ()
    assert admitted({SGPU: "1", **words}, annotations=fixed, settings=other).cautions == ()
    legal = {SGPU: "1", VCORE: "25", VMEMORY: "63"}
    assert admitted(legal, annotations=fixed, settings=known).cautions == ()


@pytest.mark.parametrize("count", range(1, 17))
def test_numbers_of_whole_cards_that_the_manual_advises_against_earn_a_caution(
    admitted: Answer, count: int
) -> None:
    answer = admitted({GPU: str(count)})
    codes = [caution.code for caution in answer.cautions]
    assert codes == [CautionCode.CARD_COUNT_FRAGMENTS] * (count in (3, 5, 6, 7))
    assert answer.request is not None, "it is advice, and the pod is placed"


def test_the_caution_about_a_number_of_cards_names_those_beside_it(admitted: Answer) -> None:
    (said,) = admitted({GPU: "6"}).cautions
    assert said.container == "main"
    assert "asks for metax-tech.com/gpu '6'" in said.sentence
    assert "write 4 or 8 if the job can use that many" in said.sentence


PART = {SGPU: "1", VCORE: "60", VMEMORY: "4"}


@pytest.mark.parametrize(
    ("limits", "annotations", "warned"),
    [
        pytest.param(PART, {}, True, id="no policy"),
        pytest.param({SGPU: "1", "koordinator.sh/gpu-core": "60", "koordinator.sh/gpu-memory": "4Gi"}, {}, True,
                     id="no policy in Koordinator's words"),
        pytest.param(PART, {QOS: "best-effort"}, False, id="a person chose best-effort"),
        pytest.param(PART, {QOS: "fixed-share"}, False, id="fixed-share"),
        pytest.param(PART, {QOS: "burst-share"}, False, id="burst-share"),
        pytest.param(PART, {CLASS: "online"}, False, id="online pods have no policy"),
        pytest.param(PART | {VCORE: "100"}, {}, False, id="all compute of the card"),
        pytest.param({SGPU: "1"}, {}, False, id="a card of its own"),
        pytest.param({GPU: "2"}, {}, False, id="whole cards"),
    ],
)  # fmt: skip
def test_a_part_of_compute_that_nothing_limits_earns_a_caution(
    admitted: Answer, limits: dict[str, str], annotations: dict[str, str], *, warned: bool
) -> None:
    codes = [caution.code for caution in admitted(limits, annotations=annotations).cautions]
    assert codes == [CautionCode.COMPUTE_NOT_LIMITED] * warned


@pytest.mark.parametrize("policy", list(QosPolicy))
def test_the_clusters_policy_is_written_onto_a_pod_that_names_none(
    admitted: Answer, policy: QosPolicy
) -> None:
    settings = AdmissionSettings(qos_policy=policy)
    answer = admitted(PART, settings=settings)
    assert answer.request is not None
    assert (answer.request.qos, answer.mutations) == (policy, (SetAnnotation(QOS, policy.value),))
    assert bool(answer.cautions) == (policy is QosPolicy.BEST_EFFORT)
    own = admitted(PART, annotations={QOS: "burst-share"}, settings=settings)
    assert own.request is not None
    assert (own.request.qos, own.mutations) == (QosPolicy.BURST_SHARE, ())
    assert admitted(PART, annotations={CLASS: "online"}, settings=settings).mutations == ()
    assert admitted({GPU: "1"}, settings=settings).mutations == ()


# ------------------------------------------------------------------------------------- QoS and class


def test_best_effort_is_written_where_nothing_is_said(admitted: Answer) -> None:
    answer = admitted({SGPU: "1"}, {SGPU: "1"})
    assert answer.mutations == (SetAnnotation(QOS, "best-effort"),)
    assert answer.request is not None
    assert answer.request.qos is QosPolicy.BEST_EFFORT


@pytest.mark.parametrize("policy", QosPolicy)
def test_a_policy_is_taken_as_written(admitted: Answer, policy: QosPolicy) -> None:
    answer = admitted({SGPU: "1"}, annotations={QOS: policy.value})
    assert answer.request is not None
    assert answer.request.qos is policy
    assert answer.mutations == ()


@pytest.mark.parametrize("text", ["", "wrong", "Best-Effort", " best-effort"])
def test_an_unknown_policy_is_refused_in_hamis_words(admitted: Answer, text: str) -> None:
    (refusal,) = admitted({SGPU: "1"}, {SGPU: "1"}, annotations={QOS: text}).refusals
    assert refusal.code == Code.QOS_UNKNOWN
    lead = "metax-tech.com/sgpu-qos-policy must be set one of [best-effort, fixed-share, burst-share]"
    assert refusal.sentence.startswith(f"{lead}: annotation {QOS} is {text!r}; ")


def test_online_pods_have_no_policy(admitted: Answer) -> None:
    answer = admitted({SGPU: "1", VMEMORY: "4"}, annotations={CLASS: "online"})
    assert answer.request is not None
    assert (answer.request.qos, answer.request.app_class) == (None, AppClass.ONLINE)
    assert answer.mutations == ()
    assert answer.cautions == ()


def test_the_policy_of_an_online_pod_is_ignored_aloud(admitted: Answer) -> None:
    answer = admitted({SGPU: "1"}, annotations={CLASS: "online", QOS: "nonsense"})
    assert answer.refusals == ()
    assert [caution.code for caution in answer.cautions] == [CautionCode.ANNOTATION_WITHOUT_EFFECT]


def test_offline_pods_have_a_policy(admitted: Answer) -> None:
    answer = admitted({SGPU: "1"}, annotations={CLASS: "offline"})
    assert answer.request is not None
    assert (answer.request.qos, answer.request.app_class) == (QosPolicy.BEST_EFFORT, AppClass.OFFLINE)


@pytest.mark.parametrize("text", ["", "Online", "batch"])
def test_an_unknown_class_is_refused_in_hamis_words(admitted: Answer, text: str) -> None:
    (refusal,) = admitted({SGPU: "1"}, annotations={CLASS: text}).refusals
    assert refusal.code == Code.APP_CLASS_UNKNOWN
    assert refusal.sentence.startswith("metax-tech.com/sgpu-app-class must be set one of [online, offline]: ")


def test_a_classed_pod_has_one_card_per_container(admitted: Answer) -> None:
    answer = admitted({SGPU: "1"}, {SGPU: "3"}, annotations={CLASS: "offline"})
    (refusal,) = answer.refusals
    assert (refusal.code, refusal.container) == (Code.APP_CLASS_SEVERAL_CARDS, "second")
    assert refusal.sentence.startswith("app-class pod must request single device: ")
    assert admitted({SGPU: "1"}, {SGPU: "1"}, annotations={CLASS: "offline"}).refusals == ()


def test_class_and_policy_faults_are_both_told(admitted: Answer) -> None:
    answer = admitted({SGPU: "2"}, annotations={CLASS: "batch", QOS: "wrong"})
    assert [refusal.code for refusal in answer.refusals] == [
        Code.APP_CLASS_UNKNOWN,
        Code.APP_CLASS_SEVERAL_CARDS,
        Code.QOS_UNKNOWN,
    ]


def test_slice_annotations_on_whole_cards_have_no_effect(admitted: Answer) -> None:
    notes = {QOS: "fixed-share", CLASS: "online", "metax-tech.com/sgpu-topology-aware": "true"}
    answer = admitted({GPU: "2"}, annotations=notes)
    assert answer.request is not None
    assert (answer.request.qos, answer.request.app_class, answer.request.zone_aware) == (None, None, None)
    codes = {caution.code for caution in answer.cautions}
    assert codes == {CautionCode.ANNOTATION_WITHOUT_EFFECT}
    assert answer.mutations == ()


@pytest.mark.parametrize(
    ("text", "zone_aware"),
    [("true", True), ("1", True), ("T", True), ("0", False), ("False", False), (None, None)],
)
def test_zones_are_weighed_when_asked(admitted: Answer, text: str | None, *, zone_aware: bool | None) -> None:
    notes = {} if text is None else {"metax-tech.com/sgpu-topology-aware": text}
    answer = admitted({SGPU: "4"}, annotations=notes)
    assert answer.request is not None
    assert answer.request.zone_aware is zone_aware


def test_zones_neither_on_nor_off_are_refused(admitted: Answer) -> None:
    (refusal,) = admitted({SGPU: "4"}, annotations={"metax-tech.com/sgpu-topology-aware": "yes"}).refusals
    assert refusal.code == Code.NOT_A_BOOLEAN
    assert "'yes'" in refusal.sentence
