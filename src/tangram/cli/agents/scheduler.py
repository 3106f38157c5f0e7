"""`tangram scheduler`: placement beside kube-scheduler."""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.doors import door_address, door_certificate
from tangram.cli.agents.options import KubeconfigOption, LogArguments, connection_for
from tangram.cli.failures import InputError
from tangram.daemon.errors import SettingError
from tangram.services.scheduler.configuration import Configuration
from tangram.services.scheduler.launch import Launch, run
from tangram.services.scheduler.settings import (
    HAMI_NAME,
    TANGRAM_NAME,
    LeaseName,
    SchedulerSettings,
    ServiceName,
)
from tangram.units.ids import is_dns_subdomain
from tangram.vendors.registry import names_of_others
from tangram.wire.extender_config import extender_entry, scheduler_configuration

NONE: Final = "none"
USUAL_LEASE: Final = f"kube-system/{TANGRAM_NAME}"

_File = Annotated[Path | None, Parameter(metavar="FILE", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DoorArguments:
    """Where it is asked, and by whom."""

    extender_address: Annotated[
        str,
        Parameter(
            metavar="HOST:PORT", help="For the kube-scheduler beside it: loopback, plain; '' for none."
        ),
    ] = "127.0.0.1:8080"
    https_address: Annotated[
        str,
        Parameter(
            metavar="HOST:PORT",
            help="For the API server (webhook), for people (explain, metrics) and for a kube-scheduler elsewhere.",
        ),
    ] = ":9443"
    service: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE/NAME", help="The Service in front of it; its own certificate is made for it."
        ),
    ] = USUAL_LEASE
    tls_cert: Annotated[
        _File, Parameter(help="A certificate of somebody else's, such as cert-manager's.")
    ] = None
    tls_key: Annotated[_File, Parameter(help="Its key; both files are read again when they change.")] = None
    client_ca: Annotated[
        _File, Parameter(help="Whose certificates let a kube-scheduler elsewhere call filter and bind.")
    ] = None
    webhooks: Annotated[
        str, Parameter(metavar="NAME", help="Its webhook configurations, kept trusting its own certificate.")
    ] = TANGRAM_NAME


def scheduler(
    *,
    scheduler_name: Annotated[
        str, Parameter(metavar="NAME", help="The name pods are given that name no scheduler.")
    ] = TANGRAM_NAME,
    also_serve: Annotated[
        tuple[str, ...], Parameter(metavar="NAME", help="Further names by which pods ask for it.")
    ] = (HAMI_NAME,),
    lease: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE/NAME",
            help="The Lease of the kube-scheduler beside it, which decides who is active; none if it has none.",
        ),
    ] = USUAL_LEASE,
    identity: Annotated[
        str,
        Parameter(
            metavar="NAME", show_default=False, help="How that kube-scheduler calls itself; the host's name."
        ),
    ] = "",
    config: Annotated[
        _File, Parameter(help="Policies and times for all pods (docs/scheduler-config.md).")
    ] = None,
    device_config_file: Annotated[_File, Parameter(help="HAMi's device-config.yaml, as it is.")] = None,
    account: Annotated[
        str, Parameter(metavar="USER", help="Who it is to the API server: the one who may write allocations.")
    ] = SchedulerSettings().account,
    agent_account: Annotated[
        tuple[str, ...], Parameter(metavar="USER", help="Who the nodes' agents are to the API server.")
    ] = SchedulerSettings().agents,
    nominate: Annotated[
        str, Parameter(metavar="HOW", help="Decide ahead while pods queue up: auto, on or off.")
    ] = "auto",
    legacy_metrics: Annotated[
        bool, Parameter(negative="", help="Also show HAMi's old metric names.")
    ] = False,
    print_kube_scheduler_config: Annotated[
        bool, Parameter(negative="", help="Only print the configuration its kube-scheduler needs.")
    ] = False,
    doors: DoorArguments | None = None,
    kubeconfig: KubeconfigOption = None,
    logs: LogArguments | None = None,
) -> int:
    """Place pods on cards."""
    at = doors or DoorArguments()
    settings = SchedulerSettings(
        served=frozenset({scheduler_name, *also_serve}),
        name=scheduler_name,
        lease=_lease(lease),
        identity=identity or socket.gethostname(),
        extender=door_address(at.extender_address, "--extender-address"),
        outside=door_address(at.https_address, "--https-address"),
        certificate=door_certificate(at.tls_cert, at.tls_key),
        client_authority=at.client_ca,
        service=_service(at.service),
        webhooks=at.webhooks,
        account=account,
        agents=agent_account,
        config=config,
        device_config=device_config_file,
        nominate=_nominate(nominate),
        legacy_metrics=legacy_metrics,
    )
    if print_kube_scheduler_config:
        return _print_config(settings, (scheduler_name, *also_serve))
    connection_for(kubeconfig, os.environ)
    return run(Launch(settings=settings, kubeconfig=kubeconfig, logs=(logs or LogArguments()).read()))


def _print_config(settings: SchedulerSettings, names: tuple[str, ...]) -> int:
    lease = settings.lease
    try:
        files = Configuration(settings.config, settings.device_config).load()
    except SettingError as error:
        raise InputError(str(error)) from None
    left_out = names_of_others(files.scheduler.vendors)
    written = scheduler_configuration(
        extender_entry(
            f"http://{settings.extender or '127.0.0.1:8080'}",
            renamed=files.devices.renamed,
            left_out=left_out,
        ),
        names,
        lease=None if lease is None else (lease.namespace, lease.name),
    )
    sys.stdout.write(json.dumps(written, indent=2) + "\n")
    return 0


def _lease(text: str) -> LeaseName | None:
    return None if text == NONE else LeaseName(*_pair(text, "--lease", f"{USUAL_LEASE}, or none"))


def _service(text: str) -> ServiceName:
    return ServiceName(*_pair(text, "--service", USUAL_LEASE))


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not slash or not is_dns_subdomain(namespace) or not is_dns_subdomain(name):
        raise InputError(f"{option} is {text!r:.80}: it is NAMESPACE/NAME; write for example {example}.")
    return namespace, name


def _nominate(text: str) -> bool | None:
    ways = {"auto": None, "on": True, "off": False}
    if text not in ways:
        raise InputError(f"--nominate is {text!r:.80}: it is auto, on or off; write one of these.")
    return ways[text]
