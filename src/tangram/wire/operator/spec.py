"""What an administrator asks of the operator: `spec` of the one `ClusterOperator`, as records.

The blocks and their words are those of MetaX's own operator, so that an object written for it means the same here.
Three things are ours. Parts always run the image that the operator itself runs, because agents of one version and an
operator of another would misread each other's states; `image` is therefore about where payloads come from and how all
images are pulled. `upgradePolicy` says how GPU pods are treated. And `loader` and the two `driver` fields say how the
hardware is reached, which nobody changes outside of tests.

Values are what the schema (`definition`) lets through with its defaults filled in; `reading` refuses what a schema
cannot see, such as a field that is missing only because of another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from tangram.units.durations import parse_duration
from tangram.wire.operator.policies import DeployPolicy, read_deploy_policy

USUAL_DRIVER_IMAGE: Final = "driver-image"
PERCENT: Final = "%"


class WhenBusy(StrEnum):
    """What is done about GPU pods on a node whose driver is to change."""

    WAIT = "Wait"
    """Nothing: the node takes no new ones, and the driver changes when the last has ended."""
    EVICT = "Evict"
    """They are evicted, as their budgets allow; after `evictTimeout` the node is given back unchanged."""


class CleanupPolicy(StrEnum):
    """Which MXMACA versions that nobody lists any more are removed once there are more than the threshold."""

    NEVER = "Never"
    OLDER_VERSION_FIRST = "OlderVersionFirst"
    OLDER_TIMESTAMP_FIRST = "OlderTimestampFirst"


class _Block(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Log(_Block, frozen=True):
    """Log options of one part; what is not said there is as for all."""

    dir: str | None = None
    level: str | None = None
    format: str | None = None
    rotation_time: str | None = None
    max_age: str | None = None


USUAL_LOG: Final = Log(dir="/var/log/metax", level="info", format="json", rotation_time="1w", max_age="26w")

Resources = Mapping[str, Mapping[str, str | int]]
"""`requests` and `limits` of a container; empty for the usual ones of its part."""


class PullSecret(_Block, frozen=True):
    name: str


class Image(_Block, frozen=True):
    registry: str = ""
    """Of payloads, unless they name their own."""
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    pull_secrets: tuple[PullSecret, ...] = ()


class Labelgen(_Block, frozen=True):
    deploy: bool = True
    driver: str = "auto"
    product_names: Literal["short", "library"] = "short"
    """How `gpu.product` is spelled: `C500`, as in the manual, or `MXC500`."""
    driver_mode: Literal["auto", "native", "cloud"] = "auto"
    """What `gpu.driver.mode` says of who installed the driver; `auto` for what is so."""
    log: Log = Log()
    resources: Resources = {}


class DriverPayload(_Block, frozen=True):
    name: str = USUAL_DRIVER_IMAGE
    version: str = ""
    registry: str = ""


class UpgradePolicy(_Block, frozen=True):
    max_unavailable: int | str = 1
    """Nodes that may be out of service at once because of us: a number, or a percentage of the managed nodes."""
    when_busy: WhenBusy = WhenBusy.WAIT
    evict_timeout: str = "5m"
    paused: bool = False
    """No further node is begun; those that are being changed are brought to an end."""

    def most_unavailable(self, nodes: int) -> int:
        """Of so many managed nodes. A percentage is rounded down, as Kubernetes does, but is never none at all."""
        written = self.max_unavailable
        if isinstance(written, str) and written.endswith(PERCENT):
            return max(1, nodes * int(written.removesuffix(PERCENT)) // 100)
        return max(1, int(written))

    @property
    def evict_seconds(self) -> float:
        return float(parse_duration(self.evict_timeout))


class Driver(_Block, frozen=True):
    deploy: bool = True
    deploy_policy: str = DeployPolicy.IF_NOT_PRESENT.value
    payload: DriverPayload = DriverPayload()
    fw_upgrade_policy: Literal["Never", "PreferCloud"] = "Never"
    fw_effect_policy: Literal["WaitReboot", "NextReboot", "WarmReset"] = "NextReboot"
    fw_enable_virt: bool = False
    device_as_root_group: bool = False
    upgrade_policy: UpgradePolicy = UpgradePolicy()
    loader: str = "auto"
    public_key_secret: str = ""
    """A Secret in the operator's namespace whose `payload.pub` is the Ed25519 key that payloads must be signed with."""
    log: Log = Log()
    resources: Resources = {}

    @property
    def policy(self) -> DeployPolicy:
        return read_deploy_policy(self.deploy_policy)


class MacaPayload(_Block, frozen=True):
    images: tuple[str, ...] = ()
    """Names with tags, without registry. The first is the default version of a node."""
    registry: str = ""


class CleanupConfig(_Block, frozen=True):
    threshold: int = 5
    cleanup_policy: CleanupPolicy = CleanupPolicy.NEVER


class Maca(_Block, frozen=True):
    payload: MacaPayload = MacaPayload()
    cleanup_config: CleanupConfig = CleanupConfig()
    log: Log = Log()
    """Of the payloads' pods. What is done with MXMACA on a node is in driver-manager's log."""
    resources: Resources = {}


class RuntimeConfig(_Block, frozen=True):
    cdi_mode: Literal["auto", "cdi", "env"] = "auto"
    """`env` is the vendor's word for doing without CDI: the runtime `metax` looks at each container."""
    engine: Literal["auto", "containerd", "cri-o", "docker"] = "auto"


class Runtime(_Block, frozen=True):
    deploy: bool = True
    config: RuntimeConfig = RuntimeConfig()
    log: Log = Log()
    resources: Resources = {}


class DevicePlugin(_Block, frozen=True):
    deploy: bool = True
    healthy_interval: int = 5
    driver: str = "auto"
    """How cards are reached, here and where driver-manager verifies a driver."""
    config_namespace: str = ""
    """Where the ConfigMap `metax-device-config` is; empty for the operator's own namespace."""
    device_config: Mapping[str, Any] = {}
    """Its content, if the operator is to make it."""
    node_selector: Mapping[str, str] = {}
    log: Log = Log()
    resources: Resources = {}


class GpuScheduler(_Block, frozen=True):
    deploy: bool = False
    """The scheduler of chart `tangram` is expected in this cluster, and its state is a part of ours."""
    namespace: str = ""
    """Where it runs; empty for anywhere."""


class NotOurs(_Block, frozen=True):
    """A block of the vendor's operator that has no meaning here but in its neutral value."""

    deploy: bool = False
    enabled: bool = False


class Cluster(_Block, frozen=True):
    type: str = "auto"


class Spec(_Block, frozen=True):
    image: Image = Image()
    log: Log = Log()
    labelgen: Labelgen = Labelgen()
    driver: Driver = Driver()
    maca: Maca = Maca()
    runtime: Runtime = Runtime()
    device_plugin: DevicePlugin = DevicePlugin()
    gpu_scheduler: GpuScheduler = GpuScheduler()
    data_exporter: NotOurs = NotOurs()
    topo_discovery: NotOurs = NotOurs()
    openshift: NotOurs = NotOurs()
    vendor: Mapping[str, Any] = {}
    cluster: Cluster = Cluster()

    def log_of(self, own: Log) -> Log:
        """The options of a part: its own where it says something, an empty folder included; else those of all."""

        def chosen(field: str) -> str | None:
            values = (getattr(log, field) for log in (own, self.log, USUAL_LOG))
            return next(value for value in values if value is not None)

        return Log(**{field: chosen(field) for field in Log.__struct_fields__})

    @property
    def has_maca(self) -> bool:
        return self.driver.deploy and bool(self.maca.payload.images)

    @property
    def driver_image(self) -> str:
        """The driver's payload, with its registry; empty where the policy wants none."""
        payload = self.driver.payload
        if not self.driver.deploy or self.driver.policy is DeployPolicy.NEVER:
            return ""
        return f"{joined(payload.registry or self.image.registry, payload.name)}:{payload.version}"

    @property
    def maca_images(self) -> tuple[str, ...]:
        """The MXMACA payloads, each with its registry, the default first."""
        if not self.has_maca:
            return ()
        registry = self.maca.payload.registry or self.image.registry
        return tuple(joined(registry, image) for image in self.maca.payload.images)


def joined(registry: str, name: str) -> str:
    """An image in a registry, however its address ends."""
    return f"{registry.rstrip('/')}/{name}" if registry else name
