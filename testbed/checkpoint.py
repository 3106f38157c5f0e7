"""The kubelet's device checkpoint in a node's device plugins' directory."""

from __future__ import annotations

from pathlib import Path

from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE, Checkpoint, parse_checkpoint
from testbed.errors import BedError


def read_checkpoint(directory: Path) -> Checkpoint:
    """What the kubelet last wrote; it replaces the file whole, so no half of one is ever seen."""
    path = directory / CHECKPOINT_FILE
    try:
        return parse_checkpoint(path.read_bytes())
    except OSError as error:
        raise BedError(
            f"'{path}' cannot be read ({error.strerror}): the kubelet writes it when a device plugin has registered"
        ) from error
    except WireError as error:
        raise BedError(f"'{path}': {error}") from error
