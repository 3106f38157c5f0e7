"""Runtime `metax` for CRI-O: a file of its own in the folder that CRI-O reads after its main file.

Nothing of anybody else is changed, so undoing is removing that file. What it must say depends on the others: the
runtime it stands in for is the one that they make the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import msgspec

from tangram.wire.errors import WireError
from tangram.wire.runtime_config import toml_writing
from tangram.wire.runtime_config.toml_statements import Table, parse, table_at
from tangram.wire.runtime_config.wishes import RUNTIME, Wish

FILE: Final = "99-metax.conf"
HEADER: Final = (
    "# Written by tangram container-runtime and removed with it; docs/container-runtime.md has more."
)
DEFAULT: Final = "default_runtime"
_RUNTIME: Final = ("crio", "runtime")
_CRUN_SINCE: Final = (1, 31)
_OWN: Final = ("runtime_path", "runtime_type", "platform_runtime_paths", "runtime_config_path")
_OCI: Final = "oci"


class Handler(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    members: Table = {}

    @property
    def program(self) -> str:
        """The program that starts containers: a path, or a name."""
        found = self.members.get("runtime_path")
        return found if isinstance(found, str) and found else self.name


def handler_of(files: Sequence[tuple[str, str]], version: tuple[int, int] | None) -> Handler:
    """The default runtime by these files, each with its name, in CRI-O's order. Raises `WireError`."""
    # CRI-O starts containers with crun since 1.31, and with runc before.
    default = "runc" if version is not None and version < _CRUN_SINCE else "crun"
    runtimes: dict[str, Table] = {}
    for name, text in files:
        members = table_at(parse(text, name), _RUNTIME) or {}
        written = members.get(DEFAULT)
        if isinstance(written, str) and written and written != RUNTIME:
            default = written
        for each, table in (table_at(members, ("runtimes",)) or {}).items():
            if isinstance(table, dict):
                runtimes[each] = {**runtimes.get(each, {}), **cast("Table", table)}
    return Handler(name=default, members=runtimes.get(default, {}))


def is_of_others(text: str, program: str) -> bool:
    """Whether a file of the name of ours has a runtime metax of somebody else."""
    try:
        members = table_at(parse(text, FILE), (*_RUNTIME, "runtimes", RUNTIME))
    except WireError:
        return False
    return HEADER not in text and members is not None and members.get("runtime_path") != program


def taken(name: str) -> WireError:
    """The refusal of a file that has the runtime already."""
    return WireError(
        "runtime-taken",
        f"{name} has a runtime metax that is not ours; it can be registered once; remove it there, or remove what put "
        "it there, such as MetaX's own operator",
    )


def drop_in(files: Sequence[tuple[str, str]], wish: Wish, version: tuple[int, int] | None) -> str:
    """Our file, given all others in CRI-O's order, each with its path. Raises `WireError`."""
    for name, text in files:
        members = table_at(parse(text, name), _RUNTIME) or {}
        if RUNTIME in (table_at(members, ("runtimes",)) or {}):
            raise taken(name)
        if wish.default and name.rpartition("/")[2] > FILE and "/crio.conf.d/" in name and DEFAULT in members:
            raise WireError(
                "default-elsewhere",
                f"{name} sets {DEFAULT} and is read after {FILE}; runtime metax could not become the default; remove "
                f"that line, or rename the file so that it comes before {FILE}",
            )
    handler = handler_of(files, version)
    kind = handler.members.get("runtime_type", _OCI)
    if kind not in ("", _OCI):
        raise WireError(
            "default-not-runc",
            f"CRI-O's default runtime {handler.name} is of type {kind}; runtime metax can stand in for a runtime of "
            f"type oci alone; set {DEFAULT} to such a one",
        )
    kept = {name: value for name, value in handler.members.items() if name not in _OWN}
    lines = [HEADER]
    if wish.default:
        lines += toml_writing.table(_RUNTIME, {DEFAULT: RUNTIME})
    metax = {"runtime_path": wish.program, "runtime_type": _OCI, **kept}
    lines += toml_writing.table((*_RUNTIME, "runtimes", RUNTIME), metax)
    return "".join(f"{line}\n" for line in lines)
