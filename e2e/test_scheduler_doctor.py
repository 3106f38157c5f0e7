"""`tangram doctor --cluster` on a real API server: what it reads there, and the clashes it finds."""

import json

import pytest

from e2e.agent_kit import TANGRAM
from e2e.scheduler_kit import made
from tangram.wire.extender_config import extender_entry, scheduler_configuration
from testbed.api import Object
from testbed.cluster import Cluster

pytestmark = pytest.mark.xdist_group("fleet")


async def findings(cluster: Cluster) -> dict[str, list[Object]]:
    """By check, what the command finds."""
    done = await cluster.command([TANGRAM, "doctor", "--cluster", "-o", "json", "--timeout", "60s"])
    assert done.errors == ""
    found: dict[str, list[Object]] = {}
    for finding in json.loads(done.output)["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    failed = any(each["outcome"] == "fail" for group in found.values() for each in group)
    assert done.status == (1 if failed else 0)
    return found


async def test_a_plain_cluster_is_read_whole_and_lacks_only_what_was_not_installed(fleet: Cluster) -> None:
    found = await findings(fleet)
    outcomes = {check: [each["outcome"] for each in group] for check, group in found.items()}
    assert outcomes["kubernetes-version"] == ["ok"]
    assert outcomes["pod-groups"] == ["ok"]
    assert outcomes["device-classes"] == ["ok"]
    assert outcomes["webhook"] == ["fail"]
    assert outcomes["allocation-guard"] == ["fail"]
    assert outcomes["kube-scheduler"] == ["skip"]
    assert not [each for group in found.values() for each in group if "may not be" in each["why"]]


async def test_a_device_class_and_a_careless_configuration_are_named(fleet: Cluster) -> None:
    entry = extender_entry("http://127.0.0.1:8180") | {"ignorable": True}
    written = scheduler_configuration(entry, ["tangram-scheduler"])
    written["profiles"][0].pop("percentageOfNodesToScore")
    claiming = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "claims-our-cards"},
        "spec": {"extendedResourceName": "metax-tech.com/gpu"},
    }
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "careless", "namespace": "kube-system"},
        "data": {"config.yaml": json.dumps(written)},
    }
    async with made(fleet, claiming, config):
        found = await findings(fleet)
    assert [
        "claims-our-cards claims metax-tech.com/gpu" in each["why"] for each in found["device-classes"]
    ] == [True]
    assert {each["todo"] for each in found["kube-scheduler"]} >= {
        "write percentageOfNodesToScore: 100 in the profile",
        "write ignorable: false",
    }
