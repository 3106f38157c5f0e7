"""The running scheduler asked instead of working it out here: it knows its policies, its promises and its verdicts.

It decides by the person's own token what may be told, so the token goes there and nowhere else: over TLS alone, to a
certificate of the authority that was named, and past no redirect. The API server's service proxy is no way to it: it
keeps the caller's token to itself.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from tangram.cli.failures import InputError
from tangram.daemon.errors import SettingError
from tangram.daemon.scheduler_address import scheduler_address, scheduler_sentence, scheduler_trust
from tangram.kube.api import Api, Object
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.reports.shape import ExplainReport

ANSWER_LIMIT_S: Final = 30.0
_LEAVE_OUT: Final = "leave --server out to work it out here"


class Server(NamedTuple):
    """Where the scheduler is, and who asks it."""

    url: str
    authority: Path | None
    token: str


def read_server(
    url: str, authority: Path | None, token_file: Path | None, account: Connection | None
) -> Server:
    """The scheduler of that address, with a token from the file, or else of the person's account."""
    try:
        address = scheduler_address(url)
    except SettingError as error:
        raise InputError(str(error)) from None
    token = _token(token_file or (None if account is None else account.token_file), account)
    if not token:
        raise InputError(
            "the kubeconfig has no token, and the scheduler knows people by nothing else: give one with --token-file, "
            "as 'kubectl create token ACCOUNT > FILE' writes it."
        )
    return Server(address, authority, token)


def _token(file: Path | None, account: Connection | None) -> str:
    if file is None:
        return "" if account is None else account.token
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(
            f"the token file {file} cannot be read ({reason}): name one with --token-file."
        ) from None
    if not token or not token.isascii() or len(token.split()) > 1:
        raise InputError(
            f"the token file {file} holds no token: it is one word, as 'kubectl create token' prints it."
        )
    return token


def explain_pod(server: Server, namespace: str, pod: str, nodes: Sequence[str]) -> ExplainReport:
    """What the scheduler says about a pod there is."""
    query = [("namespace", namespace), ("pod", pod), *(("node", node) for node in nodes)]
    return _asked(server, "GET", f"/explain?{urlencode(query)}", None)


def explain_manifests(
    server: Server, manifests: Sequence[object], namespaces: Sequence[str], nodes: Sequence[str]
) -> ExplainReport:
    """What the scheduler says about pods that could be made."""
    query = [*(("namespace", each) for each in namespaces), *(("node", node) for node in nodes)]
    return _asked(server, "POST", f"/explain?{urlencode(query)}", {"kind": "List", "items": list(manifests)})


def _asked(server: Server, method: str, path: str, body: object) -> ExplainReport:
    connection = Connection(server.url, _tls(server), token=server.token)
    try:
        answer = asyncio.run(_call(connection, method, path, body))
    except ApiError as error:
        raise InputError(
            f"the scheduler at {server.url} answers {error.status}: {scheduler_sentence(error)}."
        ) from None
    except ApiUnreachable as error:
        raise InputError(
            f"the scheduler at {server.url} cannot be asked ({_reason(error)}): see that the address and --server-ca "
            f"are right, or {_LEAVE_OUT}."
        ) from None
    try:
        return msgspec.convert(answer, ExplainReport)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{server.url} answers with something that is no explanation ({error!s:.120}): see that it is the "
            f"scheduler's address, or {_LEAVE_OUT}."
        ) from None


async def _call(connection: Connection, method: str, path: str, body: object) -> Object:
    async with Api(connection, limit=ANSWER_LIMIT_S) as api:
        return await api.call(method, path, body)


def _tls(server: Server) -> ssl.SSLContext:
    try:
        return scheduler_trust(server.url, server.authority)
    except SettingError as error:
        raise InputError(str(error)) from None


def _reason(error: ApiUnreachable) -> str:
    cause = error.__cause__
    if isinstance(cause, TimeoutError):
        return f"no answer within {ANSWER_LIMIT_S:g} s"
    return " ".join(str(cause or error).split())[:200]
