"""The `helm` on this machine's PATH, asked for its version and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from tangram.services.installation.ground import Helm

_ASK: Final = ("version", "--short")


def find_helm(patience: float, path: str | None = None) -> Helm:
    """Its version, or why it does not say so soon; neither where there is none. `path` is searched instead of PATH."""
    program = shutil.which("helm", path=path)
    if program is None:
        return Helm()
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are the constants above
            [program, *_ASK],
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=patience,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Helm(fault=f"no answer within {patience:g} s")
    except OSError as error:
        return Helm(fault=error.strerror or str(error))
    said = done.stdout.split()
    if done.returncode or not said:
        return Helm(fault=" ".join(done.stderr.split()) or f"it ended with status {done.returncode}")
    # v3.14.2+gc309b6f, and of Helm 2 "Client: v2.17.0+gabc".
    return Helm(version=next((word for word in said if word.startswith("v")), said[0]).partition("+")[0])
