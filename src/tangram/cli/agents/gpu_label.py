"""`tangram gpu-label`: the labels of this node."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from tangram.cli.agents.options import (
    ALL_VENDORS,
    KubeconfigOption,
    LogArguments,
    MetricsAddressOption,
    NodeNameOption,
    VendorsOption,
    connection_for,
    read_driver_mode,
    read_metrics_address,
    read_node_name,
    read_short_products,
    read_vendors,
)
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import (
    DriverOption,
    RootOption,
    TimeoutOption,
    read_root,
    read_seconds,
)
from tangram.cli.plain import clean
from tangram.daemon.errors import SettingError
from tangram.daemon.logs import start_logging
from tangram.daemon.running import FAILED, run_service
from tangram.drivers.errors import DriverError
from tangram.drivers.opening import open_driver
from tangram.drivers.sysfs.driver import Settings as SysfsSettings
from tangram.drivers.sysfs.driver import SysfsDriver
from tangram.drivers.ways import SIMULATED, Conditions
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.model.cards import Vendor
from tangram.model.devices import DriverMode
from tangram.services.gpu_label.looking import Bus, Looker, Unsure
from tangram.services.gpu_label.service import Settings, label_once, serve
from tangram.services.gpu_label.wanting import Wish
from tangram.units.ids import NodeName
from tangram.wire.metax_labels import Choices

COMPONENT = "gpu-label"
_DRIVER_LABELS = ("own", "elsewhere")


def gpu_label(
    *,
    node_name: NodeNameOption = "",
    driver: DriverOption = "auto",
    root: RootOption = "/",
    interval: Annotated[
        str, Parameter(metavar="DURATION", help="How often the machine is looked at, 50ms to 1h.")
    ] = "30s",
    product_names: Annotated[
        str, Parameter(metavar="SPELLING", help="library (MXC500) or short (C500, as in the manual).")
    ] = "library",
    driver_mode: Annotated[
        str,
        Parameter(
            metavar="MODE",
            help="Who installs the driver: native (the host) or cloud (the cluster); auto is native unless "
            "driver-manager knows better.",
        ),
    ] = "auto",
    vendors: VendorsOption = ALL_VENDORS,
    driver_labels: Annotated[
        str,
        Parameter(
            metavar="WHOSE",
            help="Who writes driver.ready and gpu.driver.mode: own (this), or elsewhere (driver-manager).",
        ),
    ] = "own",
    once: Annotated[
        bool, Parameter(negative="", show_default=False, help="Look and write once, then end.")
    ] = False,
    kubeconfig: KubeconfigOption = None,
    timeout: TimeoutOption = "10s",
    metrics_address: MetricsAddressOption = ":9395",
    logs: LogArguments | None = None,
) -> int:
    """Keep the labels of this node true."""
    whose = frozenset(read_vendors(vendors))
    settings = Settings(
        node=read_node_name(node_name, os.environ),
        interval=read_seconds(interval, "--interval"),
        address=None if once else read_metrics_address(metrics_address),
        choices=Choices(
            short_products=read_short_products(product_names),
            driver_mode=read_driver_mode(driver_mode) or DriverMode.NATIVE,
            driver_elsewhere=_driver_elsewhere(driver_labels, driver_mode),
            vendors=whose,
        ),
    )
    log_options = (logs or LogArguments()).read()
    if once:
        # A person's single question leaves no file behind.
        log_options = replace(log_options, directory=None)
    looker = _looker(driver, timeout, root, whose)
    connection = connection_for(kubeconfig, os.environ)
    end_logging = start_logging(COMPONENT, log_options)
    try:
        if once:
            return asyncio.run(_once(connection, settings, looker))
        return run_service(lambda supervisor: serve(supervisor, settings, connection, looker))
    except SettingError as error:
        raise InputError(str(error)) from None
    except DriverError as error:
        # Only a driver that cannot be meant comes so far.
        raise InputError(f"{error.sentence.rstrip('.')}.") from None
    finally:
        end_logging()


def _looker(driver: str, timeout: str, root: str, vendors: frozenset[Vendor]) -> Looker:
    limit = read_seconds(timeout, "--timeout")
    # Below the reader's own limit, as a driver that gives up by itself can name the function that hangs.
    conditions = Conditions(root=read_root(root), limit=limit / 2, vendors=vendors)
    sys_root, dev_root = str(conditions.at("/sys")), str(conditions.at("/dev"))
    name, _, where = driver.strip().partition(":")
    if name == SIMULATED.name and where.strip():
        bus = _simulated_bus(where.strip())
    else:
        bus = SysfsDriver(SysfsSettings(sysfs_root=sys_root, dev_root=dev_root, limit=conditions.limit))
    return Looker(lambda on_try: open_driver(driver, on_try, conditions), bus, limit=limit, vendors=vendors)


def _simulated_bus(where: str) -> Bus:
    """Simulated cards sit on a bus of their own; on this machine's there are none, or others."""
    from tangram.drivers.simulated.opening import open_simulated_bus  # noqa: PLC0415 - a real node needs none of it

    try:
        return open_simulated_bus(where)
    except DriverError as error:
        raise InputError(f"{error.sentence.rstrip('.')}.") from None


def _driver_elsewhere(text: str, mode: str) -> bool:
    if text not in _DRIVER_LABELS:
        raise InputError(
            f"--driver-labels is {text!r:.80}: it is own or elsewhere (driver-manager writes them); write one of these."
        )
    if text == "elsewhere" and mode != "auto":
        raise InputError(
            f"--driver-mode is {mode!r:.80} and --driver-labels is elsewhere, so nobody here writes that label; leave "
            "one of the two out."
        )
    return text == "elsewhere"


async def _once(connection: Connection, settings: Settings, looker: Looker) -> int:
    try:
        async with Api(connection) as api:
            wish = await label_once(api, settings.node, looker, settings.choices)
    except (ApiError, ApiUnreachable, Unsure) as error:
        sys.stderr.write(f"tangram: {clean(str(error).rstrip('.'))}.\n")
        return FAILED
    finally:
        looker.close()
    _show(settings.node, wish)
    return 0


def _show(node: NodeName, wish: Wish) -> None:
    """The changes as `kubectl label` would be told them: `key=value`, and `key-` for one that goes."""
    gone = [key for key, value in wish.changes.items() if value is None]
    state = " (cordoned, so it carries none)" if wish.cordoned else f" of {len(wish.labels)}"
    sys.stdout.write(
        f"node {node}{state}: {len(wish.changes) - len(gone)} labels written, {len(gone)} removed.\n"
        if wish.changes
        else f"node {node}{state}: all labels are as they should be.\n"
    )
    for key, value in wish.changes.items():
        sys.stdout.write(f"{key}-\n" if value is None else f"{key}={value}\n")
