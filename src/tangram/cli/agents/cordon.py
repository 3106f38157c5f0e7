"""`tangram cordon` and `tangram uncordon`: cards of a node out of placement, and back.

The list lives in one annotation that several people and programs may edit at once. So every write names the version it
was made from; when somebody else was faster, the node is read and the change made again.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.agents.cards import named_cards
from tangram.cli.agents.options import KubeconfigOption, connection_for
from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import OutputOption
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.plain import clean
from tangram.cli.screen import Screen, output_console
from tangram.kube.api import Api, Object
from tangram.kube.connection import Connection
from tangram.kube.errors import CONFLICT, ApiError, ApiUnreachable
from tangram.units.ids import IdError, NodeName, node_name
from tangram.wire.hami import CORDONED_CARDS, card_ids
from tangram.wire.nodes import read_node

VERSION: Final = "cordon/v1"
REFUSED: Final = 1
MOST_TRIES: Final = 20
PAUSE_S: Final = 0.05

_Cards = Annotated[str, Parameter(metavar="CARD", help="Cards: uuids, numbers, or numbers as in GPU-3.")]
_Node = Annotated[
    str, Parameter(metavar="NODE", completer=candidates.nodes, help="The node's name in Kubernetes.")
]


class CordonReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    tangram: str = VERSION
    node: str
    action: Literal["cordon", "uncordon"]
    changed: tuple[str, ...]
    """Ids whose state is another now."""
    unchanged: tuple[str, ...]
    """Named ids that were as wished before."""
    cordoned: tuple[str, ...]
    """Every id that takes no new pods now."""


class _NothingKnownError(Exception):
    """The node is there and has no card that could be named."""


def cordon(
    node: _Node, /, *cards: _Cards, output: OutputOption = "table", kubeconfig: KubeconfigOption = None
) -> int:
    """Take cards of a node out of placement."""
    return _run("cordon", node, cards, output, connection_for(kubeconfig, os.environ))


def uncordon(
    node: _Node, /, *cards: _Cards, output: OutputOption = "table", kubeconfig: KubeconfigOption = None
) -> int:
    """Give cards of a node back to placement."""
    return _run("uncordon", node, cards, output, connection_for(kubeconfig, os.environ))


def _run(
    action: Literal["cordon", "uncordon"],
    node: str,
    cards: Sequence[str],
    output: str,
    connection: Connection,
) -> int:
    form = read_format(output)
    try:
        name = node_name(node)
    except IdError as error:
        raise InputError(f"NODE: {error}.") from None
    if not cards:
        raise InputError(f"no card of node {name} is named: name one, as in 'tangram {action} {name} 3'.")
    try:
        report = asyncio.run(change_cordons(connection, name, cards, action))
    except (ApiError, ApiUnreachable, _NothingKnownError) as error:
        sys.stderr.write(f"tangram: {clean(str(error).rstrip('.'))}.\n")
        return REFUSED
    if form is Format.TABLE:
        _show(Screen(output_console()), report)
    else:
        write_data(report, form)
    return 0


async def change_cordons(
    connection: Connection, node: NodeName, words: Sequence[str], action: Literal["cordon", "uncordon"]
) -> CordonReport:
    """Make the change, against whatever others write meanwhile."""
    path = f"/api/v1/nodes/{node}"
    async with Api(connection) as api:
        for _ in range(MOST_TRIES - 1):
            try:
                return await _once(api, path, node, words, action)
            except ApiError as error:
                if error.status != CONFLICT:
                    raise
                await asyncio.sleep(PAUSE_S * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load, guards nothing
        return await _once(api, path, node, words, action)


async def _once(
    api: Api, path: str, node: NodeName, words: Sequence[str], action: Literal["cordon", "uncordon"]
) -> CordonReport:
    thing = await api.get(path)
    metadata: Object = thing.get("metadata") or {}
    annotations: Object = metadata.get("annotations") or {}
    before = list(dict.fromkeys(card_ids(str(annotations.get(CORDONED_CARDS, "")))))
    known = read_node(thing).node.cards
    if not known and not before:
        raise _NothingKnownError(
            f"node {node} announces no card: see that gpu-device runs there ('kubectl describe node {node}')"
        )
    # An id that is on the list may be taken off it even when its card is gone.
    named = named_cards(words, known, node, also=before if action == "uncordon" else ())
    wished = [*before, *(card for card in named if card not in before)]
    after = wished if action == "cordon" else [card for card in before if card not in named]
    if after != before:
        change = {
            "metadata": {
                "resourceVersion": metadata.get("resourceVersion"),
                "annotations": {CORDONED_CARDS: ",".join(after) or None},
            }
        }
        await api.merge(path, change, fieldManager="tangram-cordon")
    changed = tuple(card for card in named if (card in before) != (card in after))
    unchanged = tuple(card for card in named if card not in changed)
    return CordonReport(node=node, action=action, changed=changed, unchanged=unchanged, cordoned=tuple(after))


def _show(screen: Screen, report: CordonReport) -> None:
    out = report.action == "cordon"
    state = "takes no new pods; pods on it keep running" if out else "takes new pods again"
    already = "was cordoned before" if out else "was not cordoned"
    for card in report.changed:
        screen.line(f"node {report.node}: card {card} {state}.")
    for card in report.unchanged:
        screen.line(f"node {report.node}: card {card} {already}; nothing changed.")
    rest = [card for card in report.cordoned if card not in (*report.changed, *report.unchanged)]
    if rest:
        screen.line(f"Cordoned as well: {', '.join(rest)}.")
