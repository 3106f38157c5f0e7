"""What Moore Threads users may write, and what it means."""

from collections.abc import Callable

import pytest

from tangram.model.cards import Vendor
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes, from_512mib_units, from_gib
from tangram.vendors.admission import Admission
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.mthreads.tiers import legal_units, memory_tiers
from tangram.vendors.protocol import Mutation, SetAnnotation, SetLimit
from tangram.vendors.settings import AdmissionSettings

Answer = Callable[..., Admission]

GPU = "mthreads.com/gpu"
VGPU = "mthreads.com/vgpu"
CORE = "mthreads.com/sgpu-core"
MEMORY = "mthreads.com/sgpu-memory"
COUNT = "mthreads.com/request-gpu-num"

S4000 = AdmissionSettings()
S5000 = AdmissionSettings(mthreads_memory_per_card=(160,))
LIMITED = AdmissionSettings(compute_limited=frozenset({Vendor.MTHREADS}))
MIXED = AdmissionSettings(mthreads_memory_per_card=(96, 160))


def part(cores: int, memory: Bytes | None, count: int = 1) -> Ask:
    return Ask(
        vendor=Vendor.MTHREADS,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        cores=cores,
        undivided=memory is None or cores == 16,
        vocabulary=Vocabulary.MTHREADS,
    )


def ask_of(answer: Admission) -> Ask:
    assert answer.refusals == ()
    assert answer.request is not None
    return answer.request.containers[0].asks[0]


@pytest.mark.parametrize(
    ("limits", "meant"),
    [
        pytest.param({VGPU: "1"}, part(16, None), id="alone is a card of its own"),
        pytest.param({VGPU: "1", MEMORY: "32", CORE: "8"}, part(8, from_gib(16)), id="a part"),
        pytest.param({VGPU: "1", MEMORY: "32"}, part(0, from_gib(16)), id="memory only reserves no compute"),
        pytest.param({VGPU: "1", CORE: "8"}, part(8, None), id="compute only keeps it and takes all memory"),
        pytest.param({VGPU: "1", CORE: "0", MEMORY: "2"}, part(0, from_gib(1)), id="compute of 0"),
        pytest.param({VGPU: "1", CORE: "8", MEMORY: "96"}, part(8, None), id="all memory"),
        pytest.param({VGPU: "3"}, part(16, None, 3), id="several cards are whole"),
        pytest.param({VGPU: "3", CORE: "48"}, part(16, None, 3), id="all compute of several"),
        pytest.param({VGPU: "3", MEMORY: "288"}, part(16, None, 3), id="all memory of several"),
        pytest.param({VGPU: "8", CORE: "128"}, part(16, None, 8), id="more than 100 units of compute"),
    ],
)
def test_cards_of_the_sliced_pool_mean(admitted: Answer, limits: dict[str, str], meant: Ask) -> None:
    answer = admitted(limits)
    assert ask_of(answer) == meant
    assert answer.request is not None
    assert answer.request.one_card


def test_whole_cards_come_from_the_other_pool(admitted: Answer) -> None:
    answer = admitted({GPU: "2"})
    assert ask_of(answer) == Ask(
        vendor=Vendor.MTHREADS, kind=AskKind.WHOLE, count=2, vocabulary=Vocabulary.MTHREADS
    )
    assert answer.request is not None
    assert not answer.request.one_card
    assert answer.mutations == ()


@pytest.mark.parametrize(
    ("limits", "settings", "mutations"),
    [
        pytest.param(
            {VGPU: "1"},
            S4000,
            (SetLimit("main", CORE, "16"), SetLimit("main", MEMORY, "96")),
            id="one S4000",
        ),
        pytest.param(
            {VGPU: "1"},
            S5000,
            (SetLimit("main", CORE, "16"), SetLimit("main", MEMORY, "160")),
            id="one S5000",
        ),
        pytest.param({VGPU: "1"}, MIXED, (SetLimit("main", CORE, "16"),), id="one of two models"),
        pytest.param(
            {VGPU: "2"},
            S4000,
            (SetAnnotation(COUNT, "2"), SetLimit("main", CORE, "32"), SetLimit("main", MEMORY, "192")),
            id="two S4000",
        ),
        pytest.param(
            {VGPU: "2"},
            MIXED,
            (SetAnnotation(COUNT, "2"), SetLimit("main", CORE, "32")),
            id="two of two models",
        ),
        pytest.param({VGPU: "1", CORE: "8"}, S4000, (SetLimit("main", MEMORY, "96"),), id="compute only"),
        pytest.param({VGPU: "1", MEMORY: "32"}, S4000, (), id="memory only, as HAMi leaves it"),
        pytest.param({VGPU: "1", MEMORY: "32", CORE: "8"}, S4000, (), id="a part"),
    ],
)
def test_missing_limits_are_written_as_far_as_they_are_known(
    admitted: Answer, limits: dict[str, str], settings: AdmissionSettings, mutations: tuple[Mutation, ...]
) -> None:
    assert admitted(limits, settings=settings).mutations == mutations


@pytest.mark.parametrize("settings", [S4000, S5000, MIXED], ids=["S4000", "S5000", "mixed"])
@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({VGPU: "1"}, id="one"),
        pytest.param({VGPU: "2"}, id="two"),
        pytest.param({VGPU: "1", CORE: "4"}, id="compute only"),
        pytest.param({VGPU: "1", MEMORY: "8"}, id="memory only"),
        pytest.param({VGPU: "1", MEMORY: "64", CORE: "1"}, id="a part"),
    ],
)
def test_a_pod_reads_the_same_after_its_own_mutations(
    admitted: Answer, limits: dict[str, str], settings: AdmissionSettings
) -> None:
    first = admitted(limits, settings=settings)
    written = {each.resource: each.value for each in first.mutations if isinstance(each, SetLimit)}
    noted = {each.key: each.value for each in first.mutations if isinstance(each, SetAnnotation)}
    again = admitted({**limits, **written}, annotations=noted, settings=settings)
    assert again.request == first.request
    assert again.mutations == ()


@pytest.mark.parametrize("settings", [S4000, MIXED], ids=["S4000", "mixed"])
@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_what_hamis_webhook_wrote_reads_back_as_whole_cards(
    admitted: Answer, count: int, settings: AdmissionSettings
) -> None:
    written = {VGPU: str(count), CORE: str(16 * count), MEMORY: str(96 * count)}
    assert ask_of(admitted(written, settings=settings)) == part(16, None, count)


def test_a_size_written_by_hand_stays_that_size_where_cards_differ(admitted: Answer) -> None:
    """With two models nothing is injected, so 96 units beside half the compute are meant as 48 GiB."""
    answer = admitted({VGPU: "1", CORE: "8", MEMORY: "96"}, settings=MIXED)
    assert ask_of(answer) == part(8, from_gib(48))


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({VGPU: "1", CORE: "17"}, Code.CORES_OUT_OF_RANGE, id="more than a card's compute"),
        pytest.param({VGPU: "1", MEMORY: "33"}, Code.MEMORY_NOT_A_TIER, id="between two sizes"),
        pytest.param({VGPU: "1", MEMORY: "3"}, Code.MEMORY_NOT_A_TIER, id="no power of two"),
        pytest.param({VGPU: "1", MEMORY: "128"}, Code.MEMORY_NOT_A_TIER, id="beyond the card"),
        pytest.param({VGPU: "2", CORE: "8", MEMORY: "32"}, Code.SEVERAL_CARDS_IN_SLICES, id="parts of two"),
        pytest.param({VGPU: "2", CORE: "16"}, Code.SEVERAL_CARDS_IN_SLICES, id="half the compute of two"),
        pytest.param({VGPU: "2", MEMORY: "96"}, Code.SEVERAL_CARDS_IN_SLICES, id="half the memory of two"),
        pytest.param({CORE: "8", MEMORY: "32"}, Code.SLICE_WITHOUT_COUNT, id="a part of no card"),
        pytest.param({GPU: "1", VGPU: "1"}, Code.WHOLE_AND_SLICE, id="whole and sliced"),
        pytest.param({GPU: "1", MEMORY: "32"}, Code.WHOLE_AND_SLICE, id="part of a whole"),
    ],
)
def test_what_makes_no_slice_is_refused(admitted: Answer, limits: dict[str, str], code: Code) -> None:
    (refusal,) = admitted(limits).refusals
    assert refusal.code == code
    assert all(f"{name} '{text}'" in refusal.sentence for name, text in limits.items() if text != "1")


def test_a_wrong_size_is_refused_in_hamis_words_with_the_size_to_write(admitted: Answer) -> None:
    (refusal,) = admitted({VGPU: "1", MEMORY: "33"}).refusals
    assert refusal.sentence == (
        "sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, 64, 96]: container main asks for"
        " mthreads.com/sgpu-memory '33'; memory is counted in units of 512 MiB, and the sizes that exist are"
        " 2, 4, 8, 16, 32, 64 or 96; write 64, or leave it out for the whole card."
    )


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        pytest.param(S4000, {2, 4, 8, 16, 32, 64, 96}, id="S4000"),
        pytest.param(S5000, {2, 4, 8, 16, 32, 64, 128, 160}, id="S5000"),
        pytest.param(MIXED, {2, 4, 8, 16, 32, 64, 96, 128, 160}, id="both"),
    ],
)
def test_legal_sizes_are_those_of_any_model_in_the_cluster(
    admitted: Answer, settings: AdmissionSettings, sizes: set[int]
) -> None:
    taken = {
        units
        for units in range(1, 200)
        if not admitted({VGPU: "1", CORE: "4", MEMORY: str(units)}, settings=settings).refusals
    }
    assert taken == sizes


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({CORE: "8"}, CautionCode.MEMORY_DEFAULTS_TO_WHOLE_CARD, id="compute without memory"),
        pytest.param({MEMORY: "32"}, CautionCode.NO_COMPUTE_RESERVED, id="memory without compute"),
        pytest.param({MEMORY: "32", CORE: "0"}, CautionCode.NO_COMPUTE_RESERVED, id="compute of 0"),
    ],
)
def test_what_is_rarely_meant_is_taken_with_a_caution(
    admitted: Answer, limits: dict[str, str], code: CautionCode
) -> None:
    answer = admitted({VGPU: "1", **limits}, settings=LIMITED)
    assert [caution.code for caution in answer.cautions] == [code]
    assert answer.request is not None


def test_containers_with_slices_share_the_pods_one_card(admitted: Answer) -> None:
    answer = admitted({VGPU: "1", CORE: "4", MEMORY: "16"}, {VGPU: "1", CORE: "4", MEMORY: "16"})
    assert answer.request is not None
    assert answer.request.one_card


@pytest.mark.parametrize(
    ("first", "second", "blamed"),
    [
        pytest.param({VGPU: "2"}, {VGPU: "1"}, ["main"], id="several beside one"),
        pytest.param({VGPU: "1"}, {VGPU: "2"}, ["second"], id="one beside several"),
        pytest.param({VGPU: "2"}, {VGPU: "2"}, ["main", "second"], id="several beside several"),
        pytest.param({GPU: "1"}, {VGPU: "1"}, ["main"], id="a whole card beside a slice"),
    ],
)
def test_a_pod_that_can_never_share_one_card_is_refused(
    admitted: Answer, first: dict[str, str], second: dict[str, str], blamed: list[str]
) -> None:
    refusals = admitted(first, second).refusals
    assert {refusal.code for refusal in refusals} == {Code.ONE_CARD_PER_POD}
    assert [refusal.container for refusal in refusals] == blamed


def test_containers_may_each_have_whole_cards(admitted: Answer) -> None:
    answer = admitted({GPU: "2"}, {GPU: "1"})
    assert answer.refusals == ()
    assert answer.request is not None
    assert not answer.request.one_card


def test_a_size_above_the_largest_card_is_warned_of_when_that_is_known(admitted: Answer) -> None:
    known = AdmissionSettings(
        mthreads_memory_per_card=(96, 160),
        largest_memory={Vendor.MTHREADS: from_gib(48)},
        compute_limited=frozenset({Vendor.MTHREADS}),
    )
    answer = admitted({VGPU: "1", CORE: "8", MEMORY: "128"}, settings=known)
    (caution,) = answer.cautions
    assert caution.code == CautionCode.MEMORY_ABOVE_LARGEST_CARD
    assert "64 GiB of one card" in caution.sentence
    assert answer.request is not None
    assert admitted({VGPU: "1", CORE: "8", MEMORY: "96"}, settings=known).cautions == ()


# ----------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("gib", "tiers"),
    [
        pytest.param(48, [1, 2, 4, 8, 16, 32, 48], id="S4000"),
        pytest.param(80, [1, 2, 4, 8, 16, 32, 64, 80], id="S5000"),
        pytest.param(32, [1, 2, 4, 8, 16, 32], id="S3000"),
        pytest.param(1, [1], id="no larger than the smallest"),
    ],
)
def test_a_card_can_be_cut_into_powers_of_two_and_itself(gib: int, tiers: list[int]) -> None:
    assert memory_tiers(from_gib(gib)) == tuple(from_gib(tier) for tier in tiers)


@pytest.mark.parametrize(
    ("limits", "codes"),
    [
        pytest.param({CORE: "8", MEMORY: "32"}, [CautionCode.COMPUTE_IS_A_WEIGHT], id="half a card"),
        pytest.param({CORE: "15", MEMORY: "32"}, [CautionCode.COMPUTE_IS_A_WEIGHT], id="almost all"),
        pytest.param({CORE: "16", MEMORY: "32"}, [], id="all compute has no neighbour"),
        pytest.param({}, [], id="a card of its own"),
        pytest.param({MEMORY: "32"}, [CautionCode.NO_COMPUTE_RESERVED], id="none was asked"),
    ],
)
def test_an_author_hears_that_compute_is_no_ceiling_unless_every_card_makes_it_one(
    admitted: Answer, limits: dict[str, str], codes: list[CautionCode]
) -> None:
    # HAMi's page: "does not exceed the boundary". Its module starts with a policy that limits nothing.
    assert [each.code for each in admitted({VGPU: "1", **limits}).cautions] == codes
    limited = admitted({VGPU: "1", **limits}, settings=LIMITED).cautions
    assert CautionCode.COMPUTE_IS_A_WEIGHT not in [each.code for each in limited]


def test_a_card_of_an_odd_size_can_still_be_had_whole() -> None:
    odd = Bytes(from_gib(3) + 7)
    # Its whole units are a size too: six of them, as pods and kubelets count.
    assert memory_tiers(odd) == (from_gib(1), from_gib(2), from_gib(3), odd)
    assert memory_tiers(Bytes(0)) == ()


@pytest.mark.parametrize("shapes", [(96,), (160,), (96, 160), (3,), (1,)])
def test_units_and_bytes_agree_on_what_is_legal(shapes: tuple[int, ...]) -> None:
    sizes = {size for units in shapes for size in memory_tiers(from_512mib_units(units))}
    assert [from_512mib_units(units) for units in legal_units(shapes)] == sorted(sizes)


@pytest.mark.parametrize("shapes", [(), (0,), (96, -1)])
def test_impossible_cards_cannot_be_configured(shapes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="units of 512 MiB"):
        AdmissionSettings(mthreads_memory_per_card=shapes)
