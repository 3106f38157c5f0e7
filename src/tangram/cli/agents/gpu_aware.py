"""`tangram gpu-aware`: node choice by topology beside a kube-scheduler that people keep, and the switch for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import cyclopts
from cyclopts import Parameter

from tangram.cli.agents import gpu_aware_manual as manual
from tangram.cli.agents.options import KubeconfigOption, LogArguments, connection_for
from tangram.cli.failures import InputError
from tangram.daemon.endpoints import Address, read_address
from tangram.daemon.errors import SettingError
from tangram.daemon.logs import start_logging
from tangram.daemon.running import run_service
from tangram.kube.connection import Connection, find_connection
from tangram.kube.errors import NoConnection
from tangram.services.gpu_aware.following import MapName
from tangram.services.gpu_aware.service import OPTION, Settings, serve
from tangram.units.ids import IdError, namespace, node_name
from tangram.wire.gpu_aware_weights import CONFIG_MAP

COMPONENT: Final = "gpu-aware"

app = cyclopts.App(name=COMPONENT, help=manual.GPU_AWARE, help_format="plaintext")
app.command("tangram.cli.agents.gpu_aware_switch:enable", name="enable", help=manual.ENABLE)
app.command("tangram.cli.agents.gpu_aware_switch:disable", name="disable", help=manual.DISABLE)


@app.default
def gpu_aware(
    *,
    address: Annotated[
        str, Parameter(metavar="HOST:PORT", help="Where kube-scheduler asks; /metrics and probes too.")
    ] = ":8080",
    weights_configmap: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE/NAME",
            show_default=False,
            help=f"The ConfigMap with the weights; {CONFIG_MAP} in the pod's own namespace if not given.",
        ),
    ] = "",
    weights_dir: Annotated[
        Path | None, Parameter(metavar="DIR", help="Where that ConfigMap is mounted, instead.")
    ] = None,
    alias_namespace: Annotated[
        str,
        Parameter(
            metavar="NAMESPACE",
            show_default=False,
            help="Where MetaX's manual looks: weights edited there in ConfigMap gpu-aware-plugin count, and the "
            "Service of that name leads here.",
        ),
    ] = "",
    follow_cluster: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Follow nodes and pods too: for nodeCacheCapable: true, and plugins that publish no figures.",
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="Serve HTTPS with this certificate, followed as it changes."),
    ] = None,
    tls_key: Annotated[Path | None, Parameter(metavar="FILE", help="Its key.")] = None,
    kubeconfig: KubeconfigOption = None,
    logs: LogArguments | None = None,
) -> int:
    """Filter and score nodes for a kube-scheduler."""
    named = _map_name(weights_configmap) if weights_configmap else None
    if named is not None and weights_dir is not None:
        raise InputError(
            "--weights-configmap and --weights-dir both say where the weights are: keep one of the two."
        )
    if alias_namespace and weights_dir is not None:
        raise InputError(
            "--alias-namespace names a ConfigMap with weights and --weights-dir a folder: keep one of the two."
        )
    needed = follow_cluster or named is not None or bool(alias_namespace)
    connection = _connection(kubeconfig, needed=needed)
    if named is None and connection is not None:
        named = MapName(connection.namespace, CONFIG_MAP)
    settings = Settings(
        address=_address(address),
        weights_folder=weights_dir,
        weights_map=named,
        alias_namespace=_namespace(alias_namespace),
        follow_cluster=follow_cluster,
        certificate=_certificate(tls_cert, tls_key),
    )
    end_logging = start_logging(COMPONENT, (logs or LogArguments()).read())
    try:
        return run_service(lambda supervisor: serve(supervisor, settings, connection))
    except SettingError as error:
        raise InputError(str(error)) from None
    finally:
        end_logging()


def _connection(kubeconfig: Path | None, *, needed: bool) -> Connection | None:
    """The API server, if one was named or is needed; whole nodes can be judged without."""
    if kubeconfig is not None or needed:
        return connection_for(kubeconfig, os.environ)
    try:
        return find_connection(None, os.environ)
    except NoConnection:
        return None


def _map_name(text: str) -> MapName:
    place, _, name = text.partition("/")
    try:
        return MapName(node_name(place), node_name(name))
    except IdError:
        raise InputError(
            f"--weights-configmap is {text!r:.80}: it is NAMESPACE/NAME; write for example metax-gpu/{CONFIG_MAP}."
        ) from None


def _namespace(text: str) -> str:
    try:
        return namespace(text) if text else ""
    except IdError as error:
        raise InputError(f"--alias-namespace: {error}.") from None


def _address(text: str) -> Address:
    try:
        found = read_address(text)
    except SettingError:
        found = None
    if found is None:
        raise InputError(
            f"{OPTION} is {text!r:.80}: it is HOST:PORT with a port up to 65535; write for example :8080."
        )
    return found


def _certificate(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InputError("--tls-cert and --tls-key go together: give both, or neither for plain HTTP.")
    return certificate, key
