"""`tangram dashboard`: the cluster in a browser."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from tangram.cli.agents.doors import door_address, door_certificate
from tangram.cli.agents.options import KubeconfigOption, LogArguments, connection_for
from tangram.cli.failures import InputError
from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.daemon.scheduler_address import is_loopback, scheduler_address, scheduler_trust
from tangram.kube.connection import HOST, Connection
from tangram.web.launch import METRICS_OPTION, OPTION, PROXY_OPTION, Launch, run
from tangram.web.proxies import OAUTH2_PROXY, ProxyRules, is_header_name
from tangram.web.reception import Way, WaysIn
from tangram.web.settings import DashboardSettings, usual_server

_File = Annotated[Path | None, Parameter(metavar="FILE", show_default=False)]
_HEADERS: Final = {"kubernetes": ProxyRules(), "oauth2-proxy": OAUTH2_PROXY}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProxyArguments:
    """The proxy that signs people in, with --sign-in proxy."""

    proxy_address: Annotated[
        str,
        Parameter(
            metavar="HOST:PORT",
            show_default=False,
            help="A second address for the proxy beside it: loopback, plain; whoever connects there is believed.",
        ),
    ] = ""
    proxy_ca: Annotated[_File, Parameter(help="Whose client certificates prove to be the proxy.")] = None
    proxy_name: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            negative="",
            show_default=False,
            help="Common names of those certificates; any if none.",
        ),
    ] = ()
    proxy_headers: Annotated[
        str,
        Parameter(metavar="KIND", help="How it names people: kubernetes (X-Remote-User) or oauth2-proxy."),
    ] = "kubernetes"
    proxy_user_header: Annotated[
        str, Parameter(metavar="HEADER", show_default=False, help="Another header for the user.")
    ] = ""
    proxy_group_header: Annotated[
        str, Parameter(metavar="HEADER", show_default=False, help="Another header for groups.")
    ] = ""
    proxy_user_prefix: Annotated[
        str,
        Parameter(
            metavar="TEXT", show_default=False, help="What the API server puts before these users' names."
        ),
    ] = ""
    proxy_group_prefix: Annotated[
        str, Parameter(metavar="TEXT", show_default=False, help="And before their groups.")
    ] = ""


def dashboard(
    *,
    address: Annotated[
        str, Parameter(metavar="HOST:PORT", help="Where pages, probes and metrics are served.")
    ] = "127.0.0.1:8088",
    server: Annotated[
        str,
        Parameter(
            metavar="URL",
            show_default=False,
            help="The scheduler; in a pod https://tangram-scheduler.NAMESPACE.svc:9443 of its own namespace.",
        ),
    ] = "",
    server_ca: Annotated[
        _File, Parameter(help="The authority of the scheduler's certificate, in PEM.")
    ] = None,
    token_file: Annotated[
        _File, Parameter(help="The token the scheduler is shown; that of the account if not given.")
    ] = None,
    tls_cert: Annotated[
        _File, Parameter(help="Serve HTTPS with this certificate, followed as it changes.")
    ] = None,
    tls_key: Annotated[_File, Parameter(help="Its key.")] = None,
    sign_in: Annotated[
        str,
        Parameter(
            metavar="HOW",
            help="token: people sign in with their Kubernetes token; proxy: a proxy has signed them in; none: "
            "everybody on this machine is the account of the kubeconfig.",
        ),
    ] = "token",
    actions: Annotated[
        bool, Parameter(negative="", help="Let those who may patch nodes cordon cards here.")
    ] = False,
    history: Annotated[
        _File, Parameter(help="Keep the past there, over restarts; in memory if not given.")
    ] = None,
    metrics_address: Annotated[
        str,
        Parameter(
            metavar="HOST:PORT",
            show_default=False,
            help="Probes and metrics at an address of their own too, plain, for a kubelet that cannot reach --address.",
        ),
    ] = "",
    proxy: ProxyArguments | None = None,
    kubeconfig: KubeconfigOption = None,
    logs: LogArguments | None = None,
) -> int:
    """Serve the dashboard."""
    by, at = proxy or ProxyArguments(), door_address(address, OPTION)
    way, certificate = _way(sign_in), door_certificate(tls_cert, tls_key)
    if at is None:
        raise InputError(f"{OPTION} is empty: the dashboard has to be served somewhere; write HOST:PORT.")
    if way is Way.NONE and not is_loopback(at.host):
        raise InputError(
            f"--sign-in none lets everybody in who reaches {str(at)!r:.80}, and others than this machine can: write "
            f"{OPTION} 127.0.0.1:{at.port}, or --sign-in token."
        )
    connection = connection_for(kubeconfig, os.environ)
    settings = DashboardSettings(
        address=at,
        server=_server(server, server_ca, connection),
        server_authority=server_ca,
        token_file=_token_file(token_file, connection),
        kubeconfig=kubeconfig,
        certificate=certificate,
        metrics=door_address(metrics_address, METRICS_OPTION),
        proxy_authority=by.proxy_ca,
        proxy_address=_proxy_door(by, way, certificate),
        ways=WaysIn(way=way, actions=actions, proxy=_rules(by)),
        history=history,
    )
    return run(Launch(settings=settings, logs=(logs or LogArguments()).read()))


def _way(text: str) -> Way:
    try:
        return Way(text)
    except ValueError:
        raise InputError(
            f"--sign-in is {text!r:.80}: it is token, proxy or none; write one of these."
        ) from None


def _server(text: str, authority: Path | None, connection: Connection) -> str:
    if not text and not os.environ.get(HOST):
        raise InputError(
            "--server is not given, and this is no pod that could know it: write --server https://HOST:PORT of the "
            "scheduler, such as the near end of 'kubectl port-forward'."
        )
    try:
        url = scheduler_address(text or usual_server(connection.namespace))
        scheduler_trust(url, authority)
    except SettingError as error:
        raise InputError(str(error)) from None
    return url


def _token_file(file: Path | None, connection: Connection) -> Path | None:
    if file is None and connection.token_file is None and not connection.token:
        raise InputError(
            "the kubeconfig has no token, and the scheduler knows the dashboard by nothing else: give one with "
            "--token-file, as 'kubectl create token ACCOUNT > FILE' writes it."
        )
    if file is not None:
        try:
            file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InputError(
                f"--token-file names {file}, which cannot be read ({reason}): name a file with one token."
            ) from None
    return file


def _proxy_door(by: ProxyArguments, way: Way, certificate: CertificateFiles | None) -> Address | None:
    if way is not Way.PROXY:
        if by != ProxyArguments():
            raise InputError(
                "options of a proxy count with --sign-in proxy alone: write that too, or leave them out."
            )
        return None
    if by.proxy_ca is not None and certificate is None:
        raise InputError(
            "--proxy-ca needs --tls-cert and --tls-key: a certificate can be shown over TLS alone."
        )
    if by.proxy_ca is None and not by.proxy_address:
        raise InputError(
            "--sign-in proxy needs a way to know the proxy: --proxy-ca with the authority of its client certificate, "
            f"or {PROXY_OPTION} 127.0.0.1:PORT for one in the same pod."
        )
    return door_address(by.proxy_address, PROXY_OPTION)


def _rules(by: ProxyArguments) -> ProxyRules:
    if by.proxy_headers not in _HEADERS:
        raise InputError(
            f"--proxy-headers is {by.proxy_headers!r:.80}: it is {' or '.join(_HEADERS)}; write one of these."
        )
    usual = _HEADERS[by.proxy_headers]
    named = (("--proxy-user-header", by.proxy_user_header), ("--proxy-group-header", by.proxy_group_header))
    for option, header in named:
        if header and not is_header_name(header):
            raise InputError(
                f"{option} is {header!r:.80}, which is no name of a header; write such as X-Remote-User."
            )
    return msgspec.structs.replace(
        usual,
        user_header=by.proxy_user_header or usual.user_header,
        group_header=by.proxy_group_header or usual.group_header,
        user_prefix=by.proxy_user_prefix,
        group_prefix=by.proxy_group_prefix,
        by_certificate=by.proxy_ca is not None,
        common_names=frozenset(by.proxy_name),
    )
