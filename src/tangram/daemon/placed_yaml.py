"""A short YAML text of a ConfigMap whose values remember their lines, for sentences that people can follow.

Merge keys (`<<`) are refused: such texts need none, and a few lines of them can stand for more than a machine can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

import yaml

from tangram.daemon.yaml_text import MOST_DEPTH, StrictLoader, line_too_deep, problem_of
from tangram.wire.device_config import ConfigError, Place

_MERGE: Final = "tag:yaml.org,2002:merge"
_CODE: Final = "config-yaml"


class PlacedDocument:
    """One key's text. The tree with its lines is kept beside the values, which have none. Raises `ConfigError`."""

    def __init__(self, key: str, text: str) -> None:
        self._key = key
        try:
            deep = line_too_deep(text)
            if deep is not None:
                raise self._refused(deep, f"is nested more than {MOST_DEPTH} deep")
            self._loader = StrictLoader(text)
            self._tree = self._loader.get_single_node()
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self._refused(line, "holds a character that YAML does not allow") from None
        except yaml.YAMLError as error:
            raise self._no_yaml(error) from None
        except (ValueError, OverflowError) as error:
            if isinstance(error, ConfigError):
                raise
            raise self._refused(1, "holds a character that no text has") from None
        merged = None if self._tree is None else _merge_in(self._tree)
        if merged is not None:
            raise self._refused(merged, "has a merge key (<<); write the keys out")

    def value(self) -> object:
        """What the text stands for; None for one that is empty."""
        return None if self._tree is None else self._made(self._tree)

    def rows(self, name_key: str, name: str) -> object:
        """The same, but what cannot be read of an entry that names somebody else is left out but for that name."""
        tree = self._tree
        if not isinstance(tree, yaml.SequenceNode):
            return self.value()
        return [self._row(row, name_key, name) for row in cast("list[yaml.Node]", tree.value)]

    def line_of(self, place: Place) -> int:
        """The line of what is there, or of the nearest thing around it; the first is 1."""
        tree, line = self._tree, 1
        for step in place:
            found = _step(tree, step)
            if found is None:
                break
            line, tree = found[0].start_mark.line + 1, found[1]
        return line

    def _row(self, row: yaml.Node, name_key: str, name: str) -> object:
        try:
            return self._made(row)
        except ConfigError:
            # One that has failed remembers half of what it made.
            self._loader = StrictLoader("")
            named = _step(row, name_key)
            found = "" if named is None else str(named[1].value)
            if found in ("", name):
                raise
            return {name_key: found}

    def _made(self, tree: yaml.Node) -> object:
        try:
            return cast("object", self._loader.construct_document(tree))  # pyright: ignore[reportUnknownMemberType] - the stubs do not say
        except yaml.YAMLError as error:
            raise self._no_yaml(error) from None
        except (ValueError, OverflowError, RecursionError):
            raise self._refused(
                tree.start_mark.line + 1, "begins something with a number or text that cannot be read"
            ) from None

    def _no_yaml(self, error: yaml.YAMLError) -> ConfigError:
        marked = error if isinstance(error, yaml.MarkedYAMLError) else None
        mark = None if marked is None else marked.problem_mark or marked.context_mark
        problem = " ".join(str(error).split()) if marked is None else problem_of(marked)
        return self._refused(1 if mark is None else mark.line + 1, f"cannot be read as YAML, {problem:.200}")

    def _refused(self, line: int, what: str) -> ConfigError:
        return ConfigError(_CODE, f"{self._key}, line {line}: it {what}; correct it")


def with_line(error: ConfigError, documents: dict[str, PlacedDocument]) -> ConfigError:
    """The error with its key and line in front, where it is about a place in one of the texts."""
    key = str(error.place[0]) if error.place else ""
    if key not in documents:
        return error
    line = documents[key].line_of(error.place[1:])
    return ConfigError(error.code, f"{key}, line {line}: {error.sentence}", error.place)


def _step(tree: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """What shows where a member stands, and the member."""
    value = cast("Any", None if tree is None else tree.value)
    if isinstance(tree, yaml.SequenceNode) and isinstance(step, int) and step < len(value):
        return value[step], value[step]
    if isinstance(tree, yaml.MappingNode):
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", value)
        return next((pair for pair in pairs if pair[0].value == step), None)
    return None


def _merge_in(tree: yaml.Node) -> int | None:
    """The line of the first merge key. Trees that bite their own tail are walked once."""
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.tag == _MERGE:
            return node.start_mark.line + 1
        waiting.extend(_inside(node))
    return None


def _inside(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield from (key, value)
    elif isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)
