"""Whether a node's container runtime understands CDI, and how a kubelet of its version passes CDI names on.

Told from what the node reports about itself and from the runtime's own file where that can be read. A wrong "yes"
leaves containers waiting with an error, a wrong "no" costs the safety that CDI brings; so a file that says no is
believed against the version, and a version that is not known means no.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Passing = Literal["field", "annotations", "off"]

FIRST_WITH_FIELD: Final = (1, 29)
"""Kubelets pass the names of the Allocate answer on since 1.29; before, a feature gate had to be set."""

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})")
_RUNTIME = re.compile(r"([a-z-]+)://v?([0-9]{1,4})\.([0-9]{1,4})")
_ON = re.compile(r"^\s*enable_cdi\s*=\s*true", re.MULTILINE)
_OFF = re.compile(r"^\s*enable_cdi\s*=\s*false", re.MULTILINE)
_BY_DEFAULT: Final = {"containerd": (2, 0), "cri-o": (1, 23)}
_BY_CHOICE: Final = {"containerd": (1, 7)}


def cdi_passing(kubelet_version: str, runtime_version: str, runtime_file: str | None) -> Passing:
    """How CDI names reach a container here. `runtime_file` is the runtime's configuration, None where unreadable."""
    if not _understood(runtime_version, runtime_file or ""):
        return "off"
    found = _VERSION.match(kubelet_version)
    if found is not None and (int(found[1]), int(found[2])) >= FIRST_WITH_FIELD:
        return "field"
    return "annotations"


def _understood(runtime_version: str, runtime_file: str) -> bool:
    found = _RUNTIME.match(runtime_version)
    if found is None or _OFF.search(runtime_file):
        return False
    name, version = found[1], (int(found[2]), int(found[3]))
    if name in _BY_DEFAULT and version >= _BY_DEFAULT[name]:
        return True
    return name in _BY_CHOICE and version >= _BY_CHOICE[name] and _ON.search(runtime_file) is not None
