"""How a pod says which nodes and cards it prefers, allows and avoids."""

from collections.abc import Callable

import msgspec
import pytest

from tangram.model.pods import Container, Hints, Pod, ScopeWish
from tangram.model.refusals import Refusal
from tangram.model.requests import CardOrder, CardWeights, NodePolicy, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import NodeName
from tangram.vendors.admission import Admission, admit
from tangram.vendors.codes import CautionCode, Code

Answer = Callable[..., Admission]

METAX = {"metax-tech.com/sgpu": "1"}
MTHREADS = {"mthreads.com/vgpu": "1"}

NODE_POLICY = "hami.io/node-scheduler-policy"
CARD_POLICY = "hami.io/gpu-scheduler-policy"
WEIGHTS = "hami.io/device-scoring-weights"
NUMA = "nvidia.com/numa-bind"
SCOPE = "tangram.dev/required-scope"


def request_of(answer: Admission) -> Request:
    assert answer.refusals == ()
    assert answer.request is not None
    return answer.request


def only_code(answer: Admission) -> str:
    (refusal,) = answer.refusals
    return refusal.code


def test_a_pod_that_says_nothing_leaves_everything_to_the_cluster(admitted: Answer) -> None:
    request = request_of(admitted(METAX))
    assert (request.node_policy, request.card_order, request.weights) == (None, (), CardWeights())
    assert (request.numa_first, request.zone_aware, request.required_scope) == (False, None, None)


@pytest.mark.parametrize("policy", [NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG])
def test_node_policies_that_exist(admitted: Answer, policy: NodePolicy) -> None:
    assert request_of(admitted(METAX, annotations={NODE_POLICY: policy.value})).node_policy is policy


@pytest.mark.parametrize("text", ["", "Binpack", "bin-pack", "bestfit", "binpack,spread", " spread"])
def test_any_other_node_policy_is_refused(admitted: Answer, text: str) -> None:
    answer = admitted(METAX, annotations={NODE_POLICY: text})
    assert only_code(answer) == Code.NODE_POLICY_UNKNOWN
    assert f"is {text!r}; it is binpack, spread or frag" in answer.refusals[0].sentence


@pytest.mark.parametrize(
    ("text", "order"),
    [
        pytest.param("binpack", (CardOrder.BINPACK,), id="one"),
        pytest.param("binpack,numa", (CardOrder.BINPACK, CardOrder.NUMA), id="two in their order"),
        pytest.param(" numa , spread ", (CardOrder.NUMA, CardOrder.SPREAD), id="spaces"),
        pytest.param("mutex", (CardOrder.MUTEX,), id="mutex"),
        pytest.param("topology-aware", (CardOrder.TOPOLOGY,), id="topology"),
        pytest.param("", (), id="blank is absent"),
        pytest.param("  ", (), id="spaces are absent"),
    ],
)
def test_card_policies_are_keys_in_their_order(
    admitted: Answer, text: str, order: tuple[CardOrder, ...]
) -> None:
    assert request_of(admitted(METAX, annotations={CARD_POLICY: text})).card_order == order


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("fastest", Code.CARD_POLICY_UNKNOWN, id="unknown"),
        pytest.param("binpack,fastest", Code.CARD_POLICY_UNKNOWN, id="one of two unknown"),
        pytest.param("binpack,,numa", Code.CARD_POLICY_UNKNOWN, id="gap"),
        pytest.param("frag", Code.CARD_POLICY_UNKNOWN, id="a node policy"),
        pytest.param("numa,numa", Code.CARD_POLICY_REPEATED, id="twice"),
    ],
)
def test_card_policies_that_make_no_order_are_refused(admitted: Answer, text: str, code: Code) -> None:
    answer = admitted(METAX, annotations={CARD_POLICY: text})
    assert only_code(answer) == code
    assert repr(text) in answer.refusals[0].sentence


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        pytest.param("slot=1,core=2,memory=3", CardWeights(1, 2, 3), id="in order"),
        pytest.param("memory=3, core = 2 ,slot=+1", CardWeights(1, 2, 3), id="any order, with spaces"),
        pytest.param("slot=0,core=0,memory=1", CardWeights(0, 0, 1), id="zeros"),
    ],
)
def test_weights_name_all_three(admitted: Answer, text: str, weights: CardWeights) -> None:
    assert request_of(admitted(METAX, annotations={WEIGHTS: text})).weights == weights


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="blank"),
        pytest.param("slot=1,core=1", id="one missing"),
        pytest.param("slot=1,core=1,memory=1,memory=1", id="one twice"),
        pytest.param("slot=1,core=1,memory=1,", id="trailing comma"),
        pytest.param("slot=1,core=1,memory=-1", id="negative"),
        pytest.param("slot=1,core=1,memory=1.5", id="fraction"),
        pytest.param("slot=1,core=1,memory=x", id="word"),
        pytest.param("slot=1,core=1,memory=1=1", id="two equals signs"),
        pytest.param("slot=1,core=1,size=1", id="unknown key"),
        pytest.param("slot=0,core=0,memory=0", id="all zero"),
        pytest.param("slot=1,core=1,memory=99999999999", id="huge"),
    ],
)
def test_any_other_weights_are_refused(admitted: Answer, text: str) -> None:
    assert only_code(admitted(METAX, annotations={WEIGHTS: text})) == Code.WEIGHTS_MALFORMED


@pytest.mark.parametrize(("text", "numa_first"), [("true", True), ("0", False)])
def test_numa_binding_counts_for_every_vendor(admitted: Answer, text: str, *, numa_first: bool) -> None:
    for limits in (METAX, MTHREADS):
        assert request_of(admitted(limits, annotations={NUMA: text})).numa_first is numa_first


@pytest.mark.parametrize("text", ["", "yes", "on", "TrUe", " true"])
def test_numa_binding_neither_on_nor_off_is_refused(admitted: Answer, text: str) -> None:
    assert only_code(admitted(METAX, annotations={NUMA: text})) == Code.NOT_A_BOOLEAN


@pytest.mark.parametrize("scope", TopologyScope)
def test_a_required_scope_can_be_written(admitted: Answer, scope: TopologyScope) -> None:
    assert request_of(admitted(METAX, annotations={SCOPE: scope.value})).required_scope is scope


def test_an_unknown_scope_is_refused(admitted: Answer) -> None:
    assert only_code(admitted(METAX, annotations={SCOPE: "rack"})) == Code.SCOPE_UNKNOWN


LINK, PCIE, NUMA_NODE, NODE = TopologyScope


def hinted(*scopes: TopologyScope) -> Hints:
    return Hints(scopes=tuple(ScopeWish(f"annotation {scope}-hint is 'x'", scope) for scope in scopes))


@pytest.mark.parametrize(
    ("ours", "hints", "scope"),
    [
        pytest.param(None, (PCIE,), PCIE, id="the hint alone"),
        pytest.param("numa", (), NUMA_NODE, id="ours alone"),
        pytest.param("numa", (NUMA_NODE,), NUMA_NODE, id="both agree"),
        pytest.param("node", (LINK,), LINK, id="linked cards are of one node"),
        pytest.param("pcie", (NUMA_NODE,), PCIE, id="one switch is on one NUMA node"),
        pytest.param(None, (NODE, NUMA_NODE, PCIE), PCIE, id="three that lie within each other"),
        pytest.param("link", (NUMA_NODE,), None, id="linked cards may be of two NUMA nodes"),
        pytest.param(None, (LINK, PCIE), None, id="two hints of which neither holds the other"),
        pytest.param("node", (NUMA_NODE, LINK), None, id="one that all hold does not help"),
    ],
)
def test_every_scope_that_was_asked_for_is_met_by_one_or_the_pod_is_refused(
    pod_of: Callable[..., Pod],
    ours: str | None,
    hints: tuple[TopologyScope, ...],
    scope: TopologyScope | None,
) -> None:
    plain = pod_of(Container("main", limits=METAX), annotations={} if ours is None else {SCOPE: ours})
    answer = admit(msgspec.structs.replace(plain, hints=hinted(*hints)))
    if scope is None:
        assert only_code(answer) == Code.SCOPE_CONFLICT
        assert "which means 'link'" in answer.refusals[0].sentence
    else:
        assert request_of(answer).required_scope is scope


@pytest.mark.parametrize(
    ("annotation", "hint"), [(None, True), ("true", False), ("true", True), ("false", True)]
)
def test_numa_nodes_come_first_when_anybody_says_so(
    pod_of: Callable[..., Pod], annotation: str | None, *, hint: bool
) -> None:
    notes = {} if annotation is None else {NUMA: annotation}
    pod = pod_of(Container("main", limits=METAX), annotations=notes)
    assert request_of(admit(msgspec.structs.replace(pod, hints=Hints(numa_first=hint)))).numa_first


def test_how_a_bound_pod_was_to_be_placed_no_longer_matters(pod_of: Callable[..., Pod]) -> None:
    """Another scheduler may have honoured what this one cannot, and what the pod holds must be counted."""
    refused = Hints(scopes=hinted(LINK, NUMA_NODE).scopes, refusals=(Refusal("x", "no."),))
    pod = msgspec.structs.replace(pod_of(Container("main", limits=METAX)), hints=refused)
    assert [refusal.code for refusal in admit(pod).refusals] == ["x", Code.SCOPE_CONFLICT]
    bound = msgspec.structs.replace(pod, node_name=NodeName("n1"))
    assert request_of(admit(bound)).required_scope is None


def test_annotations_of_a_pod_without_cards_are_not_our_business(admitted: Answer) -> None:
    answer = admitted({"cpu": "1"}, annotations={NODE_POLICY: "nonsense", NUMA: "nonsense"})
    assert not answer.ours
    assert answer.refusals == ()


# ---------------------------------------------------------------------------------------- card lists

LISTS = [
    pytest.param(METAX, "metax-tech.com", id="MetaX"),
    pytest.param({"metax-tech.com/gpu": "1"}, "metax-tech.com", id="MetaX whole"),
    pytest.param(MTHREADS, "mthreads.ai", id="Moore Threads"),
]


@pytest.mark.parametrize(("limits", "domain"), LISTS)
def test_cards_are_allowed_and_avoided_by_uuid(admitted: Answer, limits: dict[str, str], domain: str) -> None:
    notes = {f"{domain}/use-gpuuuid": " GPU-1 ,GPU-2", f"{domain}/nouse-gpuuuid": "GPU-3"}
    cards = request_of(admitted(limits, annotations=notes)).cards
    assert (cards.only_uuids, cards.not_uuids) == ({"GPU-1", "GPU-2"}, {"GPU-3"})


@pytest.mark.parametrize(("limits", "domain"), LISTS)
@pytest.mark.parametrize("text", ["", "  "])
def test_a_blank_list_constrains_nothing(
    admitted: Answer, limits: dict[str, str], domain: str, text: str
) -> None:
    cards = request_of(admitted(limits, annotations={f"{domain}/use-gpuuuid": text})).cards
    assert cards.only_uuids == frozenset()


@pytest.mark.parametrize(("limits", "domain"), LISTS)
@pytest.mark.parametrize("key", ["use-gpuuuid", "nouse-gpuuuid", "use-gputype", "nouse-gputype"])
@pytest.mark.parametrize("text", ["a,,b", "a,", ",", " ,a"])
def test_a_list_with_a_gap_is_refused(
    admitted: Answer, limits: dict[str, str], domain: str, key: str, text: str
) -> None:
    answer = admitted(limits, annotations={f"{domain}/{key}": text})
    assert only_code(answer) == Code.LIST_WITH_GAP
    assert repr(text) in answer.refusals[0].sentence


def test_an_entry_that_is_no_uuid_is_refused(admitted: Answer) -> None:
    answer = admitted(METAX, annotations={"metax-tech.com/use-gpuuuid": "GPU 1"})
    assert only_code(answer) == Code.LIST_ENTRY_UNREADABLE


def test_a_card_in_both_lists_is_avoided_with_a_caution(admitted: Answer) -> None:
    notes = {"metax-tech.com/use-gpuuuid": "GPU-1,GPU-2", "metax-tech.com/nouse-gpuuuid": "GPU-2"}
    answer = admitted(METAX, annotations=notes)
    assert [caution.code for caution in answer.cautions] == [CautionCode.LISTED_IN_BOTH]
    assert request_of(answer).cards.not_uuids == {"GPU-2"}


@pytest.mark.parametrize(
    ("use", "avoid"),
    [
        pytest.param(("use-gpuuuid", "GPU-1"), ("nouse-gpuuuid", "GPU-1,GPU-2"), id="cards"),
        pytest.param(("use-gputype", "MXC500X"), ("nouse-gputype", "c500"), id="models"),
    ],
)
def test_lists_that_leave_no_card_are_refused(
    admitted: Answer, use: tuple[str, str], avoid: tuple[str, str]
) -> None:
    notes = {f"metax-tech.com/{use[0]}": use[1], f"metax-tech.com/{avoid[0]}": avoid[1]}
    assert only_code(admitted(METAX, annotations=notes)) == Code.LIST_LEAVES_NOTHING


@pytest.mark.parametrize(
    ("limits", "domain", "text", "words"),
    [
        pytest.param(METAX, "metax-tech.com", "MXC500", {"C500"}, id="branded MetaX"),
        pytest.param(METAX, "metax-tech.com", "C500, c550", {"C500", "c550"}, id="bare MetaX"),
        pytest.param(MTHREADS, "mthreads.ai", "MTT S4000", {"S4000"}, id="branded Moore Threads"),
        pytest.param(MTHREADS, "mthreads.ai", "S5000", {"S5000"}, id="bare Moore Threads"),
    ],
)
def test_models_are_listed_with_or_without_the_brand(
    admitted: Answer, limits: dict[str, str], domain: str, text: str, words: set[str]
) -> None:
    answer = admitted(limits, annotations={f"{domain}/use-gputype": text})
    assert answer.cautions == ()
    assert request_of(answer).cards.only_products == words


def test_an_unknown_model_is_taken_with_a_caution(admitted: Answer) -> None:
    answer = admitted(METAX, annotations={"metax-tech.com/nouse-gputype": "C500,D700"})
    assert [caution.code for caution in answer.cautions] == [CautionCode.PRODUCT_UNKNOWN]
    assert "with 'D700'" in answer.cautions[0].sentence
    assert request_of(answer).cards.not_products == {"C500", "D700"}


def test_lists_of_a_vendor_that_is_not_asked_are_not_read(admitted: Answer) -> None:
    notes = {"mthreads.ai/use-gpuuuid": ",", "mthreads.ai/nouse-gpuuuid": "GPU-1"}
    assert request_of(admitted(METAX, annotations=notes)).cards.not_uuids == frozenset()
