"""A machine before an installation, as far as the doctor of machines does not look: its system and its cgroups."""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, ok, skip, warn
from tangram.drivers.doctor.machine import Machine
from tangram.services.installation.node_checks import is_listed

CGROUPS: Final = "/sys/fs/cgroup"
KERNEL: Final = "/proc/version"
"""`Linux version RELEASE (...`; the file of the release alone cannot be read in one large piece."""
RELEASE_FILES: Final = ("/etc/os-release", "/usr/lib/os-release")
LAST_WITH_FIRST_CGROUPS: Final = "1.34"
"""The last kubelet that starts on version 1 without being told to."""


def system(machine: Machine) -> Findings:
    """What it calls itself, and its kernel."""
    name = next(filter(None, (_pretty_name(machine.text(path)) for path in RELEASE_FILES)), "")
    words = (machine.text(KERNEL) or "").split()
    kernel = f"kernel {words[2] if len(words) > 2 else 'unknown'}"
    if not name:
        yield skip(
            "systems",
            f"none of {' and '.join(RELEASE_FILES)} names the system",
            "give --root if it is elsewhere",
        )
    elif is_listed(name):
        yield ok("systems", f"{name} with {kernel}")
    else:
        yield warn(
            "systems",
            f"{name} with {kernel} is not among the systems that MetaX lists for its driver",
            "see that the vendor's driver supports it; Tangram itself does not mind",
        )


def cgroups(machine: Machine) -> Findings:
    """Version 2, or the one that kubelets are leaving."""
    check = "cgroups"
    if machine.exists(f"{CGROUPS}/cgroup.controllers"):
        yield ok(check, "the kernel serves cgroups of version 2")
    elif machine.exists(f"{CGROUPS}/memory"):
        yield warn(
            check,
            f"the kernel serves cgroups of version 1, on which kubelets after {LAST_WITH_FIRST_CGROUPS} do not start",
            "boot with systemd.unified_cgroup_hierarchy=1, or set failCgroupV1: false in the kubelet's configuration",
        )
    else:
        yield skip(
            check, f"{CGROUPS} shows no cgroups", "give --root if the host's files are mounted elsewhere"
        )


def _pretty_name(text: str | None) -> str:
    for line in (text or "").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip().strip("\"'")
    return ""
