"""What an administrator writes into the ClusterOperator means one thing, or is refused with one sentence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.errors import WireError
from tangram.wire.operator.names import OBJECT
from tangram.wire.operator.reading import read_name, read_spec
from tangram.wire.operator.spec import Log, Spec, UpgradePolicy

REGISTRY: dict[str, Any] = {"registry": "registry.example/gpu"}
NEVER: dict[str, Any] = {"deployPolicy": "Never"}


def spec_of(**blocks: object) -> Spec:
    return read_spec({"spec": blocks})


def test_payloads_come_from_the_registry_of_all_unless_they_name_their_own() -> None:
    images = ["maca-c500:1", "maca-c500:2"]
    shared = spec_of(
        image=REGISTRY, driver={"payload": {"version": "2"}}, maca={"payload": {"images": images}}
    )
    assert shared.driver_image == "registry.example/gpu/driver-image:2"
    assert shared.maca_images == ("registry.example/gpu/maca-c500:1", "registry.example/gpu/maca-c500:2")
    own = spec_of(
        image=REGISTRY,
        driver={"payload": {"version": "2", "name": "metax/d", "registry": "a.example/"}},
        maca={"payload": {"images": images[:1], "registry": "b.example/x"}},
    )
    assert (own.driver_image, own.maca_images) == ("a.example/metax/d:2", ("b.example/x/maca-c500:1",))


def test_a_policy_of_never_needs_no_payload() -> None:
    assert spec_of(driver=NEVER).driver_image == ""


def test_a_part_has_its_own_log_options_and_those_of_all_for_the_rest() -> None:
    spec = spec_of(log={"level": "debug", "dir": "/logs"}, driver={**NEVER, "log": {"dir": ""}})
    assert spec.log_of(spec.driver.log) == Log(
        dir="", level="debug", format="json", rotation_time="1w", max_age="26w"
    )


@given(st.integers(0, 10_000), st.one_of(st.integers(1, 999_999), st.integers(1, 100).map("{}%".format)))
def test_the_budget_lets_one_node_at_least_go_and_never_more_than_is_written(
    nodes: int, share: int | str
) -> None:
    most = UpgradePolicy(max_unavailable=share).most_unavailable(nodes)
    assert most >= 1
    if isinstance(share, str):
        assert most == 1 or most <= nodes * int(share[:-1]) / 100
    else:
        assert most == share


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        pytest.param(
            {"image": REGISTRY},
            "driver.payload.version is missing: with driver.deployPolicy IfNotPresent the driver comes from the image "
            "driver-image, and its tag must be said; write one, or driver.deployPolicy: Never",
            id="no-version",
        ),
        pytest.param(
            {"driver": {"payload": {"version": "2"}}},
            "neither driver.payload.registry nor image.registry says where the payload comes from; "
            "write DOMAIN/PROJECT there",
            id="no-registry",
        ),
        pytest.param(
            {"driver": NEVER, "maca": {"payload": {"images": ["maca-c500:1"]}}},
            "neither maca.payload.registry nor image.registry says where the payload comes from; "
            "write DOMAIN/PROJECT there",
            id="no-registry-of-maca",
        ),
        pytest.param(
            {"image": REGISTRY, "driver": NEVER, "maca": {"payload": {"images": ["maca-c500"]}}},
            "maca.payload.images has 'maca-c500': an entry is an image's name and tag without registry, "
            "such as maca-c500:2.18.0.3-ubuntu18.04-amd64",
            id="no-tag",
        ),
        pytest.param(
            {"image": REGISTRY, "driver": NEVER, "maca": {"payload": {"images": ["m:1", "m:1"]}}},
            "maca.payload.images has 'm:1' twice; write it once",
            id="twice",
        ),
        pytest.param(
            {"image": REGISTRY, "driver": NEVER, "maca": {"payload": {"images": ["maca-x900:1"]}}},
            "maca.payload.images has 'maca-x900:1', whose name says no product that is known, so it is for no node: "
            "it is maca-PRODUCT:TAG or mxPRODUCT-maca:TAG with PRODUCT one of c280, c290, c500, c500x, c550, c588, "
            "c600, n100, n100e, n100v, n260, or maca-native:TAG for an image that serves all of them; give the image "
            "such a name in the registry",
            id="maca-of-an-unknown-product",
        ),
        pytest.param(
            {
                "image": REGISTRY,
                "driver": NEVER,
                "maca": {
                    "payload": {"images": ["maca-c500:2.23-ubuntu18.04-amd64", "mxc500-maca:2.23-amd64"]}
                },
            },
            "maca.payload.images has 'maca-c500:2.23-ubuntu18.04-amd64' and 'mxc500-maca:2.23-amd64', which both bring "
            "MXMACA 2.23 for c500, and a node has one folder for a version; leave one out",
            id="two-maca-of-one-product-and-version",
        ),
        pytest.param(
            {"driver": {"deploy": False}, "maca": {"payload": {"images": ["m:1"]}}},
            "driver.deploy is false, and maca.payload.images is not empty: both are driver-manager's work; "
            "write driver.deploy: true, with driver.deployPolicy: Never to keep the host's driver",
            id="maca-without-driver-manager",
        ),
        pytest.param(
            {"driver": NEVER, "dataExporter": {"deploy": True}},
            "dataExporter.deploy is true, which this operator does not do: metrics of cards are served by gpu-device "
            "itself (docs/monitoring.md); write false, or leave it out",
            id="exporter",
        ),
        pytest.param(
            {"driver": NEVER, "openshift": {"enabled": True}},
            "openshift.enabled is true, which this operator does not do: OpenShift is not supported; write false, "
            "or leave it out",
            id="openshift",
        ),
        pytest.param(
            {"driver": NEVER, "vendor": {"domain": "example.com"}},
            "vendor has content, and this operator serves MetaX cards under their own names alone; leave it out",
            id="vendor",
        ),
        pytest.param(
            {"driver": NEVER, "cluster": {"type": "k3s"}},
            "cluster.type is 'k3s': it is auto or k8s; other distributions keep the runtime's configuration elsewhere "
            "and are not supported, use chart metax-gpu-extensions there",
            id="k3s",
        ),
        pytest.param(
            {"driver": {**NEVER, "upgradePolicy": {"maxUnavailable": 0}}},
            "driver.upgradePolicy.maxUnavailable is 0: it is a number of nodes from 1 on or a percentage from 1% to "
            "100%; write paused: true to stop upgrades",
            id="no-budget",
        ),
        pytest.param(
            {"driver": {**NEVER, "upgradePolicy": {"evictTimeout": "0s"}}},
            "driver.upgradePolicy.evictTimeout is 0: pods need time to end; write for example 5m",
            id="no-time",
        ),
        pytest.param(
            {"driver": {**NEVER, "loader": "dkms"}},
            "driver.loader is 'dkms': it is auto, kmod or simulated:unix:SOCKET",
            id="loader",
        ),
        pytest.param(
            {"driver": {"payload": {"version": "2 3", **REGISTRY}}},
            "driver.payload.version is '2 3': it is the tag of an image, such as 2.32.0-amd64",
            id="tag",
        ),
        pytest.param(
            {"driver": NEVER, "image": {"registry": "https://x.example"}},
            "image.registry is 'https://x.example': it is DOMAIN/PROJECT without https://, "
            "such as cr.metax-tech.com/cloud",
            id="registry",
        ),
        pytest.param(
            {"driver": NEVER, "devicePlugin": {"deviceConfig": {"version": "v1", "nodes": []}}},
            "devicePlugin.deviceConfig has 'nodes': its keys are version, cluster-config and nodes-config; write for "
            "example {version: v1, cluster-config: {mode: sgpu}}",
            id="device-config-key",
        ),
        pytest.param(
            {"driver": NEVER, "devicePlugin": {"deviceConfig": {"cluster-config": {"mode": "sgpu"}}}},
            "devicePlugin.deviceConfig: version is None: only v1 is known; write v1",
            id="device-config-version",
        ),
        pytest.param(
            {
                "driver": NEVER,
                "devicePlugin": {"deviceConfig": {"version": "v1", "cluster-config": {"mode": "sliced"}}},
            },
            "devicePlugin.deviceConfig: mode in cluster-config is 'sliced': it is one of native, sgpu, shared, vgpu, "
            "mixed; write one of these",
            id="device-config-mode",
        ),
        pytest.param(
            {"driver": {**NEVER, "fwUpgradePolicy": "PreferCloud"}},
            "driver.fwUpgradePolicy is PreferCloud: there is no public interface by which the firmware of a card could "
            "be written; update the firmware by hand (mx-smi -u, see the vendor's guide), and write Never",
            id="firmware",
        ),
        pytest.param(
            {"driver": {**NEVER, "fwEnableVirt": True}},
            "driver.fwEnableVirt is true: there is no public interface by which virtualization could be switched on in "
            "firmware; update the firmware by hand (mx-smi -u, see the vendor's guide), and write false",
            id="firmware-virtualization",
        ),
        pytest.param(
            {"driver": {**NEVER, "deviceAsRootGroup": True}},
            "driver.deviceAsRootGroup is true: who owns the device nodes of a host is decided by its udev rules, which "
            "would undo it; write such a rule on the hosts, and false here",
            id="root-group",
        ),
        pytest.param(
            {"driver": {"deployPolicy": 3}},
            "spec.driver.deployPolicy cannot be read: Expected `str`, got `int`; kubectl explain "
            "clusteroperators.spec.driver.deployPolicy says what is legal there",
            id="types",
        ),
        pytest.param(
            {"driver": NEVER, "maca": {"payload": {"images": [3]}}},
            "spec.maca.payload.images cannot be read: Expected `str`, got `int`; kubectl explain "
            "clusteroperators.spec.maca.payload.images says what is legal there",
            id="types-in-lists",
        ),
        pytest.param(
            {"driver": NEVER, "devicePlugin": {"nodeSelector": {"metax-tech.com/driver.ready": "false"}}},
            "devicePlugin.nodeSelector has 'metax-tech.com/driver.ready', by which the operator itself says where "
            "cards may be offered; leave it out, and choose nodes by labels of your own",
            id="the-order-of-a-node",
        ),
        pytest.param(
            {"driver": NEVER, "devicePlugin": {"healthyInterval": -1}},
            "devicePlugin.healthyInterval is -1: it is a number of seconds from 0, which switches health checks off, "
            "to 3600",
            id="interval",
        ),
        pytest.param(
            {"driver": NEVER, "maca": {"cleanupConfig": {"threshold": 0}}},
            "maca.cleanupConfig.threshold is 0: it is a number of versions from 1 on",
            id="threshold",
        ),
        pytest.param(
            {"driver": {**NEVER, "log": {"dir": "/var/../etc"}}},
            "driver.log.dir is '/var/../etc': it is a folder of the hosts, from the root on and without .., such as "
            "/var/log/metax, or empty for no files",
            id="log-folder",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(blocks: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WireError) as refused:
        spec_of(**blocks)
    assert str(refused.value) == sentence


def test_a_value_without_end_is_not_echoed_without_end() -> None:
    with pytest.raises(WireError) as refused:
        spec_of(driver=NEVER, runtime={"config": {"engine": "x" * 100_000}})
    assert len(refused.value.sentence) < 500


def test_another_object_is_told_which_one_counts() -> None:
    assert read_name({"metadata": {"name": OBJECT}}) == ""
    assert read_name({"metadata": {"name": "mine"}}) == (
        "ClusterOperator mine is not looked at: there is one in a cluster, called cluster-operator; edit that one"
    )


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["image", "driver", "maca", "log", "cluster", "vendor"]), nested))
def test_nothing_that_is_written_there_breaks_the_reader(blocks: dict[str, Any]) -> None:
    try:
        read_spec({"spec": blocks})
    except WireError as refused:
        assert "\n" not in refused.sentence  # noqa: PT017 - either is fine
