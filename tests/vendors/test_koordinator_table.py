"""Every combination of Koordinator's words, held against a statement of its rules that is not the program's."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.requests import run
from builders.tenants import ledger_of, rules
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.model.verdicts import CardRule
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.vendors.admission import Admission, admit
from tangram.vendors.completed import completed
from vendors.koordinator_rules import (
    BESIDE,
    CORE,
    GIB,
    GPU,
    MEMORY,
    MIB,
    RATIO,
    SHARED,
    STRICTER,
    Cards,
    Said,
    combinations,
    completed_by_koordinator,
    expected,
    taken_by_koordinator,
)

BOTH = pytest.mark.parametrize("vendor", BESIDE)
QOS = "metax-tech.com/sgpu-qos-policy"


def pod(
    limits: Mapping[str, str],
    requests: Mapping[str, str] | None = None,
    *,
    role: Role = Role.APP,
    annotations: Mapping[str, str] | None = None,
) -> Pod:
    asking = Container("main", role, limits=dict(limits), requests=dict(requests or {}))
    return Pod(
        ref=PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1")),
        containers=(asking, Container("plain")),
        annotations=dict(annotations or {}),
    )


def meaning(answer: Admission, vendor: Vendor) -> Cards | frozenset[str]:
    """What admission made of a pod, in the words of the rules; Moore Threads' sixteenths are looked at elsewhere."""
    if answer.request is None:
        assert len(set(answer.refusals)) == len(answer.refusals)
        return frozenset(str(refusal.code) for refusal in answer.refusals)
    (ask,) = answer.request.containers[0].asks
    assert ask.vendor is vendor
    assert ask.cores is not None
    return Cards(ask.count, ask.cores, ask.memory, ask.memory_percent)


def codes(asked: Pod) -> list[str]:
    return [str(refusal.code) for refusal in admit(asked).refusals]


def in_sixteenths(wanted: Cards | frozenset[str], vendor: Vendor) -> Cards | frozenset[str]:
    if vendor is Vendor.METAX or isinstance(wanted, frozenset):
        return wanted
    return wanted._replace(core=-(-wanted.core * 16 // 100))


def reasons(vendor: Vendor) -> set[str]:
    """Why a pod that Koordinator takes may be refused; MetaX cards can be cut to any size."""
    return set(STRICTER) - ({"memory-not-a-tier"} if vendor is Vendor.METAX else set())


@BOTH
def test_every_combination_means_what_the_rules_say(vendor: Vendor) -> None:
    wrong: list[tuple[Said, int | None, object, object]] = []
    seen: set[str] = set()
    for said in combinations():
        for beside in (None, 1, 2):
            asked = said.limits() | ({} if beside is None else {BESIDE[vendor]: str(beside)})
            wanted = in_sixteenths(expected(said, beside, vendor), vendor)
            found = meaning(admit(pod(asked)), vendor)
            seen |= wanted if isinstance(wanted, frozenset) else {"taken"}
            if found != wanted:
                wrong.append((said, beside, found, wanted))
    assert wrong[:5] == []
    assert seen == {"taken", "koordinator-without-vendor", "koordinator-combination", *reasons(vendor)}


@BOTH
def test_nothing_is_taken_that_koordinator_would_not_take_and_what_is_refused_more_has_its_reason(
    vendor: Vendor,
) -> None:
    stricter: set[str] = set()
    for said in combinations():
        for beside in (1, 2):
            found = meaning(admit(pod({**said.limits(), BESIDE[vendor]: str(beside)})), vendor)
            if isinstance(found, Cards):
                assert taken_by_koordinator(said), said
            elif taken_by_koordinator(said):
                assert found & reasons(vendor), said
                stricter |= found
    assert stricter == reasons(vendor)


@BOTH
def test_a_pod_that_is_taken_is_completed_as_koordinators_webhook_completes_it(vendor: Vendor) -> None:
    taken = 0
    for said in combinations():
        count = completed_by_koordinator(said).shared or 1
        asked = pod({**said.limits(), BESIDE[vendor]: str(count)})
        answer = admit(asked)
        if answer.request is None:
            continue
        taken += 1
        wanted = {**completed_by_koordinator(said).limits(), BESIDE[vendor]: str(count)}
        if vendor is Vendor.MTHREADS:
            (ask,) = answer.request.containers[0].asks
            assert ask.cores is not None
            each = 96 * ask.memory_percent // 100 if ask.memory is None else ask.memory // (512 * MIB)
            wanted |= {"mthreads.com/sgpu-core": str(count * ask.cores)}
            wanted |= {"mthreads.com/sgpu-memory": str(count * each)}
        stored = completed(asked, answer.mutations)
        assert stored.containers[0].limits == wanted
        written = {
            name: text for name, text in wanted.items() if asked.containers[0].limits.get(name) != text
        }
        assert stored.containers[0].requests == written
        assert stored.containers[1] == Container("plain")
    assert taken >= 20


BASES = [
    Said(gpu=50),
    Said(core=50, memory=GIB),
    Said(core=50, ratio=50),
    Said(shared=1, core=50, memory=GIB),
    Said(shared=1, core=50, ratio=50),
]
ODD = {
    "": "amount-empty",
    "many": "amount-unreadable",
    "-50": "amount-negative",
    "0.5": "amount-fractional",
    "500m": "amount-fractional",
    "99999999999999999999": "amount-too-large",
    "0": "amount-zero",
}
ZERO_SAYS_NOTHING = {MEMORY: "koordinator-combination", RATIO: "koordinator-combination"}


@BOTH
@pytest.mark.parametrize("text", ODD)
def test_no_number_that_cannot_be_one_is_ever_passed_over(vendor: Vendor, text: str) -> None:
    for base in BASES:
        words = {**base.limits(), BESIDE[vendor]: "1"}
        for name in words:
            code = ODD[text] if text != "0" else ZERO_SAYS_NOTHING.get(name, ODD[text])
            assert code in codes(pod({**words, name: text})), (words, name)


@BOTH
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(GPU, "the requested GPU must be greater than zero", id="gpu"),
        pytest.param(SHARED, "the requested GPU must be greater than zero", id="gpu.shared"),
        pytest.param(CORE, "gpu core resource is required", id="gpu-core"),
        pytest.param(MEMORY, "GPU memory and GPU memory ratio all is zero", id="gpu-memory"),
        pytest.param(RATIO, "GPU memory and GPU memory ratio all is zero", id="gpu-memory-ratio"),
    ],
)
def test_a_zero_is_refused_in_koordinators_own_words(vendor: Vendor, name: str, text: str) -> None:
    base = next(each.limits() for each in BASES if name in each.limits())
    (refusal,) = admit(pod({**base, name: "0", BESIDE[vendor]: "1"})).refusals
    assert refusal.sentence.startswith(f"{text}: container main asks for ")
    assert f"{name} '0'" in refusal.sentence


@BOTH
@pytest.mark.parametrize("zero", [MEMORY, RATIO])
def test_a_zero_beside_the_other_way_to_state_memory_says_nothing(vendor: Vendor, zero: str) -> None:
    other = {RATIO: "100"} if zero == MEMORY else {MEMORY: "16Gi"}
    words = {CORE: "50", **other, BESIDE[vendor]: "1"}
    answer = admit(pod({**words, zero: "0"}))
    assert meaning(answer, vendor) == meaning(admit(pod(words)), vendor)
    assert "koordinator-combination" not in codes(pod({**words, zero: "0"}))


@BOTH
@pytest.mark.parametrize("role", Role)
def test_init_containers_and_sidecars_are_read_and_completed_like_any_other(
    vendor: Vendor, role: Role
) -> None:
    """Koordinator's webhook passes over init containers, and `koordinator.sh/gpu` in one then fits nowhere."""
    words = {GPU: "100", BESIDE[vendor]: "1"}
    asked = pod(words, role=role)
    answer = admit(asked)
    assert answer.request is not None
    assert answer.request.containers[0].role is role
    stored = completed(asked, answer.mutations).containers[0].limits
    assert {name: stored[name] for name in (CORE, RATIO, SHARED)} == {CORE: "100", RATIO: "100", SHARED: "1"}
    assert GPU not in stored


@BOTH
@pytest.mark.parametrize("base", BASES)
def test_requests_are_the_limits_or_are_left_out(vendor: Vendor, base: Said) -> None:
    words = {**base.limits(), BESIDE[vendor]: "1"}
    wanted = meaning(admit(pod(words)), vendor)
    assert meaning(admit(pod(words, words)), vendor) == wanted
    for name, text in words.items():
        rest = {other: value for other, value in words.items() if other != name}
        spelled = {**words, name: f"{text}000m"}
        assert meaning(admit(pod(words, spelled)), vendor) == wanted, "the same number in another spelling"
        assert meaning(admit(pod(rest, words)), vendor) == {"request-without-limit"}, name
        assert meaning(admit(pod(words, {**words, name: "7"})), vendor) == {"limit-differs-from-request"}, (
            name
        )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        pytest.param("1Gi", GIB, id="GiB"),
        pytest.param("1024Mi", GIB, id="MiB"),
        pytest.param("1048576Ki", GIB, id="KiB"),
        pytest.param("1073741824", GIB, id="bytes"),
        pytest.param("1.5Gi", 1536 * MIB, id="half a GiB more"),
        pytest.param("2e9", 1907 * MIB, id="an exponent, floored to MiB"),
        pytest.param("4G", 3814 * MIB, id="decimal gigabytes, floored to MiB"),
        pytest.param("500000k", 476 * MIB, id="decimal kilobytes, floored to MiB"),
        pytest.param("128Mi", 128 * MIB, id="the least"),
        pytest.param("1Mi", "memory-below-one-step", id="less than a step"),
        pytest.param("1048575", "memory-below-one-mib", id="a byte less"),
        pytest.param("1M", "memory-below-one-mib", id="a decimal megabyte is less"),
        pytest.param("16", "memory-below-one-mib", id="GiB are meant and bytes are written"),
    ],
)
def test_memory_is_bytes_with_any_of_kubernetes_units(text: str, size: int | str) -> None:
    found = meaning(admit(pod({CORE: "10", MEMORY: text, BESIDE[Vendor.METAX]: "1"})), Vendor.METAX)
    assert found == ({size} if isinstance(size, str) else Cards(1, 10, size, 100))


# ------------------------------------------------------------------------- what stands beside the words


@BOTH
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        pytest.param("kubernetes.io/gpu", GPU, id="gpu"),
        pytest.param("kubernetes.io/gpu-core", CORE, id="core"),
        pytest.param("kubernetes.io/gpu-memory", MEMORY, id="memory"),
        pytest.param("kubernetes.io/gpu-memory-ratio", RATIO, id="ratio"),
        pytest.param("kubernetes.io/rdma", "koordinator.sh/rdma", id="rdma"),
    ],
)
def test_a_former_spelling_beside_our_cards_is_refused_with_the_present_one(
    vendor: Vendor, name: str, instead: str
) -> None:
    """Read by nobody, it would make a tenth of a card a whole one."""
    (refusal,) = admit(pod({name: "10", BESIDE[vendor]: "1"})).refusals
    assert refusal.code == "koordinator-former-name"
    assert refusal.sentence.endswith(f"write {instead} instead.")
    assert admit(pod({name: "10"})) == Admission(ours=False)


@BOTH
@pytest.mark.parametrize("name", ["koordinator.sh/rdma", "koordinator.sh/fpga"])
@pytest.mark.parametrize("words", [Said(core=50, memory=16 * GIB), Said()])
def test_devices_that_nobody_here_places_are_refused_beside_cards(
    vendor: Vendor, name: str, words: Said
) -> None:
    asked = {**words.limits(), BESIDE[vendor]: "1"}
    assert meaning(admit(pod({**asked, name: "100"})), vendor) == {"koordinator-other-device"}
    assert admit(pod({name: "100"})) == Admission(ours=False)


@BOTH
@pytest.mark.parametrize("name", ["nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu", "huawei.com/npu-core"])
def test_another_makers_name_beside_koordinators_words_is_refused_in_koordinators_words(
    vendor: Vendor, name: str
) -> None:
    (refusal,) = admit(pod({CORE: "50", MEMORY: "16Gi", BESIDE[vendor]: "1", name: "1"})).refusals
    assert refusal.code == "koordinator-other-vendor"
    named = f"{name} {CORE} {MEMORY}"
    assert refusal.sentence.startswith(
        f"invalid resource device requests: [{named}]: container main asks for "
    )
    (refusal,) = admit(pod({CORE: "50", MEMORY: "16Gi", name: "1"})).refusals
    assert refusal.code == "koordinator-other-vendor", (
        "whose cards are meant is clear, and that they are not ours"
    )
    bound = msgspec.structs.replace(pod({CORE: "50", MEMORY: "16Gi", name: "1"}), node_name=NodeName("n1"))
    assert meaning(admit(bound), vendor) == {"koordinator-without-vendor"}
    assert admit(pod({name: "1"})) == Admission(ours=False)


# ------------------------------------------------------------------------------------------ QoS policies


def in_koordinators_words(policy: str | None) -> Admission:
    words = {SHARED: "1", CORE: "10", MEMORY: "1Gi", BESIDE[Vendor.METAX]: "1"}
    return admit(pod(words, annotations={} if policy is None else {QOS: policy}))


@pytest.mark.parametrize(
    ("policy", "qos"),
    [(None, QosPolicy.BEST_EFFORT), *((each.value, each) for each in QosPolicy)],
)
def test_the_qos_annotation_is_honoured_and_defaults_to_best_effort(
    policy: str | None, qos: QosPolicy
) -> None:
    answer = in_koordinators_words(policy)
    assert answer.request is not None
    assert answer.request.qos is qos


def test_an_unknown_qos_policy_is_refused_although_koordinator_never_looks() -> None:
    assert meaning(in_koordinators_words("fast"), Vendor.METAX) == {"qos-unknown"}


def test_a_card_has_one_policy_at_a_time_in_koordinators_words_too() -> None:
    ledger = ledger_of(metax_node("n", 1))
    first, like, other = (
        in_koordinators_words(each).request for each in ("fixed-share", "fixed-share", None)
    )
    assert first is not None
    assert like is not None
    assert other is not None
    assert run(ledger, first) is not None
    assert rules(ledger, like) == [CardRule.FITS]
    assert rules(ledger, other) == [CardRule.QOS]


# --------------------------------------------------------------------------------------- whatever is said

percents = st.integers(0, 500) | st.sampled_from([100, 200, 300, 2**31])
words = st.fixed_dictionaries(
    {},
    optional={
        GPU: percents.map(str),
        SHARED: st.integers(0, 4).map(str),
        CORE: percents.map(str),
        MEMORY: st.sampled_from(["0", "512Ki", "1Gi", "16Gi", "96Gi"]) | st.integers(0, 2**38).map(str),
        RATIO: percents.map(str),
    },
).filter(bool)


@given(words, st.integers(0, 4), st.sampled_from(sorted(BESIDE)))
def test_what_is_asked_for_sums_up_to_the_words(said: dict[str, str], beside: int, vendor: Vendor) -> None:
    answer = admit(pod({**said, BESIDE[vendor]: str(beside)}))
    assert (answer.request is None) == bool(answer.refusals)
    if answer.request is None:
        return
    (ask,) = answer.request.containers[0].asks
    core, memory = int(said.get(GPU) or said[CORE]), said.get(MEMORY, "0")
    units = 100 if vendor is Vendor.METAX else 16
    assert ask.count == beside
    assert ask.cores == -(-core * units // (100 * ask.count))
    if memory == "0":
        assert ask.memory is None
        assert ask.memory_percent * ask.count == int(said.get(GPU) or said[RATIO])
    else:
        assert ask.memory is not None
        total = int(memory) if memory.isdigit() else int(memory[:-2]) * GIB
        assert 0 <= total - ask.memory * ask.count < ask.count * MIB
