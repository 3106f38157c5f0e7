"""Where the library, the kernel's files and the device nodes are, and how long to wait for any of them."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    library: str | None = None
    """A file to load instead of searching."""
    sysfs_root: str = "/sys"
    dev_root: str = "/dev"
    """Where the node's `/dev` is seen from here. Reports always say `/dev`, because a container spec does."""
    lock_directory: str = "/run/tangram"
    """Writers of slices on one node take turns here; the library picks a slice's number without asking the kernel."""
    limit: float = 5.0
    """Seconds a question may take."""
    change_limit: float = 60.0
    """Seconds a change may take: the kernel needs a while to make virtual functions."""
    uncorrected_ecc_limit: int = 0
    """More uncorrected memory errors than this, or more pages retired for them, take a card out of service."""
