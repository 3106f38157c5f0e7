"""Discovery: what the real server says of the kinds served, and what holds for kinds it never had."""

import platform
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.table_cases.documents import difference, plain_paths, recorded
from builders.table_cases.specimens import all_kinds
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.discovery import aggregated, group, groups, resources, version_info
from tangram.sandbox.apiserver.discovery.ordering import versions
from tangram.sandbox.apiserver.kinds import Kind

RECORDED = recorded()


def custom(version: str, name: str = "example.com") -> Kind:
    return Kind(group=name, version=version, kind="Tile", plural="tiles", singular="tile")


@pytest.mark.parametrize("path", RECORDED)
def test_a_document_says_what_the_real_server_says_of_the_kinds_served(path: str) -> None:
    assert difference(path, RECORDED[path]) == ""


def test_every_document_was_compared() -> None:
    assert set(plain_paths()) | {"/api aggregated", "/apis aggregated"} == set(RECORDED)


def test_a_verb_too_many_is_noticed() -> None:
    theirs = recorded()["/apis/apps/v1"]
    theirs["resources"][0]["verbs"].remove("patch")
    assert difference("/apis/apps/v1", theirs)


def test_both_forms_name_the_same_resources() -> None:
    kinds = all_kinds()
    in_one = {
        (item["metadata"].get("name", ""), version["version"], resource["resource"])
        for core in (True, False)
        for item in aggregated(kinds, core=core)["items"]
        for version in item["versions"]
        for resource in version["resources"]
    }
    in_many = {
        (kind.group, kind.version, resource["name"])
        for kind in kinds
        for resource in (resources(kinds, kind.group, kind.version) or {})["resources"]
        if "/" not in resource["name"]
    }
    assert in_one == in_many == {(kind.group, kind.version, kind.plural) for kind in kinds}


def test_groups_of_people_stand_behind_those_of_kubernetes_in_the_order_of_the_alphabet() -> None:
    kinds = [custom("v1", "zebra.example.com"), *BUILT_IN, custom("v1", "aardvark.example.com")]
    named = [one["name"] for one in groups(kinds)["groups"]]
    assert named[0] == "apps"
    assert named[-2:] == ["aardvark.example.com", "zebra.example.com"]


@pytest.mark.parametrize(
    ("written", "ordered"),
    [
        pytest.param(["v1beta1", "v1", "v1alpha1"], ["v1", "v1beta1", "v1alpha1"], id="stable first"),
        pytest.param(["v1", "v2", "v10"], ["v10", "v2", "v1"], id="newer first"),
        pytest.param(["v2alpha1", "v1beta2", "v1beta10"], ["v1beta10", "v1beta2", "v2alpha1"], id="numbers"),
        pytest.param(["foo10", "v1", "foo1", "v0"], ["v1", "foo1", "foo10", "v0"], id="other forms last"),
    ],
)
def test_the_preferred_version_of_a_group_is_its_most_stable_and_newest(
    written: list[str], ordered: list[str]
) -> None:
    kinds = [custom(version) for version in written]
    assert versions(kinds, "example.com") == ordered
    told = group(kinds, "example.com")
    assert told is not None
    assert told["preferredVersion"] == {"groupVersion": f"example.com/{ordered[0]}", "version": ordered[0]}


@given(st.permutations(["v1", "v2", "v1beta1", "v1alpha3", "v11", "next", "v2beta2"]))
def test_the_order_in_which_kinds_came_makes_no_difference(came: list[str]) -> None:
    ordered = versions([custom(version) for version in came], "example.com")
    assert ordered == ["v11", "v2", "v1", "v2beta2", "v1beta1", "v1alpha3", "next"]
    assert all(earlier != later for earlier, later in pairwise(ordered))


@pytest.mark.parametrize("name", ["", "nobody.example.com"])
def test_a_group_that_nobody_knows_has_no_document(name: str) -> None:
    assert group(BUILT_IN, name) is None


def test_a_version_that_nobody_knows_has_no_document() -> None:
    assert resources(BUILT_IN, "apps", "v2") is None
    assert resources(BUILT_IN, "", "v2") is None


def test_older_clients_get_the_same_document_in_the_version_they_know() -> None:
    new, old = (aggregated(BUILT_IN, core=False, version=version) for version in ("v2", "v2beta1"))
    assert old["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert old["items"] == new["items"]


def test_the_version_is_one_that_clients_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    told = version_info()
    assert re.fullmatch(r"v1\.36\.\d+\+[0-9A-Za-z.-]+", told["gitVersion"])
    assert (told["major"], told["minor"], told["platform"]) == ("1", "36", "linux/arm64")
    assert all(isinstance(value, str) for value in told.values())
