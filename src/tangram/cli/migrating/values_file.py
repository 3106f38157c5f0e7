"""A translation as people read it: a file of values with comments, and what is left to say about the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import yaml

from tangram.wire.hami_values.rows import Note, Outcome
from tangram.wire.hami_values.translating import Translation

_WIDTH: Final = 110
_HEADER: Final = """\
# Values for the chart tangram that say what HAMi's said, made by: tangram migrate hami
# docs/migrate-from-hami.md has every value and the whole way. To be added: the account of each vendor's plugin, which
# marks the pods it has served (HAMi's scheduler is found and trusted while it runs):
#   scheduler.trustedAgentAccounts: [system:serviceaccount:NAMESPACE:ACCOUNT]

"""
_ORDER: Final = (
    "pullPolicy",
    "imagePullSecrets",
    "gpuDevice",
    "gpuLabel",
    "scheduler",
    "certificates",
    "monitoring",
)
"""As in our chart's own file."""
_TITLES: Final = {
    Outcome.NOT_SUPPORTED: "Not supported, so something will be different:",
    Outcome.UNKNOWN: "Not known, so nothing was made of it:",
    Outcome.NOT_NEEDED: "Not needed any more:",
}


def values_text(translation: Translation) -> str:
    """The values as YAML that helm takes."""
    comments = {line.path: line.comment for line in translation.lines}
    values = translation.values
    ordered = {key: values[key] for key in _ORDER if key in values}
    return _HEADER + "".join(f"{line}\n" for line in _written(ordered | values, comments, "", ""))


def _written(
    members: Mapping[str, object], comments: Mapping[str, str], above: str, indent: str
) -> Iterator[str]:
    before = ""
    for key, value in members.items():
        path = f"{above}{key}"
        if path not in comments:
            yield f"{indent}{key}:"
            yield from _written(cast("Mapping[str, object]", value), comments, f"{path}.", f"{indent}  ")
            continue
        if comments[path] and comments[path] != before:
            yield from textwrap.wrap(
                comments[path], _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
            )
            before = comments[path]
        dumped = yaml.dump(
            {key: value}, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=1000
        )
        yield from (f"{indent}{line}" for line in dumped.splitlines())


def told(notes: Iterable[Note]) -> str:
    """What the comments in the file do not say, the gravest first; of one sentence about many values, one."""
    text = ""
    for outcome, title in _TITLES.items():
        keys: dict[str, list[str]] = {}
        for note in notes:
            if note.outcome is outcome:
                keys.setdefault(note.sentence, []).append(note.key)
        if keys:
            text += f"{title}\n"
        for sentence, about in keys.items():
            text += (
                textwrap.fill(", ".join(about), _WIDTH, initial_indent="  ", subsequent_indent="  ") + "\n"
            )
            text += textwrap.fill(sentence, _WIDTH, initial_indent="    ", subsequent_indent="    ") + "\n"
    return text
