"""How much of a quota pods use, by name of the limit and by scope."""

from __future__ import annotations

import pytest

from tangram.kube.objects import Object
from tangram.sandbox.controllers.quota_usage import counted_resource, in_scopes, is_of_pods, pod_usage
from tangram.sandbox.controllers.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS


def asking(**amounts: str) -> Object:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in amounts.items()}
    return {"name": "c", "resources": {"requests": named, "limits": named}}


def pod(
    *containers: Object, inits: tuple[Object, ...] = (), phase: str = "Running", **spec: object
) -> Object:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": list(containers), "initContainers": list(inits), **spec},
        "status": {"phase": phase},
    }


def used(pods: list[Object], *names: str) -> dict[str, str]:
    return {name: str(amount) for name, amount in pod_usage(pods, names).items()}


def test_requests_and_limits_are_summed_over_containers_and_pods() -> None:
    pods = [pod(asking(cpu="500m", memory="1Gi"), asking(cpu="250m")), pod(asking(cpu="1"))]
    assert used(pods, "requests.cpu", "cpu", "limits.memory", "pods") == {
        "requests.cpu": "1750m",
        "cpu": "1750m",
        "limits.memory": "1Gi",
        "pods": "2",
    }


def test_cards_are_counted_by_their_full_name() -> None:
    assert used([pod(asking(metax_tech_com__gpu="4"))], "requests.metax.tech.com/gpu") == {
        "requests.metax.tech.com/gpu": "4"
    }


def test_the_largest_init_container_counts_where_it_is_larger_than_the_rest() -> None:
    assert used([pod(asking(cpu="1"), inits=(asking(cpu="3"), asking(cpu="2")))], "requests.cpu") == {
        "requests.cpu": "3"
    }


def test_an_init_container_that_goes_on_counts_with_the_others() -> None:
    sidecar = asking(cpu="1") | {"restartPolicy": "Always"}
    assert used([pod(asking(cpu="1"), inits=(sidecar, asking(cpu="3")))], "requests.cpu") == {
        "requests.cpu": "4"
    }


def test_pods_that_have_ended_use_only_their_place() -> None:
    ended = [pod(asking(cpu="1"), phase="Succeeded")]
    assert used(ended, "requests.cpu", "pods", "count/pods") == {
        "requests.cpu": "0",
        "pods": "0",
        "count/pods": "1",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("count/deployments.apps", DEPLOYMENTS, id="of a group"),
        pytest.param("configmaps", CONFIG_MAPS, id="an old name"),
        pytest.param("count/jobs.batch", JOBS, id="jobs"),
        pytest.param("count/unknowns.example.com", None, id="a kind that is not there"),
        pytest.param("example.com/gpu", None, id="no count"),
    ],
)
def test_a_limit_on_numbers_names_its_kind(name: str, expected: object) -> None:
    assert counted_resource(name, [DEPLOYMENTS, CONFIG_MAPS, JOBS]) == expected
    assert not is_of_pods(name)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, True, id="no scope"),
        pytest.param({"scopes": ["NotBestEffort", "NotTerminating"]}, True, id="scopes it is in"),
        pytest.param({"scopes": ["BestEffort"]}, False, id="it asks for something"),
        pytest.param({"scopes": ["Terminating"]}, False, id="it has no deadline"),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            True,
            id="its priority",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]
                }
            },
            False,
            id="no priority",
        ),
    ],
)
def test_scopes_choose_the_pods_a_quota_is_about(spec: Object, expected: bool) -> None:  # noqa: FBT001 - a case
    assert in_scopes({"spec": spec}, pod(asking(cpu="1"), priorityClassName="high")) is expected
