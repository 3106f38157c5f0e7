"""A cluster may call our resources by names of its own, and everything a person sees or sends uses those."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.pods import Container, Pod, PodRef, Role
from tangram.model.requests import AskKind
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.vendors.admission import admit
from tangram.vendors.codes import Code
from tangram.vendors.protocol import RemoveResource, SetAnnotation, SetLimit
from tangram.vendors.settings import AdmissionSettings

OWN = {
    "corp.example/card": "metax-tech.com/gpu",
    "corp.example/share": "metax-tech.com/sgpu",
    "corp.example/share-core": "metax-tech.com/vcore",
    "corp.example/moore": "mthreads.com/vgpu",
    "corp.example/moore-core": "mthreads.com/sgpu-core",
    "corp.example/moore-memory": "mthreads.com/sgpu-memory",
}
SETTINGS = AdmissionSettings(renamed=OWN)


def pod(limits: dict[str, str], *more: dict[str, str], role: Role = Role.APP) -> Pod:
    containers = [Container("main", role, limits=limits)]
    containers += [Container(f"c{number}", limits=each) for number, each in enumerate(more, 1)]
    return Pod(ref=PodRef(Namespace("default"), PodName("demo"), PodUid("u")), containers=tuple(containers))


def test_a_pod_in_the_clusters_own_names_asks_for_the_same_as_one_in_the_usual_ones() -> None:
    own = pod({"corp.example/share": "2", "corp.example/share-core": "30", "metax-tech.com/vmemory": "4"})
    usual = pod({"metax-tech.com/sgpu": "2", "metax-tech.com/vcore": "30", "metax-tech.com/vmemory": "4"})
    assert admit(own, SETTINGS).request == admit(usual).request


def test_names_that_trade_places_mean_what_the_cluster_says() -> None:
    swapped = AdmissionSettings(
        renamed={"metax-tech.com/gpu": "metax-tech.com/sgpu", "metax-tech.com/sgpu": "metax-tech.com/gpu"}
    )
    request = admit(pod({"metax-tech.com/sgpu": "1"}), swapped).request
    assert request is not None
    assert request.containers[0].asks[0].kind is AskKind.WHOLE


def test_what_admission_adds_is_written_in_the_clusters_own_names() -> None:
    admission = admit(pod({"corp.example/moore": "2"}), SETTINGS)
    assert admission.mutations == (
        SetAnnotation("mthreads.com/request-gpu-num", "2"),
        SetLimit("main", "corp.example/moore-core", "32"),
        SetLimit("main", "corp.example/moore-memory", "192"),
    )


def test_names_nobody_renamed_are_written_as_usual() -> None:
    admission = admit(pod({"corp.example/share": "1", "koordinator.sh/gpu": "50"}), SETTINGS)
    assert RemoveResource("main", "koordinator.sh/gpu") in admission.mutations
    assert SetLimit("main", "koordinator.sh/gpu-core", "50") in admission.mutations


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        pytest.param({"corp.example/moore": "0"}, "corp.example/moore must be greater than 0: ", id="zero"),
        pytest.param(
            {"corp.example/share-core": "10"},
            "container main asks for corp.example/share-core '10' without corp.example/share; the size of a slice "
            "means nothing without the number of cards; add corp.example/share: 1.",
            id="part-without-count",
        ),
        pytest.param(
            {"corp.example/card": "1", "corp.example/share": "1"},
            "remove corp.example/card, or",
            id="at-a-comma",
        ),
    ],
)
def test_a_refusal_speaks_of_the_names_the_person_wrote(limits: dict[str, str], says: str) -> None:
    (refusal,) = admit(pod(limits), SETTINGS).refusals
    assert says in refusal.sentence
    assert not any(name in refusal.sentence for name in OWN.values())


def test_a_caution_speaks_of_the_names_the_person_wrote() -> None:
    cautions = admit(pod({"corp.example/share": "1", "corp.example/share-core": "30"}), SETTINGS).cautions
    assert len(cautions) == 2
    assert all("asks for corp.example/share-core '30'" in caution.sentence for caution in cautions)


def test_an_annotation_whose_key_begins_like_a_resource_keeps_its_name() -> None:
    demo = pod({"corp.example/share": "1"})
    demo = msgspec.structs.replace(demo, annotations={"metax-tech.com/sgpu-qos-policy": "fast"})
    (refusal,) = admit(demo, SETTINGS).refusals
    assert "metax-tech.com/sgpu-qos-policy" in refusal.sentence


def test_the_usual_name_of_a_renamed_resource_is_refused_and_never_overlooked() -> None:
    admission = admit(pod({"metax-tech.com/sgpu": "1"}), SETTINGS)
    assert admission.ours
    assert admission.request is None
    (refusal,) = admission.refusals
    assert refusal.code == Code.RESOURCE_RENAMED
    assert refusal.sentence == (
        "container main asks for metax-tech.com/sgpu '1'; this cluster's device configuration calls that resource "
        "corp.example/share; write corp.example/share instead."
    )


def test_a_pod_that_names_nothing_of_ours_is_nobodys_business() -> None:
    assert not admit(pod({"nvidia.com/gpu": "1", "cpu": "2"}), SETTINGS).ours


@given(
    limits=st.dictionaries(
        st.sampled_from([*OWN, "metax-tech.com/vmemory", "koordinator.sh/gpu-core", "cpu"]),
        st.sampled_from(["0", "1", "2", "16", "50", "101", "4Gi", "x", ""]),
    ),
    init=st.booleans(),
)
def test_renaming_changes_names_and_nothing_else(limits: dict[str, str], *, init: bool) -> None:
    role = Role.INIT if init else Role.APP
    own = admit(pod(limits, {}, role=role), SETTINGS)
    usual = admit(pod({OWN.get(name, name): text for name, text in limits.items()}, {}, role=role))
    assert (own.ours, own.request) == (usual.ours, usual.request)
    assert [each.code for each in own.refusals] == [each.code for each in usual.refusals]
    assert [each.code for each in own.cautions] == [each.code for each in usual.cautions]
    assert len(own.mutations) == len(usual.mutations)
