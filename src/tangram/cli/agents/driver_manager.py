"""`tangram driver-manager`: the kernel driver and MXMACA of this node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from msgspec.structs import replace

from tangram.cli.agents.options import (
    KubeconfigOption,
    LogArguments,
    MetricsAddressOption,
    NodeNameOption,
    connection_for,
    read_driver_mode,
    read_metrics_address,
    read_node_name,
)
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import DriverOption, TimeoutOption, read_root, read_seconds
from tangram.daemon.errors import SettingError
from tangram.daemon.logs import start_logging
from tangram.daemon.running import run_service
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.modules.opening import FORMS, open_loader
from tangram.drivers.modules.protocol import ModuleLoader
from tangram.drivers.opening import open_driver
from tangram.drivers.ways import Conditions
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.maca import Cleanup, MacaSettings
from tangram.services.driver_manager.service import COMPONENT, Settings, serve
from tangram.services.driver_manager.signing import checks_with
from tangram.units.ids import IdError, namespace
from tangram.vendors.metax.maca_images import MacaImage, known_products, read_maca_image
from tangram.wire.errors import WireError
from tangram.wire.operator.names import PAYLOADS
from tangram.wire.operator.policies import ALSO, DeployPolicy, read_deploy_policy

_AUTO: Final = "auto"
_NEVER: Final = "Never"
_EFFECTS: Final = ("WaitReboot", "NextReboot", "WarmReset")
_POLICIES: Final = ", ".join((*DeployPolicy, *ALSO))


def driver_manager(
    *,
    node_name: NodeNameOption = "",
    host_root: Annotated[
        str, Parameter(metavar="DIR", help="Where the machine's / is seen, such as /host in a container.")
    ] = "/",
    driver: DriverOption = _AUTO,
    loader: Annotated[
        str, Parameter(metavar="LOADER", help=f"How modules are loaded: {', '.join(FORMS)}.")
    ] = _AUTO,
    deploy_policy: Annotated[
        str, Parameter(metavar="POLICY", help=f"Whose driver a node runs: {_POLICIES}.")
    ] = DeployPolicy.IF_NOT_PRESENT.value,
    driver_payload: Annotated[
        str,
        Parameter(metavar="IMAGE", show_default=False, help="The image with the driver; none with Never."),
    ] = "",
    maca_payload: Annotated[
        list[str] | None,
        Parameter(
            metavar="IMAGE",
            negative="",
            show_default=False,
            help="An image with MXMACA; may be given several times, the first for the node's cards is the usual one.",
        ),
    ] = None,
    maca_cleanup: Annotated[
        str, Parameter(metavar="POLICY", help=f"Which unlisted MXMACA versions go: {', '.join(Cleanup)}.")
    ] = Cleanup.NEVER.value,
    maca_keep: Annotated[str, Parameter(metavar="COUNT", help="How many versions may stay.")] = "5",
    public_key: Annotated[
        Path | None,
        Parameter(metavar="FILE", show_default=False, help="Payloads must be signed by it (Ed25519, PEM)."),
    ] = None,
    payloads: Annotated[
        Path | None,
        Parameter(
            metavar="DIR",
            show_default=False,
            help=f"Where payloads are put; {PAYLOADS} below --host-root if not given.",
        ),
    ] = None,
    config_namespace: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE",
            show_default=False,
            help="Follow the ConfigMap driver-config in this namespace.",
        ),
    ] = "",
    without_runtime: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Do not wait for metax-tech.com/runtime.ready."),
    ] = False,
    driver_mode: Annotated[
        str,
        Parameter(
            metavar="MODE",
            help="What the label gpu.driver.mode says: native, cloud, or auto for who installed the driver.",
        ),
    ] = _AUTO,
    firmware_upgrade: Annotated[
        str, Parameter(metavar="POLICY", help="Never; the vendor's PreferCloud is refused with the reason.")
    ] = _NEVER,
    firmware_effect: Annotated[
        str, Parameter(metavar="WHEN", help=f"{', '.join(_EFFECTS)}; of no effect without an upgrade.")
    ] = "NextReboot",
    firmware_virtualization: Annotated[
        bool, Parameter(negative="", show_default=False, help="Refused with the reason.")
    ] = False,
    device_as_root_group: Annotated[
        bool, Parameter(negative="", show_default=False, help="Refused with the reason.")
    ] = False,
    kubeconfig: KubeconfigOption = None,
    timeout: TimeoutOption = "10s",
    metrics_address: MetricsAddressOption = ":9397",
    logs: LogArguments | None = None,
) -> int:
    """Keep the driver and MXMACA of this node as they should be."""
    _refuse_firmware(firmware_upgrade, firmware_effect, virtualization=firmware_virtualization)
    _refuse_root_group(wanted=device_as_root_group)
    host, limit = _host_root(host_root), read_seconds(timeout, "--timeout")
    policy = _policy(deploy_policy)
    if policy is not DeployPolicy.NEVER and not driver_payload:
        raise InputError(
            f"--deploy-policy is {policy} and no --driver-payload is given: name the image of the driver, such as "
            "cr.metax-tech.com/cloud/driver-image:2.32.0, or write --deploy-policy Never."
        )
    settings = Settings(
        node=read_node_name(node_name, os.environ),
        policy=policy,
        maca=MacaSettings(
            payloads=_payloads(payloads, host),
            images=tuple(map(_maca_image, maca_payload or ())),
            driver_image=driver_payload,
            cleanup=_cleanup(maca_cleanup),
            keep=_keep(maca_keep),
        ),
        host_root=host,
        driver_image="" if policy is DeployPolicy.NEVER else _image(driver_payload, "--driver-payload"),
        config_namespace=_namespace(config_namespace),
        needs_runtime=not without_runtime,
        address=read_metrics_address(metrics_address),
        limit=limit,
        driver_mode=read_driver_mode(driver_mode) or "",
    )
    log_options = (logs or LogArguments()).read()
    connection = connection_for(kubeconfig, os.environ)
    modules = _loader(loader, host)
    _check_driver(driver)
    # Below the reader's own limit, as a driver that gives up by itself can name the function that hangs.
    conditions = Conditions(root=host, limit=limit / 2)
    try:
        if public_key is not None:
            settings = replace(settings, signed_by=checks_with(public_key))
        end_logging = start_logging(COMPONENT, log_options)
        try:
            return run_service(
                lambda supervisor: serve(
                    supervisor,
                    settings,
                    connection,
                    modules,
                    lambda on_try: open_driver(driver, on_try, conditions),
                )
            )
        finally:
            end_logging()
    except SettingError as error:
        raise InputError(str(error)) from None


def _refuse_firmware(upgrade: str, effect: str, *, virtualization: bool) -> None:
    by_hand = "update the firmware by hand (mx-smi -u, see the vendor's guide)"
    if upgrade != _NEVER:
        raise InputError(
            f"--firmware-upgrade is {upgrade!r:.80}: only Never is possible, because there is no public interface to "
            f"write the firmware of a card by; {by_hand}, and set driver.fwUpgradePolicy to Never."
        )
    if effect not in _EFFECTS:
        raise InputError(
            f"--firmware-effect is {effect!r:.80}: it is {', '.join(_EFFECTS)}; write one of these."
        )
    if virtualization:
        raise InputError(
            "--firmware-virtualization is given: there is no public interface to switch virtualization on in the "
            f"firmware of a card; {by_hand}, and set driver.fwEnableVirt to false."
        )


def _refuse_root_group(*, wanted: bool) -> None:
    if wanted:
        raise InputError(
            "--device-as-root-group is given: who owns the device nodes of a host is decided by its udev rules, which "
            "would undo it; write such a rule on the hosts, and set driver.deviceAsRootGroup to false."
        )


def _host_root(text: str) -> Path:
    try:
        if text.startswith("/"):
            return read_root(text)
    except InputError:
        pass
    raise InputError(
        f"--host-root is {text!r:.80}, which is no folder: name the folder where the machine's / is mounted, by its "
        "absolute path such as /host."
    )


def _image(text: str, option: str) -> str:
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(
            f"{option} is {text!r:.80}: it is the name of an image; write one such as "
            "cr.metax-tech.com/cloud/driver-image:2.32.0."
        )
    return text


def _maca_image(text: str) -> MacaImage:
    found = read_maca_image(_image(text, "--maca-payload"))
    if found is None:
        raise InputError(
            f"--maca-payload is {text!r:.120}, whose name says no product that is known: it is "
            f"maca-PRODUCT:TAG or mxPRODUCT-maca:TAG with PRODUCT one of {', '.join(known_products())}, or "
            "maca-native:TAG for every product; give the image such a name in the registry."
        )
    return found


def _payloads(folder: Path | None, host: Path) -> Path:
    if folder is not None and not folder.is_absolute():
        raise InputError(f"--payloads is {str(folder)!r:.80}: it is an absolute path; begin it with /.")
    try:
        return folder or Disk(host).at(PAYLOADS)
    except OSError as error:
        raise InputError(
            f"{PAYLOADS} below {host} cannot be found ({error.strerror}): put it right on the host."
        ) from None


def _policy(text: str) -> DeployPolicy:
    try:
        return read_deploy_policy(text)
    except WireError as error:
        raise InputError(f"--deploy-policy: {error.sentence}.") from None


def _cleanup(text: str) -> Cleanup:
    try:
        return Cleanup(text)
    except ValueError:
        raise InputError(
            f"--maca-cleanup is {text!r:.80}: it is {', '.join(Cleanup)}; write one of these."
        ) from None


def _keep(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 5):
        raise InputError(
            f"--maca-keep is {text!r:.80}: it is a whole number from 0 to 9999; write one such as 5."
        )
    return int(text)


def _namespace(text: str) -> str:
    try:
        return namespace(text) if text else ""
    except IdError as error:
        raise InputError(f"--config-namespace: {error}.") from None


def _loader(text: str, host: Path) -> ModuleLoader:
    try:
        return open_loader(text, host)
    except DriverError as error:
        raise InputError(f"{error.sentence.rstrip('.')}.") from None


def _check_driver(text: str) -> None:
    """A driver that cannot be meant is refused at once; one that is merely not there is what we are for."""
    if text == _AUTO:
        return
    try:
        open_driver(text).close()
    except DriverError as error:
        if error.kind is Kind.INVALID:
            raise InputError(f"{error.sentence.rstrip('.')}.") from None
