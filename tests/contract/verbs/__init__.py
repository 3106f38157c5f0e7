"""The sessions: kubectl's verbs by what people do with them."""

from __future__ import annotations

from typing import Final

from contract.kubectl import Session
from contract.verbs import asking, changing, looking, nodes, rolling, waiting

SESSIONS: Final[dict[str, Session]] = {
    session.name: session
    for module in (looking, changing, asking, rolling, nodes, waiting)
    for session in module.SESSIONS
}
