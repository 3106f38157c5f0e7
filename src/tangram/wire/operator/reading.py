"""From a `ClusterOperator` as the API server sends it to records, refusing with one sentence what cannot be done.

Most of what is wrong never comes so far: the schema refuses it when it is written. What is left here depends on two
fields at once, or is a block of the vendor's operator that would silently do nothing. A definition of an older release
may let through more, so types are checked as well. What is refused changes nothing in the cluster: the operator keeps
to what it read last, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from tangram.units.durations import parse_duration
from tangram.units.ids import NodeName
from tangram.units.refusal import UnitError
from tangram.vendors.metax.maca_images import MacaImage, known_products, read_maca_image
from tangram.wire import loose
from tangram.wire.device_config import (
    KEYS,
    NODES_KEY,
    SLICED_CARDS,
    VERSION_KEY,
    ConfigError,
    read_device_config,
)
from tangram.wire.errors import WireError, shown
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import (
    DRIVER_READY,
    FINALIZER,
    MACA_READY,
    OBJECT,
    PLURAL,
    RUNTIME_READY,
    VENDORS_FINALIZER,
)
from tangram.wire.operator.policies import DeployPolicy
from tangram.wire.operator.spec import PERCENT, Spec

CODE: Final = "cluster-operator-spec"

IMAGE_NAME: Final = r"[a-z0-9]+([._/-]+[a-z0-9]+)*"
IMAGE_TAG: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
REGISTRY: Final = r"[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*/?"

_NAME = re.compile(IMAGE_NAME)
_TAG = re.compile(IMAGE_TAG)
_REGISTRY = re.compile(REGISTRY)
_TAGGED = re.compile(rf"{IMAGE_NAME}(:{IMAGE_TAG})(@sha256:[0-9a-f]{{64}})?")
_SHARE = re.compile(r"([1-9][0-9]{0,5})|(([1-9][0-9]?|100)%)")
_ANY_NODE: Final = NodeName("*")
_LONGEST: Final = 200
_LOADER = re.compile(r"auto|kmod|simulated:.+")

_LONGEST_INTERVAL: Final = 3600
_ORDER: Final = frozenset({INSTALLED, RUNTIME_READY, DRIVER_READY, MACA_READY})
"""By these labels a node comes to life in one order."""

_NOT_OURS: Final = {
    "dataExporter": "metrics of cards are served by gpu-device itself (docs/monitoring.md)",
    "topoDiscovery": "gpu-device finds the links between cards by itself",
    "openshift": "OpenShift is not supported",
}


def read_spec(thing: Mapping[str, Any]) -> Spec:
    """The spec of an object. Raises `WireError`."""
    written = thing.get("spec")
    try:
        spec = msgspec.convert({} if written is None else written, type=Spec)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _refusal(_misread(str(error))) from error
    _check_blocks_of_others(spec)
    _check_driver(spec)
    _check_upgrades(spec)
    _check_maca(spec)
    _check_registries(spec)
    _check_device_plugin(spec)
    _check_device_config(spec)
    _check_logs(spec)
    return spec


def _misread(words: str) -> str:
    """What a decoder says, with the place first and never at unbounded length."""
    what, _, place = words.rpartition(" - at ")
    field = place.strip("`").removeprefix("$").split("[")[0]
    told = what or words
    short = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."
    return (
        f"spec{field} cannot be read: {short}; kubectl explain {PLURAL}.spec{field} says what is legal there"
    )


def read_name(thing: Mapping[str, Any]) -> str:
    """Why an object of our kind is not the one that counts; empty if it is."""
    name = loose.text(loose.members(thing.get("metadata")).get("name"))
    if name == OBJECT:
        return ""
    return (
        f"ClusterOperator {name} is not looked at: there is one in a cluster, called {OBJECT}; edit that one"
    )


def whose(thing: Mapping[str, Any]) -> str:
    """Why an object is none of ours although it has our kind and name; empty if it is."""
    finalizers = loose.elements(loose.members(thing.get("metadata")).get("finalizers"))
    if VENDORS_FINALIZER not in finalizers or FINALIZER in finalizers:
        return ""
    return (
        f"ClusterOperator {OBJECT} is kept by MetaX's own operator, and two would undo each other's work: uninstall "
        "that one first (docs/migrate-from-metax.md)"
    )


def _check_blocks_of_others(spec: Spec) -> None:
    blocks = {
        "dataExporter": spec.data_exporter,
        "topoDiscovery": spec.topo_discovery,
        "openshift": spec.openshift,
    }
    for name, block in blocks.items():
        if block.deploy or block.enabled:
            word = "deploy" if block.deploy else "enabled"
            raise _refusal(
                f"{name}.{word} is true, which this operator does not do: {_NOT_OURS[name]}; write false, "
                "or leave it out"
            )
    if spec.vendor:
        raise _refusal(
            "vendor has content, and this operator serves MetaX cards under their own names alone; leave it out"
        )
    if spec.cluster.type not in ("auto", "k8s"):
        raise _refusal(
            f"cluster.type is {shown(spec.cluster.type)}: it is auto or k8s; other distributions keep the runtime's "
            "configuration elsewhere and are not supported, use chart metax-gpu-extensions there"
        )


def _check_driver(spec: Spec) -> None:
    driver = spec.driver
    policy = driver.policy
    if not driver.deploy and spec.maca.payload.images:
        raise _refusal(
            "driver.deploy is false, and maca.payload.images is not empty: both are driver-manager's work; "
            "write driver.deploy: true, with driver.deployPolicy: Never to keep the host's driver"
        )
    _check_firmware(spec)
    if _LOADER.fullmatch(driver.loader) is None:
        raise _refusal(f"driver.loader is {shown(driver.loader)}: it is auto, kmod or simulated:unix:SOCKET")
    if not driver.deploy or policy is DeployPolicy.NEVER:
        return
    payload = driver.payload
    if not payload.version:
        raise _refusal(
            f"driver.payload.version is missing: with driver.deployPolicy {driver.deploy_policy} the driver comes from "
            f"the image {payload.name}, and its tag must be said; write one, or driver.deployPolicy: Never"
        )
    if _TAG.fullmatch(payload.version) is None:
        raise _refusal(
            f"driver.payload.version is {shown(payload.version)}: it is the tag of an image, such as 2.32.0-amd64"
        )
    if _NAME.fullmatch(payload.name) is None:
        raise _refusal(
            f"driver.payload.name is {shown(payload.name)}: it is the name of an image without registry and tag, "
            "such as driver-image"
        )


def _check_firmware(spec: Spec) -> None:
    driver = spec.driver
    by_hand = "update the firmware by hand (mx-smi -u, see the vendor's guide)"
    if driver.fw_upgrade_policy != "Never":
        raise _refusal(
            f"driver.fwUpgradePolicy is {driver.fw_upgrade_policy}: there is no public interface by which the firmware "
            f"of a card could be written; {by_hand}, and write Never"
        )
    if driver.fw_enable_virt:
        raise _refusal(
            "driver.fwEnableVirt is true: there is no public interface by which virtualization could be switched on in "
            f"firmware; {by_hand}, and write false"
        )
    if driver.device_as_root_group:
        raise _refusal(
            "driver.deviceAsRootGroup is true: who owns the device nodes of a host is decided by its udev rules, which "
            "would undo it; write such a rule on the hosts, and false here"
        )


def _check_upgrades(spec: Spec) -> None:
    policy = spec.driver.upgrade_policy
    if _SHARE.fullmatch(str(policy.max_unavailable)) is None:
        raise _refusal(
            f"driver.upgradePolicy.maxUnavailable is {shown(policy.max_unavailable)}: it is a number of nodes from 1 "
            f"on or a percentage from 1{PERCENT} to 100{PERCENT}; write paused: true to stop upgrades"
        )
    try:
        seconds = parse_duration(policy.evict_timeout)
    except UnitError as error:
        raise _refusal(f"driver.upgradePolicy.evictTimeout: {error}") from None
    if seconds <= 0:
        raise _refusal("driver.upgradePolicy.evictTimeout is 0: pods need time to end; write for example 5m")


def _check_maca(spec: Spec) -> None:
    images, threshold = spec.maca.payload.images, spec.maca.cleanup_config.threshold
    if threshold < 1:
        raise _refusal(
            f"maca.cleanupConfig.threshold is {shown(threshold)}: it is a number of versions from 1 on"
        )
    for image in images:
        if _TAGGED.fullmatch(image) is None:
            raise _refusal(
                f"maca.payload.images has {shown(image)}: an entry is an image's name and tag without registry, "
                "such as maca-c500:2.18.0.3-ubuntu18.04-amd64"
            )
    twice = next((image for number, image in enumerate(images) if image in images[:number]), None)
    if twice is not None:
        raise _refusal(f"maca.payload.images has {shown(twice)} twice; write it once")
    _check_maca_products(images)


def _check_maca_products(images: Sequence[str]) -> None:
    """What no node can tell apart: an image for no known product, and two that a node would have in one folder."""
    read: list[MacaImage] = []
    for image in images:
        found = read_maca_image(image)
        if found is None:
            raise _refusal(
                f"maca.payload.images has {shown(image)}, whose name says no product that is known, so it is for no "
                "node: it is maca-PRODUCT:TAG or mxPRODUCT-maca:TAG with PRODUCT one of "
                f"{', '.join(known_products())}, or maca-native:TAG for an image that serves all of them; give the "
                "image such a name in the registry"
            )
        other = next((each for each in read if each.is_twice(found)), None)
        if other is not None:
            raise _refusal(
                f"maca.payload.images has {shown(other.image)} and {shown(image)}, which both bring MXMACA "
                f"{found.version} for {found.product or other.product or 'every product'}, and a node has one folder "
                "for a version; leave one out"
            )
        read.append(found)


def _check_registries(spec: Spec) -> None:
    own = {"driver.payload.registry": spec.driver.payload.registry, "image.registry": spec.image.registry}
    for place, text in {**own, "maca.payload.registry": spec.maca.payload.registry}.items():
        if text and _REGISTRY.fullmatch(text) is None:
            raise _refusal(
                f"{place} is {shown(text)}: it is DOMAIN/PROJECT without https://, such as cr.metax-tech.com/cloud"
            )
    if not spec.image.registry:
        for place, needed in (
            ("driver.payload.registry", bool(spec.driver_image) and not spec.driver.payload.registry),
            ("maca.payload.registry", spec.has_maca and not spec.maca.payload.registry),
        ):
            if needed:
                raise _refusal(
                    f"neither {place} nor image.registry says where the payload comes from; write DOMAIN/PROJECT there"
                )


def _check_logs(spec: Spec) -> None:
    logs = {
        "log": spec.log,
        "labelgen.log": spec.labelgen.log,
        "driver.log": spec.driver.log,
        "maca.log": spec.maca.log,
        "runtime.log": spec.runtime.log,
        "devicePlugin.log": spec.device_plugin.log,
    }
    for place, log in logs.items():
        if log.dir and (not log.dir.startswith("/") or ".." in log.dir.split("/")):
            raise _refusal(
                f"{place}.dir is {shown(log.dir)}: it is a folder of the hosts, from the root on and without .., such "
                "as /var/log/metax, or empty for no files"
            )


def _check_device_plugin(spec: Spec) -> None:
    plugin = spec.device_plugin
    if not 0 <= plugin.healthy_interval <= _LONGEST_INTERVAL:
        raise _refusal(
            f"devicePlugin.healthyInterval is {shown(plugin.healthy_interval)}: it is a number of seconds from 0, "
            f"which switches health checks off, to {_LONGEST_INTERVAL}"
        )
    ours = next((key for key in plugin.node_selector if key in _ORDER), None)
    if ours is not None:
        raise _refusal(
            f"devicePlugin.nodeSelector has {shown(ours)}, by which the operator itself says where cards may be "
            "offered; leave it out, and choose nodes by labels of your own"
        )


def _check_device_config(spec: Spec) -> None:
    """What every node would refuse. An entry for a single node is that node's business, and said there."""
    written = spec.device_plugin.device_config
    unknown = next((key for key in written if key not in KEYS), None)
    if unknown is not None:
        raise _refusal(
            f"devicePlugin.deviceConfig has {shown(unknown)}: its keys are {', '.join(KEYS[:-1])} and {KEYS[-1]}; "
            "write for example {version: v1, cluster-config: {mode: sgpu}}"
        )
    # A text is read by the agents, whatever it is written in.
    told = {key: value for key, value in written.items() if key == VERSION_KEY or not isinstance(value, str)}
    try:
        read_device_config({key: value for key, value in told.items() if key != NODES_KEY}, _ANY_NODE)
    except ConfigError as error:
        # Which cards are sliced may be said by each node's own entry.
        if error.code != SLICED_CARDS or NODES_KEY not in written:
            raise _refusal(f"devicePlugin.deviceConfig: {error.sentence}") from None


def _refusal(sentence: str) -> WireError:
    return WireError(CODE, sentence)
