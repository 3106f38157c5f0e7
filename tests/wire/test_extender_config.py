"""The configuration a kube-scheduler needs beside our extender, and the reading of those that people have."""

import pytest

from tangram.model.cards import Vendor
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.registry import names_of_others
from tangram.vendors.renaming import usual_names
from tangram.wire.extender_config import (
    ADVERTISED,
    ClientFiles,
    Object,
    extender_entry,
    read_configuration,
    scheduler_configuration,
)

URL = "http://127.0.0.1:8080"


def ignored(entry: Object) -> set[str]:
    return {each["name"] for each in entry["managedResources"] if each["ignoredByScheduler"]}


def managed(entry: Object) -> list[str]:
    return [each["name"] for each in entry["managedResources"]]


def test_every_resource_of_ours_brings_a_pod_to_the_extender() -> None:
    assert sorted(managed(extender_entry(URL))) == sorted(usual_names())


def test_only_names_that_no_node_announces_are_ignored_in_tree() -> None:
    assert ignored(extender_entry(URL)) == usual_names() - ADVERTISED
    assert {"metax-tech.com/vcore", "metax-tech.com/vmemory", "mthreads.com/vgpu"} <= ignored(
        extender_entry(URL)
    )


def test_what_koordinators_manager_announces_is_counted() -> None:
    announced = ADVERTISED | {"koordinator.sh/gpu-core"}
    assert "koordinator.sh/gpu-core" not in ignored(extender_entry(URL, advertised=announced))


def test_renamed_resources_stand_under_the_clusters_names() -> None:
    renamed = {"corp.example/share": "metax-tech.com/sgpu", "corp.example/core": "metax-tech.com/vcore"}
    entry = extender_entry(URL, renamed=renamed)
    assert sorted(managed(entry)) == sorted({*usual_names()} - {*renamed.values()} | {*renamed})
    assert "corp.example/share" not in ignored(entry)
    assert "corp.example/core" in ignored(entry)


def test_pods_for_cards_of_a_vendor_that_is_off_are_not_brought_to_the_extender() -> None:
    off = names_of_others({Vendor.METAX})
    assert sorted(managed(extender_entry(URL, left_out=off))) == sorted(usual_names() - mthreads.RESOURCES)


def test_an_extender_elsewhere_is_reached_with_a_certificate() -> None:
    entry = extender_entry("https://cards.example:9443", files=ClientFiles("c.pem", "k.pem", "ca.pem"))
    assert entry["enableHTTPS"] is True
    assert entry["tlsConfig"] == {"certFile": "c.pem", "keyFile": "k.pem", "caFile": "ca.pem"}


def test_a_whole_configuration_looks_at_every_node_and_elects_by_its_lease() -> None:
    made = scheduler_configuration(
        extender_entry(URL), ["tangram-scheduler", "hami-scheduler"], kubeconfig="/k", lease=("sys", "cards")
    )
    assert made["kind"] == "KubeSchedulerConfiguration"
    assert made["clientConnection"] == {"kubeconfig": "/k", "qps": 500, "burst": 1000}
    assert made["leaderElection"] == {
        "leaderElect": True,
        "resourceLock": "leases",
        "resourceNamespace": "sys",
        "resourceName": "cards",
    }
    read = read_configuration(made)
    assert read is not None
    assert read.percentages == {"tangram-scheduler": 100, "hami-scheduler": 100}
    (extender,) = read.extenders
    assert extender.binds
    assert extender.cached
    assert not extender.ignorable
    assert extender.meets_cards
    assert extender.ignored == usual_names() - ADVERTISED


def test_without_a_lease_nobody_is_elected() -> None:
    assert scheduler_configuration(extender_entry(URL), ["a"])["leaderElection"] == {"leaderElect": False}


@pytest.mark.parametrize(
    ("document", "percentages"),
    [
        pytest.param({}, {"default-scheduler": 0}, id="nothing-said"),
        pytest.param({"percentageOfNodesToScore": 100}, {"default-scheduler": 100}, id="for-all"),
        pytest.param(
            {
                "percentageOfNodesToScore": 100,
                "profiles": [{"schedulerName": "a"}, {"percentageOfNodesToScore": 5}],
            },
            {"a": 100, "default-scheduler": 5},
            id="a-profile-goes-first",
        ),
    ],
)
def test_what_a_profile_does_not_say_the_whole_says(
    document: dict[str, object], percentages: dict[str, int]
) -> None:
    read = read_configuration({"kind": "KubeSchedulerConfiguration", **document})
    assert read is not None
    assert read.percentages == percentages


@pytest.mark.parametrize("document", [None, [], "text", {}, {"kind": "Pod"}])
def test_other_documents_are_no_configuration(document: object) -> None:
    assert read_configuration(document) is None


def test_an_extender_without_a_list_of_resources_meets_every_pod() -> None:
    read = read_configuration(
        {
            "kind": "KubeSchedulerConfiguration",
            "extenders": [
                {"urlPrefix": "http://a", "filterVerb": "filter"},
                {
                    "urlPrefix": "http://b",
                    "filterVerb": "filter",
                    "managedResources": [{"name": "example.com/x"}],
                },
                {"urlPrefix": "http://c", "prioritizeVerb": "prioritize"},
            ],
        }
    )
    assert read is not None
    assert [extender.meets_cards for extender in read.extenders] == [True, False, False]
