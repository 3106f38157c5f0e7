"""Runtime `metax` in Docker's `daemon.json`.

One member is added to `runtimes`, and `default-runtime` is set where metax becomes the default; order, indentation and
everything else stay. JSON has no comments, so what the default was is told to the caller, who must remember it.
"""

from __future__ import annotations

import copy
from typing import Final, cast

import msgspec

from tangram.wire.errors import WireError, shown
from tangram.wire.runtime_config.json_members import (
    Object,
    brace_of,
    inserted,
    members_at,
    read_object,
    removed,
)
from tangram.wire.runtime_config.wishes import RUNTIME, Wish

WHAT: Final = "/etc/docker/daemon.json"
RUNTIMES: Final = "runtimes"
DEFAULT: Final = "default-runtime"
_RUNC: Final = "runc"


class Was(msgspec.Struct, frozen=True, kw_only=True):
    """What was there before, as it was written."""

    default: str | None = None
    """The value of `default-runtime` in JSON; None where there was none."""
    runtimes: bool = False
    """Whether there was a member `runtimes`."""


def handler_of(text: str, what: str = WHAT) -> str:
    """The program that starts containers by default: a path, or a name. Raises `WireError`."""
    config = read_object(text or "{}", what)
    name = config.get(DEFAULT)
    if not isinstance(name, str) or name in ("", RUNTIME, _RUNC):
        return _RUNC
    runtime = _object(_object(config.get(RUNTIMES)).get(name))
    path = runtime.get("path")
    return path if isinstance(path, str) and path else name


def with_metax(text: str, wish: Wish, what: str = WHAT) -> tuple[str, Was]:
    """The file with the runtime, and what was there before; the same text where all is said. Raises `WireError`."""
    text = text or "{}\n"
    config = read_object(text, what)
    runtimes = config.get(RUNTIMES, {})
    if not isinstance(runtimes, dict):
        raise WireError(
            "config-layout",
            f"{what} has {RUNTIMES} {shown(runtimes)}; it is an object of runtimes; correct it there",
        )
    present = _object(cast("Object", runtimes).get(RUNTIME))
    if RUNTIME in runtimes and present.get("path") != wish.program:
        raise WireError(
            "runtime-taken",
            f"{what} has a runtime metax that is not ours ({shown(present.get('path'))}); it can be registered once; "
            "remove it there, or remove what put it there, such as MetaX's own operator",
        )
    after = text
    members = {each.name: each for each in members_at(text, brace_of(text), what)}
    entry = f'{{"path": {msgspec.json.encode(wish.program).decode()}}}'
    if RUNTIMES not in config:
        after = inserted(after, brace_of(after), RUNTIMES, f'{{"{RUNTIME}": {entry}}}', what)
    elif RUNTIME not in runtimes:
        after = inserted(after, members[RUNTIMES].value[0], RUNTIME, entry, what)
    default = None
    if wish.default and config.get(DEFAULT) != RUNTIME:
        if DEFAULT in members:
            start, end = next(
                each.value for each in members_at(after, brace_of(after), what) if each.name == DEFAULT
            )
            default = after[start:end]
            after = f'{after[:start]}"{RUNTIME}"{after[end:]}'
        else:
            after = inserted(after, brace_of(after), DEFAULT, f'"{RUNTIME}"', what)
    if read_object(after, what) != _wanted(config, wish):
        raise WireError(
            "config-layout", f"{what} cannot be changed in its layout; write one member in each line"
        )
    return after, Was(default=default, runtimes=RUNTIMES in config)


def without_metax(text: str, was: Was, what: str = WHAT, program: str = "") -> str:
    """The file without anything of ours; with a program, only where the runtime is that one. Raises `WireError`."""
    config = read_object(text or "{}", what)
    present = _object(_object(config.get(RUNTIMES)).get(RUNTIME))
    if program and present.get("path", program) != program:
        return text
    if config.get(DEFAULT) == RUNTIME:
        if was.default is None:
            text = removed(text, brace_of(text), DEFAULT, what)
        else:
            start, end = next(
                each.value for each in members_at(text, brace_of(text), what) if each.name == DEFAULT
            )
            text = text[:start] + was.default + text[end:]
    runtimes = config.get(RUNTIMES)
    if not isinstance(runtimes, dict) or RUNTIME not in runtimes:
        return text
    if len(cast("Object", runtimes)) == 1 and not was.runtimes:
        return removed(text, brace_of(text), RUNTIMES, what)
    inner = next(each.value[0] for each in members_at(text, brace_of(text), what) if each.name == RUNTIMES)
    return removed(text, inner, RUNTIME, what)


def _wanted(config: Object, wish: Wish) -> Object:
    wanted = copy.deepcopy(config)
    runtimes = cast("Object", wanted.setdefault(RUNTIMES, {}))
    runtimes.setdefault(RUNTIME, {"path": wish.program})
    if wish.default:
        wanted[DEFAULT] = RUNTIME
    return wanted


def _object(value: object) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}
