"""Which shuffles to replay: one number, a range, or a list."""

from __future__ import annotations

import re

from tangram.cli.failures import InputError

MOST_SEEDS = 1000

_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_NUMBER = re.compile(r"[0-9]{1,9}")


def read_seeds(text: str, option: str) -> tuple[int, ...]:
    """The seeds that a text such as 42-51 or 1,2,5 names, in that order."""
    seeds: list[int] = []
    for part in (each.strip() for each in text.split(",")):
        span = _RANGE.fullmatch(part)
        if span is not None and int(span[1]) <= int(span[2]) < int(span[1]) + MOST_SEEDS:
            seeds.extend(range(int(span[1]), int(span[2]) + 1))
        elif _NUMBER.fullmatch(part):
            seeds.append(int(part))
        else:
            raise _unreadable(text, option)
    if len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise _unreadable(text, option)
    return tuple(seeds)


def _unreadable(text: str, option: str) -> InputError:
    legal = f"it is up to {MOST_SEEDS} different numbers from 0, as a range or a comma list"
    return InputError(f"{option} is {text!r:.80}: {legal}; write for example 42-51.")
