"""A card taken out of placement, or given back: first what would happen and to whom, and only then the change.

Both are forms without a script. The first shows the card and who sits on it; the second, sent from there, is the same
with `confirm=yes`. Nothing is changed by opening an address.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from tangram.reports.status_shape import CardStatus, NodeStatus
from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Shown
from tangram.web.sight import Sight

PATH: Final = "/cards/cordon"
TEMPLATE: Final = "cordon.html"
ACTIONS: Final = ("cordon", "uncordon")


async def page(asked: Asked, known: Known) -> Shown:
    """The fields are `node`, `card` (its uuid or number), `action` and, the second time, `confirm=yes`."""
    viewer = asked.viewer
    if not viewer.may_act:
        raise NotKnown(
            "may-not-act",
            "nothing can be changed here by you: the dashboard has to run with --actions, and your account has to have "
            "the right to patch nodes.",
            403,
        )
    action = asked.form.get("action", "")
    if action not in ACTIONS:
        raise NotKnown("act-action", f"action is {action!r:.40}: it is {' or '.join(ACTIONS)}.", 400)
    node, card = _found(asked, known)
    done = asked.form.get("confirm") == "yes"
    changed = False
    if done:
        out = action == "cordon"
        told = await known.cordon(viewer.user, node.node, card.uuid, out=out, form_token=viewer.form_token)
        changed = bool(told.get("changed"))
    seen = [holder for holder in card.holders if viewer.sight.of_pod(holder.pod)]
    return Shown(
        template=TEMPLATE,
        values={
            "node": node.node,
            "card": card,
            "action": action,
            "done": done,
            "changed": changed,
            "pods": [holder.pod for holder in seen],
            "others": card.other_holders + len(card.holders) - len(seen),
            "there": f"/nodes/{quote(node.node)}",
        },
    )


def _found(asked: Asked, known: Known) -> tuple[NodeStatus, CardStatus]:
    name, wanted = asked.form.get("node", ""), asked.form.get("card", "")
    node = known.picture.nodes.get(name)
    if node is None or not _shown(node, asked.viewer.sight):
        raise NotKnown(
            "act-node", f"node is {name!r:.80}: there is no such node here; go there from the cluster.", 404
        )
    found = [card for card in node.cards if wanted in (card.uuid, str(card.index))]
    if len(found) != 1:
        raise NotKnown(
            "act-card",
            f"card is {wanted!r:.80}: node {name} has {len(found) or 'no'} cards of that name; write its uuid.",
            404,
        )
    return node, found[0]


def _shown(node: NodeStatus, sight: Sight) -> bool:
    return sight.nodes or any(sight.of_pod(holder.pod) for card in node.cards for holder in card.holders)
