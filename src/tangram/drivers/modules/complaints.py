"""What the programs for kernel modules say when the kernel refuses something, sorted into what can be done about it.

They have one exit status for everything; only the text tells. Texts are those of kmod, and of busybox where it differs.
"""

from __future__ import annotations

import re
from typing import Final

from tangram.drivers.modules.protocol import LoaderCode, LoaderError

_KINDS: Final = (
    (
        re.compile(
            r"invalid module format|exec format error|unknown symbol|disagrees about version", re.IGNORECASE
        ),
        LoaderCode.WRONG_KERNEL,
        "use a driver that was made for this kernel",
    ),
    (
        re.compile(r"required key not available|key was rejected|bad message", re.IGNORECASE),
        LoaderCode.REFUSED,
        "the kernel takes signed modules only: enrol the key of this driver, or switch Secure Boot off",
    ),
    (
        re.compile(r"operation not permitted|permission denied", re.IGNORECASE),
        LoaderCode.REFUSED,
        "loading modules is switched off or locked down, or this container is not privileged",
    ),
    (
        re.compile(r"invalid (?:parameters|argument)|unknown parameter", re.IGNORECASE),
        LoaderCode.REFUSED,
        "correct the parameters of the module",
    ),
    (
        re.compile(r"in use|busy|temporarily unavailable|file exists", re.IGNORECASE),
        LoaderCode.BUSY,
        "end whatever uses it, or unload it first",
    ),
    (
        re.compile(r"not found|no such file|can't open|could not open", re.IGNORECASE),
        LoaderCode.MISSING,
        "install what is missing",
    ),
)


def complaint(action: str, text: str) -> LoaderError:
    """The error for an action that a program refused with that text."""
    said = "".join(letter for letter in text if letter.isprintable())[:300] or "nothing"
    for pattern, code, instead in _KINDS:
        if pattern.search(text):
            return LoaderError(code, f"{action} was refused: {said}; {instead}")
    return LoaderError(LoaderCode.FAILED, f"{action} failed: {said}; look into the kernel log for the reason")
