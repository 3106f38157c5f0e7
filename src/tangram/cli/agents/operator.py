"""`tangram operator`: the operator-controller."""

from __future__ import annotations

import os
import socket
from typing import Annotated, Final

from cyclopts import Parameter
from msgspec.structs import replace

import tangram
from tangram.cli.agents.options import (
    KubeconfigOption,
    LogArguments,
    MetricsAddressOption,
    connection_for,
    read_metrics_address,
)
from tangram.cli.failures import InputError
from tangram.daemon.launching import run_daemon
from tangram.services.operator.launch import Launch, serve
from tangram.units.ids import IdError, is_dns_subdomain, namespace

COMPONENT: Final = "operator-controller"
USUAL_LEASE: Final = "metax-operator"


def operator(
    *,
    namespace_: Annotated[
        str,
        Parameter(
            name=["--namespace", "-n"],
            metavar="NAMESPACE",
            show_default=False,
            help="Where the parts run; the namespace of its own account if not given.",
        ),
    ] = "",
    image: Annotated[
        str,
        Parameter(
            metavar="IMAGE",
            show_default=False,
            help="What the parts run; the image of its own pod (POD_NAME) if not given.",
        ),
    ] = "",
    lease: Annotated[
        str,
        Parameter(metavar="NAME", help="The Lease in that namespace by which one of the replicas writes."),
    ] = USUAL_LEASE,
    kubeconfig: KubeconfigOption = None,
    metrics_address: MetricsAddressOption = ":9396",
    logs: LogArguments | None = None,
) -> int:
    """Keep drivers, MXMACA, runtime, labels and device plugins of all GPU nodes."""
    launch = Launch(
        namespace=_namespace(namespace_) if namespace_ else "",
        image=_image(image),
        lease=_lease(lease),
        version=tangram.__version__,
        host=socket.gethostname(),
        address=read_metrics_address(metrics_address),
    )
    log_options = (logs or LogArguments()).read()
    connection = connection_for(kubeconfig, os.environ)
    if not launch.namespace:
        launch = replace(launch, namespace=connection.namespace)
    return run_daemon(
        COMPONENT, log_options, lambda supervisor: serve(supervisor, launch, connection, os.environ)
    )


def _namespace(text: str) -> str:
    try:
        return namespace(text)
    except IdError as error:
        raise InputError(f"--namespace: {error}.") from None


def _image(text: str) -> str:
    if text and (any(mark.isspace() for mark in text) or "://" in text):
        raise InputError(
            f"--image is {text!r:.80}: it is REGISTRY/NAME:TAG without https:// and blanks; "
            "write for example registry.example/gpu/tangram:1.2.3."
        )
    return text


def _lease(text: str) -> str:
    if not is_dns_subdomain(text):
        raise InputError(
            f"--lease is {text!r:.80}: it is the name of a Lease; write for example {USUAL_LEASE}."
        )
    return text
