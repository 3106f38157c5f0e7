"""`tangram container-runtime`: runtime metax on this node."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.agents.folders import read_folders
from tangram.cli.agents.options import (
    KubeconfigOption,
    LogArguments,
    MetricsAddressOption,
    NodeNameOption,
    connection_for,
    read_metrics_address,
    read_node_name,
)
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import read_seconds
from tangram.daemon.launching import run_daemon
from tangram.services.container_runtime.service import serve
from tangram.services.container_runtime.settings import CdiMode, EngineKind, Settings
from tangram.wire.operator import names

COMPONENT: Final = "container-runtime"
_AUTO: Final = "auto"
_RESTARTS: Final = (_AUTO, "never")


def container_runtime(
    *,
    node_name: NodeNameOption = "",
    host_root: Annotated[
        Path, Parameter(metavar="DIR", help="Where the host's root is seen; /host in the pod.")
    ] = Path("/"),
    engine: Annotated[str, Parameter(metavar="ENGINE", help="auto, containerd, cri-o or docker.")] = _AUTO,
    cdi_mode: Annotated[
        str,
        Parameter(
            metavar="MODE",
            help="How containers get MXMACA: cdi (the engine reads CDI files), env (runtime metax becomes the "
            "default) or auto (cdi where it is read).",
        ),
    ] = _AUTO,
    program: Annotated[
        Path, Parameter(metavar="FILE", help="The program of runtime metax, as it is in this image.")
    ] = Path("/usr/lib/tangram/mx-container-runtime"),
    folders: Annotated[
        str, Parameter(metavar="PATHS", help="Folders of the host that containers with cards see.")
    ] = f"{names.MACA_LINK},{names.DRIVER_LINK}",
    restart: Annotated[
        str,
        Parameter(metavar="WHEN", help="auto (when a change needs it) or never (a person does it)."),
    ] = _AUTO,
    restart_command: Annotated[
        str,
        Parameter(
            metavar="COMMAND",
            show_default=False,
            help="What makes the engine read its configuration, run on the host; systemctl if not given.",
        ),
    ] = "",
    containerd_config: Annotated[
        str,
        Parameter(
            metavar="FILE",
            show_default=False,
            help="containerd's configuration on the host; by its command line, else /etc/containerd/config.toml.",
        ),
    ] = "",
    containerd_program: Annotated[
        str,
        Parameter(
            metavar="FILE",
            show_default=False,
            help="The host's containerd, which is asked about its configuration; the one that runs, if not given.",
        ),
    ] = "",
    docker_config: Annotated[
        str, Parameter(metavar="FILE", help="Docker's configuration on the host.")
    ] = "/etc/docker/daemon.json",
    interval: Annotated[
        str, Parameter(metavar="DURATION", help="How often the host's files are looked at, 50ms to 1h.")
    ] = "5s",
    kubeconfig: KubeconfigOption = None,
    metrics_address: MetricsAddressOption = ":9398",
    logs: LogArguments | None = None,
) -> int:
    """Keep runtime metax registered with this node's container runtime."""
    settings = Settings(
        node=read_node_name(node_name, os.environ),
        host_root=_root(host_root),
        engine=_engine(engine),
        cdi_mode=_cdi_mode(cdi_mode),
        program=program,
        folders=read_folders(folders, "--folders"),
        may_restart=_may_restart(restart),
        restart_command=_command(restart_command),
        containerd_config=_on_host(containerd_config, "--containerd-config"),
        containerd_program=_on_host(containerd_program, "--containerd-program"),
        docker_config=_on_host(docker_config, "--docker-config", or_none=False),
        interval=read_seconds(interval, "--interval"),
    )
    address = read_metrics_address(metrics_address)
    connection = connection_for(kubeconfig, os.environ)
    return run_daemon(
        COMPONENT,
        (logs or LogArguments()).read(),
        lambda supervisor: serve(supervisor, settings, connection, address),
    )


def _root(path: Path) -> Path:
    if not path.is_absolute() or not path.is_dir():
        raise InputError(
            f"--host-root is {str(path)!r:.80}: it is a folder that exists, by its absolute path; write /, or where "
            "the host is mounted, such as /host."
        )
    return path


def _engine(text: str) -> EngineKind | None:
    if text == _AUTO:
        return None
    try:
        return EngineKind(text)
    except ValueError:
        legal = ", ".join(EngineKind)
        raise InputError(f"--engine is {text!r:.80}: it is auto, {legal}; write one of these.") from None


def _cdi_mode(text: str) -> CdiMode:
    try:
        return CdiMode(text)
    except ValueError:
        raise InputError(f"--cdi-mode is {text!r:.80}: it is auto, cdi or env; write one of these.") from None


def _may_restart(text: str) -> bool:
    if text not in _RESTARTS:
        raise InputError(f"--restart is {text!r:.80}: it is auto or never; write one of these.")
    return text == _AUTO


def _command(text: str) -> tuple[str, ...]:
    if not text.isprintable():
        raise InputError(
            f"--restart-command is {text!r:.80}: it is one line; write for example 'systemctl restart k3s-agent'."
        )
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(
            f"--restart-command is {text!r:.80}: its quotes do not match ({error}); write for example "
            "'systemctl restart k3s-agent'."
        ) from None


def _on_host(text: str, option: str, *, or_none: bool = True) -> str:
    if not (text.startswith("/") or (or_none and not text)) or not text.isprintable():
        raise InputError(f"{option} is {text!r:.80}: it is an absolute path of the host; begin it with /.")
    return text
