"""MetaX's own map of the node: which of its numbered nodes is which card, and which of them are linked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tangram.drivers.sysfs.files import Files, whole
from tangram.units.ids import CardUuid, IdError, pci_bus_id
from tangram.units.na import NA, Maybe, NotAvailable

CLASS_ROOTS: Final = ("class/metax/mxcd", "class/mxcd/mxcd")
"""Where it may be, under the root of sysfs; the first that exists is taken."""

_METAXLINK: Final = "4"
_SLICE: Final = "sgpu-sub-dev"
_MOST_NODES: Final = 4096


class LayoutNode(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    kind: str = ""
    bdf: str = ""
    unique_id: Maybe[str] = NA
    active: Maybe[bool] = NA
    inactive_reason: str = ""
    render_minor: Maybe[int] = NA
    linked_to: tuple[int, ...] = ()
    """Numbers of the nodes at the other end of a MetaXLink."""


def class_root(files: Files) -> Path | None:
    """Where this kernel keeps the map, if it does."""
    return next((files.root / root for root in CLASS_ROOTS if files.names(files.root / root)), None)


def read_layout(files: Files) -> Mapping[int, LayoutNode]:
    """Every node of the map, by number."""
    root = class_root(files)
    if root is None:
        return {}
    nodes = root / "layout/nodes"
    names = [name for name in files.names(nodes) if name.isascii() and name.isdigit() and len(name) < 10]
    return {int(name): _node(files, nodes / name, int(name)) for name in names[:_MOST_NODES]}


def card_nodes(layout: Mapping[int, LayoutNode]) -> Mapping[str, LayoutNode]:
    """The nodes that are cards, by bus address."""
    return {node.bdf: node for node in layout.values() if node.bdf and node.kind not in ("cpu", _SLICE)}


def uuid_of(node: LayoutNode | None) -> Maybe[CardUuid]:
    """The name that the vendor's library and tool make of a card's node."""
    unique = NA if node is None else node.unique_id
    return NA if isinstance(unique, NotAvailable) else CardUuid(f"GPU-{unique}")


def _node(files: Files, path: Path, number: int) -> LayoutNode:
    properties = files.properties(path / "properties")
    active = files.whole(path / "active")
    return LayoutNode(
        number=number,
        kind=_or_empty(files.text(path / "type")),
        bdf=_address(files.text(path / "location")),
        unique_id=files.text(path / "unique_id"),
        active=NA if isinstance(active, NotAvailable) else active == 1,
        inactive_reason=_reason(files.text(path / "inactive_reason")),
        render_minor=whole(properties.get("drm_render_minor", NA)),
        linked_to=_linked(files, path / "direct_links", number),
    )


def _linked(files: Files, path: Path, number: int) -> tuple[int, ...]:
    found: list[int] = []
    for name in files.names(path):
        link = files.properties(path / name / "properties")
        ends = [whole(link.get("from", NA)), whole(link.get("to", NA))]
        if link.get("type") == _METAXLINK:
            found += [end for end in ends if isinstance(end, int) and end != number]
    return tuple(sorted(set(found)))


def _reason(text: Maybe[str]) -> str:
    """The second line; the first is a code."""
    lines = [] if isinstance(text, NotAvailable) else text.splitlines()
    return lines[1].strip() if len(lines) > 1 else ""


def _address(text: Maybe[str]) -> str:
    try:
        return "" if isinstance(text, NotAvailable) else str(pci_bus_id(text))
    except IdError:
        return ""


def _or_empty(text: Maybe[str]) -> str:
    return "" if isinstance(text, NotAvailable) else text
