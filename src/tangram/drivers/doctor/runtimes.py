"""The container runtimes: do they know how to put a card into a container?

Their files are read as text. Whether a runtime has taken its file over only a restart of it can tell, and that is not
ours to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tangram.drivers.doctor.bus import cards_on_bus
from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.drivers.doctor.machine import Machine
from tangram.drivers.doctor.versions import MTHREADS_TOOLKIT_ABOVE, read_version, version_text

CONTAINERD: Final = "/etc/containerd/config.toml"
DOCKER: Final = "/etc/docker/daemon.json"
CDI_FOLDERS: Final = ("/etc/cdi", "/var/run/cdi")
TOOLKIT: Final = "mt-container-toolkit"
TOOLKIT_RUNTIME: Final = "/usr/bin/musa/mthreads-container-runtime"
METAX_RUNTIMES: Final = (
    "/var/lib/metax/tools/usr/bin/mx-container-runtime",
    "/usr/bin/mx-container-runtime",
)
DPKG: Final = "/var/lib/dpkg/status"

_CDI_ON = re.compile(r"^\s*enable_cdi\s*=\s*true", re.MULTILINE)
_CDI_OFF = re.compile(r"^\s*enable_cdi\s*=\s*false", re.MULTILINE)
_CONFIG_3 = re.compile(r"^\s*version\s*=\s*3", re.MULTILINE)
_PACKAGE = re.compile(rf"^Package: {TOOLKIT}\n(?:(?!\n\n)[\s\S])*?^Version: (\S+)", re.MULTILINE)


def container_runtime(machine: Machine) -> Findings:
    """Which runtime is configured, and whether its file mentions the vendors' runtimes."""
    files = {"containerd": machine.text(CONTAINERD), "docker": machine.text(DOCKER)}
    here = {name: text for name, text in files.items() if text is not None}
    if not here:
        yield skip(
            "container-runtime",
            f"neither {CONTAINERD} nor {DOCKER} is here",
            "give --root if the host's files are mounted elsewhere",
        )
        return
    cards = cards_on_bus(machine)
    names = " and ".join(here)
    if cards.metax:
        said = (
            "knows the MetaX runtime"
            if _mentioned("metax", here)
            else ("names no MetaX runtime; cards are given as device nodes or by CDI")
        )
        yield ok("container-runtime", f"{names} {said}")
    if cards.mthreads and _mentioned("mthreads", here):
        yield ok("container-runtime", f"{names} knows the Moore Threads runtime")
    elif cards.mthreads:
        yield warn(
            "container-runtime",
            f"{names} knows no runtime called mthreads, which slices need",
            "set it up with the vendor's container toolkit, then restart the container runtime",
        )


def _mentioned(word: str, files: Mapping[str, str]) -> bool:
    return any(word in text.lower() for text in files.values())


def cdi(machine: Machine) -> Findings:
    """Whether containerd reads CDI files, and whether they can be put where it looks."""
    text = machine.text(CONTAINERD)
    if text is not None:
        if _CDI_ON.search(text) or (_CONFIG_3.search(text) and not _CDI_OFF.search(text)):
            yield ok("cdi-enabled", "containerd reads CDI files")
        else:
            yield warn(
                "cdi-enabled",
                f"{CONTAINERD} does not switch CDI on",
                "set enable_cdi = true in its CRI plugin (containerd 1.7; 2.0 has it on) and restart containerd",
            )
    there = [folder for folder in CDI_FOLDERS if machine.exists(folder)]
    writable = [folder for folder in there if machine.writable(folder)]
    if writable:
        yield ok("cdi-folder", f"{' and '.join(writable)} can be written")
    elif there:
        yield skip("cdi-folder", f"{' and '.join(there)} may not be written by this user", "run it as root")
    else:
        yield skip(
            "cdi-folder", f"neither of {' and '.join(CDI_FOLDERS)} exists yet; whoever writes first makes it"
        )


def metax_runtime(machine: Machine) -> Findings:
    """MetaX's own runtime, where there are cards of theirs."""
    if cards_on_bus(machine).metax:
        found = next((path for path in METAX_RUNTIMES if machine.exists(path)), None)
        said = (
            f"the MetaX runtime is {found}"
            if found
            else "the MetaX runtime is not installed; nothing of ours needs it"
        )
        yield ok("metax-runtime", said)


def mthreads_toolkit(machine: Machine) -> Findings:
    """Moore Threads' container toolkit, where there are cards of theirs: without it no slice reaches a container."""
    if not cards_on_bus(machine).mthreads:
        return
    above = version_text(MTHREADS_TOOLKIT_ABOVE)
    found = _PACKAGE.search(machine.text(DPKG) or "")
    version = read_version(found[1]) if found else None
    if version is not None and version > MTHREADS_TOOLKIT_ABOVE:
        yield ok("mthreads-toolkit", f"{TOOLKIT} {version_text(version)}")
    elif version is not None:
        yield fail(
            "mthreads-toolkit",
            f"{TOOLKIT} is {version_text(version)}, and slices need one newer than {above}",
            f"upgrade {TOOLKIT}",
        )
    elif machine.exists(TOOLKIT_RUNTIME):
        yield warn(
            "mthreads-toolkit",
            f"{TOOLKIT_RUNTIME} is here, and no package database of this machine tells its version",
            f"make sure that it is newer than {above}",
        )
    else:
        yield warn(
            "mthreads-toolkit",
            f"{TOOLKIT} is not installed, so slices cannot reach containers",
            f"install {TOOLKIT} newer than {above}; whole cards work without it",
        )
