"""The lock file read for another machine than this one: which pins apply there, and with which hashes.

pip asks the Python it runs in whether a marker holds, so it cannot do this for another one; we ask for the image's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from shipping.image.errors import ImageError
from shipping.image.platforms import Platform
from shipping.image.recipe import PYTHON

_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    name: str
    version: str
    hashes: tuple[str, ...]


def read_lock(text: str, platform: Platform) -> list[Pin]:
    """The pins that hold in the image of this platform, by name."""
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": platform.machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{PYTHON}.0",
        "python_version": PYTHON,
        "sys_platform": "linux",
    }
    pins: dict[str, Pin] = {}
    for line in _entries(text):
        try:
            requirement = Requirement(line.partition("--hash")[0].strip())
        except InvalidRequirement:
            raise ImageError(
                f"The lock file holds {line[:80]!r}, which is no pin: write it again with `make lock`."
            ) from None
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        versions = [part.version for part in requirement.specifier if part.operator == "=="]
        hashes = tuple(sorted(_HASH.findall(line)))
        if len(versions) != 1 or not hashes:
            raise ImageError(
                f"The lock file does not name one version of {requirement.name} with hashes: write it again with "
                f"`make lock`."
            )
        name = canonicalize_name(requirement.name)
        if name in pins:
            raise ImageError(
                f"The lock file names two versions of {name} for Python {PYTHON}: write it again."
            )
        pins[name] = Pin(name, versions[0], hashes)
    return sorted(pins.values())


def requirement_lines(pins: Iterable[Pin]) -> str:
    """The pins as pip reads them, markers already answered."""
    return "".join(
        f"{pin.name}=={pin.version} {' '.join(f'--hash={value}' for value in pin.hashes)}\n" for pin in pins
    )


def _entries(text: str) -> list[str]:
    plain = "\n".join(
        line.partition(" #")[0] for line in text.splitlines() if not line.lstrip().startswith("#")
    )
    return [line.strip() for line in plain.replace("\\\n", " ").splitlines() if line.strip()]
