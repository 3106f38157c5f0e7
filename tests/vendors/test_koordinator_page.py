"""Two sections of `docs/koordinator.md` show what a pod may say in Koordinator's words, and cannot go stale.

They are made from the rows below: run this file with Python to write them again.
"""

from pathlib import Path
from typing import Final

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.model.topology import TopologyScope
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.units.memory import memory_text
from tangram.vendors.admission import Admission, admit
from tangram.vendors.protocol import RemoveResource, SetLimit
from tangram.wire.koordinator.hints import read_hints
from vendors.koordinator_rules import BESIDE, STRICTER

PAGE: Final = Path(__file__).parents[2] / "docs" / "koordinator.md"
WORDS_HEADING: Final = "## What a pod may ask\n"
HINTS_HEADING: Final = "## Hints\n"
NEXT_HEADING: Final = "## What is written at bind\n"

COMBINATION_AND_CORE: Final = "koordinator-combination koordinator-core-missing"
UNIT_AND_SEVERAL: Final = "koordinator-unit several-cards-in-slices"
ASKED: Final[list[tuple[str, int, str, str]]] = [
    # What is written under koordinator.sh/, the number of cards beside it, and what it means for each vendor.
    ("gpu.shared 1, gpu-core 10, gpu-memory 16Gi", 1, "taken", "taken"),
    ("gpu-core 10, gpu-memory 16Gi", 1, "taken", "taken"),
    ("gpu-core 50, gpu-memory-ratio 25", 1, "taken", "memory-not-a-tier"),
    ("gpu-core 50, gpu-memory-ratio 100", 1, "taken", "taken"),
    ("gpu 50", 1, "taken", "memory-not-a-tier"),
    ("gpu 100", 1, "taken", "taken"),
    ("gpu 200", 2, "taken", "taken"),
    ("gpu-core 200, gpu-memory-ratio 200", 2, "taken", "taken"),
    ("gpu.shared 2, gpu-core 200, gpu-memory-ratio 200", 2, "taken", "taken"),
    ("gpu-core 10, gpu-memory 16Gi, gpu-memory-ratio 0", 1, "taken", "taken"),
    ("gpu-memory 16Gi", 1, "koordinator-core-missing", "koordinator-core-missing"),
    ("gpu-core 10", 1, "koordinator-combination", "koordinator-combination"),
    ("gpu.shared 1", 1, COMBINATION_AND_CORE, COMBINATION_AND_CORE),
    ("gpu.shared 1, gpu-core 10", 1, "koordinator-combination", "koordinator-combination"),
    (
        "gpu-core 10, gpu-memory 16Gi, gpu-memory-ratio 25",
        1,
        "koordinator-combination",
        "koordinator-combination",
    ),
    ("gpu 100, gpu.shared 1", 1, "koordinator-combination", "koordinator-combination"),
    ("gpu 100, gpu-core 50", 1, "koordinator-combination", "koordinator-combination"),
    ("gpu 150", 1, "koordinator-unit", "koordinator-unit"),
    ("gpu-core 150, gpu-memory 16Gi", 1, "koordinator-unit", "koordinator-unit"),
    ("gpu-core 200, gpu-memory-ratio 50", 1, "koordinator-unit", "koordinator-unit"),
    (
        "gpu.shared 2, gpu-core 15, gpu-memory-ratio 20",
        2,
        UNIT_AND_SEVERAL,
        UNIT_AND_SEVERAL,
    ),
    ("gpu.shared 2, gpu-core 20, gpu-memory 32Gi", 2, "several-cards-in-slices", "several-cards-in-slices"),
    ("gpu-core 200, gpu-memory 64Gi", 2, "several-cards-in-slices", "several-cards-in-slices"),
    ("gpu-core 10, gpu-memory 512Ki", 1, "memory-below-one-mib", "memory-below-one-mib"),
    ("gpu-core 10, gpu-memory 16Gi", 2, "koordinator-count-mismatch", "koordinator-count-mismatch"),
    ("gpu-core 10, gpu-memory 16Gi", 0, "amount-zero", "amount-zero"),
]

PREFIX: Final = "scheduling.koordinator.sh/"
HINTED: Final[list[tuple[str, str, str]]] = [
    # The annotation, its text, and the scope that it means or the code that it earns.
    ("device-allocate-hint", '{"gpu":{"requiredTopologyScope":"Device"}}', "link"),
    ("device-allocate-hint", '{"gpu":{"requiredTopologyScope":"PCIe"}}', "pcie"),
    ("device-allocate-hint", '{"gpu":{"requiredTopologyScope":"NUMANode"}}', "numa"),
    ("device-allocate-hint", '{"gpu":{"requiredTopologyScope":"Node"}}', "node"),
    ("device-allocate-hint", '{"gpu":{"selector":{"matchLabels":{"a":"b"}}}}', "hint-unsupported"),
    ("device-allocate-hint", '{"gpu":{"vfSelector":{"matchLabels":{"a":"b"}}}}', "hint-unsupported"),
    ("device-allocate-hint", '{"gpu":{"allocateStrategy":"ApplyForAll"}}', "hint-unsupported"),
    ("device-allocate-hint", '{"gpu":{"exclusivePolicy":"PCIeLevel"}}', "hint-unsupported"),
    ("device-allocate-hint", '{"rdma":{"allocateStrategy":"ApplyForAll"}}', "hint-other-device"),
    ("device-joint-allocate", '{"deviceTypes":["gpu"],"requiredScope":"SamePCIe"}', "nothing"),
    ("device-joint-allocate", '{"deviceTypes":["gpu","rdma"]}', "hint-other-device"),
    ("gpu-partition-spec", '{"allocatePolicy":"Restricted"}', "link"),
    ("gpu-partition-spec", '{"allocatePolicy":"BestEffort"}', "link"),
    ("gpu-partition-spec", '{"ringBusBandwidth":"200Gi"}', "hint-unsupported"),
    ("numa-topology-spec", '{"numaTopologyPolicy":"SingleNUMANode"}', "numa"),
    ("numa-topology-spec", '{"numaTopologyPolicy":"BestEffort"}', "numa first"),
    ("numa-topology-spec", '{"numaTopologyPolicy":"Restricted"}', "hint-unsupported"),
    ("numa-topology-spec", '{"numaTopologyPolicy":""}', "nothing"),
    ("numa-topology-spec", '{"singleNUMANodeExclusive":"Required"}', "hint-unsupported"),
]

SCOPES: Final = {
    TopologyScope.LINK: "the cards are all linked with each other (`link`)",
    TopologyScope.PCIE: "the cards lie under one PCIe host bridge (`pcie`)",
    TopologyScope.NUMA: "the cards lie on one NUMA node (`numa`)",
    TopologyScope.NODE: "the cards are of one node, as always (`node`)",
}

BEFORE_THE_TABLE = """
The same five words for both vendors, under `limits` and, if at all, with the same numbers under `requests`. They are
totals over the pod's cards. Beside them stands the vendor's own resource with the number of cards:
`metax-tech.com/sgpu` or `mthreads.com/vgpu`, for whole cards of nodes that offer them whole also `metax-tech.com/gpu`
or `mthreads.com/gpu`. It says whose cards are meant, and makes the kubelet ask for them. Moore Threads' column is for
cards of 48 GiB; they are cut in sixteenths of compute and in the sizes they have. Codes are those of
[refusals.md](refusals.md); the answer has each of them.
"""

AFTER_THE_TABLE = """
`gpu-memory` takes any unit of Kubernetes and is floored to MiB. A `gpu-memory` or `gpu-memory-ratio` of 0 says nothing,
as in Koordinator; any other 0, and every number that is negative, fractional or beyond 2147483647, is refused.

What the webhook writes into such a pod, in `limits` and `requests` alike, is what Koordinator's own webhook writes:

| The container says | It gets | It loses |
|---|---|---|
"""

STRICTER_THAN = """
Whatever is taken here Koordinator takes too. What it takes and Tangram refuses, and why:

| Code | Why |
|---|---|
"""

DECIDED: Final = {
    "`metax-tech.com/gpu`, `mthreads.com/gpu` beside these words": "Taken where the words mean as many whole cards:"
    " `gpu-core` and `gpu-memory-ratio` of 100 for each, or `gpu`. The pod gets cards that are offered whole, and no"
    " virtual function. Less than a card, and `gpu-memory` in bytes, is refused (`koordinator-mixed-words`), though"
    " koord-scheduler takes it: the kubelet gives whole cards.",
    "`vcore`, `vmemory`, `sgpu-core` and the like beside these words": "Refused (`koordinator-mixed-words`), though"
    " koord-scheduler takes them: it is not clear which of the two counts.",
    "Init containers": "Read and completed like any other, sidecars too. Koordinator's webhook passes over them, and"
    " `koordinator.sh/gpu` in one then fits nowhere.",
    "Two containers that ask for cards": "Refused (`koordinator-several-containers`) where one of them uses these"
    " words: the pod's annotations hold one list of cards. In the vendor's own words a pod may have several.",
    "`koordinator.sh/rdma`, `koordinator.sh/fpga`": "Refused beside cards (`koordinator-other-device`); without cards"
    " the pod is not Tangram's business.",
    "`nvidia.com/gpu`, `amd.com/gpu`, `dcu.com/gpu`, `huawei.com/npu-*`": "Refused beside these words"
    " (`koordinator-other-vendor`), as by koord-scheduler.",
    "`kubernetes.io/gpu`, `-core`, `-memory`, `-memory-ratio`": "Refused beside cards with the present spelling"
    " (`koordinator-former-name`); only koord-scheduler translates them.",
    "`metax-tech.com/sgpu-qos-policy`": "[the cluster's policy](scheduler-config.md#the-policy-of-slices), usually"
    " `best-effort`, where the pod says nothing, and written down; an unknown word is"
    " refused; a card runs one policy at a time.",
    "A pod that is bound already": "Only what it asks for is read, for counting. Hints and what stands beside were its"
    " own scheduler's to judge.",
}

HINTS_INTRO = """
A hint is honoured or the pod is refused with a sentence; none is passed over, and a field that Koordinator does not
have is refused too. A hint on a pod that asks for no card of ours is not looked at. All are read for both vendors
alike.

| Annotation `scheduling.koordinator.sh/` | Text | What happens |
|---|---|---|
"""

HINTS_END = """
Empty texts, `null` and empty fields say nothing, except that `gpu-partition-spec` means a linked group even without a
policy, as in Koordinator.

Several hints, and `tangram.dev/required-scope`, count together. Cards under one host bridge are on one NUMA node, and
all are of one node, so the narrower of such scopes meets both. Linked cards may lie on two NUMA nodes: `link` together
with `pcie` or `numa` is refused (`scope-conflict`).

The label `koordinator.sh/gpu-isolation-provider` is refused (`isolation-provider`): the cards' driver keeps containers
apart. Of `numa-topology-spec` the cards are placed; processors and memory remain the kubelet's to align.
"""


def pod(limits: dict[str, str], annotations: dict[str, str] | None = None) -> Pod:
    return Pod(
        ref=PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1")),
        containers=(Container("main", Role.APP, limits=limits),),
        annotations=annotations or {},
        hints=read_hints(annotations or {}, {}),
    )


def limits_of(words: str, beside: int, vendor: Vendor) -> dict[str, str]:
    said = dict(word.split(" ") for word in words.split(", "))
    return {**{f"koordinator.sh/{name}": text for name, text in said.items()}, BESIDE[vendor]: str(beside)}


def outcome(answer: Admission) -> str:
    return "taken" if answer.request is not None else " ".join(codes(answer))


def codes(answer: Admission) -> list[str]:
    """Each once: two words may have the same fault."""
    return list(dict.fromkeys(str(refusal.code) for refusal in answer.refusals))


def meaning(answer: Admission) -> str:
    if answer.request is None:
        return f"refused: {', '.join(f'`{code}`' for code in codes(answer))}"
    (ask,) = answer.request.containers[0].asks
    cards = "1 card" if ask.count == 1 else f"{ask.count} cards"
    compute = f"{ask.cores} %" if ask.vendor is Vendor.METAX else f"{ask.cores}/16"
    memory = f"{ask.memory_percent} %" if ask.memory is None else memory_text(ask.memory)
    each = " each" if ask.count > 1 else ""
    return f"{cards}: {compute} of compute, {memory} of memory{each}"


def asked_rows() -> list[str]:
    rows: list[str] = []
    for words, beside, _, _ in ASKED:
        told = [meaning(admit(pod(limits_of(words, beside, vendor)))) for vendor in BESIDE]
        said = ", ".join(f"`{word}`" for word in words.split(", "))
        rows.append(f"| {said} | {beside} | {told[0]} | {told[1]} |")
    return ["| Words | Cards beside | MetaX | Moore Threads |", "|---|---|---|---|", *rows]


def completed_rows() -> list[str]:
    rows: list[str] = []
    for words, beside, metax, _ in ASKED:
        mutations = admit(pod(limits_of(words, beside, Vendor.METAX))).mutations
        added = [f"`{each.resource}: {each.value}`" for each in mutations if isinstance(each, SetLimit)]
        lost = [f"`{each.resource}`" for each in mutations if isinstance(each, RemoveResource)]
        if metax == "taken" and added:
            said = ", ".join(f"`{word}`" for word in words.split(", "))
            rows.append(f"| {said} | {', '.join(added)} | {', '.join(lost) or 'nothing'} |")
    return rows


def hint_effect(key: str, text: str) -> str:
    answer = admit(pod(limits_of("gpu 200", 2, Vendor.METAX), {PREFIX + key: text}))
    if answer.request is None:
        return str(answer.refusals[0].code)
    if answer.request.required_scope is not None:
        return answer.request.required_scope.value
    return "numa first" if answer.request.numa_first else "nothing"


def hint_rows() -> list[str]:
    rows: list[str] = []
    for key, text, _ in HINTED:
        answer = admit(pod(limits_of("gpu 200", 2, Vendor.METAX), {PREFIX + key: text}))
        if answer.request is None:
            refusal = answer.refusals[0]
            # The sentence repeats the text before its first semicolon.
            told = f"refused (`{refusal.code}`): {refusal.sentence.split('; ', 1)[1]}"
        elif answer.request.required_scope is not None:
            told = SCOPES[answer.request.required_scope]
        else:
            told = "cards of one NUMA node first" if answer.request.numa_first else "nothing to do"
        rows.append(f"| `{key}` | `{text}` | {told} |")
    return rows


def sections() -> tuple[str, str]:
    stricter = [f"| `{code}` | {why} |" for code, why in STRICTER.items()]
    words = [BEFORE_THE_TABLE, "\n".join(asked_rows()), AFTER_THE_TABLE + "\n".join(completed_rows())]
    decided = [f"| {question} | {answer} |" for question, answer in DECIDED.items()]
    words += [STRICTER_THAN + "\n".join(stricter), "\nThe rest:\n"]
    words += ["\n".join(["| Question | Answer |", "|---|---|", *decided]) + "\n"]
    return "\n".join(words) + "\n", HINTS_INTRO + "\n".join(hint_rows()) + "\n" + HINTS_END + "\n"


def parts(page: str) -> tuple[str, str, str, str]:
    """What stands before the two sections, each of them, and what stands after."""
    before, _, rest = page.partition(WORDS_HEADING)
    words, _, rest = rest.partition(HINTS_HEADING)
    hints, _, after = rest.partition(NEXT_HEADING)
    return before, words, hints, after


def test_every_row_of_words_gets_the_answer_that_was_written_down_for_it() -> None:
    for words, beside, metax, mthreads in ASKED:
        for vendor, wanted in ((Vendor.METAX, metax), (Vendor.MTHREADS, mthreads)):
            assert outcome(admit(pod(limits_of(words, beside, vendor)))) == wanted, (words, vendor)


def test_every_row_of_hints_has_the_effect_that_was_written_down_for_it() -> None:
    for key, text, wanted in HINTED:
        assert hint_effect(key, text) == wanted, (key, text)


def test_the_two_sections_are_what_these_rows_make() -> None:
    _, words, hints, _ = parts(PAGE.read_text("utf-8"))
    assert (words, hints) == sections(), "run this file with Python to write the two sections again"


if __name__ == "__main__":
    before, _, _, after = parts(PAGE.read_text("utf-8"))
    made = sections()
    PAGE.write_text(f"{before}{WORDS_HEADING}{made[0]}{HINTS_HEADING}{made[1]}{NEXT_HEADING}{after}", "utf-8")
