"""Which certificate the next connection is shown, and where it comes from when somebody else makes it.

A new certificate is a new TLS context, taken whole or not at all: putting it into the one in use would leave parts of
the old one there when the kind of key changes. Connections that exist keep theirs. A pair that does not hold is never
shown, and the one before is kept; why, is said once.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tangram.daemon.certificates import CertificateError, Pair, certificates_in, check_pair, server_context
from tangram.daemon.errors import SettingError

LOOK_EVERY_S: Final = 10.0
"""The kubelet itself takes a minute or so to bring a changed Secret into a pod."""

_log = logging.getLogger(__name__)

Now = Callable[[], dt.datetime]


class ServingIdentity:
    """The certificate of one listener; `context` is what `serving_app` wants."""

    def __init__(self, now: Now, client_authority: bytes = b"") -> None:
        self._now = now
        self._client_authority = client_authority
        self._shown: tuple[Pair, ssl.SSLContext] | None = None
        self._until: dt.datetime | None = None

    @property
    def shown(self) -> Pair | None:
        return None if self._shown is None else self._shown[0]

    def context(self) -> ssl.SSLContext:
        """For the next connection. Raises `CertificateError` as long as there is nothing to show."""
        if self._shown is None:
            raise CertificateError("there is no certificate yet")
        return self._shown[1]

    def show(self, pair: Pair) -> None:
        """From the next connection on. Raises `CertificateError`, and keeps what it had."""
        if pair == self.shown:
            return
        leaf = check_pair(pair, self._now())
        self._shown = pair, server_context(pair, self._client_authority)
        self._until = leaf.not_valid_after_utc
        _log.info("a certificate valid until %s is shown from now on", leaf.not_valid_after_utc.isoformat())

    def unready(self) -> list[str]:
        """Why callers cannot trust us, for `/readyz`."""
        if self._until is None:
            return ["there is no certificate to serve with yet"]
        if self._until <= self._now():
            return [f"the certificate expired at {self._until:%Y-%m-%d %H:%M} UTC and there is no newer one"]
        return []


class PairFiles:
    """A pair that somebody else, such as cert-manager, writes into files and replaces at times."""

    def __init__(self, identity: ServingIdentity, certificate: Path, key: Path) -> None:
        self._identity = identity
        self._certificate = certificate
        self._key = key
        self._complaint = ""

    def begin(self) -> None:
        """Show what is there at the start. Raises `SettingError`."""
        failure = self._take()
        if failure:
            raise SettingError(
                f"the certificate in '{self._certificate}' with the key in '{self._key}' cannot be served with: "
                f"{failure}; name two PEM files that belong together."
            )

    def look(self) -> None:
        """Show what is there now, if it is new and holds."""
        failure = self._take()
        if failure and failure != self._complaint:
            _log.warning(
                "the certificate in %s is not taken, the old one stays: %s", self._certificate, failure
            )
        self._complaint = failure

    async def follow(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def _take(self) -> str:
        try:
            self._identity.show(Pair(self._certificate.read_bytes(), self._key.read_bytes()))
        except OSError as error:
            return f"{error.filename} cannot be read ({error.strerror})"
        except CertificateError as error:
            return str(error)
        return ""


def read_client_authority(file: Path, option: str = "--client-ca") -> bytes:
    """The authorities whose clients may use what only they may. Raises `SettingError`.

    `option` is what people wrote the file into.
    """
    try:
        text = file.read_bytes()
    except OSError as error:
        reason = error.strerror
    else:
        if certificates_in(text):
            return text
        reason = "it holds no PEM certificate"
    raise SettingError(
        f"{option} is '{file}', which cannot be used ({reason}): name a PEM file with the certificate of the "
        "authority that signs the clients' certificates."
    )
