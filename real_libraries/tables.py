"""What the comparison of two libraries came to, function by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from real_libraries.comparing import BOTH_END, DIFFERENT, ENDS, EQUAL, NOT_EXPORTED, Verdict

WRONG: Final = (DIFFERENT, ENDS)
_LONGEST: Final = 160
"""Letters of a difference that are printed."""


@dataclass
class Row:
    """One function, over all machines and stories."""

    words: Counter[str] = field(default_factory=Counter[str])
    differences: list[str] = field(default_factory=list[str])

    @property
    def verdict(self) -> str:
        """`equal`, `different` or `not exported`."""
        if any(self.words[word] for word in WRONG):
            return DIFFERENT
        return EQUAL if self.words[EQUAL] else NOT_EXPORTED

    def line(self) -> str:
        """The verdict, with how many answers it rests on and how one of them differs."""
        asked = self.words.total()
        fatal = self.words[BOTH_END]
        notes = [f"{fatal} end the process in both"] if fatal else []
        if self.verdict == DIFFERENT:
            wrong = sum(self.words[word] for word in WRONG)
            notes += [f"{wrong} differ: {'; '.join(dict.fromkeys(self.differences))}"]
        return f"{self.verdict:<13}{asked:>6} asked{''.join(f', {note}' for note in notes)}"


Rows = dict[str, Row]


def note(rows: Rows, verdicts: Iterable[Verdict], reasons: Mapping[str, str] | None = None) -> None:
    """Add what was found. A function with a known reason to differ is told by that."""
    for each in verdicts:
        row = rows.setdefault(each.call.name, Row())
        row.words[each.word] += 1
        if each.word in WRONG:
            row.differences.append((reasons or {}).get(each.call.name, told(each)))


def told(verdict: Verdict) -> str:
    """A difference in words."""
    if verdict.word == ENDS:
        return f"{verdict.call.label} ends the process"
    return f"{verdict.call.label} is {verdict.theirs} and not {verdict.ours}"[:_LONGEST]


def lines(prefix: str, rows: Rows, declared: Sequence[str]) -> list[str]:
    """The table: the functions that we call, those asked beside them, and how many there are of each verdict."""
    missing = "not asked"
    beside = sorted({*rows} - {*declared})
    width = len(prefix) + max(map(len, (*declared, *beside)))
    table = [
        f"{prefix + name:<{width}}  {rows[name].line() if name in rows else missing}"
        for name in (*sorted(declared), *beside)
    ]
    counts = Counter(rows[name].verdict if name in rows else missing for name in declared)
    words = ", ".join(f"{counts[word]} {word}" for word in (EQUAL, DIFFERENT, NOT_EXPORTED, missing))
    alone = sum(row.words[ENDS] for row in rows.values())
    return [
        *table,
        f"{len(declared)} functions that we call: {words}; and {len(beside)} beside them",
        f"{alone} answers end the process in the vendor's library alone",
    ]
