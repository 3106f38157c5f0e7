"""Where a certificate and its key are, for whoever serves with one that somebody else keeps."""

from __future__ import annotations

from pathlib import Path

import msgspec


class CertificateFiles(msgspec.Struct, frozen=True):
    certificate: Path
    key: Path
