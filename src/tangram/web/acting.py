"""What the dashboard does to the cluster for somebody: take a card out of placement, and give it back.

With a session the person's own token makes the change, so that the API server decides about that person and its audit
log names them. Without one the dashboard's account makes it, after the API server has said that this person may. Either
way an event on the node and a line in the log say who did it. Nothing here can do more than `tangram cordon` does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

import msgspec

from tangram.kube.api import Api
from tangram.kube.connection import with_token
from tangram.kube.cordoning import Action, CordonReport, NoSuchCard, NothingKnown, change_cordons
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.recorder import About, Event
from tangram.kube.rights import RightsUnknown, User
from tangram.units.ids import IdError, NodeName, node_name
from tangram.web.known import NotKnown

FORBIDDEN: Final = (401, 403)
LONGEST_NAME: Final = 200

_log = logging.getLogger(__name__)


class Rights(Protocol):
    """Raises `RightsUnknown`."""

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, name: str = ""
    ) -> bool: ...


class Records(Protocol):
    def record(self, event: Event) -> None: ...


class Actor:
    """`token_of` finds the Kubernetes token of the session that a form token was made for (`Reception.own_token`)."""

    def __init__(
        self, api: Api, rights: Rights, events: Records, token_of: Callable[[str], str] = lambda _: ""
    ) -> None:
        self._api = api
        self._rights = rights
        self._events = events
        self._token_of = token_of

    async def cordon(
        self, user: User, node: str, card: str, *, out: bool, form_token: str = ""
    ) -> Mapping[str, object]:
        """The report of `tangram cordon -o json`. Raises `NotKnown` for every reason why nothing was done."""
        try:
            name = node_name(node)
        except IdError as error:
            raise NotKnown("act-node", f"{error}.", 400) from None
        action: Action = "cordon" if out else "uncordon"
        try:
            report = await self._changed(user, name, card, action, self._token_of(form_token))
        except RightsUnknown as unknown:
            _log.warning("no card was cordoned: %s", unknown)
            raise NotKnown(
                "act-rights",
                f"the API server did not say whether you may patch nodes, so card {card!r:.80} stays as it is; try "
                "again in a moment.",
                503,
            ) from None
        except ApiUnreachable as error:
            raise NotKnown(
                "act-silence",
                f"the API server gave no answer ({error!s:.200}), so nobody knows whether card {card!r:.80} was "
                "changed; look at it again in a moment.",
                503,
            ) from None
        self._tell(user, report)
        return cast("Mapping[str, object]", msgspec.to_builtins(report))

    async def _changed(
        self, user: User, node: NodeName, card: str, action: Action, token: str
    ) -> CordonReport:
        try:
            if token:
                async with Api(with_token(self._api.connection, token), agent="tangram-dashboard") as theirs:
                    return await change_cordons(theirs, node, (card,), action)
            if not await self._rights.may(user, "patch", "nodes", name=node):
                raise NotKnown(
                    "act-lacking",
                    f"{plain(user.name)!r} may not patch node {node}, which {action} needs; bind a role with that "
                    "right to the account.",
                    403,
                )
            return await change_cordons(self._api, node, (card,), action)
        except (NoSuchCard, NothingKnown) as error:
            raise NotKnown("act-card", f"{str(error).rstrip('.')}.", 404) from None
        except ApiError as error:
            _log.info("%s could not %s a card of %s: %s", plain(user.name), action, node, error)
            status = error.status if error.status in (*FORBIDDEN, NOT_FOUND, CONFLICT) else 503
            raise NotKnown(
                "act-refused",
                f"nothing was changed: {str(error).rstrip('.')}.",
                403 if status == 401 else status,
            ) from None

    def _tell(self, user: User, report: CordonReport) -> None:
        who = plain(user.name)
        for card in report.changed:
            out = report.action == "cordon"
            did = "taken out of placement" if out else "given back to placement"
            _log.info(
                "card %s of node %s was %s by %s",
                card,
                report.node,
                did,
                who,
                extra={"node": report.node, "card": card, "user": who},
            )
            self._events.record(
                Event(
                    About("Node", report.node),
                    "CardCordoned" if out else "CardUncordoned",
                    f"card {card} was {did} by {who} in the dashboard",
                    warning=False,
                )
            )


def plain(name: str) -> str:
    """A name for a line of text: some sign-ins let people choose any characters, and any number of them."""
    return "".join(each if each.isprintable() else "?" for each in name[:LONGEST_NAME])
