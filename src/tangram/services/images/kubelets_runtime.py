"""Which container runtime the kubelet of this machine uses, as far as the machine says so.

A machine often has several: docker brings a containerd of its own. An image that was loaded into the other one is not
there for pods, so the kubelet's word comes first.
"""

from __future__ import annotations

from typing import Final

import yaml

from tangram.services.images.machine import Machine

_FLAG: Final = "--container-runtime-endpoint"
_CONFIG: Final = "--config"
_SETTING: Final = "containerRuntimeEndpoint"


def endpoint(machine: Machine) -> str:
    """The socket that a running kubelet was told of; empty if none runs or it does not say."""
    arguments = _kubelet(machine)
    told = _value(arguments, _FLAG)
    if not told and (config := _value(arguments, _CONFIG)):
        told = _configured(machine.text(config))
    path = told.removeprefix("unix://")
    # The same folder under its older name.
    return f"/run/{path.removeprefix('/var/run/')}" if path.startswith("/var/run/") else path


def _kubelet(machine: Machine) -> list[str]:
    processes = machine.place("/proc")
    for folder in sorted(processes.iterdir()) if processes.is_dir() else ():
        if folder.name.isdigit() and machine.text(f"/proc/{folder.name}/comm").strip() == "kubelet":
            return [word for word in machine.text(f"/proc/{folder.name}/cmdline").split("\0") if word]
    return []


def _value(arguments: list[str], flag: str) -> str:
    for number, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == flag:
            return value if equals else "".join(arguments[number + 1 : number + 2])
    return ""


def _configured(text: str) -> str:
    try:
        found: object = yaml.safe_load(text)
    except yaml.YAMLError:
        return ""
    told: object = found.get(_SETTING) if isinstance(found, dict) else None  # type: ignore[union-attr]
    return told if isinstance(told, str) else ""
