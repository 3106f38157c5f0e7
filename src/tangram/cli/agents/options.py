"""What every daemon's command line has in common: whose node it is, which API server, where logs and metrics go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.doors import door_address
from tangram.cli.failures import InputError
from tangram.daemon.endpoints import OPTION, Address
from tangram.daemon.errors import SettingError
from tangram.daemon.log_options import (
    USUAL_DIRECTORY,
    USUAL_FORMAT,
    USUAL_LEVEL,
    USUAL_MAX_AGE,
    USUAL_ROTATION,
    LogOptions,
    read_log_options,
)
from tangram.kube.connection import Connection, find_connection
from tangram.kube.errors import NoConnection
from tangram.model.cards import SERVED, Vendor
from tangram.model.devices import DriverMode
from tangram.units.ids import IdError, NodeName, node_name

NODE_NAME: Final = "NODE_NAME"
ALL_VENDORS: Final = ",".join(SERVED)

VendorsOption = Annotated[
    str,
    Parameter(
        name="--vendors",
        metavar="VENDORS",
        help="Whose cards count, separated by commas; those of the other vendor are left alone.",
    ),
]
NodeNameOption = Annotated[
    str,
    Parameter(
        name="--node-name",
        metavar="NODE",
        show_default=False,
        help=f"This node's name in Kubernetes; {NODE_NAME} in the environment stands for it.",
    ),
]
KubeconfigOption = Annotated[
    Path | None,
    Parameter(
        name="--kubeconfig",
        metavar="FILE",
        show_default=False,
        help="How to reach the API server; in a pod its own account, else $KUBECONFIG or ~/.kube/config.",
    ),
]
MetricsAddressOption = Annotated[
    str,
    Parameter(
        name="--metrics-address",
        metavar="HOST:PORT",
        help="Where /metrics, /healthz and /readyz are served; '' for nowhere.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogArguments:
    """The log options of MetaX's charts."""

    log_dir: Annotated[
        str, Parameter(metavar="DIR", help="Folder of log files, beside standard error; '' for none.")
    ] = USUAL_DIRECTORY
    log_level: Annotated[str, Parameter(metavar="LEVEL", help="debug, info, warning, error or fatal.")] = (
        USUAL_LEVEL
    )
    log_format: Annotated[str, Parameter(metavar="FORMAT", help="json or text.")] = USUAL_FORMAT
    log_rotation: Annotated[
        str, Parameter(metavar="TIME", help="How often a new file is begun: weeks, days or hours.")
    ] = USUAL_ROTATION
    log_max_age: Annotated[
        str, Parameter(metavar="TIME", help="How long old files are kept: weeks, days or hours.")
    ] = USUAL_MAX_AGE

    def read(self) -> LogOptions:
        try:
            return read_log_options(
                directory=self.log_dir,
                level=self.log_level,
                form=self.log_format,
                rotation=self.log_rotation,
                max_age=self.log_max_age,
            )
        except SettingError as error:
            raise InputError(str(error)) from None


def read_node_name(text: str, environment: Mapping[str, str]) -> NodeName:
    """The name on the command line, or that of the environment."""
    written, where = (text, "--node-name") if text else (environment.get(NODE_NAME, ""), NODE_NAME)
    if not written:
        raise InputError(
            f"no node is named: --node-name is not given and {NODE_NAME} is not set; write --node-name NODE, "
            f"or set {NODE_NAME} from spec.nodeName in the pod's manifest."
        )
    try:
        return node_name(written)
    except IdError as error:
        raise InputError(f"{where}: {error}.") from None


def read_driver_mode(text: str) -> DriverMode | None:
    """What the label about who installed the driver is to say; None for what is so."""
    if text == "auto":
        return None
    try:
        return DriverMode(text)
    except ValueError:
        raise InputError(
            f"--driver-mode is {text!r:.80}: it is auto, native or cloud; write one of these."
        ) from None


def read_short_products(text: str) -> bool:
    """Whether labels spell products as MetaX's manual does."""
    if text not in ("library", "short"):
        raise InputError(
            f"--product-names is {text!r:.80}: it is library (MXC500) or short (C500); write one of these."
        )
    return text == "short"


def read_vendors(text: str) -> tuple[Vendor, ...]:
    """The vendors whose cards count."""
    words = [word.strip() for word in text.split(",")]
    if not words or any(word not in SERVED for word in words) or len(set(words)) < len(words):
        raise InputError(
            f"--vendors is {text!r:.80}: it is {' or '.join(SERVED)}, or both separated by a comma; write one of these."
        )
    return tuple(map(Vendor, words))


def read_metrics_address(text: str) -> Address | None:
    """Where to serve metrics; None for nowhere."""
    return door_address(text, OPTION)


def connection_for(kubeconfig: Path | None, environment: Mapping[str, str]) -> Connection:
    """The API server to speak to."""
    try:
        return find_connection(kubeconfig, environment)
    except NoConnection as error:
        raise InputError(f"{str(error).rstrip('.')}.") from None
