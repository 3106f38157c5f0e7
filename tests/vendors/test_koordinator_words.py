"""Koordinator's words beside either vendor's resource."""

from collections.abc import Callable

import msgspec
import pytest

from tangram.model.cards import QosPolicy, Vendor
from tangram.model.pods import Container, Pod, Role
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib, from_mib
from tangram.vendors.admission import Admission, admit
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.protocol import Mutation, RemoveResource, SetAnnotation, SetLimit
from tangram.vendors.settings import AdmissionSettings

Answer = Callable[..., Admission]
PodOf = Callable[..., Pod]

GPU = "koordinator.sh/gpu"
SHARED = "koordinator.sh/gpu.shared"
CORE = "koordinator.sh/gpu-core"
MEMORY = "koordinator.sh/gpu-memory"
RATIO = "koordinator.sh/gpu-memory-ratio"
SGPU = "metax-tech.com/sgpu"
VGPU = "mthreads.com/vgpu"

QOS_DEFAULT = SetAnnotation("metax-tech.com/sgpu-qos-policy", "best-effort")


def ask_of(answer: Admission) -> Ask:
    assert answer.refusals == ()
    assert answer.request is not None
    (ask,) = answer.request.containers[0].asks
    assert (ask.kind, ask.vocabulary) == (AskKind.SLICE, Vocabulary.KOORDINATOR)
    return ask


def only_refusal(answer: Admission) -> tuple[str, str]:
    assert answer.request is None
    (refusal,) = answer.refusals
    return refusal.code, refusal.sentence


def test_the_user_pages_pod_is_a_slice(admitted: Answer) -> None:
    answer = admitted({SHARED: "1", CORE: "10", MEMORY: "1Gi", SGPU: "1"})
    ask = ask_of(answer)
    assert (ask.vendor, ask.count, ask.cores, ask.memory) == (Vendor.METAX, 1, 10, from_gib(1))
    assert answer.request is not None
    assert answer.request.qos is QosPolicy.BEST_EFFORT
    assert answer.mutations == (QOS_DEFAULT,)


@pytest.mark.parametrize(
    ("words", "count", "cores", "percent"),
    [
        pytest.param({CORE: "50", RATIO: "25", SGPU: "1"}, 1, 50, 25, id="a ratio of one card"),
        pytest.param({CORE: "100", RATIO: "100", SGPU: "1"}, 1, 100, 100, id="one whole card"),
        pytest.param({CORE: "300", RATIO: "300", SGPU: "3"}, 3, 100, 100, id="three whole cards"),
        pytest.param(
            {SHARED: "2", CORE: "200", RATIO: "200", SGPU: "2"}, 2, 100, 100, id="as the webhook left it"
        ),
        pytest.param({GPU: "50", SGPU: "1"}, 1, 50, 50, id="half a card, short"),
        pytest.param({GPU: "200", SGPU: "2"}, 2, 100, 100, id="two whole cards, short"),
    ],
)
def test_totals_are_shared_out_over_the_cards(
    admitted: Answer, words: dict[str, str], count: int, cores: int, percent: int
) -> None:
    ask = ask_of(admitted(words))
    assert (ask.count, ask.cores, ask.memory, ask.memory_percent) == (count, cores, None, percent)


def test_bytes_are_floored_to_mib(admitted: Answer) -> None:
    assert ask_of(admitted({CORE: "10", MEMORY: "500000k", SGPU: "1"})).memory == from_mib(476)


@pytest.mark.parametrize(
    ("words", "mutations"),
    [
        pytest.param(
            {CORE: "10", MEMORY: "1Gi", SGPU: "1"}, (SetLimit("main", SHARED, "1"),), id="count of a slice"
        ),
        pytest.param(
            {CORE: "300", RATIO: "300", SGPU: "3"},
            (SetLimit("main", SHARED, "3"),),
            id="count of whole cards",
        ),
        pytest.param(
            {GPU: "200", SGPU: "2"},
            (
                SetLimit("main", CORE, "200"),
                SetLimit("main", RATIO, "200"),
                RemoveResource("main", GPU),
                SetLimit("main", SHARED, "2"),
            ),
            id="gpu taken apart",
        ),
        pytest.param({SHARED: "1", CORE: "10", MEMORY: "1Gi", SGPU: "1"}, (), id="nothing missing"),
    ],
)
def test_what_koordinators_webhook_writes_is_written(
    admitted: Answer, words: dict[str, str], mutations: tuple[Mutation, ...]
) -> None:
    first = admitted(words)
    assert first.mutations == (*mutations, QOS_DEFAULT)
    removed = {each.resource for each in mutations if isinstance(each, RemoveResource)}
    kept = {name: text for name, text in words.items() if name not in removed}
    added = {each.resource: each.value for each in mutations if isinstance(each, SetLimit)}
    again = admitted({**kept, **added}, annotations={QOS_DEFAULT.key: QOS_DEFAULT.value})
    assert again.request == first.request
    assert again.mutations == ()


@pytest.mark.parametrize(
    ("words", "code", "lead"),
    [
        pytest.param(
            {GPU: "100", SHARED: "1"},
            Code.KOORDINATOR_COMBINATION,
            "Forbidden declare GPU and GPU share at same time",
            id="gpu and shared",
        ),
        pytest.param(
            {GPU: "100", CORE: "100"},
            Code.KOORDINATOR_COMBINATION,
            "invalid resource device requests: [koordinator.sh/gpu koordinator.sh/gpu-core]",
            id="gpu and core",
        ),
        pytest.param(
            {CORE: "10", MEMORY: "1Gi", RATIO: "10"},
            Code.KOORDINATOR_COMBINATION,
            "declare GPU memory and GPU memory ratio at same time",
            id="memory and ratio",
        ),
        pytest.param(
            {CORE: "10"},
            Code.KOORDINATOR_COMBINATION,
            "GPU memory and GPU memory ratio all is zero",
            id="core alone",
        ),
        pytest.param(
            {SHARED: "1"},
            Code.KOORDINATOR_COMBINATION,
            "GPU memory and GPU memory ratio all is zero",
            id="shared alone",
        ),
        pytest.param(
            {SHARED: "1", CORE: "10"},
            Code.KOORDINATOR_COMBINATION,
            "GPU memory and GPU memory ratio all is zero",
            id="shared and core",
        ),
        pytest.param(
            {MEMORY: "1Gi"}, Code.KOORDINATOR_CORE_MISSING, "gpu core resource is required", id="memory alone"
        ),
        pytest.param(
            {SHARED: "1", RATIO: "10"},
            Code.KOORDINATOR_CORE_MISSING,
            "gpu core resource is required",
            id="ratio without core",
        ),
        pytest.param(
            {GPU: "150"}, Code.KOORDINATOR_UNIT, "the requested GPU must be percentage of 100", id="gpu 150"
        ),
        pytest.param(
            {CORE: "150", MEMORY: "1Gi"},
            Code.KOORDINATOR_UNIT,
            "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory]",
            id="core 150",
        ),
        pytest.param(
            {CORE: "50", RATIO: "150"},
            Code.KOORDINATOR_UNIT,
            "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory-ratio]",
            id="ratio 150",
        ),
        pytest.param(
            {CORE: "200", RATIO: "50"},
            Code.KOORDINATOR_UNIT,
            "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory-ratio]",
            id="two cards of compute on one",
        ),
        pytest.param(
            {SHARED: "1", CORE: "200", MEMORY: "1Gi"},
            Code.KOORDINATOR_UNIT,
            "invalid resource device requests: "
            "[koordinator.sh/gpu.shared koordinator.sh/gpu-core koordinator.sh/gpu-memory]",
            id="compute of two cards on one",
        ),
        pytest.param(
            {SHARED: "2", CORE: "15", RATIO: "20"},
            Code.KOORDINATOR_UNIT,
            "the requested gpuCore must multiple of shared",
            id="uneven core",
        ),
        pytest.param(
            {SHARED: "2", CORE: "20", RATIO: "15"},
            Code.KOORDINATOR_UNIT,
            "the requested gpuMemoryRatio must multiple of shared",
            id="uneven ratio",
        ),
        pytest.param(
            {CORE: "10", MEMORY: "1023Ki"},
            Code.MEMORY_BELOW_ONE_MIB,
            "gpu memory must not be less than 1048576 bytes",
            id="below 1 MiB",
        ),
    ],
)
def test_what_koordinator_does_not_accept_is_refused_in_its_words(
    admitted: Answer, words: dict[str, str], code: Code, lead: str
) -> None:
    answer = admitted({**words, SGPU: words.get(SHARED, "1")})
    assert answer.request is None
    (told,) = [refusal.sentence for refusal in answer.refusals if refusal.code == code]
    assert told.startswith(f"{lead}: container main asks for koordinator.sh/gpu")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({SHARED: "2", CORE: "20", RATIO: "20", SGPU: "2"}, id="by ratio"),
        pytest.param({SHARED: "2", CORE: "20", MEMORY: "2Gi", SGPU: "2"}, id="by bytes"),
        pytest.param({CORE: "200", MEMORY: "64Gi", SGPU: "2"}, id="whole compute, memory in bytes"),
        pytest.param({CORE: "100", RATIO: "200", SGPU: "2"}, id="whole memory, half the compute"),
    ],
)
def test_parts_of_several_cards_are_refused(admitted: Answer, words: dict[str, str]) -> None:
    code, sentence = only_refusal(admitted(words))
    assert code == Code.SEVERAL_CARDS_IN_SLICES
    assert "koordinator.sh/gpu-core: 200" in sentence


@pytest.mark.parametrize("beside", ["2", "3"])
def test_the_vendors_resource_is_the_number_of_cards(admitted: Answer, beside: str) -> None:
    code, sentence = only_refusal(admitted({CORE: "10", MEMORY: "1Gi", SGPU: beside}))
    assert code == Code.KOORDINATOR_COUNT_MISMATCH
    assert f"metax-tech.com/sgpu '{beside}'" in sentence
    assert sentence.endswith("write metax-tech.com/sgpu: 1.")


@pytest.mark.parametrize("words", [{CORE: "10", MEMORY: "1Gi"}, {GPU: "100"}, {SHARED: "1"}])
def test_without_a_vendors_resource_nobody_knows_whose_cards(admitted: Answer, words: dict[str, str]) -> None:
    first, *_ = admitted(words).refusals
    assert first.code == Code.KOORDINATOR_WITHOUT_VENDOR
    assert first.sentence.endswith("add metax-tech.com/sgpu or mthreads.com/vgpu with the number of cards.")


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        pytest.param(
            {SHARED: "2", CORE: "15", MEMORY: "16Gi", RATIO: "25", SGPU: "1"},
            [
                Code.KOORDINATOR_COMBINATION,
                Code.KOORDINATOR_UNIT,
                Code.KOORDINATOR_UNIT,
                Code.SEVERAL_CARDS_IN_SLICES,
                Code.KOORDINATOR_COUNT_MISMATCH,
            ],
            id="five of the words",
        ),
        pytest.param(
            {CORE: "many", MEMORY: "512Ki", SGPU: "2"},
            [Code.AMOUNT_UNREADABLE, Code.MEMORY_BELOW_ONE_MIB],
            id="a number that is none beside one that is too small",
        ),
        pytest.param(
            {SHARED: "1", SGPU: "2"},
            [
                Code.KOORDINATOR_COMBINATION,
                Code.KOORDINATOR_CORE_MISSING,
                Code.KOORDINATOR_COUNT_MISMATCH,
            ],
            id="no compute, no memory, another number of cards",
        ),
        pytest.param(
            {CORE: "10", MEMORY: "100Mi", SGPU: "2", "metax-tech.com/vcore": "5"},
            [
                Code.KOORDINATOR_MIXED_WORDS,
                Code.KOORDINATOR_COUNT_MISMATCH,
                Code.MEMORY_BELOW_ONE_STEP,
            ],
            id="the vendor's own words, the number and the size",
        ),
        pytest.param(
            {CORE: "10", MEMORY: "3Gi", VGPU: "2"},
            [Code.KOORDINATOR_COUNT_MISMATCH, Code.MEMORY_NOT_A_TIER],
            id="a size that no Moore Threads card has",
        ),
        pytest.param(
            {CORE: "150"},
            [
                Code.KOORDINATOR_WITHOUT_VENDOR,
                Code.KOORDINATOR_COMBINATION,
                Code.KOORDINATOR_UNIT,
            ],
            id="cards of no vendor",
        ),
        pytest.param(
            {CORE: "150", MEMORY: "16Gi", SGPU: "2"},
            [Code.KOORDINATOR_UNIT],
            id="no number of cards while it may be another",
        ),
    ],
)
def test_every_fault_is_told_at_once(admitted: Answer, words: dict[str, str], codes: list[Code]) -> None:
    answer = admitted(words)
    assert answer.request is None
    assert [refusal.code for refusal in answer.refusals] == codes


WHOLE = {"metax-tech.com/gpu": Vendor.METAX, "mthreads.com/gpu": Vendor.MTHREADS}


@pytest.mark.parametrize("resource", WHOLE)
@pytest.mark.parametrize(
    ("words", "count"),
    [
        pytest.param({CORE: "100", RATIO: "100"}, 1, id="one card"),
        pytest.param({CORE: "200", RATIO: "200"}, 2, id="two cards"),
        pytest.param({SHARED: "2", CORE: "200", RATIO: "200"}, 2, id="as the webhook left it"),
        pytest.param({GPU: "300"}, 3, id="three cards, short"),
    ],
)
def test_whole_cards_may_stand_beside_the_resource_that_hands_them_out(
    admitted: Answer, resource: str, words: dict[str, str], count: int
) -> None:
    answer = admitted({**words, resource: str(count)})
    assert answer.refusals == ()
    assert answer.request is not None
    (ask,) = answer.request.containers[0].asks
    assert (ask.vendor, ask.kind, ask.count) == (WHOLE[resource], AskKind.WHOLE, count)
    assert ask.vocabulary is Vocabulary.KOORDINATOR
    beside = {Vendor.METAX: SGPU, Vendor.MTHREADS: VGPU}[WHOLE[resource]]
    limits = [each for each in answer.mutations if getattr(each, "resource", "").startswith("koordinator")]
    sliced = admitted({**words, beside: str(count)}).mutations
    assert limits == [each for each in sliced if getattr(each, "resource", "").startswith("koordinator")]


@pytest.mark.parametrize("resource", WHOLE)
@pytest.mark.parametrize(
    ("words", "count", "code"),
    [
        pytest.param({CORE: "10", MEMORY: "1Gi"}, 1, Code.KOORDINATOR_MIXED_WORDS, id="a slice"),
        pytest.param({CORE: "100", MEMORY: "64Gi"}, 1, Code.KOORDINATOR_MIXED_WORDS, id="memory in bytes"),
        pytest.param({CORE: "200", MEMORY: "128Gi"}, 2, Code.KOORDINATOR_MIXED_WORDS, id="of two cards"),
        pytest.param({GPU: "50"}, 1, Code.KOORDINATOR_MIXED_WORDS, id="half a card"),
        pytest.param({GPU: "200"}, 1, Code.KOORDINATOR_COUNT_MISMATCH, id="two cards and one"),
        pytest.param({CORE: "150", RATIO: "100"}, 1, Code.KOORDINATOR_UNIT, id="a card and a half"),
    ],
)
def test_a_part_of_a_card_may_not_stand_beside_the_resource_of_whole_ones(
    admitted: Answer, resource: str, words: dict[str, str], count: int, code: Code
) -> None:
    answered, sentence = only_refusal(admitted({**words, resource: str(count)}))
    assert answered == code
    assert resource in sentence or code is Code.KOORDINATOR_UNIT


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param({SGPU: "1", "metax-tech.com/vcore": "10"}, id="vcore"),
        pytest.param({SGPU: "1", "metax-tech.com/vmemory": "1"}, id="vmemory"),
        pytest.param({SGPU: "1", "metax-tech.com/gpu": "1"}, id="whole MetaX cards beside slices"),
        pytest.param({VGPU: "1", "mthreads.com/sgpu-core": "1"}, id="sgpu-core"),
        pytest.param({VGPU: "1", "mthreads.com/sgpu-memory": "2"}, id="sgpu-memory"),
        pytest.param({VGPU: "1", "mthreads.com/gpu": "1"}, id="whole Moore Threads cards beside slices"),
    ],
)
def test_two_vocabularies_in_one_container_are_refused(admitted: Answer, foreign: dict[str, str]) -> None:
    code, _ = only_refusal(admitted({CORE: "10", MEMORY: "1Gi", **foreign}))
    assert code == Code.KOORDINATOR_MIXED_WORDS


def test_the_vendors_own_words_may_not_stand_beside_whole_cards_either(admitted: Answer) -> None:
    words = {GPU: "100", "metax-tech.com/gpu": "1", "metax-tech.com/vcore": "10"}
    code, sentence = only_refusal(admitted(words))
    assert code == Code.KOORDINATOR_MIXED_WORDS
    assert "remove metax-tech.com/vcore" in sentence


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({CORE: "10", MEMORY: "1Gi", SGPU: "1"}, id="in the same words"),
        pytest.param({SGPU: "1", "metax-tech.com/vcore": "10"}, id="in the vendor's words"),
        pytest.param({"metax-tech.com/gpu": "1"}, id="a whole card"),
        pytest.param({CORE: "12", MEMORY: "1Gi", VGPU: "1"}, id="of the other vendor"),
    ],
)
@pytest.mark.parametrize("role", Role)
def test_one_container_asks_in_koordinators_words(pod_of: PodOf, second: dict[str, str], role: Role) -> None:
    """Its annotation holds one list of cards, so nobody could tell whose the second container's are."""
    first = Container("main", role, limits={CORE: "10", MEMORY: "1Gi", SGPU: "1"})
    plain = Container("plain")
    assert admit(pod_of(first, plain)).refusals == ()
    (refusal,) = admit(pod_of(first, plain, Container("second", limits=second))).refusals
    assert (refusal.code, refusal.container) == (Code.KOORDINATOR_SEVERAL_CONTAINERS, "second")
    bound = msgspec.structs.replace(
        pod_of(first, Container("second", limits=second)), node_name=NodeName("n1")
    )
    assert admit(bound).request is not None, "what another scheduler has bound is counted all the same"


@pytest.mark.parametrize("card", [SGPU, VGPU])
def test_a_slice_above_the_largest_known_is_warned_of(admitted: Answer, card: str) -> None:
    known = AdmissionSettings(
        mthreads_memory_per_card=(96, 160),
        largest_memory={Vendor.METAX: from_gib(63), Vendor.MTHREADS: from_gib(48)},
        compute_limited=frozenset({Vendor.MTHREADS}),
    )
    notes = {"metax-tech.com/sgpu-qos-policy": "fixed-share"} if card == SGPU else None
    answer = admitted({CORE: "25", MEMORY: "64Gi", card: "1"}, annotations=notes, settings=known)
    (caution,) = answer.cautions
    assert (caution.code, caution.container) == (CautionCode.MEMORY_ABOVE_LARGEST_CARD, "main")
    assert answer.request is not None


# -------------------------------------------------------------------------------------- Moore Threads


@pytest.mark.parametrize(
    ("percent", "sixteenths"),
    [("1", 1), ("6", 1), ("7", 2), ("12", 2), ("13", 3), ("50", 8), ("99", 16), ("100", 16)],
)
def test_compute_is_charged_in_sixteenths_rounded_up(admitted: Answer, percent: str, sixteenths: int) -> None:
    assert ask_of(admitted({CORE: percent, MEMORY: "16Gi", VGPU: "1"})).cores == sixteenths


@pytest.mark.parametrize(
    ("words", "cores", "units"),
    [
        pytest.param({SHARED: "1", CORE: "25", MEMORY: "16Gi", VGPU: "1"}, "4", "32", id="a slice"),
        pytest.param({SHARED: "1", CORE: "10", RATIO: "100", VGPU: "1"}, "2", "96", id="all the memory"),
        pytest.param({SHARED: "2", CORE: "200", RATIO: "200", VGPU: "2"}, "32", "192", id="two whole cards"),
    ],
)
def test_the_kubelet_is_told_to_ask_the_vendors_plugin(
    admitted: Answer, words: dict[str, str], cores: str, units: str
) -> None:
    first = admitted(words)
    added = {each.resource: each.value for each in first.mutations if isinstance(each, SetLimit)}
    assert added == {"mthreads.com/sgpu-core": cores, "mthreads.com/sgpu-memory": units}
    again = admitted({**words, **added})
    assert again.request == first.request
    assert not any(isinstance(each, SetLimit) for each in again.mutations)


def test_what_the_plugin_is_asked_for_cannot_be_changed_beside_koordinators_words(admitted: Answer) -> None:
    words = {CORE: "25", MEMORY: "16Gi", VGPU: "1"}
    more = {"mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "32"}
    code, _ = only_refusal(admitted({**words, **more}))
    assert code == Code.KOORDINATOR_MIXED_WORDS


@pytest.mark.parametrize(("percent", "free"), [("12", "12"), ("50", "50"), ("10", "12"), ("13", "18")])
def test_what_rounding_costs_is_told(admitted: Answer, percent: str, free: str) -> None:
    limited = AdmissionSettings(compute_limited=frozenset({Vendor.MTHREADS}))
    answer = admitted({CORE: percent, MEMORY: "16Gi", VGPU: "1"}, settings=limited)
    told = [caution.sentence for caution in answer.cautions]
    assert [caution.code for caution in answer.cautions] == [CautionCode.COMPUTE_ROUNDED_UP] * (
        percent != free
    )
    assert all(sentence.endswith(f"write {free}, which costs the same.") for sentence in told)


@pytest.mark.parametrize(
    ("memory", "legal"), [("1Gi", True), ("16Gi", True), ("48Gi", True), ("3Gi", False), ("64Gi", False)]
)
def test_memory_must_be_a_size_that_exists(admitted: Answer, memory: str, *, legal: bool) -> None:
    answer = admitted({CORE: "50", MEMORY: memory, VGPU: "1"})
    assert [refusal.code for refusal in answer.refusals] == ([] if legal else [Code.MEMORY_NOT_A_TIER])


@pytest.mark.parametrize(
    ("ratio", "shapes", "legal"),
    [
        pytest.param("100", (96,), True, id="all of an S4000"),
        pytest.param("50", (96,), False, id="24 GiB of an S4000"),
        pytest.param("40", (160,), True, id="32 GiB of an S5000"),
        pytest.param("50", (160,), False, id="40 GiB of an S5000"),
        pytest.param("40", (96, 160), False, id="a size on one model only"),
        pytest.param("100", (96, 160), True, id="all of either"),
    ],
)
def test_a_ratio_must_be_a_size_on_every_model(
    admitted: Answer, ratio: str, shapes: tuple[int, ...], *, legal: bool
) -> None:
    settings = AdmissionSettings(mthreads_memory_per_card=shapes)
    answer = admitted({CORE: "50", RATIO: ratio, VGPU: "1"}, settings=settings)
    assert [refusal.code for refusal in answer.refusals] == ([] if legal else [Code.MEMORY_NOT_A_TIER])


def test_the_short_form_has_the_same_sizes(admitted: Answer) -> None:
    code, sentence = only_refusal(admitted({GPU: "50", VGPU: "1"}))
    assert code == Code.MEMORY_NOT_A_TIER
    assert "koordinator.sh/gpu '50'" in sentence


def test_whole_cards_are_several_cards(admitted: Answer) -> None:
    answer = admitted({GPU: "200", VGPU: "2"})
    ask = ask_of(answer)
    assert (ask.vendor, ask.count, ask.cores, ask.memory, ask.memory_percent) == (
        Vendor.MTHREADS,
        2,
        16,
        None,
        100,
    )
    assert SetAnnotation("mthreads.com/request-gpu-num", "2") in answer.mutations
    assert answer.request is not None
    assert answer.request.one_card


@pytest.mark.parametrize("memory", ["1Mi", "100Mi", "134217727"])
def test_less_than_a_step_of_a_metax_card_is_refused_in_the_word_that_was_read(
    admitted: Answer, memory: str
) -> None:
    code, said = only_refusal(admitted({CORE: "10", MEMORY: memory, SGPU: "1"}))
    assert code == Code.MEMORY_BELOW_ONE_STEP
    assert said == (
        f"container main asks for {MEMORY} '{memory}'; a card is sliced in steps of 128 MiB; write 128Mi or more."
    )


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ("128Mi", []),
        ("1Gi", []),
        ("200Mi", ["so the slice has 128Mi; write 128Mi or 256Mi."]),
        ("1000M", ["so the slice has 896Mi; write 896Mi or 1024Mi."]),
    ],
)
def test_memory_between_two_steps_of_a_metax_card_is_taken_with_a_caution(
    admitted: Answer, memory: str, told: list[str]
) -> None:
    notes = {"metax-tech.com/sgpu-qos-policy": "fixed-share"}
    answer = admitted({CORE: "10", MEMORY: memory, SGPU: "1"}, annotations=notes)
    assert ask_of(answer).memory is not None
    assert [caution.sentence.partition("128 MiB, ")[2] for caution in answer.cautions] == told
    assert all(
        caution.sentence.startswith(f"container main asks for {MEMORY} '{memory}'")
        for caution in answer.cautions
    )
