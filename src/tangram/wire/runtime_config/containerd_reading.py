"""What containerd's configuration says, as far as runtimes are concerned.

Version 2 is containerd 1.x's, 3 that of 2.0 and newer, 4 differs from it elsewhere only. Version 1, which is also what
a file without a version is, names plugins otherwise and can be migrated by containerd itself; it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from tangram.wire.errors import WireError, shown
from tangram.wire.runtime_config.toml_statements import Table, table_at
from tangram.wire.runtime_config.wishes import ANNOTATIONS, RUNTIME, Wish

WHAT: Final = "/etc/containerd/config.toml"
RUNC_V2: Final = "io.containerd.runc.v2"
PLUGINS: Final[Mapping[int, str]] = {
    2: "io.containerd.grpc.v1.cri",
    3: "io.containerd.cri.v1.runtime",
    4: "io.containerd.cri.v1.runtime",
}
DEFAULT: Final = "default_runtime_name"
_RUNC: Final = "runc"


class Handler(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime that containers get when nothing else is asked for, and which we stand in for."""

    name: str
    members: Table = {}
    """Its table; empty where nobody writes one and containerd has its own."""
    stands_in: bool = True
    """False for a default that is no runc, such as a virtual machine: there runc is wrapped and the default stays."""

    @property
    def program(self) -> str:
        """The program that starts containers: a path, or a name."""
        return _text(_table(self.members.get("options")).get("BinaryName")) or _RUNC


def version_of(parsed: Table, what: str, fresh: int) -> int:
    """The format of a configuration; of one that says nothing at all, the one to write. Raises `WireError`."""
    if not parsed:
        return fresh
    version = parsed.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version not in PLUGINS:
        raise WireError(
            "config-version",
            f"{what} is of version {shown(version)}; a runtime can be registered in versions 2, 3 and 4; run "
            f"containerd config migrate, and put what it prints there",
        )
    return version


def containerd_path(version: int) -> tuple[str, ...]:
    """Where the runtimes of a format are, and the name of the default one."""
    return ("plugins", PLUGINS[version], "containerd")


def handler_of(parsed: Table, version: int, effective: Table | None) -> Handler:
    """The runtime to stand in for, by the file; by what containerd makes of all its files where that is silent."""
    own, whole = _containerd(parsed, version), _effective(effective)
    name = _text(own.get(DEFAULT)) or _text(whole.get(DEFAULT)) or _RUNC
    if name == RUNTIME:
        name = _RUNC
    members = _handler(own, whole, name)
    if _text(members.get("runtime_type")) in ("", RUNC_V2):
        return Handler(name=name, members=members)
    runc = _handler(own, whole, _RUNC)
    wraps = _text(runc.get("runtime_type")) in ("", RUNC_V2)
    return Handler(name=name, members=runc if wraps else {}, stands_in=False)


def metax_table(handler: Handler, wish: Wish) -> Table:
    """The table of runtime metax: the other runtime's, with our program in the place of its own."""
    seen = [each for each in _list(handler.members.get("pod_annotations")) if each != ANNOTATIONS]
    return {
        "runtime_type": RUNC_V2,
        **{
            name: value
            for name, value in handler.members.items()
            if name not in ("runtime_type", "pod_annotations", "options")
        },
        "pod_annotations": [*seen, ANNOTATIONS],
        "options": {**_table(handler.members.get("options")), "BinaryName": wish.program},
    }


def knows(effective: Table, wish: Wish) -> bool:
    """Whether containerd, having read all its files, would start runtime metax with our program."""
    known = _effective(effective)
    members = _table(_table(known.get("runtimes")).get(RUNTIME))
    program = _text(_table(members.get("options")).get("BinaryName"))
    return program == wish.program and (not wish.default or known.get(DEFAULT) == RUNTIME)


def imports_of(parsed: Table) -> tuple[str, ...]:
    """Patterns of further files that containerd reads."""
    return tuple(each for each in _list(parsed.get("imports")) if isinstance(each, str))


def defines_metax(parsed: Table) -> bool:
    """Whether a file defines the runtime, in whichever format."""
    return any(
        RUNTIME in (table_at(parsed, (*containerd_path(version), "runtimes")) or {}) for version in PLUGINS
    )


def _containerd(parsed: Table, version: int) -> Table:
    return table_at(parsed, containerd_path(version)) or {}


def _effective(parsed: Table | None) -> Table:
    if parsed is None:
        return {}
    for version in (4, 2):
        if found := table_at(parsed, containerd_path(version)):
            return found
    return {}


def _handler(own: Table, whole: Table, name: str) -> Table:
    written = _table(own.get("runtimes")).get(name)
    if isinstance(written, dict):
        return cast("Table", written)
    return _telling(_table(_table(whole.get("runtimes")).get(name)))


def _telling(members: Table) -> Table:
    """Without what is nothing: containerd prints every field, and one that is left out means the same."""
    kept = {
        name: _telling(cast("Table", value)) if isinstance(value, dict) else value
        for name, value in members.items()
    }
    return {name: value for name, value in kept.items() if value}


def _table(value: object) -> Table:
    return cast("Table", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
