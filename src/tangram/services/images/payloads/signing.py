"""Ed25519 keys of payloads: who signs proves that a payload is theirs, and a node that has the public key asks for it.

The library is imported where a key is used, because the image tool also runs where it is not unpacked.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tangram.services.images.errors import ImagesError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_MAKE_ONE: Final = "make one with `tangram images payload keygen`"


def make_key(place: Path) -> Path:
    """A new private key in a file, and the public one beside it, whose path is returned. Nothing is overwritten."""
    _refuse_missing_library()
    from cryptography.hazmat.primitives import serialization as forms  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - the same

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    public = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    beside = place.with_name(f"{place.name}.pub")
    for path in (place, beside):
        if path.exists():
            raise ImagesError(f"{path} is there already: name another file, keys are not overwritten.")
    for path, text, mode in ((place, private, 0o600), (beside, public, 0o644)):
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(text)
        except OSError as error:
            raise ImagesError(f"{path} cannot be written ({error.strerror}): name another file.") from None
    return beside


def read_private_key(file: Path) -> Ed25519PrivateKey:
    """The key that signs. Raises `ImagesError`."""
    _refuse_missing_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - the same

    try:
        key = load_pem_private_key(_read(file), None)
    except TypeError:
        raise ImagesError(
            f"{file} is encrypted with a password: name one without, and keep it where nobody reads it."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ImagesError(f"{file} is no private key in PEM: {_MAKE_ONE}.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ImagesError(f"{file} is a key of another kind: payloads are signed with Ed25519; {_MAKE_ONE}.")
    return key


def read_public_key(file: Path) -> Ed25519PublicKey:
    """The key that signatures are compared with. Raises `ImagesError`."""
    _refuse_missing_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415 - the same

    try:
        key = load_pem_public_key(_read(file))
    except (ValueError, UnsupportedAlgorithm):
        raise ImagesError(
            f"{file} is no public key in PEM: name the .pub file of the key that signed."
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ImagesError(f"{file} is a key of another kind: payloads are signed with Ed25519.")
    return key


def is_signed(text: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    """Whether the owner of the key signed exactly these bytes."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - see above

    try:
        key.verify(signature, text)
    except InvalidSignature:
        return False
    return True


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ImagesError(f"{file} cannot be read ({error.strerror}): name the file of a key.") from None


def _refuse_missing_library() -> None:
    try:
        importlib.import_module("cryptography")
    except ImportError:
        raise ImagesError(
            "Signatures need the Python package cryptography, which this copy of the tool lacks: use an installed "
            "tangram, or leave the key out."
        ) from None
