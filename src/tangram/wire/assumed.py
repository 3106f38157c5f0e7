"""The cards that are assumed for a running pod without an allocation that can be believed.

Apart from `tenants`, because guessing asks the engine, and programs that only read pods load no engine.
"""

from __future__ import annotations

import msgspec

from tangram.engine.adopt import adopt
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.wire.tenants import Unnamed


def assumed(ledger: Ledger, unnamed: Unnamed) -> Tenant:
    """A guess at the cards of a pod that does not say which it holds. The ledger is not changed."""
    named = () if unnamed.written is None else unnamed.written.allocation.cards
    guess = adopt(ledger, unnamed.request, unnamed.node, named=named)
    return msgspec.structs.replace(guess, init_done=unnamed.pod.init_done)
