"""What each part asks of the cluster, as text that a person can judge; and the two parts that charts make as well."""

from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from builders.charts.cases import EXTENSIONS, case_named
from builders.charts.goldens import objects_of
from builders.charts.reading import of_kind
from tangram.services.operator.parts import gpu_device, gpu_label
from tangram.services.operator.parts.catalogue import PARTS, PAYLOADS, Part
from tangram.services.operator.parts.pods import MANAGED_BY, MANAGER, Object, Site
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import (
    DRIVER_READY,
    MACA_PRODUCT,
    MACA_READY,
    MANAGED,
    RUNTIME_READY,
)
from tangram.wire.operator.payloads import payload_folder
from tangram.wire.operator.reading import read_spec
from tangram.wire.operator.spec import Spec

SITE = Site(namespace="metax-operator", image="registry.example/gpu/tangram:1.2.3", version="1.2.3")
FULL = read_spec(
    {
        "spec": {
            "image": {"registry": "registry.example/gpu", "pullSecrets": [{"name": "mine"}]},
            "driver": {
                "payload": {"version": "2.32.0"},
                "deployPolicy": "IfNotExist",
                "publicKeySecret": "payload-key",
            },
            "maca": {"payload": {"images": ["maca-c500:2.18.0.3", "maca-c500:2.23.0.1"]}},
            "devicePlugin": {"deviceConfig": {"version": "v1", "cluster-config": {"mode": "sgpu"}}},
        }
    }
)
NEVER = read_spec({"spec": {"driver": {"deployPolicy": "Never"}}})
SIMULATED = "simulated:unix:/run/tangram/cards.sock"
SIMULATION = read_spec(
    {
        "spec": {
            "log": {"dir": ""},
            "labelgen": {"driver": SIMULATED},
            "driver": {"deployPolicy": "Never", "loader": SIMULATED},
            "devicePlugin": {"driver": SIMULATED},
        }
    }
)


def made(part: Part, spec: Spec) -> tuple[Object, ...]:
    return part.make(spec, SITE) if part.wanted(spec) else ()


def daemon_set(part: Part, spec: Spec) -> Object:
    (found,) = made(part, spec)
    return found


def pod(found: Object) -> Object:
    return found["spec"]["template"]["spec"]


def volumes(spec: Object) -> dict[str, Object]:
    return {each["name"]: each for each in spec["volumes"]}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_is_these_objects(part: Part, snapshot: SnapshotAssertion) -> None:
    text = "---\n".join(yaml.safe_dump(each, sort_keys=False, width=110) for each in made(part, FULL))
    assert text == snapshot


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_object_says_whose_it_is(part: Part) -> None:
    for each in made(part, FULL):
        assert each["metadata"]["labels"][MANAGED_BY] == MANAGER
        assert each["metadata"]["labels"]["app.kubernetes.io/component"] == part.name


def test_no_two_parts_make_the_same_object() -> None:
    found = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for part in PARTS
        for each in made(part, FULL)
    ]
    assert len(found) == len(set(found)) == 9


# ---- the same pods as the charts make without an operator


def of_chart(component: str, case: str = "default") -> Object:
    found = of_kind(objects_of(case_named(EXTENSIONS, case)), "DaemonSet")
    return next(each for each in found if each["metadata"]["name"] == f"metax-{component}")


def alike(thing: Object) -> Object:
    """Without what must differ: where it is, whose it is, and which image it runs."""
    spec = thing["spec"]
    inner = pod(thing)
    (container,) = inner["containers"]
    return {
        "strategy": spec["updateStrategy"],
        "pod": {
            key: value
            for key, value in inner.items()
            if key not in ("containers", "nodeSelector", "affinity")
        },
        "container": {key: value for key, value in container.items() if key not in ("image", "args")},
        "ignored by webhooks": spec["template"]["metadata"]["labels"]["hami.io/webhook"],
    }


def options(thing: Object) -> dict[str, str]:
    words = pod(thing)["containers"][0]["args"][1:]
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize(
    ("component", "spec", "case", "ours", "theirs"),
    [
        pytest.param(
            "gpu-device",
            NEVER,
            "default",
            {"--container-folders": "/opt/maca,/opt/mxdriver", "--config-namespace": "metax-operator"},
            {"--config-namespace": "kube-system"},
            id="gpu-device",
        ),
        pytest.param(
            "gpu-label",
            NEVER,
            "default",
            {"--driver-labels": "elsewhere"},
            {"--driver-mode": "auto"},
            id="gpu-label",
        ),
        pytest.param(
            "gpu-label",
            read_spec({"spec": {"driver": {"deploy": False}}}),
            "default",
            {},
            {},
            id="gpu-label-without-driver-manager",
        ),
    ],
)
def test_the_pod_is_that_of_the_charts_but_for_differences_named_here(
    component: str, spec: Spec, case: str, ours: dict[str, str], theirs: dict[str, str]
) -> None:
    part = next(each for each in PARTS if each.name == component)
    mine, charts = daemon_set(part, spec), of_chart(component, case)
    assert alike(mine) == alike(charts)
    # Two writers of one label would undo each other's work: with driver-manager the mode is an argument of its own.
    left_out = {"--driver-mode"} if "--driver-labels" in ours else set[str]()
    assert options(mine) == {
        **{key: value for key, value in options(charts).items() if key not in left_out},
        **ours,
    }
    assert {key: options(charts).get(key) for key in theirs} == theirs


def test_gpu_label_with_simulated_cards_sees_the_folder_of_their_socket_as_in_the_charts() -> None:
    charts = pod(of_chart("gpu-label", "gpuLabel.driver.simulated"))
    part = next(each for each in PARTS if each.name == gpu_label.NAME)
    mine = pod(daemon_set(part, SIMULATION))
    assert volumes(mine)["state"] == volumes(charts)["state"]
    assert "logs" not in volumes(mine), "no folder, no files"


@pytest.mark.parametrize("driver", ["mxsml", "mx-smi"])
def test_gpu_label_that_asks_a_driver_sees_where_drivers_are_as_in_the_charts(driver: str) -> None:
    charts = pod(of_chart("gpu-label", "gpuLabel.driver.library"))
    part = next(each for each in PARTS if each.name == gpu_label.NAME)
    spec = read_spec({"spec": {"driver": {"deployPolicy": "Never"}, "labelgen": {"driver": driver}}})
    mine = pod(daemon_set(part, spec))
    assert volumes(mine) == volumes(charts)
    assert mine["containers"][0]["volumeMounts"] == charts["containers"][0]["volumeMounts"]


# ---- the order of a node


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        pytest.param(FULL, {INSTALLED, RUNTIME_READY, DRIVER_READY, MACA_READY}, id="all"),
        pytest.param(NEVER, {INSTALLED, RUNTIME_READY, DRIVER_READY}, id="no-mxmaca"),
        pytest.param(
            read_spec({"spec": {"driver": {"deploy": False}, "runtime": {"deploy": False}}}),
            {INSTALLED, DRIVER_READY},
            id="host-only",
        ),
    ],
)
def test_cards_are_offered_where_everything_they_need_is_ready(spec: Spec, needed: set[str]) -> None:
    assert gpu_device.node_selector(spec) == dict.fromkeys(needed, "true")


def test_what_works_on_the_host_runs_on_managed_nodes_also_while_they_are_cordoned() -> None:
    for part in PARTS:
        for each in made(part, FULL):
            if each["kind"] == "DaemonSet" and part.name not in (gpu_label.NAME, gpu_device.NAME):
                wanted = {MANAGED: "true"}
                if each["metadata"]["name"] == "metax-payloads-c500":
                    wanted[MACA_PRODUCT] = "c500"
                assert pod(each)["nodeSelector"] == wanted
                assert pod(each)["tolerations"] == [{"operator": "Exists"}]


def test_every_payload_has_a_container_with_its_own_folder() -> None:
    found = made(PAYLOADS, FULL)
    containers: list[dict[str, Any]] = [each for thing in found for each in pod(thing)["containers"]]
    images = (FULL.driver_image, *FULL.maca_images)
    assert tuple(each["image"] for each in containers) == images
    assert [each["args"][8] for each in containers] == [payload_folder(image) for image in images]
    assert made(PAYLOADS, NEVER) == (), "nothing to stage"


def test_a_node_pulls_the_mxmaca_of_its_product_and_architecture_and_no_other() -> None:
    images = [
        "maca-c500:2.23.0.4-ubuntu18.04-amd64",
        "mxn100-maca:2.23.0.4-ubuntu20.04-amd64",
        "maca-c500:2.18.0.3-ubuntu18.04-amd64",
        "maca-c500:2.23.0.4-ubuntu18.04-arm64",
        "maca-native:2.32.0",
    ]
    spec = read_spec(
        {
            "spec": {
                "image": {"registry": "r.example/gpu"},
                "driver": {"deployPolicy": "Never"},
                "maca": {"payload": {"images": images}},
            }
        }
    )
    found = {thing["metadata"]["name"]: thing for thing in made(PAYLOADS, spec)}
    arch = "kubernetes.io/arch"
    assert {name: pod(thing)["nodeSelector"] for name, thing in found.items()} == {
        "metax-payloads": {MANAGED: "true"},
        "metax-payloads-c500-amd64": {MANAGED: "true", MACA_PRODUCT: "c500", arch: "amd64"},
        "metax-payloads-c500-arm64": {MANAGED: "true", MACA_PRODUCT: "c500", arch: "arm64"},
        "metax-payloads-n100-amd64": {MANAGED: "true", MACA_PRODUCT: "n100", arch: "amd64"},
    }
    staged = {
        name: [each["image"].removeprefix("r.example/gpu/") for each in pod(thing)["containers"]]
        for name, thing in found.items()
    }
    assert staged == {
        "metax-payloads": [images[4]],
        "metax-payloads-c500-amd64": [images[0], images[2]],
        "metax-payloads-c500-arm64": [images[3]],
        "metax-payloads-n100-amd64": [images[1]],
    }


def test_no_daemon_set_of_payloads_selects_the_pods_of_another() -> None:
    found = made(PAYLOADS, FULL)
    assert len(found) == 2
    for mine in found:
        matched = mine["spec"]["selector"]["matchLabels"].items()
        selected = [
            each for each in found if matched <= each["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert selected == [mine]


def test_a_simulation_is_reached_where_drivers_are_changed() -> None:
    part = next(each for each in PARTS if each.name == "driver-manager")
    mounts = pod(daemon_set(part, SIMULATION))["containers"][0]["volumeMounts"]
    assert {"name": "state", "mountPath": "/run/tangram"} in mounts
