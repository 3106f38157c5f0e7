"""The kubelet's device checkpoint in a node's device plugins' directory: reading it, and writing one in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import (
    CHECKPOINT_FILE,
    Checkpoint,
    CheckpointedAllocation,
    parse_checkpoint,
)
from tangram.wire.kubelet.checkpoint_text import checkpoint_text
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


def write_checkpoint(
    directory: Path, allocations: Sequence[CheckpointedAllocation], registered: Mapping[str, Sequence[str]]
) -> None:
    """Write what a kubelet would, checksum and all, in one step."""
    text = checkpoint_text(allocations, registered)
    unfinished = directory / f".{CHECKPOINT_FILE}.new"
    unfinished.write_text(text)
    unfinished.replace(directory / CHECKPOINT_FILE)
