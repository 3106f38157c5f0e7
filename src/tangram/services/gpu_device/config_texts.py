"""The texts of a device configuration, as a ConfigMap or a mounted folder has them, read into what is wanted here.

Whatever is wrong is said with the key and the line, because the person who must mend it looks at a text. An entry of
`nodes-config` that cannot be read and names another node is that node's trouble alone; only what breaks the document
itself is everybody's. Merge keys (`<<`) are refused: three keys need none, and a few lines of them can stand for more
than a machine can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import yaml

from tangram.daemon.yaml_text import MOST_DEPTH, StrictLoader, line_too_deep, problem_of
from tangram.units.ids import NodeName
from tangram.wire.device_config import (
    NODES_KEY,
    VERSION_KEY,
    ConfigError,
    DeviceConfig,
    Place,
    read_device_config,
)

_NAME: Final = "nodeName"
_MERGE: Final = "tag:yaml.org,2002:merge"
_CODE: Final = "config-yaml"


def read_config_texts(texts: Mapping[str, str], node: NodeName) -> DeviceConfig:
    """What the texts say about a node. Raises `ConfigError`, whose sentence begins with key and line."""
    documents = {key: _Document(key, text) for key, text in texts.items() if key != VERSION_KEY}
    data: dict[str, object] = {key: document.value(node) for key, document in documents.items()}
    if VERSION_KEY in texts:
        data[VERSION_KEY] = texts[VERSION_KEY].strip()
    try:
        return read_device_config(data, node)
    except ConfigError as error:
        if not error.place or error.place[0] not in documents:
            raise
        line = documents[str(error.place[0])].line_of(error.place[1:])
        raise ConfigError(
            error.code, f"{error.place[0]}, line {line}: {error.sentence}", error.place
        ) from None


class _Document:
    """One key's text. The tree with its lines is kept beside the values, which have none."""

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

    def value(self, node: NodeName) -> object:
        """Of a list of nodes, what this node cannot read of others is left out but for their names."""
        tree = self._tree
        if tree is None:
            return None
        if self._key != NODES_KEY or not isinstance(tree, yaml.SequenceNode):
            return self._made(tree)
        rows = cast("list[yaml.Node]", tree.value)
        return [self._row(row, node) for row in rows]

    def line_of(self, place: Place) -> int:
        """The line of what is there, or of the nearest thing around it; the first is 1."""
        tree, line = self._tree, 1
        for step in place:
            found = _step(tree, step)
            if found is None:
                break
            line, tree = found[0].start_mark.line + 1, found[1]
        return line

    def _row(self, row: yaml.Node, node: NodeName) -> object:
        try:
            return self._made(row)
        except ConfigError:
            # One that has failed remembers half of what it made.
            self._loader = StrictLoader("")
            named = _step(row, _NAME)
            name = "" if named is None else str(named[1].value)
            if name in ("", node):
                raise
            return {_NAME: name}

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
