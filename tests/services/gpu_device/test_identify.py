"""Who a call of the kubelet is about, from what its two records and the API server say."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.starts import SGPU, answered, bound, held, init, limits, noted, sidecar
from tangram.model.pods import Container, Phase
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.identify import identify
from tangram.services.gpu_device.records import BoundPod, Late, Starting
from tangram.units.ids import PodUid
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse
from tangram.wire.kubelet.holdings import HeldDevices

UNREADABLE = WireError("checkpoint-unknown", "the kubelet's device checkpoint has a form that is not known")
ONE = bound("one", limits())
TWO = bound("two", limits())


def ask(
    *ids: str,
    notes: Iterable[CheckpointedAllocation] | WireError = (),
    shown: Sequence[HeldDevices] | None = (),
    pods: Iterable[BoundPod] = (ONE, TWO),
) -> Starting | Late | Refusal:
    known = list(pods)
    return identify(
        SGPU,
        ids,
        notes=notes if isinstance(notes, WireError) else Checkpoint(tuple(notes), ()),
        held=shown,
        pods={each.kubelet_uid: each for each in known},
        named={(str(each.pod.ref.namespace), str(each.pod.ref.name)): each for each in known},
    )


def pod_in(found: Starting | Late | Refusal) -> str:
    assert isinstance(found, Starting), found
    return str(found.bound.pod.ref.uid)


def code_of(found: Starting | Late | Refusal) -> str:
    """With a `~` before it where it is worth asking again."""
    assert not isinstance(found, Starting), found
    return f"~{found.refusal.code}" if isinstance(found, Late) else found.code


def test_a_start_is_named_by_the_notes_with_its_claim() -> None:
    answer = answered("vendor.com/gpu=other", "tangram.dev/gpu=c1")
    found = ask(
        "a", "b", notes=[noted("uid-one", "c0", "b", "a", answer=answer)], shown=[held("one", "c0", "a", "b")]
    )
    assert pod_in(found) == "uid-one"
    assert isinstance(found, Starting)
    assert (found.containers, found.claims, found.ids) == (("c0",), {"c0": "c1"}, ("a", "b"))


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        pytest.param(
            answered(annotations={"cdi.k8s.io/tangram": "x.y/zz=1,tangram.dev/gpu=c2"}),
            {"c0": "c2"},
            id="annotation",
        ),
        pytest.param(
            answered("tangram.dev/gpu=c3", annotations={"cdi.k8s.io/t": "tangram.dev/gpu=c3"}),
            {"c0": "c3"},
            id="both",
        ),
        pytest.param(answered("tangram.dev/gpu=c1", "tangram.dev/gpu=c2"), {}, id="two are none"),
        pytest.param(
            answered("tangram.dev/gpus=c1", "nonsense", annotations={"other": "tangram.dev/gpu=c1"}),
            {},
            id="others' names",
        ),
    ],
)
def test_only_our_own_name_in_the_answer_is_the_claim(
    answer: ContainerAllocateResponse, claims: dict[str, str]
) -> None:
    found = ask("a", notes=[noted("uid-one", "c0", "a", answer=answer)], shown=None)
    assert isinstance(found, Starting)
    assert found.claims == claims


def test_a_start_that_nobody_has_noted_is_late_and_named_as_far_as_it_can_be() -> None:
    found = ask("a", notes=[noted("uid-one", "c0", "a", "b")], shown=[held("two", "c0", "a")])
    assert isinstance(found, Late)
    assert (code_of(found), found.ref) == ("~start-unnoted", "default/two")


def test_notes_of_another_resource_do_not_count() -> None:
    assert (
        code_of(ask("a", notes=[noted("uid-one", "c0", "a", resource="mthreads.com/gpu")]))
        == "~start-unnoted"
    )


def test_a_pod_that_the_api_server_has_not_told_of_is_late() -> None:
    found = ask("a", notes=[noted("uid-new", "c0", "a")], shown=[held("one", "c0", "a")])
    assert isinstance(found, Late)
    assert (code_of(found), found.ref) == ("~pod-unknown", "default/one")


def test_a_pod_made_again_under_its_name_is_not_taken_for_its_predecessor() -> None:
    again = bound("one", limits(), uid="uid-again")
    notes = [noted("uid-again", "c0", "a")]
    assert code_of(ask("a", notes=notes, shown=[held("one", "c0", "a")], pods=[ONE])) == "~pod-unknown"
    assert pod_in(ask("a", notes=notes, shown=[held("one", "c0", "a")], pods=[again])) == "uid-again"


def test_a_static_pod_is_known_by_the_uid_of_its_file() -> None:
    static = bound("proxy-n", limits(), uid="uid-mirror", kubelet_uid="hash")
    found = ask("a", notes=[noted("hash", "c0", "a")], shown=[held("proxy-n", "c0", "a")], pods=[static])
    assert pod_in(found) == "uid-mirror"


def test_a_terminating_pod_may_still_start() -> None:
    leaving = bound("one", limits(), terminating=True)
    assert pod_in(ask("a", notes=[noted("uid-one", "c0", "a")], shown=None, pods=[leaving])) == "uid-one"


def test_silent_pod_resources_stop_nobody_whom_the_notes_name() -> None:
    assert pod_in(ask("a", notes=[noted("uid-one", "c0", "a")], shown=None)) == "uid-one"


def test_records_that_contradict_each_other_are_refused() -> None:
    notes = [noted("uid-one", "c0", "a")]
    assert code_of(ask("a", notes=notes, shown=[held("two", "c0", "a")])) == "holders-disagree"
    both = [held("one", "c0", "a"), held("two", "c0", "a", "b")]
    assert code_of(ask("a", notes=notes, shown=both)) == "holders-disagree"


def test_a_container_that_pod_resources_do_not_list_yet_is_late() -> None:
    assert code_of(ask("a", notes=[noted("uid-one", "c0", "a")], shown=[])) == "~start-unlisted"


def test_an_entry_for_a_container_that_the_pod_does_not_have_is_refused() -> None:
    assert code_of(ask("a", notes=[noted("uid-one", "ghost", "a")], shown=None)) == "container-unknown"


def test_of_two_noted_pods_the_one_that_lives_and_is_listed_starts() -> None:
    notes = [noted("uid-gone", "c0", "a"), noted("uid-one", "c0", "a")]
    assert pod_in(ask("a", notes=notes, shown=[held("one", "c0", "a")])) == "uid-one"
    over = bound("gone", limits(), phase=Phase.FAILED)
    assert pod_in(ask("a", notes=notes, shown=[held("one", "c0", "a")], pods=[ONE, over])) == "uid-one"


@pytest.mark.parametrize(
    ("uids", "shown"),
    [
        pytest.param(("uid-one", "uid-two"), [held("one", "c0", "a")], id="both live"),
        pytest.param(("uid-one", "uid-gone"), None, id="nobody agrees"),
        pytest.param(("uid-one", "uid-gone"), [], id="not listed"),
        pytest.param(("uid-gone", "uid-lost"), [held("one", "c0", "a")], id="neither lives"),
    ],
)
def test_between_two_noted_pods_nothing_is_guessed(
    uids: tuple[str, str], shown: list[HeldDevices] | None
) -> None:
    notes = [noted(uid, "c0", "a") for uid in uids]
    assert code_of(ask("a", notes=notes, shown=shown)) == "holders-several"


def test_an_id_that_another_live_pod_holds_among_others_is_refused() -> None:
    notes = [noted("uid-one", "c0", "a"), noted("uid-two", "c0", "a", "b")]
    assert code_of(ask("a", notes=notes, shown=None)) == "holders-several"


FAMILY = bound(
    "family",
    init("fetch", limits()),
    sidecar("side", limits()),
    init("warm", limits()),
    Container("main", limits=limits()),
)


def test_an_ordinary_init_container_is_known_from_the_notes_alone() -> None:
    notes = [noted("uid-family", "fetch", "a"), noted("uid-family", "main", "b")]
    found = ask("a", notes=notes, shown=[held("family", "main", "b")], pods=[FAMILY])
    assert isinstance(found, Starting)
    assert found.containers == ("fetch",)


def test_containers_that_share_ids_come_together_in_the_pods_order() -> None:
    notes = [
        noted("uid-family", name, "a", answer=answered(f"tangram.dev/gpu={name}"))
        for name in ("main", "warm", "side")
    ]
    shown = [held("family", "side", "a"), held("family", "main", "a")]
    found = ask("a", notes=notes, shown=shown, pods=[FAMILY])
    assert isinstance(found, Starting)
    assert found.containers == ("side", "warm", "main")
    assert found.claims == {"side": "side", "warm": "warm", "main": "main"}


def test_a_larger_set_of_an_init_container_does_not_hide_the_container_after_it() -> None:
    notes = [noted("uid-family", "fetch", "a", "b"), noted("uid-family", "main", "a")]
    found = ask("a", notes=notes, shown=[held("family", "main", "a")], pods=[FAMILY])
    assert isinstance(found, Starting)
    assert found.containers == ("main",)


def test_an_old_kubelet_may_leave_sidecars_out_of_pod_resources() -> None:
    found = ask("a", notes=[noted("uid-family", "side", "a")], shown=[], pods=[FAMILY])
    assert isinstance(found, Starting)


def test_without_notes_pod_resources_decide_where_nothing_else_can_be_meant() -> None:
    found = ask("a", notes=UNREADABLE, shown=[held("one", "c0", "a")])
    assert pod_in(found) == "uid-one"
    assert isinstance(found, Starting)
    assert found.claims == {}


@pytest.mark.parametrize(
    ("shown", "pods", "code"),
    [
        pytest.param(None, [ONE], "~notes-unreadable", id="both silent"),
        pytest.param([], [ONE], "notes-unreadable", id="nobody"),
        pytest.param(
            [held("one", "c0", "a"), held("two", "c0", "a")], [ONE, TWO], "notes-unreadable", id="two"
        ),
        pytest.param([held("one", "c0", "a")], [], "~notes-unreadable", id="unknown name"),
        pytest.param([held("family", "main", "a")], [FAMILY], "notes-unreadable", id="init container"),
        pytest.param([held("one", "ghost", "a")], [ONE], "container-unknown", id="ghost"),
        pytest.param(
            [held("one", "c0", "a")],
            [bound("one", limits(), terminating=True)],
            "~notes-unreadable",
            id="successor",
        ),
        pytest.param(
            [held("one", "c0", "a"), held("two", "c0", "a", "b")],
            [ONE, TWO],
            "holders-disagree",
            id="overlap",
        ),
    ],
)
def test_without_notes_everything_unclear_is_refused_with_their_fault(
    shown: list[HeldDevices] | None, pods: list[BoundPod], code: str
) -> None:
    found = ask("a", notes=UNREADABLE, shown=shown, pods=pods)
    assert code_of(found) == code
    refusal = found.refusal if isinstance(found, Late) else found
    assert isinstance(refusal, Refusal)
    assert UNREADABLE.sentence in refusal.sentence or not code.endswith("notes-unreadable")


def test_an_init_container_without_the_resource_does_not_matter_without_notes() -> None:
    harmless = bound("one", init("fetch", {}), Container("main", limits=limits()))
    assert pod_in(ask("a", notes=UNREADABLE, shown=[held("one", "main", "a")], pods=[harmless])) == "uid-one"


def test_a_start_without_ids_is_nobodys() -> None:
    assert code_of(ask(notes=[noted("uid-one", "c0")], shown=None)) == "start-without-ids"


NAMES = st.sampled_from(["one", "two", "family", "gone"])
CONTAINERS = st.sampled_from(["c0", "fetch", "side", "main", "ghost"])
IDS = st.lists(st.sampled_from("abc"), max_size=2, unique=True)


@given(
    st.one_of(st.just(UNREADABLE), st.lists(st.tuples(NAMES, CONTAINERS, IDS), max_size=4)),
    st.none() | st.lists(st.tuples(NAMES, CONTAINERS, IDS), max_size=4),
    st.lists(st.sampled_from([ONE, TWO, FAMILY]), unique_by=lambda each: str(each.kubelet_uid)),
    IDS,
)
def test_whoever_is_named_holds_the_ids_by_every_record_that_speaks(
    notes: list[tuple[str, str, list[str]]] | WireError,
    shown: list[tuple[str, str, list[str]]] | None,
    pods: list[BoundPod],
    ids: list[str],
) -> None:
    entries = notes if isinstance(notes, WireError) else [noted(f"uid-{n}", c, *i) for n, c, i in notes]
    lists = None if shown is None else [held(name, container, *its) for name, container, its in shown]
    found = ask(*ids, notes=entries, shown=lists, pods=pods)
    if not isinstance(found, Starting):
        return
    assert found.bound in pods
    assert set(found.containers) <= {each.name for each in found.bound.pod.containers}
    if not isinstance(entries, WireError):
        uid = PodUid(str(found.bound.kubelet_uid))
        holders = {each.container for each in entries if each.pod_uid == uid and set(each.ids) == set(ids)}
        assert set(found.containers) == holders
    if lists is not None:
        names = {str(each.pod) for each in lists if set(each.ids) & set(ids)}
        assert names <= {str(found.bound.pod.ref.name)}
