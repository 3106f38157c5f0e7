"""What nobody needs any more. Taking a slice from a living container is the one mistake that must never happen."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from builders.starts import held, noted, sliced
from tangram.model.grants import Grant, GrantedSlice
from tangram.model.pods import Phase, PodRef
from tangram.services.gpu_device.grants import slice_name
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.leftovers import dead_claims, living_pods, living_slices
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import CardUuid, Namespace, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint

UNREADABLE = WireError("checkpoint-unknown", "of a form nobody knows")


def grant(name: str, uid: str) -> Grant:
    part = GrantedSlice(
        card=CardUuid("GPU-n-0"), id=0, name=slice_name(PodUid(uid), "c0"), memory=from_gib(4), cores=10
    )
    return Grant(
        claim=f"claim-{uid}",
        pod=PodRef(Namespace("default"), PodName(name), PodUid(uid)),
        container="c0",
        resource="metax-tech.com/sgpu",
        ids=("metax-sgpu-0",),
        cards=(part.card,),
        slices=(part,),
    )


class Instance(msgspec.Struct, frozen=True):
    """One pod that ever was here, and who still knows it."""

    name: str
    uid: str
    runs: bool
    """Whether the kubelet really runs it: then it is noted, and shown where it has a container with devices."""
    in_api: bool
    ended: bool
    noted: bool
    granted: bool


@st.composite
def histories(draw: st.DrawFn) -> list[Instance]:
    """Pods under three names, each perhaps made again, in every state a kubelet and an API server can be in."""
    found: list[Instance] = []
    for name in ("a", "b", "c"):
        lives = draw(st.integers(0, 3))
        for life in range(lives):
            runs = draw(st.booleans())
            # Of several under one name the API server has the last at most.
            in_api = life == lives - 1 and draw(st.booleans())
            ended = in_api and not runs and draw(st.booleans())
            found.append(
                Instance(
                    name=name,
                    uid=f"{name}{life}",
                    runs=runs,
                    in_api=in_api,
                    ended=ended,
                    noted=runs or draw(st.booleans()),
                    granted=runs or draw(st.booleans()),
                )
            )
    return found


def look(
    history: list[Instance], *, notes: bool, shows: bool
) -> tuple[frozenset[PodUid] | None, Sight, dict[PodUid, BoundPod], list[Grant]]:
    pods: dict[PodUid, BoundPod] = {}
    for each in history:
        if each.in_api:
            pod = sliced(each.name, (0, 4, 10), phase=Phase.SUCCEEDED if each.ended else Phase.RUNNING)
            ref = msgspec.structs.replace(pod.pod.ref, uid=PodUid(each.uid))
            pod = msgspec.structs.replace(
                pod, pod=msgspec.structs.replace(pod.pod, ref=ref), kubelet_uid=PodUid(each.uid)
            )
            pods[PodUid(each.uid)] = pod
    named = {(str(each.pod.ref.namespace), str(each.pod.ref.name)): each for each in pods.values()}
    sight = Sight(
        notes=Checkpoint(tuple(noted(each.uid, "c0", f"id-{each.uid}") for each in history if each.noted), ())
        if notes
        else UNREADABLE,
        held=tuple(held(each.name, "c0", f"id-{each.uid}") for each in history if each.runs)
        if shows
        else None,
    )
    grants = [grant(each.name, each.uid) for each in history if each.granted]
    return living_pods(sight, pods, named, grants), sight, pods, grants


@given(histories(), st.tuples(st.booleans(), st.booleans()))
def test_a_pod_that_runs_or_may_yet_start_never_loses_anything(
    history: list[Instance], told: tuple[bool, bool]
) -> None:
    living, sight, pods, grants = look(history, notes=told[0], shows=told[1])
    if living is None:
        return
    kept, over = living_slices(living, pods, grants, sight), dead_claims(living, grants)
    for each in history:
        if each.runs or (each.in_api and not each.ended):
            # While the kubelet says nothing but its notes, these alone tell who runs.
            assert each.uid in living
            assert slice_name(PodUid(each.uid), "c0") in kept
            assert f"claim-{each.uid}" not in over


@given(histories())
def test_what_both_have_forgotten_goes(history: list[Instance]) -> None:
    living, sight, pods, grants = look(history, notes=True, shows=True)
    assert living is not None
    kept = living_slices(living, pods, grants, sight)
    shown = {each.name for each in history if each.runs}
    for each in history:
        alive = each.runs or (each.in_api and not each.ended)
        if not alive and each.granted and each.name not in shown:
            assert slice_name(PodUid(each.uid), "c0") not in kept
            assert f"claim-{each.uid}" in dead_claims(living, grants)


def test_when_the_kubelet_says_nothing_at_all_nothing_goes() -> None:
    assert living_pods(Sight(notes=UNREADABLE, held=None), {}, {}, [grant("a", "a0")]) is None


def test_a_pod_shown_under_a_name_that_nobody_knows_keeps_everything_while_the_notes_cannot_be_read() -> None:
    assert living_pods(Sight(notes=UNREADABLE, held=(held("ghost", "c0", "x"),)), {}, {}, []) is None


def test_an_ended_pod_loses_its_slice_though_the_kubelet_has_kept_the_note() -> None:
    living, *_ = look(
        [Instance("a", "a0", runs=False, in_api=True, ended=True, noted=True, granted=True)],
        notes=True,
        shows=True,
    )
    assert living == frozenset()


def test_a_pod_made_again_under_its_name_does_not_hide_the_old_one_that_still_runs() -> None:
    old = Instance("a", "a0", runs=True, in_api=False, ended=False, noted=True, granted=True)
    new = Instance("a", "a1", runs=False, in_api=True, ended=False, noted=False, granted=False)
    for notes in (True, False):
        living, *_ = look([old, new], notes=notes, shows=True)
        assert living == {"a0", "a1"}
