"""`docs/refusals.md` shows every code with a pod that earns it and the sentence it gets, and cannot go stale.

The page is made from the examples below: run this file with Python to write it again. Its last parts, about the
cluster and the node agent, have tests of their own.
"""

from pathlib import Path

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.crowded import MOST_CONTAINERS
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.koordinator.hints import read_hints

PAGE = Path(__file__).parent.parent.parent / "docs" / "refusals.md"
OTHERS = "\n## When the cluster has a say"

SETTINGS = AdmissionSettings(largest_memory={Vendor.METAX: from_gib(63)})
LIMITED = msgspec.structs.replace(SETTINGS, compute_limited=frozenset({Vendor.MTHREADS}))
RENAMED = AdmissionSettings(renamed={"example.com/share": "metax-tech.com/sgpu"})

SGPU = {"metax-tech.com/sgpu": "1"}
VGPU = {"mthreads.com/vgpu": "1"}
HINT = "scheduling.koordinator.sh/device-allocate-hint"
NUMA = "scheduling.koordinator.sh/numa-topology-spec"
SLICE = {"koordinator.sh/gpu-core": "10", "koordinator.sh/gpu-memory": "1Gi"}


def pod(
    *limits: dict[str, str],
    notes: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    privileged: bool = False,
    labels: dict[str, str] | None = None,
) -> Pod:
    """A pod with one container for each mapping of limits; requests and privilege go to the first."""
    names = ("main", "second")
    containers = [Container(name, limits=each) for name, each in zip(names, limits, strict=False)]
    containers[0] = msgspec.structs.replace(containers[0], requests=requests or {}, privileged=privileged)
    ref = PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1"))
    hints = read_hints(notes or {}, labels or {})
    return Pod(
        ref=ref, containers=tuple(containers), annotations=notes or {}, labels=labels or {}, hints=hints
    )


def init_only() -> Pod:
    demo = pod(SGPU)
    return msgspec.structs.replace(demo, containers=(Container("fetch", Role.INIT),))


def many_containers() -> Pod:
    demo = pod(SGPU)
    more = tuple(Container(f"c{number}") for number in range(MOST_CONTAINERS))
    return msgspec.structs.replace(demo, containers=(*demo.containers, *more))


REFUSED: dict[Code, Pod] = {
    Code.NO_CONTAINERS: init_only(),
    Code.PRIVILEGED: pod(SGPU, privileged=True),
    Code.TOO_MANY_CONTAINERS: many_containers(),
    Code.AMOUNT_EMPTY: pod({"metax-tech.com/gpu": ""}),
    Code.AMOUNT_UNREADABLE: pod({"metax-tech.com/gpu": "two"}),
    Code.AMOUNT_ZERO: pod({"mthreads.com/vgpu": "0"}),
    Code.AMOUNT_NEGATIVE: pod({"metax-tech.com/sgpu": "-1"}),
    Code.AMOUNT_FRACTIONAL: pod({**SGPU, "metax-tech.com/vmemory": "1.5"}),
    Code.AMOUNT_TOO_LARGE: pod({"mthreads.com/gpu": "3000000000"}),
    Code.LIMIT_DIFFERS_FROM_REQUEST: pod({"metax-tech.com/gpu": "2"}, requests={"metax-tech.com/gpu": "1"}),
    Code.REQUEST_WITHOUT_LIMIT: pod({}, requests={"metax-tech.com/gpu": "1"}),
    Code.HOST_AMOUNT: pod({**SGPU, "cpu": "much"}),
    Code.RESOURCE_RENAMED: pod(SGPU),
    Code.TWO_VENDORS: pod({**SGPU, **VGPU}),
    Code.WHOLE_AND_SLICE: pod({**SGPU, "metax-tech.com/gpu": "1"}),
    Code.SLICE_WITHOUT_COUNT: pod({"metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "4"}),
    Code.CORES_OUT_OF_RANGE: pod({**SGPU, "metax-tech.com/vcore": "150"}),
    Code.MEMORY_BELOW_ONE_MIB: pod({**SGPU, "metax-tech.com/vmemory": "512Ki"}),
    Code.MEMORY_BELOW_ONE_STEP: pod({**SGPU, "metax-tech.com/vmemory": "100Mi"}),
    Code.MEMORY_AMBIGUOUS: pod({**SGPU, "metax-tech.com/vmemory": "2000"}),
    Code.MEMORY_NOT_A_TIER: pod({**VGPU, "mthreads.com/sgpu-memory": "33"}),
    Code.SEVERAL_CARDS_IN_SLICES: pod({"mthreads.com/vgpu": "2", "mthreads.com/sgpu-core": "8"}),
    Code.ONE_CARD_PER_POD: pod({"mthreads.com/vgpu": "2"}, VGPU),
    Code.KOORDINATOR_WITHOUT_VENDOR: pod(SLICE),
    Code.KOORDINATOR_MIXED_WORDS: pod({**SLICE, **SGPU, "metax-tech.com/vcore": "10"}),
    Code.KOORDINATOR_COMBINATION: pod({**SLICE, **SGPU, "koordinator.sh/gpu-memory-ratio": "10"}),
    Code.KOORDINATOR_CORE_MISSING: pod({**SGPU, "koordinator.sh/gpu-memory": "1Gi"}),
    Code.KOORDINATOR_UNIT: pod({**SGPU, "koordinator.sh/gpu": "150"}),
    Code.KOORDINATOR_COUNT_MISMATCH: pod({**SLICE, "metax-tech.com/sgpu": "2"}),
    Code.KOORDINATOR_SEVERAL_CONTAINERS: pod({**SLICE, **SGPU}, {**SLICE, **SGPU}),
    Code.KOORDINATOR_OTHER_VENDOR: pod({**SLICE, **SGPU, "nvidia.com/gpu": "1"}),
    Code.KOORDINATOR_OTHER_DEVICE: pod({**SLICE, **SGPU, "koordinator.sh/rdma": "100"}),
    Code.KOORDINATOR_FORMER_NAME: pod({**SGPU, "kubernetes.io/gpu-core": "10"}),
    Code.NODE_POLICY_UNKNOWN: pod(SGPU, notes={"hami.io/node-scheduler-policy": "bin-pack"}),
    Code.CARD_POLICY_UNKNOWN: pod(SGPU, notes={"hami.io/gpu-scheduler-policy": "binpack,fastest"}),
    Code.CARD_POLICY_REPEATED: pod(SGPU, notes={"hami.io/gpu-scheduler-policy": "numa,binpack,numa"}),
    Code.WEIGHTS_MALFORMED: pod(SGPU, notes={"hami.io/device-scoring-weights": "slot=1,core=1"}),
    Code.NOT_A_BOOLEAN: pod(SGPU, notes={"nvidia.com/numa-bind": "yes"}),
    Code.SCOPE_UNKNOWN: pod(SGPU, notes={"tangram.dev/required-scope": "rack"}),
    Code.SCOPE_CONFLICT: pod(
        SGPU, notes={"tangram.dev/required-scope": "link", NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    ),
    Code.HINT_MALFORMED: pod(SGPU, notes={HINT: "PCIe"}),
    Code.HINT_FIELD_UNKNOWN: pod(SGPU, notes={HINT: '{"gpu":{"requiredScope":"PCIe"}}'}),
    Code.HINT_SCOPE_UNKNOWN: pod(SGPU, notes={HINT: '{"gpu":{"requiredTopologyScope":"Rack"}}'}),
    Code.HINT_WORD_UNKNOWN: pod(SGPU, notes={NUMA: '{"numaTopologyPolicy":"single"}'}),
    Code.HINT_UNSUPPORTED: pod(SGPU, notes={NUMA: '{"numaTopologyPolicy":"Restricted"}'}),
    Code.HINT_OTHER_DEVICE: pod(
        SGPU, notes={"scheduling.koordinator.sh/device-joint-allocate": '{"deviceTypes":["gpu","rdma"]}'}
    ),
    Code.ISOLATION_PROVIDER: pod(SGPU, labels={"koordinator.sh/gpu-isolation-provider": "HAMi-core"}),
    Code.QOS_UNKNOWN: pod(SGPU, notes={"metax-tech.com/sgpu-qos-policy": "fast"}),
    Code.APP_CLASS_UNKNOWN: pod(SGPU, notes={"metax-tech.com/sgpu-app-class": "Online"}),
    Code.APP_CLASS_SEVERAL_CARDS: pod(
        {"metax-tech.com/sgpu": "2"}, notes={"metax-tech.com/sgpu-app-class": "online"}
    ),
    Code.MACA_UNKNOWN: pod(SGPU, notes={"tangram.dev/maca": "newest"}),
    Code.LIST_WITH_GAP: pod(SGPU, notes={"metax-tech.com/use-gpuuuid": "GPU-1,,GPU-2"}),
    Code.LIST_ENTRY_UNREADABLE: pod(SGPU, notes={"metax-tech.com/use-gpuuuid": "GPU-1 GPU-2"}),
    Code.LIST_LEAVES_NOTHING: pod(
        SGPU, notes={"metax-tech.com/use-gpuuuid": "GPU-1", "metax-tech.com/nouse-gpuuuid": "GPU-1"}
    ),
    Code.LIST_FOR_ONE_VENDOR: pod(SGPU, VGPU, notes={"metax-tech.com/use-gpuuuid": "GPU-1"}),
}

CAUTIONED: dict[CautionCode, Pod] = {
    CautionCode.COMPUTE_DEFAULTS_TO_WHOLE_CARD: pod({**SGPU, "metax-tech.com/vmemory": "4"}),
    CautionCode.MEMORY_DEFAULTS_TO_WHOLE_CARD: pod({**VGPU, "mthreads.com/sgpu-core": "8"}),
    CautionCode.MEMORY_ABOVE_LARGEST_CARD: pod(
        {**SGPU, "metax-tech.com/vcore": "25", "metax-tech.com/vmemory": "64"},
        notes={"metax-tech.com/sgpu-qos-policy": "fixed-share"},
    ),
    CautionCode.COMPUTE_NOT_LIMITED: pod(
        {**SGPU, "metax-tech.com/vcore": "60", "metax-tech.com/vmemory": "4"}
    ),
    CautionCode.CARD_COUNT_FRAGMENTS: pod({"metax-tech.com/gpu": "3"}),
    CautionCode.NO_COMPUTE_RESERVED: pod({**VGPU, "mthreads.com/sgpu-memory": "32"}),
    CautionCode.COMPUTE_IS_A_WEIGHT: pod(
        {**VGPU, "mthreads.com/sgpu-memory": "32", "mthreads.com/sgpu-core": "8"}
    ),
    CautionCode.COMPUTE_ROUNDED_UP: pod({**SLICE, **VGPU}),
    CautionCode.MEMORY_ROUNDED_DOWN: pod(
        {**SGPU, "metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "200Mi"},
        notes={"metax-tech.com/sgpu-qos-policy": "fixed-share"},
    ),
    CautionCode.LISTED_IN_BOTH: pod(
        SGPU, notes={"metax-tech.com/use-gpuuuid": "GPU-1,GPU-2", "metax-tech.com/nouse-gpuuuid": "GPU-2"}
    ),
    CautionCode.LIST_NEEDS_NAMED_CARDS: pod(
        {"metax-tech.com/gpu": "1"}, notes={"metax-tech.com/use-gpuuuid": "GPU-1"}
    ),
    CautionCode.PRODUCT_UNKNOWN: pod(SGPU, notes={"metax-tech.com/use-gputype": "C5000"}),
    CautionCode.ANNOTATION_WITHOUT_EFFECT: pod(
        {"metax-tech.com/gpu": "1"}, notes={"metax-tech.com/sgpu-qos-policy": "fixed-share"}
    ),
}

INTRODUCTION = """\
# Refusals and cautions

When a pod asks for cards in a way that cannot be meant, or can never be met, it is refused before it is scheduled. The
answer is one sentence for each fault: what was read; what is legal; what to do instead. Every fault of a pod is in the
answer, of very many the first eight; one that follows from another is left out. What can never be met and is
not refused is among [the scheduler's limits](scheduler.md#limits).

The codes are stable and their set is closed; sentences may be reworded. Where HAMi or Koordinator has a text of its own
for the same fault, the sentence begins with it, letter for letter. The examples are read with the default settings,
and with 63 GiB as the most that can be sliced of a MetaX card, as of a C500; that of `resource-renamed` in a cluster
that calls the resource `example.com/share`. `compute-is-a-weight` is left out of the other examples: it comes with
every slice of a Moore Threads card, unless all such cards known run policy `fixed-share`
([gpu-device.md](gpu-device.md)).

This page is made from the examples in `tests/vendors/test_refusals_page.py` by running that file.
"""

CAUTIONS = """\
## Cautions

These pods are taken, and their author is told.
"""


def example(of: Pod) -> str:
    """What the pod says, without what every pod says."""
    parts: list[str] = []
    few = of.containers[:2]
    for container in few if len(few) == len(of.containers) else few[:1]:
        said = [f"`{name}: {text!r}`" for name, text in container.limits.items()]
        said += [f"`{name}: {text!r}` in requests" for name, text in container.requests.items()]
        said += ["`privileged: true`"] if container.privileged else []
        said = said or [f"{container.role} container only"]
        parts.append("<br>".join(said))
    if len(of.containers) > len(few):
        parts.append(f"{len(of.containers) - 1} more containers")
    notes = [f"`{key}: {text}`" for key, text in of.annotations.items()]
    notes += [f"label `{key}: {text}`" for key, text in of.labels.items()]
    return "<br>".join(["<br>beside<br>".join(parts), *notes])


def table(rows: list[tuple[str, Pod, str]]) -> str:
    lines = ["| Code | A pod says | The answer |", "|---|---|---|"]
    lines += [
        f"| `{code}` | {example(of)} | {sentence.replace('|', chr(92) + '|')} |"
        for code, of, sentence in rows
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    refused = [(code, REFUSED[code], sole_refusal(code)) for code in Code]
    cautioned = [(code, CAUTIONED[code], sole_caution(code)) for code in CautionCode]
    return "\n".join([INTRODUCTION, table([*refused]), CAUTIONS, table([*cautioned])])


def sole_refusal(code: Code) -> str:
    (refusal,) = admit(REFUSED[code], RENAMED if code is Code.RESOURCE_RENAMED else SETTINGS).refusals
    assert refusal.code == code
    return refusal.sentence


def sole_caution(code: CautionCode) -> str:
    weights = code is CautionCode.COMPUTE_IS_A_WEIGHT
    answer = admit(CAUTIONED[code], SETTINGS if weights else LIMITED)
    (caution,) = answer.cautions
    assert caution.code == code
    assert answer.request is not None
    return caution.sentence


def test_every_code_has_an_example_that_earns_it_and_nothing_else() -> None:
    assert [code for code in Code if code not in REFUSED or not sole_refusal(code)] == []
    assert [code for code in CautionCode if code not in CAUTIONED or not sole_caution(code)] == []


def test_sentences_are_for_people() -> None:
    sentences = [*map(sole_refusal, Code), *map(sole_caution, CautionCode)]
    assert [
        each for each in sentences if not each.isprintable() or "<" in each or not each.endswith(".")
    ] == []


def test_no_two_codes_share_a_sentence() -> None:
    sentences = [sole_refusal(code) for code in Code]
    assert len(set(sentences)) == len(sentences)


def test_the_page_is_what_these_examples_make() -> None:
    assert PAGE.read_text("utf-8").partition(OTHERS)[0] == page(), (
        "run this file with Python to write docs/refusals.md again"
    )


if __name__ == "__main__":
    _, heading, rest = PAGE.read_text("utf-8").partition(OTHERS)
    PAGE.write_text(f"{page()}{heading}{rest}", "utf-8")
