"""The kind `ClusterOperator`: the file for people is the same, good objects pass it, faulty ones do not."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.controlled import ISSUED
from tangram.kube.api import Api, Object
from tangram.kube.errors import ApiError
from tangram.kube.probing import has_resource
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kinds import DEFINITIONS
from tangram.wire.operator.definition import FILE, NAME, operator_definition
from tangram.wire.operator.names import API_VERSION, GROUP, KIND, OBJECT, PLURAL, VERSION
from tangram.wire.operator.policies import ALSO, DeployPolicy
from tangram.wire.operator.reading import read_spec
from tangram.wire.operator.spec import Spec
from tangram.wire.operator.status import (
    Nodes,
    PartState,
    PartStatus,
    State,
    Status,
    read_status,
    status_object,
)

ROOT = Path(__file__).resolve().parents[3]
OBJECTS = f"/apis/{GROUP}/{VERSION}/{PLURAL}"

HEAD = (
    "# The kind ClusterOperator of chart metax-operator (docs/operator.md).\n"
    "# Made from src/tangram/wire/operator/definition.py: a test holds the two equal.\n"
)


class _Plain(yaml.SafeDumper):
    """Equal parts are written out, not as references, which Kubernetes' own tools would take but people stumble on."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the library's signature
        return True


def as_file() -> str:
    return HEAD + yaml.dump(operator_definition(), Dumper=_Plain, sort_keys=False, width=110)


def test_the_file_for_people_is_the_definition() -> None:
    file = ROOT / FILE
    if os.environ.get("TANGRAM_REFRESH") == "1":
        file.write_text(as_file(), "utf-8")
    assert file.read_text("utf-8") == as_file()


@pytest.fixture
async def api() -> AsyncGenerator[Api]:
    async with serving_api(issued=ISSUED) as running, Api(running.connection()) as api:
        await api.create(DEFINITIONS, operator_definition())
        async with asyncio.timeout(10):
            while not await has_resource(api, API_VERSION, PLURAL):  # noqa: ASYNC110 - another process' state
                await asyncio.sleep(0.01)
        yield api


def thing(spec: dict[str, Any]) -> Object:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": OBJECT}, "spec": spec}


FULL: dict[str, Any] = {
    "image": {"registry": "registry.example/gpu", "pullPolicy": "Always", "pullSecrets": [{"name": "mine"}]},
    "log": {"level": "debug"},
    "labelgen": {"log": {"dir": ""}},
    "driver": {
        "deployPolicy": "PreferCloud",
        "payload": {"version": "2.32.0-amd64"},
        "upgradePolicy": {"maxUnavailable": "25%", "whenBusy": "Evict", "evictTimeout": "90s"},
    },
    "maca": {
        "payload": {"images": ["maca-c500:2.18.0.3-ubuntu18.04-amd64"], "registry": "other.example/maca"}
    },
    "runtime": {"config": {"cdiMode": "env"}},
    "devicePlugin": {
        "healthyInterval": 0,
        "deviceConfig": {"version": "v1", "cluster-config": {"mode": "sgpu"}},
    },
    "dataExporter": {"deploy": False, "service": {"port": 30445}},
    "cluster": {"type": "auto"},
}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param(FULL, id="everything"),
        *(
            pytest.param({"driver": {"deployPolicy": word}}, id=word)
            for word in (*map(str, DeployPolicy), *ALSO)
        ),
    ],
)
async def test_what_can_be_meant_is_stored(api: Api, spec: dict[str, Any]) -> None:
    await api.create(OBJECTS, thing(spec))


async def test_defaults_are_those_of_the_records(api: Api) -> None:
    blocks: dict[str, Any] = {
        "image": {},
        "driver": {"payload": {}, "upgradePolicy": {}},
        "runtime": {"config": {}},
    }
    bare: dict[str, Any] = {
        **blocks,
        "maca": {"cleanupConfig": {}},
        "devicePlugin": {},
        "labelgen": {},
        "gpuScheduler": {},
    }
    stored = await api.create(OBJECTS, thing(bare))
    never = {**stored["spec"], "driver": {**stored["spec"]["driver"], "deployPolicy": "Never"}}
    assert read_spec({"spec": never}) == read_spec({"spec": {"driver": {"deployPolicy": "Never"}}})
    assert stored["spec"]["driver"]["deployPolicy"] == Spec().driver.deploy_policy


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        pytest.param({"driver": {"deployPolicy": "Sometimes"}}, "spec.driver.deployPolicy", id="policy"),
        pytest.param(
            {"driver": {"upgradePolicy": {"maxUnavailable": "0%"}}},
            "spec.driver.upgradePolicy.maxUnavailable",
            id="no-budget",
        ),
        pytest.param(
            {"driver": {"upgradePolicy": {"evictTimeout": "5"}}}, "evictTimeout", id="duration-without-unit"
        ),
        pytest.param({"devicePlugin": {"healthyInterval": -1}}, "healthyInterval", id="negative"),
        pytest.param({"log": {"level": "loud"}}, "spec.log.level", id="level"),
        pytest.param(
            {"image": {"registry": "https://x.example"}}, "spec.image.registry", id="registry-with-scheme"
        ),
        pytest.param({"runtime": {"config": {"engine": "rkt"}}}, "spec.runtime.config.engine", id="engine"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_the_api_server(
    api: Api, spec: dict[str, Any], place: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await api.create(OBJECTS, thing(spec))
    assert refused.value.status == 422
    assert place in refused.value.message


async def test_a_status_of_ours_is_stored_and_read_back(api: Api) -> None:
    status = Status(
        state=State.DEPLOYING,
        message="driver-manager is not ready on 1 of 3 nodes",
        observed_generation=2,
        ready_nodes="2/3",
        parts=(PartStatus(name="driver-manager", state=PartState.NOT_READY, wanted=3, ready=2),),
        nodes=Nodes(managed=3, ready=2),
    )
    await api.create(OBJECTS, thing({}))
    stored = await api.merge(f"{OBJECTS}/{OBJECT}/status", {"status": status_object(status)})
    assert read_status(stored) == status


def test_the_kind_has_a_name_that_people_can_type() -> None:
    assert operator_definition()["metadata"]["name"] == NAME == "clusteroperators.gpu.metax-tech.com"
