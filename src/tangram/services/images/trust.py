"""Whose certificates are believed: the machine's authorities, docker's for this registry, and the one that was named.

The tool may run with a Python that was made for another distribution, whose OpenSSL looks for certificates where this
machine has none. So the usual places are read as well. Checking is never switched off: who has a certificate of their
own names it, and who has none says so with --plain-http.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tangram.services.images.addresses import Target
from tangram.services.images.errors import ImagesError

BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL, openEuler, Kylin
    "/etc/pki/tls/certs/ca-bundle.crt",  # older ones of these
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",
)
_OF_DOCKER: Final = "/etc/docker/certs.d"


def trust_for(
    target: Target, authority: Path | None, environment: Mapping[str, str], root: Path = Path("/")
) -> ssl.SSLContext:
    """What a connection to the target is checked with. `root` is where the machine's files are."""
    context = ssl.create_default_context()
    if not environment.get("SSL_CERT_FILE") and not environment.get("SSL_CERT_DIR"):
        _add_first(context, [root / one.lstrip("/") for one in BUNDLES] + [_own_bundle()])
    folder = root / _OF_DOCKER.lstrip("/") / target.domain
    for certificate in _certificates(folder):
        _add(context, certificate, f"{certificate}, which docker trusts for {target.domain},")
    if authority is not None:
        _add(context, authority, f"--ca names {authority}, which")
    return context


def _certificates(folder: Path) -> list[Path]:
    """Those that may be read: docker's folder is often closed to all but root, and is no more than a help."""
    try:
        found = sorted(one for one in folder.iterdir() if one.suffix == ".crt")
    except OSError:
        return []
    return [one for one in found if os.access(one, os.R_OK)]


def _own_bundle() -> Path:
    """Beside the Python that runs: what its image brought."""
    return Path(sys.prefix).parent / "etc/ssl/certs/ca-certificates.crt"


def _add_first(context: ssl.SSLContext, bundles: list[Path]) -> None:
    for bundle in bundles:
        if os.access(bundle, os.R_OK) and bundle.is_file():
            _add(context, bundle, f"{bundle}, the machine's list of authorities,")
            return


def _add(context: ssl.SSLContext, path: Path, what: str) -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError:
        raise ImagesError(
            f"{what} holds no certificate: it must be a file in PEM, with -----BEGIN CERTIFICATE-----."
        ) from None
    except OSError as error:
        raise ImagesError(f"{what} cannot be read ({error.strerror}): name a certificate in PEM.") from None
