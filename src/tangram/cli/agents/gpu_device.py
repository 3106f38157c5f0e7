"""`tangram gpu-device`: the node agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

from cyclopts import Parameter

from tangram.cli.agents.folders import read_folders
from tangram.cli.agents.options import (
    ALL_VENDORS,
    KubeconfigOption,
    LogArguments,
    MetricsAddressOption,
    NodeNameOption,
    VendorsOption,
    connection_for,
    read_metrics_address,
    read_node_name,
    read_vendors,
)
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import DriverOption, RootOption, read_root
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.opening import open_driver
from tangram.model.cards import QosPolicy
from tangram.services.gpu_device.delivery import Delivery
from tangram.services.gpu_device.grants import Injection
from tangram.services.gpu_device.launch import Launch, launch_text
from tangram.services.gpu_device.settings import AgentSettings
from tangram.units.durations import DurationError, parse_duration
from tangram.units.ids import IdError, namespace

AGENT: Final = "tangram.services.gpu_device"
_AUTO = "auto"
_LONGEST_INTERVAL = 3600.0

_Folder = Annotated[Path, Parameter(metavar="DIR")]


def gpu_device(
    *,
    node_name: NodeNameOption = "",
    driver: DriverOption = _AUTO,
    root: RootOption = "/",
    vendors: VendorsOption = ALL_VENDORS,
    config: Annotated[
        Path | None,
        Parameter(
            metavar="DIR", help="Where the ConfigMap device-config is mounted (docs/device-config.md)."
        ),
    ] = None,
    config_namespace: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE",
            show_default=False,
            help="Follow the ConfigMap metax-device-config, or device-config, in this namespace: changes "
            "count within seconds. One that exists counts before --config.",
        ),
    ] = "",
    healthy_interval: Annotated[
        str, Parameter(metavar="SECONDS", help="Between two health checks; 0 switches them off.")
    ] = "5",
    cdi: Annotated[
        str, Parameter(metavar="HOW", help="How devices reach containers: auto, field, annotations or off.")
    ] = _AUTO,
    mthreads_injection: Annotated[
        str, Parameter(metavar="HOW", help="Moore Threads cards: env (the vendor's runtime) or nodes.")
    ] = Injection.ENV.value,
    mthreads_compute_policy: Annotated[
        str,
        Parameter(
            metavar="POLICY",
            show_default=False,
            help="How slices of a Moore Threads card share its compute: best-effort, burst-share or fixed-share, "
            "set on cards without slices; left as it is if not given.",
        ),
    ] = "",
    device_plugins: Annotated[_Folder, Parameter(help="The kubelet's folder of device plugins.")] = Path(
        "/var/lib/kubelet/device-plugins"
    ),
    pod_resources: Annotated[Path, Parameter(metavar="SOCKET", help="The kubelet's pod resources.")] = Path(
        "/var/lib/kubelet/pod-resources/kubelet.sock"
    ),
    cdi_dir: Annotated[_Folder, Parameter(help="Where the container runtime reads CDI files.")] = Path(
        "/var/run/cdi"
    ),
    state_dir: Annotated[_Folder, Parameter(help="Where the agent keeps its few notes, on the host.")] = Path(
        "/run/tangram"
    ),
    device_root: Annotated[_Folder, Parameter(help="Where the host has its device nodes.")] = Path("/dev"),
    container_folders: Annotated[
        str,
        Parameter(
            metavar="PATHS",
            show_default=False,
            help="Folders of the host that containers with MetaX cards see by CDI, such as /opt/maca,/opt/mxdriver; "
            "seen at the same paths here.",
        ),
    ] = "",
    runtime_config: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            show_default=False,
            help="containerd's configuration, which says whether CDI is on; etc/containerd/config.toml below "
            "--root if not given.",
        ),
    ] = None,
    kubeconfig: KubeconfigOption = None,
    metrics_address: MetricsAddressOption = ":9394",
    logs: LogArguments | None = None,
) -> int:
    """Offer this node's cards to the kubelet."""
    host = read_root(root)
    settings = AgentSettings(
        node=read_node_name(node_name, os.environ),
        device_plugins=device_plugins,
        pod_resources=pod_resources,
        cdi_folder=cdi_dir,
        state_folder=state_dir,
        device_root=str(device_root),
        config_folder=config,
        config_namespace=_namespace(config_namespace),
        container_folders=read_folders(container_folders, "--container-folders"),
        runtime_file=runtime_config or host / "etc/containerd/config.toml",
        delivery=_delivery(cdi),
        injection=_injection(mthreads_injection),
        vendors=read_vendors(vendors),
        compute_policy=_compute_policy(mthreads_compute_policy),
        healthy_interval=_interval(healthy_interval),
    )
    launch = Launch(
        settings=settings,
        driver=driver,
        root=host,
        kubeconfig=kubeconfig,
        address=read_metrics_address(metrics_address),
        logs=(logs or LogArguments()).read(),
    )
    # Said now, while there is somebody to read it.
    connection_for(kubeconfig, os.environ)
    _check_driver(driver)
    return become(launch)


def become(launch: Launch) -> NoReturn:
    """Go on as the agent alone, in this process: nothing of what read the command line stays in its memory."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", AGENT, launch_text(launch)])  # noqa: S606 - ourselves, no shell


def _check_driver(text: str) -> None:
    """A driver that cannot be meant is refused at once; one that is merely not there is waited for."""
    if text == _AUTO:
        return
    try:
        open_driver(text).close()
    except DriverError as error:
        if error.kind is Kind.INVALID:
            raise InputError(f"{error.sentence.rstrip('.')}.") from None


def _delivery(text: str) -> Delivery | None:
    if text == _AUTO:
        return None
    try:
        return Delivery(text)
    except ValueError:
        raise InputError(
            f"--cdi is {text!r:.80}: it is auto, field, annotations or off; write one of these."
        ) from None


def _injection(text: str) -> Injection:
    try:
        return Injection(text)
    except ValueError:
        raise InputError(
            f"--mthreads-injection is {text!r:.80}: it is env or nodes; write one of these."
        ) from None


def _compute_policy(text: str) -> QosPolicy | None:
    if not text:
        return None
    try:
        return QosPolicy(text)
    except ValueError:
        raise InputError(
            f"--mthreads-compute-policy is {text!r:.80}: it is best-effort, burst-share or fixed-share; write one of "
            "these, or leave it out to keep each card's policy."
        ) from None


def _namespace(text: str) -> str:
    try:
        return namespace(text) if text else ""
    except IdError as error:
        raise InputError(f"--config-namespace: {error}.") from None


def _interval(text: str) -> float:
    written = f"{text}s" if text.replace(".", "", 1).isdecimal() else text
    try:
        seconds = float(parse_duration(written)) if text.strip() not in ("0", "0s") else 0.0
    except DurationError as error:
        raise InputError(f"--healthy-interval: {error}") from None
    if not 0 <= seconds <= _LONGEST_INTERVAL:
        raise InputError(
            f"--healthy-interval is {text!r:.80}: it is between 0 (off) and 1h; write a number of seconds such as 5."
        )
    return seconds
