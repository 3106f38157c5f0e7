"""Where a server with several doors is told to listen, and with which certificate: the same words for all of them."""

from __future__ import annotations

from pathlib import Path

from tangram.cli.failures import InputError
from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address, read_address
from tangram.daemon.errors import SettingError


def door_address(text: str, option: str) -> Address | None:
    """The address that was written into an option; None for an empty one."""
    try:
        return read_address(text, option)
    except SettingError as error:
        raise InputError(str(error)) from None


def door_certificate(certificate: Path | None, key: Path | None) -> CertificateFiles | None:
    """What `--tls-cert` and `--tls-key` name, both or neither."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = "--tls-key" if key is None else "--tls-cert"
        raise InputError(
            f"{missing} is missing: a certificate and its key go together; name both files, or none."
        )
    return CertificateFiles(certificate, key)
