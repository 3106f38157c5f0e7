"""A person who does to the letter what a suggestion says."""

import re
from collections.abc import Callable

import msgspec

from builders.requests import DEFAULTS, pod
from tangram.engine.filter import filter_nodes
from tangram.engine.ledger import Ledger
from tangram.model.cards import QosPolicy
from tangram.model.pods import Placing, Toleration
from tangram.model.requests import Ask, AskKind, CardFilter, CardOrder, HostAsk, Request
from tangram.model.verdicts import Suggestion
from tangram.units.ids import NodeName, PodUid
from tangram.units.memory import Bytes, parse_memory

changed = msgspec.structs.replace
FOLLOWED: dict[str, Callable[[Request, str], Request]] = {
    "drop-scope": lambda asked, _: changed(asked, required_scope=None),
    "drop-mutex": lambda asked, _: changed(
        asked, card_order=tuple(word for word in asked.card_order if word is not CardOrder.MUTEX)
    ),
    "drop-card-lists": lambda asked, _: changed(asked, cards=CardFilter()),
    "other-qos": lambda asked, said: changed(asked, qos=QosPolicy(read(r"policy (\S+) instead", said))),
    "drop-app-class": lambda asked, _: changed(asked, app_class=None),
    "less-memory": lambda asked, said: less_memory(asked, parse_memory(read(r": (.+) per card", said))),
    "less-compute": lambda asked, said: less_compute(asked, int(read(r"for (\d+) compute", said))),
    "fewer-cards": lambda asked, said: with_asks(
        asked, lambda ask: changed(ask, count=min(ask.count, int(read(r"for (\d+) card", said))))
    ),
    "drop-node-rules": lambda asked, _: changed(asked, placing=Placing()),
    "tolerate": lambda asked, said: tolerating(asked, read(r"taint (.+)", said)),
    "less-host": lambda asked, _: changed(asked, host=HostAsk()),
    "when-pod-ends": lambda asked, _: asked,
}


SAID: dict[str, Callable[[str], dict[str, str]]] = {
    "drop-scope": lambda said: {"scope": read(r"one (\S+)$", said)},
    "other-qos": lambda said: {"qos": read(r"policy (\S+)", said), "was": read(r"of (\S+)$", said)},
    "drop-app-class": lambda said: {"class": read(r"class (\S+)$", said)},
    "less-memory": lambda said: {"memory": str(int(parse_memory(read(r": (.+) per card", said))))},
    "less-compute": lambda said: {"cores": read(r"for (\d+)", said), "was": read(r"of (\d+)$", said)},
    "fewer-cards": lambda said: {"count": read(r"for (\d+)", said), "was": read(r"of (\d+)$", said)},
    "when-pod-ends": lambda said: {"pod": read(r"pod (\S+) ends", said)},
}
"""What programs are told, as a person reads it."""


def said_alike(suggestion: Suggestion) -> bool:
    """Whether programs are told what people are told."""
    change = dict(suggestion.change)
    if suggestion.code == "tolerate":
        named = f"{change['key']}={change['value']}" if change["value"] else change["key"]
        return suggestion.sentence.endswith(f" taint {named}:{change['effect']}")
    if suggestion.code == "less-memory" and int(change.pop("was")) <= int(change["memory"]):
        return False
    return change == SAID.get(suggestion.code, lambda _: {})(suggestion.sentence)


def read(pattern: str, said: str) -> str:
    found = re.search(pattern, said)
    assert found is not None, said
    return found[1]


def with_asks(asked: Request, change: Callable[[Ask], Ask]) -> Request:
    return changed(
        asked,
        containers=tuple(
            changed(each, asks=tuple(change(ask) for ask in each.asks)) for each in asked.containers
        ),
    )


def tolerating(asked: Request, taint: str) -> Request:
    named, effect = taint.rsplit(":", 1)
    key, _, value = named.partition("=")
    more = Toleration(key=key, value=value, effect=effect)
    tolerations = (*asked.placing.tolerations, more)
    return changed(asked, placing=changed(asked.placing, tolerations=tolerations))


def less_memory(asked: Request, amount: Bytes) -> Request:
    """As a person would: every slice that asks for more gets that much."""
    return with_asks(
        asked,
        lambda ask: (
            ask
            if ask.kind is AskKind.WHOLE or (ask.memory is not None and ask.memory <= amount)
            else changed(ask, memory=amount)
        ),
    )


def less_compute(asked: Request, amount: int) -> Request:
    return with_asks(
        asked,
        lambda ask: (
            ask
            if ask.kind is AskKind.WHOLE or (ask.cores is not None and ask.cores <= amount)
            else changed(ask, cores=amount)
        ),
    )


def node_when_followed(ledger: Ledger, asked: Request, suggestion: Suggestion) -> NodeName | None:
    gone: tuple[PodUid, ...] = ()
    if suggestion.code == "when-pod-ends":
        gone = (pod(read(r"default/(\S+) ends", suggestion.sentence)).uid,)
    followed = FOLLOWED[suggestion.code](asked, suggestion.sentence)
    return filter_nodes(ledger, followed, DEFAULTS, without=gone).node
