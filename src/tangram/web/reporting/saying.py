"""What the engine says, in the viewer's language.

In English its own sentences are shown, word for word what the commands print. In Chinese they are put together again
from codes and amounts; a sentence whose code nobody here knows stays English, and is marked so that it is read as that.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from tangram.reports import shape
from tangram.units.memory import Bytes, memory_text, rough_memory_text
from tangram.web.catalogue import catalogue, counted, said
from tangram.web.language import Language

SIXTEENTHS: Final = 16
"""Cards of Moore Threads have so much compute; MetaX's count percent."""
_IN_BYTES: Final = ("memory", "memory-tier", "host-memory")
_WITH_DETAIL: Final = ("unschedulable", "selector", "affinity", "taint", "host-counted")


class Said(NamedTuple):
    text: str
    lang: str = ""
    """Set where it is not the page's own language."""
    aside: str = ""
    """More of it, which only exists in English."""


def known(key: str) -> bool:
    """Whether there are words for it."""
    return key in catalogue().words


def memory_words(language: Language, size: int) -> str:
    """An amount of memory for a narrow place."""
    text = rough_memory_text(Bytes(size))
    return text.replace("about ", "约 ") if language is Language.CHINESE else text


def compute_words(language: Language, cores: int, of: int) -> str:
    """Compute in the vendor's own units, which the compute of a whole card tells apart."""
    if not cores:
        return said(language, "rules.compute.none")
    return said(
        language, "rules.compute.sixteenths" if of == SIXTEENTHS else "rules.compute.percent", cores=cores
    )


def verdict_said(language: Language, report: shape.PodReport, *, live: bool) -> Said:
    """The answer in one sentence. `live` is a pod that exists, of which "no cards" means that it is not ours."""
    if language is Language.ENGLISH:
        return Said(report.sentence)
    word = report.verdict
    if word == shape.NO_CARDS and live:
        word = "not-ours"
    elif word == shape.RUNS and not report.containers:
        word = "runs-without"
    nodes = sum(reason.nodes for reason in report.reasons)
    if word == shape.WAITS and not nodes:
        word = "waits-nowhere"
    key = f"rules.verdict.{word}"
    if not known(key):
        return Said(report.sentence, Language.ENGLISH)
    return Said(said(language, key, pod=report.pod, node=report.node or "", nodes=nodes))


def reason_said(language: Language, reason: shape.Reason) -> Said:
    """Why some nodes do not fit."""
    return _by_key(language, f"rules.reason.{reason.code}", reason.sentence)


def stage_said(language: Language, stage: str) -> Said:
    """How far a pod has come."""
    key = f"rules.stage.{stage}"
    return Said(said(language, key)) if known(key) else Said(stage, Language.ENGLISH)


def heading_of(language: Language, code: str) -> str:
    """What a refusal or a caution is about; its code where nobody named it."""
    key = f"rules.code.{code}"
    return said(language, key) if known(key) else code


def sentence_said(language: Language, sentence: str) -> Said:
    """A sentence that only exists in English."""
    return Said(sentence, "" if language is Language.ENGLISH else Language.ENGLISH)


def advice_said(language: Language, advice: shape.Advice) -> Said:
    """What would help."""
    if language is Language.ENGLISH:
        return Said(advice.sentence)
    change = dict(advice.change)
    if advice.code == "when-pod-ends" and "pod" not in change:
        return Said(said(language, "rules.advice.when-somebody-ends"))
    try:
        if advice.code == "less-memory":
            memory, was = int(change["memory"]), int(change["was"])
            change |= {"memory": memory_text(Bytes(memory)), "less": memory_words(language, was - memory)}
        elif advice.code == "tolerate":
            value = f"={change['value']}" if change.get("value") else ""
            change = {"taint": f"{change['key']}{value}:{change.get('effect', '')}"}
        return Said(said(language, f"rules.advice.{advice.code}", **change))
    except (KeyError, ValueError):
        # A code or an amount of a newer scheduler than this dashboard.
        return Said(advice.sentence, Language.ENGLISH)


def node_said(language: Language, node: shape.NodeReport) -> Said:
    """What is in the way on a node, or which cards it would give."""
    if language is Language.ENGLISH:
        return Said(node.sentence)
    if node.verdict == shape.FITS:
        numbers = sorted({card.index for each in node.containers for card in each.cards})
        return Said(counted(language, "rules.cards", len(numbers), cards=", ".join(map(str, numbers))))
    key = f"rules.node.{node.verdict}"
    if not known(key):
        return Said(node.sentence, Language.ENGLISH)
    text = said(language, key, **_amounts(language, node.verdict, node.need, node.have), detail=node.detail)
    if node.verdict in _WITH_DETAIL:
        return Said(text, aside=node.detail)
    if node.verdict == "cards":
        failed = Counter(card_said(language, card).text for card in node.cards if not _would_do(card))
        worst = [
            said(language, "rules.node.some", reason=reason, count=times)
            for reason, times in failed.most_common(3)
        ]
        text = said(language, "rules.node.join").join([text, *worst])
    return Said(text)


def card_said(language: Language, card: shape.CardReport) -> Said:
    """What a card says to the pod."""
    key = f"rules.card.{card.verdict}"
    if _would_do(card):
        return Said(said(language, key))
    if language is Language.ENGLISH:
        return Said(card.sentence)
    if not known(key):
        return Said(card.sentence, Language.ENGLISH)
    amounts = _amounts(language, card.verdict, card.need, card.have)
    if card.verdict == "memory":
        amounts["total"] = memory_words(language, card.memory)
        key = f"{key}-above-card" if card.need > card.memory else key
    if card.verdict == "health":
        return Said(said(language, key, **amounts, detail="").strip(), aside=card.detail)
    return Said(said(language, key, **amounts, detail=card.detail).strip())


def _would_do(card: shape.CardReport) -> bool:
    return card.verdict in (shape.FITS, "chosen", "not-tried")


def _amounts(language: Language, rule: str, need: int, have: int) -> dict[str, str]:
    amounts = {"need": need, "have": max(have, 0), "short": need - have}
    if rule in _IN_BYTES:
        return {name: memory_words(language, amount) for name, amount in amounts.items()}
    if rule == "host-cpu":
        return {name: f"{amount / 1000:g}" for name, amount in amounts.items()}
    return {name: str(amount) for name, amount in amounts.items()}


def _by_key(language: Language, key: str, english: str) -> Said:
    if language is Language.ENGLISH:
        return Said(english)
    return Said(said(language, key)) if known(key) else Said(english, Language.ENGLISH)
