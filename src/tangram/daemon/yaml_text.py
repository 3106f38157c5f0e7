"""YAML as Kubernetes' own tools read it: dates stay text, a key written twice in one map is an error, depth has an end.

The library's own loader silently keeps the last of two equal keys, so that an edit in the wrong place changes nothing,
and it follows nesting until the process has no stack left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import yaml

MOST_DEPTH: Final = 200
"""Kubernetes' own objects stay under 40."""

_MERGE = "tag:yaml.org,2002:merge"


class UnreadableYaml(ValueError):  # noqa: N818 - says what is the case, as callers read it
    """The text stands for no document; the message says where, and what is wrong."""


class StrictLoader(yaml.CSafeLoader):
    """The safe loader, with the rules above."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """What `<<` stands for in its place, every key once.

        The library leaves the keys that were overridden where they are: a dozen maps of which each merges the one
        before ten times would fill any memory, and what was merged would look as if somebody had written a key twice.
        """
        merges = _merges(node)
        super().flatten_mapping(node)
        if not merges:
            return
        last = {
            key.value if isinstance(key, yaml.ScalarNode) else id(key): (key, value)
            for key, value in node.value
        }
        node.value = list(last.values())


def parse_document(text: str) -> object:
    """The one document of a text, None for one that is empty. Raises `UnreadableYaml`."""
    try:
        line = line_too_deep(text)
        if line is not None:
            raise UnreadableYaml(f"line {line} is nested more than {MOST_DEPTH} deep")
        loaded: object = yaml.load(text, Loader=StrictLoader)  # noqa: S506 - StrictLoader is a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        raise UnreadableYaml(f"{where}{problem_of(error)}") from None
    except yaml.YAMLError as error:
        raise UnreadableYaml(f"{' '.join(str(error).split()):.200}") from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, UnreadableYaml):
            raise
        raise UnreadableYaml("it holds a number or a text that cannot be read") from None
    return loaded


def line_too_deep(text: str) -> int | None:
    """The line on which nesting goes beyond measure, found before anything is built."""
    for depth, event in _events(text):
        if depth > MOST_DEPTH:
            return event.start_mark.line + 1
    return None


def line_too_many(text: str, most: int) -> int | None:
    """The line of the first value after so many. Building them costs ten times what finding this does.

    Looks no further than `line_too_deep`: what is nested without end takes the parser longer the deeper it is.
    """
    left = most
    for depth, event in _events(text):
        if depth > MOST_DEPTH:
            return None
        left -= isinstance(event, yaml.NodeEvent)
        if left < 0:
            return event.start_mark.line + 1
    return None


def problem_of(error: yaml.MarkedYAMLError) -> str:
    """What is wrong, without where."""
    return " ".join(part for part in (error.context, error.problem) if part) or "it cannot be read"


def _events(text: str) -> Iterator[tuple[int, yaml.Event]]:
    """Each with how deep it is nested."""
    parser, depth = yaml.CSafeLoader(text), 0
    while (event := parser.get_event()) is not None:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        yield depth, event


def _as_map(loader: StrictLoader, node: yaml.MappingNode) -> Iterator[dict[object, object]]:
    if node.id != yaml.MappingNode.id:
        # By its tag it is one; the library takes the tag's word for it.
        raise yaml.constructor.ConstructorError(None, None, f"a {node.id} stands for a map", node.start_mark)
    # Handed out before it is filled, because an alias inside may point back to it.
    made: dict[object, object] = {}
    yield made
    made.update(loader.construct_mapping(node))


def _merges(node: yaml.MappingNode) -> bool:
    """Whether a map takes over keys of others. Raises for a key that is written twice."""
    seen: set[str] = set()
    merges = False
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.tag == _MERGE:
                merges = True
            elif key.value in seen:
                repeated = f"key {key.value!r:.80} stands twice in one map"
                raise yaml.constructor.ConstructorError(None, None, repeated, key.start_mark)
            seen.add(key.value)
    return merges


def _as_number(loader: StrictLoader, node: yaml.ScalarNode) -> object:
    """A number or a truth value; the library looks for its first digit, or the word in a table, and may find none.

    It also counts by sixties (`22:22`), which Kubernetes does not, and for a long one of these takes minutes.
    """
    if ":" in node.value:
        return _as_text(loader, node)
    try:
        return _BY_LIBRARY[node.tag](loader, node)
    except LookupError:
        kind = node.tag.rpartition(":")[2]
        problem = f"{node.value!r:.80} is no {kind}"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _as_text(loader: StrictLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_BY_LIBRARY: Final[dict[str, Callable[[StrictLoader, yaml.ScalarNode], object]]] = {
    "tag:yaml.org,2002:int": StrictLoader.construct_yaml_int,
    "tag:yaml.org,2002:float": StrictLoader.construct_yaml_float,
    "tag:yaml.org,2002:bool": StrictLoader.construct_yaml_bool,
}

for _tag in _BY_LIBRARY:
    StrictLoader.add_constructor(_tag, _as_number)
StrictLoader.add_constructor("tag:yaml.org,2002:map", _as_map)
StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _as_text)
