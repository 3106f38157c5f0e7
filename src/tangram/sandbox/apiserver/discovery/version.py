"""The answer of `/version`: which Kubernetes this server behaves like, and that it is not that Kubernetes."""

from __future__ import annotations

import platform
from typing import Final

from tangram.kube.objects import Object

MAJOR: Final = "1"
MINOR: Final = "36"
GIT_VERSION: Final = f"v{MAJOR}.{MINOR}.3+tangram-sandbox"
"""What stands behind the plus sign is no part of the version to those who compare versions."""

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def version_info() -> Object:
    """Build facts that a server not written in Go lacks are empty: clients print them and read nothing from them."""
    machine = platform.machine().lower()
    return {
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}",
    }
