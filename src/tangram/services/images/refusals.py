"""What a registry refuses, and why a connection failed, in sentences that say what to do.

A status alone leads nowhere: 404 is a missing project, 401 a missing login or one that has ended, 413 most often a
proxy in front. What the registry said itself is quoted, because only its operator knows its rules.
"""

from __future__ import annotations

import errno
import os
import ssl
from typing import Final

import aiohttp
import msgspec

from tangram.services.images.addresses import Target
from tangram.services.images.errors import UNREADABLE, BusyError, ImagesError, InterruptedPushError
from tangram.services.images.logins import Login

BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another try may change."""
FULL: Final = 507
_SELF_SIGNED: Final = (18, 19)
_EXPIRED: Final = 10
_WRONG_NAME: Final = (62, 64)


class _Fault(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Faults(msgspec.Struct, frozen=True):
    errors: list[_Fault] = []


def said(content: bytes) -> str:
    """The registry's own words, in brackets; nothing if there are none that are meant for people."""
    try:
        faults = msgspec.json.decode(content, type=_Faults).errors
    except UNREADABLE:
        return ""
    words = "; ".join(": ".join(filter(None, (one.code, one.message))) for one in faults[:3])
    return f" ({' '.join(words.split()):.300})" if words else ""


class Speaker:
    """The sentences about one registry. `login` is who one says one is to it, `looked` where logins were sought."""

    def __init__(
        self, target: Target, login: Login | None, looked: list[str], *, only_reading: bool = False
    ) -> None:
        self._target = target
        self._only_reading = only_reading
        self._login = login
        self._looked = looked

    def refused(self, what: str, status: int, content: bytes) -> ImagesError:
        """For an answer that is a no to `what` ("pushing ...")."""
        domain, quoted = self._target.domain, said(content)
        if status == 401:
            return self._unknown_caller(quoted)
        if status == 403:
            who = self._login.user if self._login is not None else "somebody who is not logged in"
            if self._only_reading:
                return ImagesError(
                    f"{domain} does not let {who} read {self._target.project}{quoted}: ask for the right to pull from "
                    f"there, or log in as somebody who has it: docker login {domain}."
                )
            return ImagesError(
                f"{domain} does not let {who} push to {self._target.project}{quoted}: make that project if "
                "there is none, ask for the right to push there, or log in as somebody who has it: docker login "
                f"{domain}."
            )
        if status == 404:
            return ImagesError(
                f"{domain} has no place for {what}{quoted}: make the project {self._target.project} there first, or "
                "name one that exists."
            )
        if status == 405:
            return ImagesError(
                f"{domain} takes nothing{quoted}: it is read-only, or no registry for images; name one that takes "
                "pushes."
            )
        if status == 413:
            return ImagesError(
                f"{domain} takes no request as large as {what}, even in pieces of 1 MB{quoted}: raise the limit of "
                "the proxy in front of it (nginx: client_max_body_size)."
            )
        if status == 400 and b"HTTP request to an HTTPS server" in content:
            return ImagesError(f"{domain} speaks HTTPS: leave out --plain-http.")
        if status == FULL:
            return ImagesError(
                f"{domain} has no room left for {what}{quoted}: make room there, then push again."
            )
        if 300 <= status < 400:
            return ImagesError(
                f"{domain} sends {what} elsewhere (status {status}): name the registry it leads to."
            )
        return ImagesError(f"{domain} refused {what} with status {status}{quoted}.")

    def busy(self, what: str, status: int, content: bytes, after: float) -> BusyError:
        """For an answer that may be another one soon."""
        reason = "is asked too often" if status == 429 else f"cannot answer (status {status})"
        advice = "push again later" if status == 429 else "see its log, and whether its disk is full"
        return BusyError(f"{self._target.domain} {reason} for {what}{said(content)}: {advice}.", after=after)

    def not_a_registry(self, status: int) -> ImagesError:
        return ImagesError(
            f"{self._target.domain} answers, but not as a registry for images does (status {status} for /v2/): see "
            "whether the domain and its port are right."
        )

    def failed(self, error: Exception, *, where: str = "", proxy: str | None = None) -> ImagesError:
        """For a connection that did not come about or was lost. `where` is a server that the registry led to."""
        domain = f"{where:.120}, where {self._target.domain} leads to," if where else self._target.domain
        match error:
            case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
                return InterruptedPushError(
                    f"the proxy {proxy}, which the environment names for {domain}, cannot be reached or lets nothing "
                    f"through ({_reason(error)}): mend it, or name the domain in NO_PROXY."
                )
            case aiohttp.ClientConnectorCertificateError():
                return _distrusted(domain, error.certificate_error)
            case aiohttp.ClientConnectorSSLError():
                return _no_handshake(domain, error)
            case aiohttp.ClientConnectorDNSError() | aiohttp.InvalidURL() | UnicodeError():
                return InterruptedPushError(
                    f"{domain if where else self._target.host} is a name that nobody knows here: see whether it is "
                    "right."
                )
            case aiohttp.ClientConnectorError():
                return InterruptedPushError(
                    f"{domain} cannot be reached ({_reason(error)}): see whether the registry runs, and the port."
                )
            case TimeoutError():
                return InterruptedPushError(
                    f"{domain} does not answer in time: see whether it can be reached from here."
                )
            case _:
                return InterruptedPushError(
                    f"the connection to {domain} was lost ({_reason(error)}): push again."
                )

    def _unknown_caller(self, quoted: str) -> ImagesError:
        domain = self._target.domain
        if self._login is None:
            return ImagesError(
                f"{domain} asks who you are{quoted}, and no login for it is kept in {' or '.join(self._looked)}: run "
                f"docker login {domain} (or helm registry login {domain}), or give --user and --password-stdin."
            )
        if self._login.source == "--user":
            return ImagesError(
                f"{domain} does not accept {self._login.user!r:.80} with this password{quoted}."
            )
        return ImagesError(
            f"{domain} does not accept the login of {self._login.user!r:.80} from {self._login.source}{quoted}: log "
            f"in again: docker login {domain}."
        )


def _distrusted(domain: str, error: Exception) -> ImagesError:
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    why = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
    if code == _EXPIRED:
        return ImagesError(f"the certificate of {domain} has expired: let the registry have a new one.")
    if code in _WRONG_NAME:
        return ImagesError(f"{domain} shows a certificate for another name ({why}): use the name it is for.")
    kind = "one it signed itself" if code in _SELF_SIGNED else "of an authority this machine does not know"
    return ImagesError(
        f"the certificate of {domain} is {kind} ({why}): give the certificate, or the one of the authority, with "
        "--ca FILE."
    )


def _no_handshake(domain: str, error: aiohttp.ClientConnectorSSLError) -> ImagesError:
    reason = str(error)
    if "WRONG_VERSION_NUMBER" in reason or "HTTP_REQUEST" in reason or "RECORD_LAYER_FAILURE" in reason:
        return ImagesError(
            f"{domain} does not speak HTTPS: if it is meant to be reached without encryption, write "
            "--plain-http."
        )
    return ImagesError(f"{domain} and this machine agree on no encryption ({_reason(error)}).")


def _reason(error: Exception) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno in errno.errorcode:
        return os.strerror(cause.errno)
    return " ".join(str(error).split())[:200] or type(error).__name__
