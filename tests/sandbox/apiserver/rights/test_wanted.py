"""What a request wants is read from its address as the real server reads it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tangram.sandbox.apiserver.rights.wanted import Wanted, read_wanted

PODS = "/api/v1/namespaces/a/pods"


@pytest.mark.parametrize(
    ("method", "path", "query", "wanted"),
    [
        pytest.param("GET", PODS, {}, Wanted("list", "", "pods", "", "a"), id="list"),
        pytest.param("GET", PODS, {"watch": "1"}, Wanted("watch", "", "pods", "", "a"), id="watch"),
        pytest.param("GET", PODS, {"watch": "false"}, Wanted("list", "", "pods", "", "a"), id="no watch"),
        pytest.param(
            "GET", "/api/v1/watch/pods", {}, Wanted("watch", "", "pods"), id="watch as it once was written"
        ),
        pytest.param("GET", f"{PODS}/x", {}, Wanted("get", "", "pods", "", "a", "x"), id="get"),
        pytest.param("HEAD", f"{PODS}/x", {}, Wanted("get", "", "pods", "", "a", "x"), id="head"),
        pytest.param("GET", f"{PODS}/x/log", {}, Wanted("get", "", "pods", "log", "a", "x"), id="part"),
        pytest.param("POST", PODS, {}, Wanted("create", "", "pods", "", "a"), id="create"),
        pytest.param("DELETE", PODS, {}, Wanted("deletecollection", "", "pods", "", "a"), id="delete all"),
        pytest.param("DELETE", f"{PODS}/x", {}, Wanted("delete", "", "pods", "", "a", "x"), id="delete"),
        pytest.param(
            "GET",
            PODS,
            {"fieldSelector": "status.phase=Running,metadata.name=x"},
            Wanted("list", "", "pods", "", "a", "x"),
            id="a list of one name",
        ),
        pytest.param(
            "GET",
            PODS,
            {"fieldSelector": "metadata.name!=x"},
            Wanted("list", "", "pods", "", "a"),
            id="a list of all but one name",
        ),
        pytest.param(
            "PATCH",
            "/apis/apps/v1/namespaces/a/deployments/x/scale",
            {},
            Wanted("patch", "apps", "deployments", "scale", "a", "x"),
            id="part of a group's",
        ),
        pytest.param("GET", "/apis/apps/v1/deployments", {}, Wanted("list", "apps", "deployments"), id="all"),
        pytest.param("GET", "/api/v1/namespaces", {}, Wanted("list", "", "namespaces"), id="namespaces"),
        pytest.param(
            "GET", "/api/v1/namespaces/a", {}, Wanted("get", "", "namespaces", "", "a", "a"), id="a namespace"
        ),
        pytest.param(
            "PUT",
            "/api/v1/namespaces/a/finalize",
            {},
            Wanted("update", "", "namespaces", "finalize", "a", "a"),
            id="part of a namespace",
        ),
        pytest.param("GET", "/apis/apps/v1", {}, Wanted("get", path="/apis/apps/v1"), id="discovery"),
        pytest.param("POST", "/version", {}, Wanted("post", path="/version"), id="a path"),
        pytest.param("GET", "/", {}, Wanted("get", path="/"), id="the root"),
    ],
)
def test_an_address_says_what_is_wanted(
    method: str, path: str, query: Mapping[str, str], wanted: Wanted
) -> None:
    assert read_wanted(method, path, query) == wanted
