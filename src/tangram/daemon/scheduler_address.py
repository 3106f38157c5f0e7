"""Where the scheduler is asked from other processes, whom to believe that it is the scheduler, and what it says.

Whoever asks it sends a token, so there is no way over plain text, and none past a certificate.
"""

from __future__ import annotations

import ipaddress
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tangram.daemon.errors import SettingError
from tangram.kube.errors import ApiError

LONGEST_SENTENCE: Final = 500


def scheduler_address(url: str) -> str:
    """What `--server` says, as `https://HOST:PORT`. Raises `SettingError`."""
    try:
        parts = urlsplit(url)
        well_formed = (
            parts.scheme == "https" and bool(parts.hostname) and not (parts.path.strip("/") or parts.query)
        )
        _ = parts.port
    except ValueError:
        well_formed = False
    if not well_formed:
        raise SettingError(
            f"--server is {url!r:.80}: it is https://HOST:PORT of the scheduler, since your token goes there; write "
            "for example https://tangram-scheduler.kube-system.svc:9443."
        )
    return url.rstrip("/")


def scheduler_trust(url: str, authority: Path | None) -> ssl.SSLContext:
    """Whom to believe there; without an authority those that this machine believes. Raises `SettingError`."""
    try:
        context = ssl.create_default_context(cafile=None if authority is None else str(authority))
    except OSError as error:
        raise SettingError(
            f"--server-ca names {authority}, which is no certificate that can be read ({error}): name the "
            "authority of the scheduler's certificate, in PEM."
        ) from None
    if authority is not None and is_loopback(urlsplit(url).hostname or ""):
        # The near end of a 'kubectl port-forward': no certificate names it, and the named authority still vouches.
        context.check_hostname = False
    return context


def trust_again(context: ssl.SSLContext | None, authority: Path | None) -> None:
    """Believe also what the file says now: a scheduler that makes its own certificates makes new ones in time."""
    if context is None or authority is None:
        return
    # What was believed at the start is still believed; a file that is being written is read the next time.
    with suppress(OSError):
        context.load_verify_locations(cafile=str(authority))


def scheduler_sentence(error: ApiError) -> str:
    """The scheduler's own words, which it sends as kube-scheduler reads them."""
    try:
        told = msgspec.json.decode(error.message, type=dict[str, str]).get("Error", error.message)
    except msgspec.MsgspecError:
        told = error.message
    return " ".join(told.split()).rstrip(".")[:LONGEST_SENTENCE] or "no reason"


def is_loopback(host: str) -> bool:
    """Whether the name or address is one of this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
