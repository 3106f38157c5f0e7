"""Runtime `metax` in containerd's configuration.

Its tables are appended between two comments; where it becomes the default, one more line is changed or added. Every
other byte stays, and what a parser reads afterwards is what it read before and ours, or nothing is changed at all.
Comments say what to undo, so it can be undone in a file that somebody has edited since.
"""

from __future__ import annotations

import copy
import re
from typing import Final, cast

import msgspec

from tangram.wire import jsontext
from tangram.wire.errors import WireError
from tangram.wire.runtime_config import toml_writing
from tangram.wire.runtime_config.containerd_reading import (
    DEFAULT,
    PLUGINS,
    WHAT,
    containerd_path,
    handler_of,
    metax_table,
    version_of,
)
from tangram.wire.runtime_config.toml_statements import Kind, Statement, Table, parse, statements, table_at
from tangram.wire.runtime_config.wishes import ANNOTATIONS, RUNTIME, Wish

BEGIN: Final = (
    "# >>> tangram container-runtime: runtime metax. It is taken out again when Tangram is removed."
)
END: Final = "# <<< tangram container-runtime"
ADDED: Final = "# added by tangram container-runtime"
WAS: Final = f"# {DEFAULT} was "
NO_NEWLINE: Final = "# The last line above ended without a newline."
FRESH: Final = 3
"""The format that is written where there is no configuration; containerd 1.x wants 2."""


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How to go about one file."""

    what: str = WHAT
    """How the file is called in sentences."""
    fresh: int = FRESH
    effective: Table | None = None
    """What containerd makes of all its files, where it was asked."""


_USUAL: Final = Manner()
_USUAL_DEFAULT: Final = '"runc"'
"""What containerd itself has as its default, and always knows."""
_KEY_PART: Final = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^."'\s]+)[ \t]*\.?[ \t]*""")


def with_metax(text: str, wish: Wish, manner: Manner = _USUAL) -> str:
    """The configuration with the runtime; the very same text where it stands there already. Raises `WireError`."""
    present = parse(text, manner.what)
    clean = without_metax(text, manner.what)
    before = parse(clean, manner.what)
    version = version_of(before, manner.what, manner.fresh)
    _check_free(clean, before, version, manner.what)
    handler = handler_of(before, version, manner.effective)
    if wish.default and not handler.stands_in:
        raise WireError(
            "default-not-runc",
            f"{manner.what} makes {handler.name} the default runtime, which is no runc; runtime metax can stand in for "
            f"runc alone; set {DEFAULT} to a runtime of type io.containerd.runc.v2, or have CDI read",
        )
    wanted = _wanted(before, version, metax_table(handler, wish), default=wish.default)
    if present == wanted:
        return text
    after = _added(clean, version, metax_table(handler, wish), default=wish.default)
    try:
        meant = parse(after, manner.what) == wanted
    except WireError:
        meant = False
    if not meant:
        raise _layout(clean, version, manner.what)
    return after


def without_metax(text: str, what: str = WHAT) -> str:
    """The configuration without anything that we added. Raises `WireError` for what is no TOML."""
    parsed = parse(text, what)
    found = statements(text)
    remarks = _comments(text, found)
    marks = [span for span, line in remarks if line in (BEGIN, END, NO_NEWLINE) or line.startswith(WAS)]
    was = next((line.removeprefix(WAS) for _, line in remarks if line.startswith(WAS)), None)
    cuts = [(start, end, "") for start, end in marks]
    for version in (2, 3):
        cuts += _cuts(text, parsed, found, containerd_path(version), ours=bool(marks), was=was)
    if any(_is_marked(text, each) and each.path == ("version",) for each in found):
        kept = [each for each in found if (each.start, each.end, "") not in cuts]
        cuts += [(each.start, each.end, "") for each in kept if len(kept) == 1]
    result = text
    for start, end, instead in sorted(cuts, reverse=True):
        result = result[:start] + instead + result[end:]
    at_end = any(line == END and end == len(text) for (_, end), line in remarks)
    if at_end and any(line == NO_NEWLINE for _, line in remarks):
        result = result.removesuffix("\n").removesuffix("\r")
    return result


def line_of_metax(text: str) -> int:
    """The line where a file speaks of the runtime first; 0 for nowhere."""
    for each in statements(text):
        for version in PLUGINS:
            path = (*containerd_path(version), "runtimes", RUNTIME)
            if each.path[: len(path)] == path:
                return each.line
    return 0


# ---- adding


def _wanted(before: Table, version: int, metax: Table, *, default: bool) -> Table:
    """What a parser must read afterwards."""
    wanted = copy.deepcopy(before)
    wanted.setdefault("version", version)
    at = wanted
    for part in containerd_path(version):
        at = cast("Table", at.setdefault(part, {}))
    cast("Table", at.setdefault("runtimes", {}))[RUNTIME] = metax
    if default:
        at[DEFAULT] = RUNTIME
    return wanted


def _added(clean: str, version: int, metax: Table, *, default: bool) -> str:
    newline = "\r\n" if "\r\n" in clean else "\n"
    path = containerd_path(version)
    text = clean if not clean or clean.endswith("\n") else clean + newline
    remarks = [] if text == clean else [NO_NEWLINE]
    lines = [] if parse(clean, WHAT) else [f"version = {version} {ADDED}"]
    if default:
        text, told, more = _with_default(text, path, newline)
        remarks += told
        lines += more
    lines += toml_writing.table((*path, "runtimes", RUNTIME), metax)
    return text + "".join(f"{line}{newline}" for line in (BEGIN, *remarks, *lines, END))


def _with_default(text: str, path: tuple[str, ...], newline: str) -> tuple[str, list[str], list[str]]:
    """The text with metax as the default, a remark about what was there, and lines that go to our block."""
    found = statements(text)
    line = f'{DEFAULT} = "{RUNTIME}"'
    for each in found:
        if each.kind is Kind.PAIR and each.path == (*path, DEFAULT):
            start, end = each.value
            was = jsontext.compact(text[start:end], "a value")
            return f'{text[:start]}"{RUNTIME}"{text[end:]}', [f"{WAS}{was}"], []
    for each in found:
        indent = text[each.start :][: len(text[each.start :]) - len(text[each.start :].lstrip(" \t"))]
        if each.kind is Kind.TABLE and each.path == path:
            added = f"{indent}{line} {ADDED}{newline}"
        elif each.kind is Kind.PAIR and each.path[: len(path)] == path and (head := _dotted_head(each, path)):
            # No header names the table: it is written in dotted keys, and so is what joins it.
            added = f"{indent}{head}.{line} {ADDED}{newline}"
        else:
            continue
        return text[: each.end] + added + text[each.end :], [], []
    return text, [], [f"[{toml_writing.key(path)}] {ADDED}", f"{line} {ADDED}"]


def _dotted_head(pair: Statement, path: tuple[str, ...]) -> str:
    """Of `a."b.c".d`, where `path` ends with b.c, everything up to there; empty where the key begins further inside."""
    parts = _KEY_PART.findall(pair.key)
    kept = len(parts) - (len(pair.path) - len(path))
    return "".join(parts[:kept]).rstrip(" \t.") if kept > 0 else ""


# ---- taking out


def _cuts(
    text: str,
    parsed: Table,
    found: tuple[Statement, ...],
    path: tuple[str, ...],
    *,
    ours: bool,
    was: str | None,
) -> list[tuple[int, int, str]]:
    metax = table_at(parsed, (*path, "runtimes", RUNTIME)) or {}
    annotations = metax.get("pod_annotations")
    ours = ours or (isinstance(annotations, list) and ANNOTATIONS in annotations)
    root = (*path, "runtimes", RUNTIME)
    cuts: list[tuple[int, int, str]] = []
    default = (table_at(parsed, path) or {}).get(DEFAULT)
    for number, each in enumerate(found):
        if (ours and each.path[: len(root)] == root) or (
            each.kind is Kind.TABLE
            and each.path == path
            and _is_marked(text, each)
            and _holds_ours_alone(text, found[number + 1 :])
        ):
            cuts.append((each.start, each.end, ""))
        elif each.kind is Kind.PAIR and each.path == (*path, DEFAULT) and default == RUNTIME:
            if _is_marked(text, each):
                cuts.append((each.start, each.end, ""))
            elif was is not None:
                cuts.append((*each.value, _unquoted(was)))
            elif ours:
                # A file that was written anew without comments. Without the runtime it would start no container.
                cuts.append((*each.value, _USUAL_DEFAULT))
    return cuts


def _holds_ours_alone(text: str, following: tuple[Statement, ...]) -> bool:
    for each in following:
        if each.kind is not Kind.PAIR:
            return True
        if not _is_marked(text, each):
            return False
    return True


def _is_marked(text: str, each: Statement) -> bool:
    begin = each.value[1] if each.kind is Kind.PAIR else each.start
    return ADDED in text[begin : each.end]


def _unquoted(remark: str) -> str:
    try:
        return str(jsontext.parse(remark, "a remark"))
    except WireError:
        return _USUAL_DEFAULT


def _comments(text: str, found: tuple[Statement, ...]) -> list[tuple[tuple[int, int], str]]:
    """Lines between statements that are comments, with where they are."""
    lines: list[tuple[tuple[int, int], str]] = []
    at = 0
    for begin, end in [*((each.start, each.end) for each in found), (len(text), len(text))]:
        while at < begin:
            newline = text.find("\n", at, begin)
            stop = begin if newline < 0 else newline + 1
            if (line := text[at:stop].strip(" \t\r\n")).startswith("#"):
                lines.append(((at, stop), line))
            at = stop
        at = end
    return lines


# ---- refusing


def _check_free(text: str, parsed: Table, version: int, what: str) -> None:
    path = (*containerd_path(version), "runtimes")
    if RUNTIME in (table_at(parsed, path) or {}):
        raise WireError(
            "runtime-taken",
            f"{what} has a runtime metax that is not ours, in line {line_of_metax(text)}; it can be registered once; "
            "remove it there, or remove what put it there, such as MetaX's own operator",
        )
    for each in statements(text):
        if each.kind is not Kind.TABLE and each.path == path[: len(each.path)]:
            raise _layout(text, version, what, each.line)


def _layout(text: str, version: int, what: str, line: int = 0) -> WireError:
    path = (*containerd_path(version), "runtimes")
    if not line:
        line = next((each.line for each in statements(text) if each.path[:1] == path[:1]), 1)
    table = toml_writing.key((*path, "runc"))
    return WireError(
        "config-layout",
        f"{what} is laid out so that no table can be added to it: see line {line}; write its runtimes as tables, such "
        f"as [{table}]",
    )
