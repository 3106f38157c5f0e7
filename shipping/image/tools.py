"""Other people's programs that the builder calls: apt, dpkg-deb, pip, git, the image's own Python.

What they print is kept and shown only where it explains a failure; what it means is for the caller to say.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from shipping.image.errors import ImageError

_PATIENCE_S: Final = 1800
"""A mirror that answers slowly is not an error; one that hangs for half an hour is."""
_LAST_LINES: Final = 6


def run(
    command: Sequence[str | Path],
    *,
    needed_for: str,
    package: str,
    environment: Mapping[str, str] | None = None,
    only_environment: bool = False,
    folder: Path | None = None,
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, whatever its status. `package` names what brings it on Debian.

    `environment` is added to this process's, or is all there is if the outcome must not depend on who runs it.
    """
    words = [str(word) for word in command]
    try:
        return subprocess.run(  # noqa: S603 - commands are built from constants and our own file names
            words,
            check=False,
            capture_output=True,
            input=stdin,
            cwd=folder,
            env={**({} if only_environment else os.environ), "LC_ALL": "C", **(environment or {})},
            timeout=_PATIENCE_S,
        )
    except FileNotFoundError:
        raise ImageError(
            f"{needed_for} needs `{words[0]}`, which this machine lacks: on Debian or Ubuntu it is in the package "
            f"{package}; on another system, build the image in a Debian container."
        ) from None
    except subprocess.TimeoutExpired:
        raise ImageError(
            f"{needed_for} was given up: `{words[0]}` did not end within {_PATIENCE_S // 60} minutes."
        ) from None


def printed(answer: subprocess.CompletedProcess[bytes]) -> str:
    """Everything a program printed, complaints first."""
    return (answer.stderr + b"\n" + answer.stdout).decode("utf-8", "replace")


def last_words(answer: subprocess.CompletedProcess[bytes]) -> str:
    """The last complaints of a failed program, for the end of a sentence."""
    complaints = answer.stderr.decode("utf-8", "replace").splitlines()
    lines = [line.strip() for line in complaints if line.strip() and not line.startswith("WARNING: Retrying")]
    return "\n".join(lines[-_LAST_LINES:]) or f"nothing, with status {answer.returncode}"
