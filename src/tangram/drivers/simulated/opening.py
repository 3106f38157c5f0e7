"""From `simulated:FILE` or `simulated:unix:SOCKET` to a driver: the one place here that opens a file."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Final

import yaml

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.protocol import Driver
from tangram.drivers.simulated.bus import SimulatedBus
from tangram.drivers.simulated.client import BusClient, Connection, connected
from tangram.drivers.simulated.description import Description
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.reading import read_description
from tangram.drivers.simulated.world import World
from tangram.wire.errors import WireError

SOCKET_PREFIX: Final = "unix:"
_LARGEST_FILE: Final = 1 << 20
_MOST_DEPTH: Final = 20


def open_simulated(where: str | None) -> Driver:
    """The cards described in a file, from now on; or those of a simulation that runs already."""
    if not where:
        raise DriverError(
            Kind.INVALID, "simulated cards need a description; write simulated:FILE or simulated:unix:SOCKET"
        )
    if where.startswith(SOCKET_PREFIX):
        return connected(Path(where.removeprefix(SOCKET_PREFIX)))
    return SimulatedDriver(World(describe(Path(where)), time.monotonic))


def open_simulated_bus(where: str) -> SimulatedBus | BusClient:
    """The bus of the same cards. Raises `DriverError` for a description that cannot be read."""
    if where.startswith(SOCKET_PREFIX):
        return BusClient(Connection(Path(where.removeprefix(SOCKET_PREFIX))))
    return SimulatedBus(World(describe(Path(where)), time.monotonic))


def describe(path: Path, name: str = "") -> Description:
    """The description in a file. Raises `DriverError` with one sentence for whatever is wrong with it."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DriverError(
            Kind.INVALID, f"{path} cannot be read ({reason}); name a file that describes cards"
        ) from None
    if len(content) > _LARGEST_FILE:
        raise DriverError(Kind.INVALID, f"{path} has more than 1 MiB; a description of cards is far smaller")
    try:
        return read_description(_decoded(content), name)
    except WireError as error:
        raise DriverError(Kind.INVALID, f"{path}: {error.sentence}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        line = "" if mark is None else f" line {mark.line + 1}"
        raise DriverError(Kind.INVALID, f"{path}{line}: {problem or 'it is no YAML'}; correct it") from None
    except (yaml.YAMLError, LookupError, TypeError, ValueError, OverflowError) as error:
        what = " ".join(str(error).split())
        raise DriverError(Kind.INVALID, f"{path}: {what:.200}; give YAML") from None


def _decoded(content: bytes) -> object:
    # Nesting without end would exhaust the stack while it is built, so it is measured first.
    parser, depth = yaml.CSafeLoader(content), 0
    while (event := parser.get_event()) is not None:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEPTH:
            raise yaml.MarkedYAMLError(
                problem=f"it is nested more than {_MOST_DEPTH} deep", problem_mark=event.start_mark
            )
    return yaml.load(content, Loader=_Strict)  # noqa: S506 - a subclass of the safe loader


class _Strict(yaml.CSafeLoader):
    """The safe loader, but a key that stands twice in one map is an error and not a silent choice."""


def _as_map(loader: _Strict, node: yaml.MappingNode) -> Mapping[Hashable, object]:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                repeated = f"key {key.value!r:.80} stands twice in one map"
                raise yaml.MarkedYAMLError(problem=repeated, problem_mark=key.start_mark)
            seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


_Strict.add_constructor("tag:yaml.org,2002:map", _as_map)
