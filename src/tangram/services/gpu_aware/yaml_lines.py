"""A YAML text as lines, to which entries of lists are added and from which they are taken, every other byte kept.

Writing YAML anew would lose comments, quotes and order, in a file that people compare and keep. So the places are found
by a parser, and whole lines are put in or taken out there. Lists in one line (`[a, b]`) are refused. Whether the result
says what was meant is for the caller to check: only a parser can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import yaml


class NotLaidOut(ValueError):  # noqa: N818 - says what is the case
    """The place is not written line by line; the text says which."""


class YamlLines:
    """A text with what is to be put before each line, and which lines are to go."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._end = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
        composed = yaml.compose(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs do not say
        self._root = cast("yaml.Node | None", composed)
        self._added: dict[int, list[str]] = {}
        self._gone: set[int] = set()

    def add(self, where: Sequence[str | int], field: str, written: Sequence[str]) -> None:
        """Put an entry at the end of a list; where the list is not there, begin it at the end of its map."""
        mapping = self._mapping(where)
        found = _member(mapping, field)
        if found is None:
            column, last = mapping.start_mark.column, _last_line(mapping)
            written = [f"{field}:", *written]
        else:
            listed = _block_list(found, field)
            column, last = listed.start_mark.column, _last_line(listed)
        self._added.setdefault(last + 1, []).extend(f"{' ' * column}{line}{self._end}" for line in written)

    def remove(self, where: Sequence[str | int], field: str, places: Sequence[int]) -> None:
        """Take entries out of a list; the list itself goes with the last of them."""
        mapping = self._mapping(where)
        listed = _block_list(_member(mapping, field), field)
        entries: list[yaml.Node] = listed.value
        if len(places) == len(entries):
            self._gone.update(range(_key_line(mapping, field), _last_line(listed) + 1))
            return
        for place in places:
            self._gone.update(range(entries[place].start_mark.line, _last_line(entries[place]) + 1))

    def text(self) -> str:
        written: list[str] = []
        for number in range(len(self._lines) + 1):
            for line in self._added.get(number, ()):
                if written and not written[-1].endswith("\n"):
                    written[-1] += self._end
                written.append(line)
            if number < len(self._lines) and number not in self._gone:
                written.append(self._lines[number])
        return "".join(written)

    def _mapping(self, where: Sequence[str | int]) -> yaml.MappingNode:
        node = self._root
        for step in where:
            node = _element(node, step) if isinstance(step, int) else _member(node, step)
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise NotLaidOut(f"{'.'.join(map(str, where))} is no map with a line for each key")
        return node


def _element(node: yaml.Node | None, place: int) -> yaml.Node | None:
    entries: list[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else []
    return entries[place] if place < len(entries) else None


def _member(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return next((value for name, value in _pairs(node) if name.value == key), None)


def _key_line(node: yaml.Node, key: str) -> int:
    return next(name.start_mark.line for name, _ in _pairs(node) if name.value == key)


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _block_list(node: yaml.Node | None, field: str) -> yaml.SequenceNode:
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        raise NotLaidOut(f"{field} is no list with a line for each entry")
    return node


def _last_line(node: yaml.Node) -> int:
    """The last line with something of it: a block ends for the parser only where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last: Any = node.value[-1]
        return _last_line(last[1] if isinstance(node, yaml.MappingNode) else last)
    end = node.end_mark
    return end.line if end.column or end.line == node.start_mark.line else end.line - 1
