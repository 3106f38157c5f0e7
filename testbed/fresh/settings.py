"""How this machine reaches its package mirrors, handed to the bare Debian: settings only, never packages.

apt's sources and its network options, pip's options and the proxy variables are what an administrator gives every new
machine of a site. They go into the bare root and into the environment of its user, and into no file of the project. A
setting that names a file or folder of this machine (a certificate, a folder of wheels) has that path bound read-only.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.image.sources import configured_sources, source_lines

_PASSED: Final = ("CI", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE")
_PASSED_ENDINGS: Final = ("_proxy", "_PROXY")
_PIP_PREFIX: Final = "PIP_"
_PIP_OWN: Final = ("PIP_CACHE_DIR",)
"""Where pip keeps downloads is the bare root's business."""


@dataclass(frozen=True, slots=True)
class Settings:
    sources: str
    """Lines for apt's list of sources."""
    apt: str
    """apt's options about its network, in apt's own form."""
    environment: Mapping[str, str]
    paths: tuple[Path, ...]
    """Of this machine, named by the settings."""


def settings_of_this_machine() -> Settings:
    """Read from apt, pip and the environment."""
    apt = _printed(["apt-config", "dump", "Acquire"])
    pip = _printed([sys.executable, "-m", "pip", "config", "list"])
    variables = {
        **pip_variables(pip.splitlines()),
        **{name: value for name, value in os.environ.items() if is_passed(name)},
    }
    return Settings(source_lines(configured_sources()), apt, variables, named_paths(variables.values()))


def is_passed(name: str) -> bool:
    """Whether a variable of this machine is about the network, or says that this is CI."""
    return (
        name in _PASSED
        or name.endswith(_PASSED_ENDINGS)
        or (name.startswith(_PIP_PREFIX) and name not in _PIP_OWN)
    )


def pip_variables(lines: Iterable[str]) -> dict[str, str]:
    """Pip's settings, as `pip config list` prints them, in the form of its variables; later ones win, as in pip."""
    found: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if separator and section in {"global", "install", ":env:"}:
            found[_PIP_PREFIX + option.upper().replace("-", "_")] = value.strip("'\"")
    return {name: value for name, value in found.items() if is_passed(name)}


def named_paths(values: Iterable[str]) -> tuple[Path, ...]:
    """Files and folders of this machine among the words of these settings; none that another one contains."""
    words = (Path(word) for value in values for word in value.split() if word.startswith("/"))
    found = {path for path in words if path.exists()}
    return tuple(sorted(path for path in found if not found & set(path.parents)))


def _printed(command: list[str]) -> str:
    answer = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - constants
    return answer.stdout if answer.returncode == 0 else ""
