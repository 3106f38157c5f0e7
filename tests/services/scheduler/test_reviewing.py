"""New pods at the webhook: what is completed, what is refused, and what is left exactly as it came."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reviews import asking_pod, patch_in, patched, response_in, review_of
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.requests import Request
from tangram.services.scheduler.reviewing import MOST_SENTENCES, ReviewRules, review
from tangram.units.memory import from_gib
from tangram.vendors.crowded import MOST_CONTAINERS
from tangram.vendors.settings import AdmissionSettings

Object = dict[str, Any]
USUAL = ReviewRules()
FIELDS = (
    *(
        "metadata",
        "annotations",
        "labels",
        "spec",
        "schedulerName",
        "nodeName",
        "containers",
        "initContainers",
    ),
    *("name", "restartPolicy", "resources", "limits", "requests", "metax-tech.com/sgpu", "mthreads.com/vgpu"),
)
QOS = "metax-tech.com/sgpu-qos-policy"
SLICE = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "25", "metax-tech.com/vmemory": "16Gi"}


def answered(pod: Object, rules: ReviewRules = USUAL, **more: str) -> Object:
    reply = review(review_of(pod, **more), rules)
    assert reply.status == 200
    return response_in(reply.body)


def admitted(pod: Object, rules: ReviewRules = USUAL) -> Object:
    """The pod as it is after admission."""
    response = answered(pod, rules)
    assert response["allowed"], response
    return mirrored(patched(pod, patch_in(response)))


def mirrored(pod: Object) -> Object:
    """What the API server does to a patched pod: limits that have no request are requested."""
    for field in ("initContainers", "containers"):
        for container in pod["spec"].get(field, []):
            resources: Object = container.get("resources") or Object()
            if resources.get("limits"):
                resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    return pod


def refused(pod: Object, rules: ReviewRules = USUAL) -> str:
    response = answered(pod, rules)
    assert not response["allowed"], response
    return response["status"]["message"]


def untouched(pod: Object, rules: ReviewRules = USUAL, **more: str) -> bool:
    response = answered(pod, rules, **more)
    return response["allowed"] and "patch" not in response


# --- whose business a pod is --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(asking_pod(), id="nothing asked"),
        pytest.param(asking_pod({"cpu": "1", "memory": "1Gi"}), id="the host only"),
        pytest.param(asking_pod({"nvidia.com/gpu": "1"}), id="another vendor"),
        pytest.param(asking_pod(annotations={"note": "metax-tech.com/gpu"}), id="our name in a text"),
        pytest.param(asking_pod(annotations={"metax-tech.com/gpu": "1"}), id="our name as annotation"),
        pytest.param(asking_pod(annotations={"note": "a\u0001<&>"}), id="escapes in the text"),
        pytest.param(asking_pod(securityContext={"x": 1}, nodeName="n1"), id="a node of its own"),
        pytest.param(
            asking_pod(annotations={"scheduling.koordinator.sh/device-allocate-hint": "{nonsense"}),
            id="a hint for cards it does not want",
        ),
        pytest.param({"kind": "Pod", "metadata": {}, "spec": {}}, id="no containers at all"),
    ],
)
def test_a_pod_that_asks_for_no_card_is_let_through_as_it_came(pod: Object) -> None:
    assert untouched(pod)
    assert set(answered(pod)) == {"uid", "allowed"}


def test_a_name_that_is_spelled_with_escapes_is_found() -> None:
    body = review_of(asking_pod({"metax-tech.com/sgpu": "1"}))
    for spelled in (rb"metax-tech.com\/sgpu", rb"met\u0061x-tech.com/sgpu"):
        reply = review(body.replace(b"metax-tech.com/sgpu", spelled), USUAL)
        assert patch_in(response_in(reply.body)), spelled


@pytest.mark.parametrize(
    ("pod", "rules", "name"),
    [
        pytest.param(asking_pod(SLICE), USUAL, "tangram-scheduler", id="none named"),
        pytest.param(asking_pod(SLICE, schedulerName=""), USUAL, "tangram-scheduler", id="empty"),
        pytest.param(
            asking_pod(SLICE, schedulerName="tangram-scheduler"), USUAL, "tangram-scheduler", id="ours"
        ),
        pytest.param(asking_pod(SLICE, schedulerName="hami-scheduler"), USUAL, "hami-scheduler", id="HAMi's"),
        pytest.param(asking_pod(SLICE), ReviewRules(scheduler_name="gpus"), "gpus", id="a name of choice"),
        pytest.param(
            asking_pod(SLICE, schedulerName=""),
            ReviewRules(force_overwrite=False),
            "tangram-scheduler",
            id="empty and not forced",
        ),
    ],
)
def test_a_pod_that_asks_for_cards_gets_a_scheduler_that_knows_them(
    pod: Object, rules: ReviewRules, name: str
) -> None:
    made = admitted(pod, rules)
    assert made["spec"]["schedulerName"] == name
    assert made["metadata"]["annotations"][QOS] == "best-effort"


@pytest.mark.parametrize(
    ("pod", "rules"),
    [
        pytest.param(asking_pod(SLICE, schedulerName="koord-scheduler"), USUAL, id="another scheduler"),
        pytest.param(
            asking_pod({"metax-tech.com/sgpu": "two"}, schedulerName="volcano"),
            USUAL,
            id="even if unreadable",
        ),
        pytest.param(asking_pod(SLICE, labels={"hami.io/webhook": "ignore"}), USUAL, id="opted out"),
        pytest.param(asking_pod(SLICE), ReviewRules(force_overwrite=False), id="not forced"),
    ],
)
def test_a_pod_that_somebody_else_is_to_place_is_left_alone(pod: Object, rules: ReviewRules) -> None:
    assert untouched(pod, rules)


def test_who_names_no_scheduler_where_that_is_left_to_kubernetes_is_told_so() -> None:
    """HAMi's users found such pods pending for ever, without a clue."""
    (told,) = answered(asking_pod(SLICE), ReviewRules(force_overwrite=False))["warnings"]
    assert "write schedulerName: tangram-scheduler" in told
    assert "warnings" not in answered(asking_pod(), ReviewRules(force_overwrite=False))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"operation": "UPDATE"}, id="an update"),
        pytest.param({"operation": "DELETE"}, id="a delete"),
        pytest.param({"door": "pods/binding"}, id="a binding"),
        pytest.param({"door": "deployments"}, id="another kind"),
    ],
)
def test_only_new_pods_are_looked_at(more: dict[str, str]) -> None:
    assert untouched(asking_pod({"metax-tech.com/sgpu": "0"}), USUAL, **more)


# --- what is completed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "limits"),
    [
        pytest.param(
            asking_pod({"mthreads.com/vgpu": "1"}),
            {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "16", "mthreads.com/sgpu-memory": "96"},
            id="one card",
        ),
        pytest.param(
            asking_pod({"mthreads.com/vgpu": "2"}),
            {"mthreads.com/vgpu": "2", "mthreads.com/sgpu-core": "32", "mthreads.com/sgpu-memory": "192"},
            id="two cards",
        ),
        pytest.param(
            asking_pod({"metax-tech.com/sgpu": "1", "koordinator.sh/gpu": "50"}),
            {
                "metax-tech.com/sgpu": "1",
                "koordinator.sh/gpu-core": "50",
                "koordinator.sh/gpu-memory-ratio": "50",
                "koordinator.sh/gpu.shared": "1",
            },
            id="Koordinator's short word",
        ),
    ],
)
def test_limits_are_completed_as_the_peers_complete_them(pod: Object, limits: dict[str, str]) -> None:
    (container,) = admitted(pod)["spec"]["containers"]
    assert container["resources"] == {"limits": limits, "requests": limits}


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param(
            {"gpu": "50"}, {"gpu-core": "50", "gpu-memory-ratio": "50", "gpu.shared": "1"}, id="part"
        ),
        pytest.param(
            {"gpu": "200"}, {"gpu-core": "200", "gpu-memory-ratio": "200", "gpu.shared": "2"}, id="two cards"
        ),
        pytest.param(
            {"gpu": "100", "gpu-memory": "0", "gpu-memory-ratio": "0"},
            {"gpu-core": "100", "gpu-memory": "0", "gpu-memory-ratio": "100", "gpu.shared": "1"},
            id="zeros beside it",
        ),
        pytest.param(
            {"gpu-core": "300", "gpu-memory-ratio": "300"},
            {"gpu-core": "300", "gpu-memory-ratio": "300", "gpu.shared": "3"},
            id="three cards",
        ),
        pytest.param(
            {"gpu-core": "10", "gpu-memory": "1Gi"},
            {"gpu-core": "10", "gpu-memory": "1Gi", "gpu.shared": "1"},
            id="a slice",
        ),
    ],
)
@pytest.mark.parametrize("sides", [("limits",), ("limits", "requests")], ids=" and ".join)
def test_the_patch_alone_writes_requests_and_limits_as_koordinators_does(
    words: dict[str, str], completed: dict[str, str], sides: tuple[str, ...]
) -> None:
    """Nothing is left to the API server's own mirroring, which never changes a request that is there."""
    beside = {"metax-tech.com/sgpu": completed["gpu.shared"]}
    asked = {f"koordinator.sh/{word}": text for word, text in words.items()} | beside
    pod = asking_pod(asked)
    pod["spec"]["containers"][0]["resources"] = {side: dict(asked) for side in sides}
    (container,) = patched(pod, patch_in(answered(pod)))["spec"]["containers"]
    wanted = {f"koordinator.sh/{word}": text for word, text in completed.items()}
    assert container["resources"]["limits"] == wanted | beside
    new = {name: text for name, text in wanted.items() if asked.get(name) != text}
    assert container["resources"]["requests"] == (wanted | beside if "requests" in sides else new)


def test_an_init_container_is_completed_too_even_where_it_has_no_map_to_write_into() -> None:
    asking = {"name": "warm", "resources": {"limits": {"mthreads.com/vgpu": "1"}, "requests": None}}
    made = admitted(asking_pod(init=[{"name": "plain"}, asking]))
    plain, warm = made["spec"]["initContainers"]
    assert plain == {"name": "plain"}
    assert warm["resources"]["limits"]["mthreads.com/sgpu-memory"] == "96"


def test_annotations_that_are_there_stay_as_they_are() -> None:
    annotations = {"a/b": "c", QOS: "fixed-share"}
    made = admitted(asking_pod(SLICE, annotations=annotations))
    assert made["metadata"]["annotations"] == annotations


PODS = st.builds(
    asking_pod,
    st.fixed_dictionaries(
        {},
        optional={
            "metax-tech.com/gpu": st.sampled_from(["1", "4"]),
            "metax-tech.com/sgpu": st.sampled_from(["1", "2", "0"]),
            "metax-tech.com/vcore": st.sampled_from(["0", "30", "101"]),
            "metax-tech.com/vmemory": st.sampled_from(["16", "2k", "512Ki"]),
            "mthreads.com/vgpu": st.sampled_from(["1", "3"]),
            "mthreads.com/sgpu-memory": st.sampled_from(["2", "33", "96"]),
            "koordinator.sh/gpu": st.sampled_from(["50", "200"]),
            "cpu": st.sampled_from(["1", "x"]),
        },
    ),
    annotations=st.none()
    | st.dictionaries(st.sampled_from([QOS, "note"]), st.sampled_from(["x", "best-effort"])),
    schedulerName=st.sampled_from(["", "default-scheduler", "hami-scheduler", "other"]),
)


@given(PODS)
def test_a_pod_that_was_admitted_once_is_admitted_again_without_a_change(pod: Object) -> None:
    response = answered(pod)
    if response["allowed"]:
        assert untouched(mirrored(patched(pod, patch_in(response))))


def test_a_resource_that_the_cluster_calls_otherwise_is_found_and_completed_under_that_name() -> None:
    names = {"example.com/cards": "mthreads.com/vgpu", "example.com/cores": "mthreads.com/sgpu-core"}
    rules = ReviewRules(settings=AdmissionSettings(renamed=names))
    (container,) = admitted(asking_pod({"example.com/cards": "1"}), rules)["spec"]["containers"]
    assert container["resources"]["limits"] == {
        "example.com/cards": "1",
        "example.com/cores": "16",
        "mthreads.com/sgpu-memory": "96",
    }
    assert "write example.com/cards instead" in refused(asking_pod({"mthreads.com/vgpu": "1"}), rules)
    assert untouched(asking_pod({"example.com/cards": "1"}))


# --- what is refused ----------------------------------------------------------------------------------------------


def test_all_faults_of_a_pod_are_in_one_answer_with_their_codes() -> None:
    pod = asking_pod({"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "150"}, annotations={QOS: "fast"})
    status = answered(pod)["status"]
    assert "from 0 to 100" in status["message"]
    assert f"{QOS} must be set one of [best-effort, fixed-share, burst-share]" in status["message"]
    assert [cause["reason"] for cause in status["details"]["causes"]] == ["cores-out-of-range", "qos-unknown"]
    assert status["code"] == 400


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        pytest.param(asking_pod(SLICE, nodeName="n1"), "pod has node assigned", id="a node"),
        pytest.param(asking_pod({"mthreads.com/vgpu": "0"}), "must be greater than 0", id="no card"),
        pytest.param(
            asking_pod({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "3"}),
            "sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, 64, 96]",
            id="no such size",
        ),
        pytest.param(
            asking_pod(SLICE, annotations={"metax-tech.com/sgpu-app-class": "batch"}),
            "metax-tech.com/sgpu-app-class must be set one of [online, offline]",
            id="no such class",
        ),
        pytest.param(
            asking_pod({"metax-tech.com/sgpu": "2"}, annotations={"metax-tech.com/sgpu-app-class": "online"}),
            "app-class pod must request single device",
            id="a class on two cards",
        ),
    ],
)
def test_what_hami_refuses_is_refused_in_its_words(pod: Object, words: str) -> None:
    assert words in refused(pod)


def test_a_privileged_container_beside_cards_is_refused_and_told_by_name() -> None:
    pod = asking_pod(SLICE, init=[{"name": "root", "securityContext": {"privileged": True}}])
    assert "container root is privileged" in refused(pod)
    assert untouched(asking_pod(init=[{"name": "root", "securityContext": {"privileged": True}}]))


def test_a_pod_without_containers_that_asks_for_cards_in_an_init_container_is_refused() -> None:
    pod = asking_pod(init=[{"name": "only", "resources": {"limits": {"metax-tech.com/gpu": "1"}}}])
    pod["spec"]["containers"] = []
    assert refused(pod).startswith("pod has no containers")


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param(["metax-tech.com/gpu"], id="a list"),
        pytest.param({"limits": ["metax-tech.com/gpu"]}, id="a list of limits"),
        pytest.param({"limits": {"metax-tech.com/gpu": {"amount": 1}}}, id="an amount that is a map"),
    ],
)
def test_a_request_that_cannot_even_be_found_is_refused_rather_than_passed_over(resources: object) -> None:
    pod = asking_pod()
    pod["spec"]["containers"][0]["resources"] = resources
    assert "spec.containers[0].resources" in refused(pod)


def test_b3_an_unreadable_amount_is_refused_and_not_taken_for_no_request() -> None:
    for amount in ("1.5", "3000000000", "-1", "many"):
        assert repr(amount) in refused(asking_pod({"metax-tech.com/sgpu": amount}))


def test_b8_whole_cards_of_another_size_are_completed_with_that_size() -> None:
    large = ReviewRules(settings=AdmissionSettings(mthreads_memory_per_card=(160,)))
    (container,) = admitted(asking_pod({"mthreads.com/vgpu": "1"}), large)["spec"]["containers"]
    assert container["resources"]["limits"]["mthreads.com/sgpu-memory"] == "160"


def test_b9_compute_that_was_asked_for_is_not_overwritten() -> None:
    asked = {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "4"}
    response = answered(asking_pod(asked))
    (container,) = patched(asking_pod(asked), patch_in(response))["spec"]["containers"]
    assert container["resources"]["limits"]["mthreads.com/sgpu-core"] == "4"
    assert "takes all memory of the card" in response["warnings"][0]


def test_b10_two_thousand_gib_do_not_become_two_thousand_bytes() -> None:
    assert "write 2000Gi or 2Gi" in refused(
        asking_pod({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "2k"})
    )


def test_b34_more_compute_than_a_card_has_is_refused_at_once() -> None:
    assert "from 0 to 100" in refused(asking_pod({"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "101"}))
    assert "from 0 to 16" in refused(asking_pod({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "17"}))


def test_b35_who_asks_for_memory_alone_is_told_that_it_takes_the_whole_card() -> None:
    (told,) = answered(asking_pod({"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "4"}))["warnings"]
    assert "takes all compute of the card" in told


def test_more_than_the_largest_card_can_slice_is_warned_of_and_taken() -> None:
    rules = ReviewRules(settings=AdmissionSettings(largest_memory={Vendor.METAX: from_gib(63)}))
    pod = asking_pod(
        {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "50", "metax-tech.com/vmemory": "64"},
        annotations={QOS: "fixed-share"},
    )
    response = answered(pod, rules)
    assert response["allowed"]
    (told,) = response["warnings"]
    assert "no sliced card here can slice more than 63 GiB" in told


def test_a_part_of_compute_without_a_policy_is_warned_of_and_the_clusters_policy_is_written() -> None:
    response = answered(asking_pod(SLICE))
    (told,) = response["warnings"]
    assert f"annotate it with {QOS}: fixed-share" in told
    assert admitted(asking_pod(SLICE))["metadata"]["annotations"][QOS] == "best-effort"
    rules = ReviewRules(settings=AdmissionSettings(qos_policy=QosPolicy.FIXED_SHARE))
    assert "warnings" not in answered(asking_pod(SLICE), rules)
    assert admitted(asking_pod(SLICE), rules)["metadata"]["annotations"][QOS] == "fixed-share"
    chosen = asking_pod(SLICE, annotations={QOS: "best-effort"})
    assert admitted(chosen, rules)["metadata"]["annotations"][QOS] == "best-effort"


def test_three_whole_cards_are_warned_of_and_taken() -> None:
    response = answered(asking_pod({"metax-tech.com/gpu": "3"}))
    assert response["allowed"]
    (told,) = response["warnings"]
    assert "write 2 or 4 if the job can use that many" in told


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"mthreads.com/vgpu": "1", "mthreads.com/sgpu-memory": "3"}, id="its-words"),
        pytest.param(
            {"mthreads.com/vgpu": "1", "koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory": "3Gi"},
            id="koordinators-words",
        ),
    ],
)
def test_a_pod_for_cards_of_a_vendor_that_is_off_is_let_through_as_it_came(limits: dict[str, str]) -> None:
    assert not answered(asking_pod(limits))["allowed"], "no such size of slice"
    rules = ReviewRules(settings=AdmissionSettings(vendors=frozenset({Vendor.METAX})))
    response = answered(asking_pod(limits), rules)
    assert response["allowed"]
    assert response.keys() == {"uid", "allowed"}
    assert not answered(asking_pod({"metax-tech.com/sgpu": "0"}), rules)["allowed"]


# --- quota --------------------------------------------------------------------------------------------------------


def test_a_pod_beyond_its_quota_is_refused_with_the_sentence_and_in_its_own_namespace() -> None:
    asked: list[Request] = []

    def none_left(request: Request) -> str:
        asked.append(request)
        return "exceeding resource quota: none left."

    rules = ReviewRules(over_quota=none_left)
    response = answered(asking_pod(SLICE), rules, namespace="team-a")
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert response["status"]["message"] == "exceeding resource quota: none left."
    assert [request.pod.namespace for request in asked] == ["team-a"]
    assert untouched(asking_pod(), rules), "a pod without cards needs none"
    assert len(asked) == 1


# --- bounds -------------------------------------------------------------------------------------------------------


def test_of_very_many_faults_the_first_are_told() -> None:
    pod = asking_pod()
    pod["spec"]["containers"] = [
        {"name": f"c{number}", "resources": {"limits": {"metax-tech.com/vcore": "1"}}} for number in range(50)
    ]
    message = refused(pod)
    assert message.count("without metax-tech.com/sgpu") == MOST_SENTENCES
    assert message.endswith(f"And {50 - MOST_SENTENCES} more faults of this kind.")


def test_names_of_any_length_make_an_answer_of_bounded_length() -> None:
    pod = asking_pod()
    pod["spec"]["containers"] = [
        {"name": "n" * 100_000, "resources": {"limits": {"metax-tech.com/vcore": "1"}}} for _ in range(3)
    ]
    assert len(review(review_of(pod), USUAL).body) < 32_768


def test_a_pod_of_thousands_of_containers_is_refused_before_they_are_read_one_by_one() -> None:
    pod = asking_pod(SLICE)
    pod["spec"]["containers"] *= MOST_CONTAINERS + 1
    assert f"at most {MOST_CONTAINERS}" in refused(pod)
    pod["spec"]["schedulerName"] = "another"
    assert untouched(pod)
    plain = asking_pod(annotations={"metax-tech.com/gpu": "1"})
    plain["spec"]["containers"] *= MOST_CONTAINERS + 1
    assert untouched(plain)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(sorted(SLICE)),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        *[
                            "metadata",
                            "spec",
                            "containers",
                            "initContainers",
                            "name",
                            "resources",
                            "limits",
                            "requests",
                        ]
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_any_object_is_answered(thing: object) -> None:
    reply = review(review_of(thing), USUAL)
    assert reply.status == 200
    response = response_in(reply.body)
    if isinstance(thing, dict):
        patched(cast("Object", thing), patch_in(response))


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(body: bytes) -> None:
    reply = review(body, USUAL)
    assert reply.status == 400
    assert response_in(reply.body)["uid"] == ""


def test_a_dry_run_is_answered_as_the_real_thing() -> None:
    body = json.loads(review_of(asking_pod(SLICE)))
    body["request"]["dryRun"] = True
    assert review(json.dumps(body).encode(), USUAL).body == review(review_of(asking_pod(SLICE)), USUAL).body
