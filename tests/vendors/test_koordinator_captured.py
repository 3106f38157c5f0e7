"""What the real koord-scheduler and koord-manager 1.8.0 made of each request: ours is the same, or is named here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tangram.model.requests import Ask
from tangram.vendors.admission import Admission
from tangram.vendors.codes import Code
from tangram.vendors.protocol import RemoveResource, SetLimit
from vendors.koordinator_rules import Said, completed_by_koordinator, taken_by_koordinator

Answer = Callable[..., Admission]
Json = dict[str, Any]

FILE = Path(__file__).parent.parent / "data" / "captures" / "koordinator-1.8.0.json"
CAPTURE: Json = json.loads(FILE.read_text("utf-8"))
REQUESTS: dict[str, Json] = CAPTURE["requests"]
BESIDE = {"mx64": "metax-tech.com/sgpu", "mt48": "mthreads.com/vgpu"}
SHORT = {
    "gpu": "gpu",
    "shared": "gpu.shared",
    "core": "gpu-core",
    "memory": "gpu-memory",
    "ratio": "gpu-memory-ratio",
}
UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 1000, "M": 1000**2}

INVALID = ("invalid resource device requests", "invalid resource unit")
FULL = "Insufficient "

COUNTED_AS_NONE = "core 200 memory"
"""Without a ratio the webhook divides the ratio that is not there, and writes 0 cards; the pod fits nowhere after."""

STRICTER: dict[str, tuple[Code, str]] = {
    "shared 0": (Code.AMOUNT_ZERO, "koord-scheduler drops zeros, so a count of 0 means one card"),
    "gpu 0": (Code.AMOUNT_ZERO, "it is bound and gets no card"),
    "gpu 1500m": (
        Code.AMOUNT_FRACTIONAL,
        "the webhook rounds it up to 2 before the API server sees the fraction",
    ),
    "gpu core": (Code.KOORDINATOR_COMBINATION, "the webhook overwrites what stands beside `gpu`"),
    "gpu ratio": (Code.KOORDINATOR_COMBINATION, "the webhook overwrites what stands beside `gpu`"),
    "gpu shared": (Code.KOORDINATOR_COMBINATION, "the webhook takes `gpu` apart before anybody forbids it"),
    "core 0 memory": (Code.AMOUNT_ZERO, "without compute a card's plugin cannot make a slice"),
    "memory": (Code.KOORDINATOR_CORE_MISSING, "without compute a card's plugin cannot make a slice"),
    "ratio 50": (Code.KOORDINATOR_CORE_MISSING, "the same"),
    "ratio 100": (Code.KOORDINATOR_CORE_MISSING, "the same"),
    "ratio 200": (Code.KOORDINATOR_CORE_MISSING, "the same"),
    "shared memory": (Code.KOORDINATOR_CORE_MISSING, "the same"),
    "shared ratio": (Code.KOORDINATOR_CORE_MISSING, "the same"),
    "core memory 512Ki": (Code.MEMORY_BELOW_ONE_MIB, "no plugin makes less than 1 MiB"),
    "core 100 ratio 200": (Code.SEVERAL_CARDS_IN_SLICES, "a part of each of several cards"),
    "shared 2 core memory": (Code.SEVERAL_CARDS_IN_SLICES, "the same"),
    "shared 2 core ratio": (Code.SEVERAL_CARDS_IN_SLICES, "the same"),
    "shared 2 memory odd": (Code.SEVERAL_CARDS_IN_SLICES, "the same"),
    "shared 2 core ratio 100 each whole memory": (Code.SEVERAL_CARDS_IN_SLICES, "the same: bytes are a part"),
}
"""Pods that Koordinator places (some on Moore Threads' nodes only, where it has no adapter) and we refuse."""

BELOW_ONE_STEP = {"core memory 1Mi", "core memory 5000k"}
"""Stricter on MetaX's cards, sliced in steps of 128 MiB: koord-scheduler places it and the card refuses it."""

NO_SUCH_SIZE = (Code.MEMORY_NOT_A_TIER, "koord-scheduler knows nothing of the sizes of Moore Threads' slices")

UNHEARD = {
    # Its webhook takes `gpu` apart, and these two checks come after.
    "the requested GPU must be percentage of 100": {"gpu 150"},
    "Forbidden declare GPU and GPU share at same time": {"gpu shared"},
    # The number of cards is never 0 unless it is written so.
    "the requested GPU must be greater than zero": {"gpu 0"},
    # Two faults, of which it names the other one.
    "gpu core resource is required": {"ratio 150", "npu ratio", "shared alone", "memory ratio"},
}
"""Words of Koordinator's that lead sentences of ours, with the pods of which it says something else."""


def result(case: Json, node: str, *, after_webhook: bool) -> Json | None:
    """What became of it on that node; None where the API server refused it."""
    for part in ("results_after_webhook", "results") if after_webhook else ("results",):
        found: Json = case.get(part, {})
        answer = found.get(node, found.get("any node"))
        if answer is not None:
            return answer
    return None


def placed(answer: Json | None) -> bool:
    return answer is not None and bool(answer.get("written"))


def amount(text: str) -> int:
    digits = text.rstrip("KMGikm")
    return int(digits) * UNITS[text[len(digits) :]]


def said(limits: dict[str, str]) -> Said | None:
    """The words alone; None for a request that has others, or no whole numbers."""
    totals = {short: limits.get(f"koordinator.sh/{name}") for short, name in SHORT.items()}
    if len([each for each in totals.values() if each is not None]) != len(limits):
        return None
    if any(text is not None and text.endswith("m") for text in totals.values()):
        return None
    return Said(**{short: None if text is None else amount(text) for short, text in totals.items()})


WORDED = [pytest.param(name, id=name) for name, case in REQUESTS.items() if said(case["limits"]) is not None]
EACH = pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in REQUESTS])
ON = pytest.mark.parametrize("node", list(BESIDE))


@pytest.mark.parametrize("name", WORDED)
def test_the_table_of_combinations_is_koord_schedulers(name: str) -> None:
    words = said(REQUESTS[name]["limits"])
    answer = result(REQUESTS[name], "mt48", after_webhook=False)
    assert words is not None
    assert answer is not None
    refused = str(answer.get("message", "")).startswith(INVALID)
    if words.counting():
        assert taken_by_koordinator(words) is not refused
    else:
        assert answer == {"written": {}}


@pytest.mark.parametrize("name", WORDED)
def test_the_table_of_conversions_is_the_webhooks(name: str) -> None:
    case = REQUESTS[name]
    words = said(case["limits"])
    became = said(case.get("after_webhook", case["limits"]))
    assert words is not None
    if name == COUNTED_AS_NONE:
        assert became == words._replace(shared=0)
    else:
        assert became == completed_by_koordinator(words)


@EACH
@ON
def test_we_take_what_koordinator_takes_unless_we_are_stricter_by_name(
    admitted: Answer, name: str, node: str
) -> None:
    case = REQUESTS[name]
    answer = admitted({**case["limits"], BESIDE[node]: str(case["cards"] or 1)})
    theirs = result(case, node, after_webhook=True)
    assert theirs is not None
    if answer.request is not None:
        # What is too large for the node is taken, here and there, and waits.
        assert placed(theirs) or FULL in theirs["message"]
    elif placed(theirs):
        below = node == "mx64" and name in BELOW_ONE_STEP
        reason = (Code.MEMORY_BELOW_ONE_STEP, "") if below else STRICTER.get(name, NO_SUCH_SIZE)
        assert reason[0] in [refusal.code for refusal in answer.refusals]
        assert reason is not NO_SUCH_SIZE or node == "mt48"


@EACH
def test_a_sentence_of_ours_begins_with_what_koordinator_says_of_the_same_pod(
    admitted: Answer, name: str
) -> None:
    """Where it says anything: people search for its words."""
    case = REQUESTS[name]
    heard = " ".join(
        [
            str(case.get("validation", "")),
            *(str(each.get("message", "")) for part in ("results", "results_after_webhook")
              for each in case.get(part, {}).values()),
        ]
    )  # fmt: skip
    for node, cards in BESIDE.items():
        for refusal in admitted({**case["limits"], cards: str(case["cards"] or 1)}).refusals:
            lead, _, rest = refusal.sentence.partition(": ")
            if rest and not lead.startswith("container "):
                assert lead in heard or name in UNHEARD.get(lead, ()), (node, refusal.sentence)


@EACH
def test_we_complete_a_pod_as_the_webhook_does(admitted: Answer, name: str) -> None:
    case = REQUESTS[name]
    answer = admitted({**case["limits"], BESIDE["mx64"]: str(case["cards"] or 1)})
    if answer.request is None:
        return
    limits = dict(case["limits"])
    for change in answer.mutations:
        match change:
            case SetLimit(_, resource, value):
                limits[resource] = value
            case RemoveResource(_, resource):
                del limits[resource]
            case _:
                pass
    assert said(limits) == said(case.get("after_webhook", case["limits"]))


@EACH
def test_a_request_means_as_much_of_each_card_as_koord_scheduler_gives(admitted: Answer, name: str) -> None:
    """Seen on MetaX's node, whose adapter writes both amounts down."""
    case = REQUESTS[name]
    theirs = result(case, "mx64", after_webhook=True)
    answer = admitted({**case["limits"], BESIDE["mx64"]: str(case["cards"] or 1)})
    if answer.request is None or theirs is None or not placed(theirs):
        return
    (asks,) = [container.asks for container in answer.request.containers]
    (given,) = json.loads(theirs["written"]["metax-tech.com/gpu-devices-allocated"])
    assert [(each["compute"], each["vRam"]) for each in given] == [
        (ask.cores, mib_of_64gib(ask)) for ask in asks for _ in range(ask.count)
    ]


def mib_of_64gib(ask: Ask) -> int:
    return 2**16 * ask.memory_percent // 100 if ask.memory is None else ask.memory // 2**20


def test_every_named_difference_was_captured() -> None:
    assert {*STRICTER, *BELOW_ONE_STEP, COUNTED_AS_NONE}.union(*UNHEARD.values()) <= set(REQUESTS)
    assert len(REQUESTS) == 68


def test_an_unknown_numa_policy_is_no_test_of_koord_schedulers() -> None:
    """It ends the whole scheduler of 1.8.0, again at every start; the policies it knows were recorded."""
    assert {text.partition(" ")[2] for text in CAPTURE["numa"] if text.startswith("mx8")} == {
        "SingleNUMANode",
        "Restricted",
        "BestEffort",
    }
