"""The last part of `docs/refusals.md` shows every code of the agent with the sentence it gives, and cannot go stale.

It is made from the examples below: run this file with Python to write it again.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from builders.starts import (
    GIVEN,
    GPU,
    HAMI_SLICE,
    NODE,
    SGPU,
    TWO_METAX,
    bound,
    held,
    inventory,
    limits,
    metax,
    mthreads,
    noted,
    sliced,
    starting,
    uuid,
    written,
)
from tangram.model.cards import CardMode
from tangram.model.pods import Phase
from tangram.model.refusals import Refusal
from tangram.services.gpu_device import refusing
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard import check, check_whole
from tangram.services.gpu_device.identify import identify
from tangram.services.gpu_device.peers import candidate
from tangram.services.gpu_device.records import BoundPod, Inventory, Late
from tangram.services.gpu_device.unserved import runs_without
from tangram.units.ids import PodUid
from tangram.vendors.mthreads.names import SGPU_CORE
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices

PAGE = Path(__file__).parents[3] / "docs" / "refusals.md"
HEADING = "## When a container starts"

ONE = sliced("demo", (0, 4, 10), at=2)
SLOT = "metax-sgpu-3"


def named(
    *notes: CheckpointedAllocation, shown: tuple[HeldDevices, ...] = (), ids: tuple[str, ...] = (SLOT,)
) -> object:
    pods = {ONE.kubelet_uid: ONE}
    return identify(SGPU, ids, notes=Checkpoint(notes, ()), held=shown, pods=pods, named={})


def unread() -> object:
    trouble = WireError("checkpoint-unknown", "the kubelet's device checkpoint has a form that is not known")
    return identify(SGPU, (SLOT,), notes=trouble, held=(), pods={}, named={})


def slices(who: BoundPod, *others: BoundPod, on: Inventory = TWO_METAX, ids: int = 1) -> object:
    return check(starting(who, ids=ids), on, [who, *others], ())


def whole(unit: str, on: Inventory, *others: BoundPod, granted: bool = False) -> object:
    pod = bound("demo", {GPU: "1"}, on=on, at=2)
    given = {each.kubelet_uid for each in others} if granted else set[PodUid]()
    return check_whole(starting(pod, resource=GPU, ids=(unit,)), on, [pod, *others], given)


def forged(*parts: tuple[int, int, int]) -> BoundPod:
    return bound("demo", limits(), annotations={HAMI_SLICE: written(parts)}, at=2)


def other(*part: int, qos: str = "best-effort", app_class: str = "") -> BoundPod:
    card, gib, cores = part
    return sliced("other", (card, gib, cores), qos=qos, app_class=app_class)


SICK = inventory(metax(0, healthy=False))
MIXED = inventory(metax(0), metax(1, CardMode.WHOLE))
PER_POD = f'[[{{"uuid":"{uuid(0)}","compute":10,"vRam":4096}}]]'

EXAMPLES: dict[StartCode, tuple[str, Callable[[], object]]] = {
    StartCode.START_WITHOUT_IDS: ("the kubelet names no id", lambda: named(ids=())),
    StartCode.START_UNNOTED: ("the kubelet's notes lack the id; waited for", named),
    StartCode.START_UNLISTED: (
        "the notes name a container that PodResources lacks; waited for",
        lambda: named(noted("uid-demo", "c0", SLOT)),
    ),
    StartCode.POD_UNKNOWN: (
        "a pod that the agent has not seen; waited for",
        lambda: named(noted("uid-new", "c0", SLOT)),
    ),
    StartCode.CONTAINER_UNKNOWN: (
        "a container that the pod does not have",
        lambda: named(noted("uid-demo", "x", SLOT)),
    ),
    StartCode.HOLDERS_SEVERAL: (
        "the notes give an id to two pods",
        lambda: named(noted("uid-demo", "c0", SLOT), noted("uid-old", "c0", SLOT)),
    ),
    StartCode.HOLDERS_DISAGREE: (
        "notes and PodResources name different pods",
        lambda: named(noted("uid-demo", "c0", SLOT), shown=(held("other", "c0", SLOT),)),
    ),
    StartCode.NOTES_UNREADABLE: ("a kubelet of an unknown version, and an init container perhaps", unread),
    StartCode.WAITING_NONE: ("without CDI: nobody waits for so much", lambda: candidate(SGPU, 1, (), ())),
    StartCode.WAITING_SEVERAL: (
        "without CDI: two pods wait for as much",
        lambda: candidate(SGPU, 1, (ONE, sliced("other", (0, 4, 10))), ()),
    ),
    StartCode.POD_OVER: (
        "the pod has failed",
        lambda: slices(sliced("demo", (0, 4, 10), phase=Phase.FAILED)),
    ),
    StartCode.ALLOCATION_MISSING: (
        "a slice placed by kube-scheduler",
        lambda: slices(bound("demo", limits(), scheduler="default-scheduler")),
    ),
    StartCode.ALLOCATION_UNREADABLE: (
        "an allocation that is none",
        lambda: slices(bound("demo", limits(), annotations={HAMI_SLICE: "a card;"})),
    ),
    StartCode.ALLOCATION_PER_POD: (
        "Koordinator's list for two containers",
        lambda: slices(bound("demo", limits(), limits(), annotations={GIVEN: PER_POD})),
    ),
    StartCode.REQUEST_REFUSED: (
        "a request that admission refuses",
        lambda: slices(bound("demo", limits(cores=150), annotations={HAMI_SLICE: written([(0, 4, 10)])})),
    ),
    StartCode.MORE_THAN_ASKED: ("4 GiB asked, 40 GiB written", lambda: slices(forged((0, 40, 10)))),
    StartCode.SLOTS_MISMATCH: ("two slots for one slice", lambda: slices(ONE, ids=2)),
    StartCode.CARD_UNKNOWN: ("a card of another node", lambda: slices(forged((7, 4, 10)))),
    StartCode.CARD_OF_OTHER_VENDOR: (
        "a MetaX slice of a Moore Threads card",
        lambda: slices(sliced("demo", (0, 4, 10), on=inventory(mthreads(0))), on=inventory(mthreads(0))),
    ),
    StartCode.CARD_NOT_SLICED: (
        "a slice of a card that is offered whole",
        lambda: slices(sliced("demo", (1, 4, 10), on=MIXED), on=MIXED),
    ),
    StartCode.CARD_NOT_WHOLE: ("a whole card that is sliced by now", lambda: whole(uuid(0), MIXED)),
    StartCode.CARD_UNHEALTHY: (
        "a card that fails before the pod starts",
        lambda: slices(sliced("demo", (0, 4, 10), on=SICK), on=SICK),
    ),
    StartCode.MEMORY_IMPOSSIBLE: (
        "less than the kernel can make a slice of",
        lambda: slices(bound("demo", limits(), annotations={HAMI_SLICE: f"{uuid(0)},Metax-SGPU,100,10:;"})),
    ),
    StartCode.MEMORY_OVERSOLD: ("an earlier pod has the memory", lambda: slices(ONE, other(0, 62, 10))),
    StartCode.COMPUTE_OVERSOLD: ("an earlier pod has the compute", lambda: slices(ONE, other(0, 4, 95))),
    StartCode.SLOTS_OVERSOLD: (
        "16 earlier slices",
        lambda: slices(ONE, *(sliced(f"other-{number}", (0, 1, 1)) for number in range(16))),
    ),
    StartCode.CARD_EXCLUSIVE: (
        "a whole card's compute beside somebody",
        lambda: slices(sliced("demo", (0, 4, 100), at=2), other(0, 4, 0)),
    ),
    StartCode.QOS_CLASH: (
        "another policy on the card",
        lambda: slices(ONE, other(0, 4, 10, qos="fixed-share")),
    ),
    StartCode.APP_CLASS_CLASH: (
        "a class beside none",
        lambda: slices(ONE, other(0, 4, 10, app_class="offline")),
    ),
    StartCode.CARD_HELD_WHOLE: (
        "more unnamed whole-card pods than whole cards",
        lambda: slices(
            sliced("demo", (0, 4, 10), at=2, on=MIXED), bound("other", {GPU: "2"}, on=MIXED), on=MIXED
        ),
    ),
    StartCode.CARD_PROMISED: (
        "a whole card of which a pod was given a slice",
        lambda: whole(uuid(1), MIXED, sliced("other", (1, 4, 10), on=MIXED), granted=True),
    ),
    StartCode.RUNS_WITHOUT_CARDS: (
        "a peer sent a slice to a node without slices, and the kubelet started the pod without it",
        lambda: runs_without(sliced("demo", (1, 4, 10), on=MIXED), NODE),
    ),
    StartCode.CLAIM_UNKNOWN: ("the pod was admitted by another plugin", lambda: refusing.claim_unknown("c0")),
    StartCode.GRANT_CHANGED: (
        "the allocation was changed after the first start, or the slice was lost",
        lambda: refusing.grant_changed("c0"),
    ),
    StartCode.CDI_UNWRITABLE: (
        "the disk is full",
        lambda: refusing.cdi_unwritable("c0", "No space left on device"),
    ),
    StartCode.MACA_ABSENT: (
        "the pod names a version of MXMACA that the node lacks",
        lambda: refusing.maca_absent("c0", "2.31.0.4", "/opt/maca-2.31.0.4", ["2.29.0.1", "2.30.0.2"]),
    ),
    StartCode.MEMORY_MISSING: ("compute without memory", lambda: refusing.memory_missing("c0", SGPU_CORE)),
    StartCode.ANSWERED_OTHERWISE: (
        "without CDI: the pod was admitted while several waited",
        lambda: refusing.answered_otherwise("c0"),
    ),
}

INTRODUCTION = f"""\
{HEADING}

The node agent judges once more, when the kubelet is about to start a container: annotations can be written by many, and
cards change. A refusal only delays: the pod waits with this sentence in an event, and the kubelet asks again every 10
to 15 seconds. Which of two pods is refused never depends on who starts first: it is the one that was bound later.
Containers that restart are not refused for a card's health. Codes that begin with `driver-` carry the driver's own
sentence: what it refused, and what helps. `runs-without-cards` stops nothing: such a container runs already, and
the kubelet never asked for its card.

This part is made from the examples in `tests/services/gpu_device/test_guard_page.py` by running that file.
"""


def refusal(code: StartCode) -> Refusal:
    answer = EXAMPLES[code][1]()
    found = answer.refusal if isinstance(answer, Late) else answer
    assert isinstance(found, Refusal), (code, answer)
    assert found.code == code, found
    return found


def part() -> str:
    rows = [f"| `{code}` | {EXAMPLES[code][0]} | {refusal(code).sentence} |" for code in StartCode]
    return "\n".join([INTRODUCTION, "| Code | What happens | The answer |", "|---|---|---|", *rows]) + "\n"


def test_every_code_of_the_agent_has_an_example_that_earns_it() -> None:
    assert [code for code in StartCode if code not in EXAMPLES or not refusal(code)] == []


def test_sentences_of_the_agent_are_for_people() -> None:
    sentences = [refusal(code).sentence for code in StartCode]
    assert [each for each in sentences if not each.isprintable() or "<" in each or "|" in each] == []
    assert [each for each in sentences if not each.endswith(".")] == []
    assert len(set(sentences)) == len(sentences)


def test_a_refusal_says_the_same_each_time() -> None:
    for code in StartCode:
        assert msgspec.json.encode(refusal(code)) == msgspec.json.encode(refusal(code))


def test_the_part_of_the_page_is_what_these_examples_make() -> None:
    _, heading, rest = PAGE.read_text("utf-8").partition(HEADING)
    assert heading + rest == part(), "run this file with Python to write it again"


if __name__ == "__main__":
    before, _, _ = PAGE.read_text("utf-8").partition(HEADING)
    PAGE.write_text(f"{before.rstrip()}\n\n{part()}", "utf-8")
