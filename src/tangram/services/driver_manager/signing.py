"""The key that payloads must be signed with, where an administrator gives one."""

from __future__ import annotations

from pathlib import Path

from tangram.daemon.errors import SettingError
from tangram.services.driver_manager.staged import Checks


def checks_with(file: Path) -> Checks:
    """What tells whether a signature is one by the key in a PEM file. Raises `SettingError`."""
    # Twelve megabytes that only nodes with signed payloads need.
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - the reason stands above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - the same

    try:
        key = load_pem_public_key(file.read_bytes())
    except OSError as error:
        raise SettingError(
            f"--public-key: {file} cannot be read ({error.strerror}); name the file of an Ed25519 public key."
        ) from error
    except ValueError as error:
        raise SettingError(
            f"--public-key: {file} is no public key in PEM; make one with openssl pkey -pubout."
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise SettingError(
            f"--public-key: {file} is a key of another kind; payloads are signed with Ed25519."
        )

    def check(text: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, text)
        except InvalidSignature:
            return False
        return True

    return check
